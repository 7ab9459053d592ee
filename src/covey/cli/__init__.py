"""The command line: ``covey fit``, ``predict``, ``select``, ``compare``, ``fuse`` and more.

This module imports little: a command imports what it needs when it runs, so that ``--help`` is
fast.
"""

from __future__ import annotations

import importlib
import signal
import sys
from collections.abc import Sequence
from typing import Any

# Each command is a function in a module of its own, `covey.cli._fit.fit` and so on; in the order
# of the help.
_COMMANDS = {
    "fit": "Learn to predict a column, and save the model.",
    "predict": "Predict every row of a table.",
    "explain": "Explain one row: why, how sure, and what would change it.",
    "select": "Show which columns matter, and which pairs.",
    "check": "See whether a model still holds on new rows.",
    "refit": "Fit a model again, and compare it with the old one.",
    "show": "Show what a model is, on what it was fitted, and its history.",
    "compare": "Compare flocks with the usual models.",
    "report": "Show on a page how good a model is, and why.",
    "serve": "Show a model as a web page, and answer programs.",
    "edit": "Correct a model: columns, effects, categories.",
    "fuse": "Fuse predictions that were saved in files.",
    "export": "Write a model as ONNX.",
    "demo": "Write a table to try.",
}
_EXAMPLE = (
    "covey demo --table wine.csv",
    "covey fit wine.csv --target cultivar --model wine.covey --report wine.html",
    "covey predict wine.covey wine.csv --proba --explain --out answers.csv",
)


def _make_app() -> Any:
    import typer
    from typer.core import TyperGroup

    from covey.cli._console import guarded, printable
    from covey.cli._options import example

    class Group(TyperGroup):
        def invoke(self, ctx: Any) -> Any:
            try:
                return super().invoke(ctx)
            # That is click's UsageError, wherever it is.
            except typer.BadParameter.__base__ as error:  # type: ignore[misc]
                sentence = error.format_message().replace("Value error, ", "")
                print(f"covey: {printable(sentence)}", file=sys.stderr)
                raise typer.Exit(2) from None

    app = typer.Typer(
        name="covey",
        cls=Group,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        epilog=example(*_EXAMPLE),
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def _covey(
        version: bool = typer.Option(
            False, "--version", help="Print the version and end.", is_eager=True
        ),
    ) -> None:
        """Grow small flocks of simple models on a table, and see who decided and why.

        Tables are CSV, TSV, Parquet, xlsx, xls, ods, JSON-lines, SQLite or DuckDB files, text with
        or without gzip, or "-" for standard input.
        Missing values are empty, or NA, NaN, null, None or "?", which a class may be called too.
        Exit status: 0 done, 1 could not do it, 2 bad input, 3 a check found a change.
        """

    for name, short_help in _COMMANDS.items():
        module = importlib.import_module(f"covey.cli._{name}")
        app.command(
            name,
            short_help=short_help,
            epilog=example(*module.EXAMPLE),
        )(guarded(getattr(module, name)))
    return app


def __getattr__(name: str) -> Any:
    if name == "app":
        globals()["app"] = app = _make_app()
        return app
    raise AttributeError(f"module 'covey.cli' has no attribute {name!r}")


def _terminate(number: int, frame: Any) -> None:
    # An exception, as Ctrl-C raises one, so that half-written files are removed.
    from covey.cli._console import Terminated

    raise Terminated(number)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and end the process.

    Parameters
    ----------
    argv : list of str, optional
        Arguments; by default those of the process.
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments == ["--version"]:
        import covey

        print(f"covey {covey.__version__}")
        sys.exit(0)
    try:
        import typer  # noqa: F401
    except ImportError:
        print(
            "covey: the command line needs typer, rich, pandas and pyarrow; install them "
            'with: pip install "covey[cli]".',
            file=sys.stderr,
        )
        sys.exit(1)
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # If the closing of the terminal is ignored, as nohup does, the command continues.
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _terminate)
    # The app is made on first use, see __getattr__.
    sys.modules[__name__].app(arguments, prog_name="covey")
