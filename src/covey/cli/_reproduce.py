"""``covey reproduce``."""

import typer

EXAMPLE = ("covey reproduce figure1 --quick --out reproduction",)
SETTINGS = {
    "add_help_option": False,
    "context_settings": {"allow_extra_args": True, "ignore_unknown_options": True},
}


def reproduce(context: typer.Context) -> None:
    """Reproduce the paper's figures, its Table 2 and its claims; see covey reproduce --help."""
    from covey.reproduce import main

    raise typer.Exit(main(context.args) or 0)
