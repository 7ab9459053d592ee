"""``covey export``."""

from __future__ import annotations

from typing import Annotated

from covey.cli import _options as options
from covey.cli._console import Console

EXAMPLE = (*options.FITTED, "covey export flock.covey --onnx flock.onnx")


_DOUBLE = options.option(
    "Take and compute numbers in double precision, as covey does.", "--double"
)


def export(
    model: options.Model,
    onnx: Annotated[str, options.option("Where to write it.", metavar="FILE.onnx")],
    double: Annotated[bool, _DOUBLE] = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a model as ONNX, for programs that have no Python.

    The file takes the table's columns, one input per column. Numbers have single precision, which
    is seven digits; --double is for columns that differ only in later ones, such as times in
    seconds.
    """
    from covey.cli._models import load_model
    from covey.cli._writing import check_writable, writing
    from covey.onnx import to_onnx

    console = Console(quiet, as_json)
    check_writable(onnx, (".onnx",))
    fitted = load_model(model)
    with writing(onnx):
        to_onnx(fitted, onnx, dtype="float64" if double else "float32", by_column=True)
    console.note(f"Wrote {onnx}.")
    console.emit(onnx=onnx, columns=fitted.feature_names_in_)
