"""``covey report``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covey.cli import _options as options
from covey.cli._console import CommandError, Console

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

EXAMPLE = (
    "covey demo --table wine.csv",
    "covey fit wine.csv --target cultivar --effort fast",
    "covey report flock.covey wine.csv --out report.html",
)


def report(
    model: options.Model,
    table: options.Table,
    out: Annotated[str, typer.Option(metavar="FILE.html", help="Where to write it.")],
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The true values; by default the model's target."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="COLUMN", help="What names the rows; by default they are counted."
        ),
    ] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a page that shows how right a model is on a table, what it looks at, and why.

    Give rows that the model has not seen: on others it looks better than it is, which covey
    notes.
    """
    import numpy as np

    from covey.cli import _models as models
    from covey.cli._problem import check_column
    from covey.cli._reading import read_table
    from covey.cli._writing import check_writable

    console = Console(quiet, as_json)
    check_writable(out, (".html", ".htm"))
    check_reporting()
    fitted = models.load_model(model)
    about = getattr(fitted, "about_", {})
    target = target or about.get("target")
    if target is None:
        raise CommandError("give --target: the column of the true values.")
    classes = getattr(fitted, "classes_", np.empty(0))
    numeric = [target] if np.issubdtype(classes.dtype, np.number) else []
    frame = read_table(
        table,
        {*models.number_columns(fitted), *numeric},
        labels=[target],
        formats=models.formats_of(fitted),
    )
    check_column(frame, target, "--target")
    if name is not None:
        check_column(frame, name, "--id")
    models.check_needed(fitted, frame.columns, table)
    frame, truth = _known_rows(frame, target, fitted, console)
    caution = None
    if hasattr(fitted, "seen_"):
        again = int(np.isin(models.fingerprints(fitted, frame), fitted.seen_).sum())
        if again:
            rows = f"{again:,} of these {len(frame):,} rows were fitted on"
            console.note(f"{rows}: the report flatters.")
            caution = f"{rows}: on new ones the model is less right than it looks here."
    write_report(
        fitted,
        # The page is about the columns of this table that the model reads.
        frame[list(fitted.feature_names_in_)],
        truth,
        out,
        target=target,
        baselines=[
            {**one, "name": f"{one['name']}, held out when fitted"}
            for one in about.get("scores", [])
        ],
        title=f"Predicting “{target}” of {Path(table).name}",
        caution=caution,
        names=None if name is None else frame[name],
    )
    score = float(fitted.score(frame, truth))
    if hasattr(fitted, "classes_"):
        console.result(f"Accuracy {100 * score:.1f} % on {len(frame):,} rows. Wrote {out}.")
        console.emit(report=out, rows=len(frame), accuracy=score)
    else:
        console.result(f"R2 {score:.3f} on {len(frame):,} rows. Wrote {out}.")
        console.emit(report=out, rows=len(frame), r2=score)


def _known_rows(
    frame: pd.DataFrame, target: str, fitted: Any, console: Console
) -> tuple[pd.DataFrame, np.ndarray]:
    """The rows whose true value is known to the model, and these values."""
    import numpy as np
    import pandas as pd

    from covey.cli._models import labels_like

    gaps = frame[target].isna()
    if gaps.any():
        console.note(
            f"{target}: {gaps.sum()} of {len(frame)} rows have no true value and are left out."
        )
        frame = frame[~gaps]
    if not hasattr(fitted, "classes_"):
        truth = pd.to_numeric(frame[target], errors="coerce").to_numpy(dtype=np.float64)
        known, unlike = np.isfinite(truth), "a number to compare with"
    else:
        truth = labels_like(fitted.classes_, frame[target])
        known = np.isin(truth, fitted.classes_)
        unlike = f"a class of the model, such as {fitted.classes_.tolist()[0]!r}"
    if not known.any():
        raise CommandError(f"--target: no value of {target!r} is {unlike}.")
    if not known.all():
        console.note(
            f"{target}: {int((~known).sum())} rows have values that the model does not know "
            f"({frame[target][~known].iloc[0]!r}) and are left out."
        )
    return frame[known], truth[known]


def check_reporting() -> None:
    """Report before anything slow happens that reports cannot be made."""
    try:
        import covey.reporting  # noqa: F401
    except ImportError as error:
        raise CommandError(f"a report cannot be made: {error}", 1) from None


def write_report(
    model: Any,
    X: pd.DataFrame,
    y: np.ndarray,
    path: str,
    *,
    target: str,
    baselines: list[dict],
    title: str,
    health: list[dict] | None = None,
    judgement: Any = None,
    caution: str | None = None,
    names: pd.Series | None = None,
) -> None:
    """Build a report on rows and write it, completely or not at all.

    With a `Judgement` the rows are those that it is of, and so is all that says how good it is.
    """
    from covey.cli._writing import writing
    from covey.reporting import build_report

    page = build_report(
        model,
        X,
        y,
        title=title,
        target=target,
        task="classification" if hasattr(model, "classes_") else "regression",
        baselines=baselines,
        data_health=health,
        command=shlex.join(["covey", *sys.argv[1:]]),
        judgement=judgement,
        # As in the file: the first row below the header has 1.
        row_names=X.index + 1 if names is None else names,
        caution=caution,
    )
    with writing(path):
        page.save(path)
