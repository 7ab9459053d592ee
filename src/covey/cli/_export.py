"""``covey export``."""

from __future__ import annotations

from typing import Annotated

from covey.cli import _options as options
from covey.cli._console import CommandError, Console

EXAMPLE = (*options.FITTED, "covey export flock.covey --onnx flock.onnx")


_ONNX = options.option("Where to write it as ONNX.", metavar="FILE.onnx")
_DOUBLE = options.option(
    "Take and compute numbers in double precision, as covey does.", "--double"
)
_SCORECARD = options.option(
    "Where to write (.html, .xlsx) a flock of two classes, fitted with --interactions none, as "
    "points for conditions that a person adds.",
    metavar="FILE",
)
_TABLE = options.option(
    "Rows with the target, best new ones, by which points are rounded and counted.",
    metavar="FILE",
)


def export(
    model: options.Model,
    onnx: Annotated[str | None, _ONNX] = None,
    double: Annotated[bool, _DOUBLE] = False,
    scorecard: Annotated[str | None, _SCORECARD] = None,
    table: Annotated[str | None, _TABLE] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a model as ONNX, for programs that have no Python, or as a scorecard, for people.

    The ONNX file takes the table's columns, one input per column. Numbers have single precision,
    which is seven digits; --double is for columns that differ only in later ones, such as times in
    seconds.
    """
    from covey.cli._models import load_model
    from covey.cli._writing import check_writable, writing

    console = Console(quiet, as_json)
    if (onnx is None) == (scorecard is None):
        raise CommandError("give one of --onnx and --scorecard.")
    if (scorecard is None) != (table is None):
        raise CommandError(
            "--scorecard needs --table, rows with the target, and nothing else does."
        )
    path = onnx or str(scorecard)
    check_writable(path, (".onnx",) if onnx else (".html", ".htm", ".xlsx"), inputs=[model])
    fitted = load_model(model)
    if table is None:
        from covey.onnx import to_onnx

        with writing(path):
            to_onnx(fitted, path, dtype="float64" if double else "float32", by_column=True)
    else:
        from covey.cli._report import true_rows

        target = getattr(getattr(fitted, "evaluation_", None), "target", "")
        frame, _, truth, caution = true_rows(fitted, table, target, console)
        if caution is not None:
            console.note(f"{caution.partition(':')[0]}: the card flatters.")
        try:
            card = fitted.scorecard(frame, truth)
        except ValueError as error:
            raise CommandError(f"--scorecard: {error}") from None
        with writing(path):
            (card.to_excel if path.lower().endswith(".xlsx") else card.to_html)(path)
        console.note(card.note)
    console.note(f"Wrote {path}.")
    console.emit(onnx=onnx, scorecard=scorecard, columns=fitted.feature_names_in_)
