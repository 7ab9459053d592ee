"""``covey export``."""

from typing import Annotated

import typer

from covey.cli import _options as options
from covey.cli._console import CommandError, Console, guarded

_EXAMPLE = options.example(
    "covey demo --table wine.csv",
    "covey fit wine.csv --target cultivar --effort fast",
    "covey export flock.covey --onnx flock.onnx",
)


def add_to(app):
    """Add the command."""
    app.command("export", short_help="Write a model as ONNX.", epilog=_EXAMPLE)(guarded(export))


def export(
    model: options.Model,
    onnx: Annotated[str, typer.Option(metavar="FILE.onnx", help="Where to write it.")],
    as_json: options.Json = False,
    quiet: options.Quiet = False,
):
    """Write a model as ONNX, for programs that have no Python.

    The file takes the table's columns, one input a column.
    """
    from covey.cli._models import load_model
    from covey.cli._tables import check_writable

    console = Console(quiet, as_json)
    check_writable(onnx, (".onnx",))
    fitted = load_model(model)
    from covey.tables._onnx import table_to_onnx

    try:
        table_to_onnx(fitted, onnx)
    except OSError as error:
        raise CommandError(f"{onnx} cannot be written: {error.strerror or error}.", 1) from None
    console.note(f"Wrote {onnx}.")
    console.emit(onnx=onnx, columns=fitted.columns_)
