"""The command line: ``covey fit``, ``predict``, ``select``, ``compare``, ``fuse`` and more.

This module is light: a command imports what it needs when it runs, so that ``--help`` is quick.
"""

import importlib
import signal
import sys

# Each command in a file of its own, in the order of the help.
_COMMANDS = (
    "fit",
    "predict",
    "select",
    "compare",
    "report",
    "fuse",
    "export",
    "demo",
    "reproduce",
)


def _make_app():
    import typer

    from covey.cli._options import example

    app = typer.Typer(
        name="covey",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        epilog=example(
            "covey demo --table wine.csv",
            "covey fit wine.csv --target cultivar --model wine.covey --report wine.html",
            "covey predict wine.covey wine.csv --proba --explain --out answers.csv",
        ),
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def _covey(
        version: bool = typer.Option(
            False, "--version", help="Print the version and end.", is_eager=True
        ),
    ):
        """Grow small flocks of simple models on a table, and see who decided and why.

        Tables are CSV, TSV or Parquet files, with or without gzip, or "-" for standard input.
        Missing values are empty, or NA, NaN, null, None or "?", which a class may be called too.
        Exit status: 0 done, 1 could not do it, 2 bad input.
        """

    for name in _COMMANDS:
        importlib.import_module(f"covey.cli._{name}").add_to(app)
    return app


def __getattr__(name):
    if name == "app":
        globals()["app"] = app = _make_app()
        return app
    raise AttributeError(f"module 'covey.cli' has no attribute {name!r}")


def _ended(number, frame):
    # As Ctrl-C does, so that what is half written is taken away.
    from covey.cli._console import Terminated

    raise Terminated


def main(argv=None):
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
            "covey: the command line needs typer, rich, skrub, skops and pyarrow; install them "
            'with: pip install "covey[cli]".',
            file=sys.stderr,
        )
        sys.exit(1)
    signal.signal(signal.SIGTERM, _ended)
    # Lazily made, see __getattr__.
    sys.modules[__name__].app(arguments, prog_name="covey")
