"""``covey reproduce``."""

import typer

from covey.cli import _options as options
from covey.cli._console import guarded

_EXAMPLE = options.example(
    "covey reproduce figure1 --quick --out reproduction",
)


def add_to(app):
    """Add the command."""
    app.command(
        "reproduce",
        short_help="Reproduce the paper.",
        epilog=_EXAMPLE,
        add_help_option=False,
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    )(guarded(reproduce))


def reproduce(context: typer.Context):
    """Reproduce the paper's figures, its Table 2 and its claims; see covey reproduce --help."""
    from covey.reproduce.__main__ import main

    raise typer.Exit(main(context.args) or 0)
