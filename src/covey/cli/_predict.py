"""``covey predict``."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

from covey._number_words import signed
from covey.cli import _console
from covey.cli import _decide as decide
from covey.cli import _options as options
from covey.cli._console import CommandError, Console, as_json

if TYPE_CHECKING:
    import pandas as pd

_TOP_REASONS = 3

EXAMPLE = (
    *options.FITTED,
    "covey predict flock.covey wine.csv --proba --explain --out answers.csv",
)


_EXPLAIN = options.option("Add the reasons for and against it, and who decided.", "--explain")
_LEVEL = options.option(
    "Add the classes that a row may have, or bounds of its number, which hold the truth for this"
    " share of rows (0.9).",
    metavar="SHARE",
)
_REJECT = options.option(
    "Leave this share of rows (0.1), the least sure ones, to a person: they get no prediction.",
    metavar="SHARE",
)
_COPY = options.option("Copy a column of the table; repeatable.", metavar="COLUMN")


def predict(
    model: options.Model,
    table: options.Table,
    sheet: options.Sheet = None,
    out: options.Out = None,
    proba: Annotated[bool, options.option("Add a column for each class.", "--proba")] = False,
    explain: Annotated[bool, _EXPLAIN] = False,
    level: Annotated[float | None, _LEVEL] = None,
    reject: Annotated[float | None, _REJECT] = None,
    threshold: decide.Threshold = None,
    find: decide.Find = None,
    costs: decide.Costs = None,
    label: decide.Class = None,
    copy: Annotated[list[str] | None, _COPY] = None,
    raw: options.Raw = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Predict every row of a table, in order, for tables of any length.

    The table needs the columns that the model was fitted on, in any order; others are ignored. A
    value that is missing, or was never seen, is no reason to stop. --explain names the reasons for
    a prediction (because) and against it, in columns of the table, each with its part of the
    probability or the number, beginning with that of an average row; all columns together give the
    prediction. It also names the member that decided most; gate_share is how much of the
    prediction is due to the weights that members have on the row, from 0 (all rows have the same
    weights) to 1 (members are constant). --level and --reject go by the rows that the search for
    the model held out; --level holds for the rows of each class separately. The options
    --threshold, --find or --costs of covey fit also apply here, unless one of them is given again.
    """
    from covey.cli import _models as models
    from covey.cli._writing import TABLE_ENDINGS, check_writable, table_writer
    from covey.tables._known_columns import table_for

    console, table = Console(quiet, as_json), options.part_of(table, sheet)
    check_writable(out, TABLE_ENDINGS, inputs=(table, model))
    fitted = models.load_model(model)
    if proba and not hasattr(fitted, "classes_"):
        raise CommandError("--proba: the model predicts numbers, which have no probabilities.")
    if wanted := decide.decision_wanted(threshold, find, costs, label):
        console.note(decide.override(fitted, wanted).sentence())
    _check_promises(fitted, level, reject, console)
    n_rows, notable = 0, models.Notable(fitted)
    stream = as_json and out is None
    writer = _json_writer() if stream else table_writer(out, raw)
    with console.progress(None, "rows", out is None) as step, writer as write:
        for piece, copies in models.pieces_for(fitted, table, copy or (), console.note):
            notable.count(piece)
            piece = table_for(fitted, piece)
            write(predictions(fitted, piece, proba, explain, copies, level, reject))
            n_rows += len(piece)
            step("rows", len(piece))
    for sentence in notable.sentences():
        console.note(sentence)
    if out and not as_json:
        console.note(f"Wrote {n_rows:,} rows to {out}.")
    if stream:
        print(f'], "rows": {n_rows}, "notes": {_console.as_json(console.notes)}}}')
    else:
        console.emit(rows=n_rows, out=out)


def _check_promises(
    model: Any, level: float | None, reject: float | None, console: Console
) -> None:
    """Refuse --level and --reject if they cannot be kept; say how right the rest is."""
    classes = hasattr(model, "classes_")
    if reject is not None and not classes:
        raise CommandError("--reject: the model predicts numbers; use --level for bounds of them.")
    for name, share, method in (
        ("--level", level, "predict_set" if classes else "predict_interval"),
        ("--reject", reject, "rejection"),
    ):
        if share is None:
            continue
        if not hasattr(model, method):
            raise CommandError(
                f"{name}: a {type(model).__name__} does not know how far off it is."
            )
        if not 0 <= share < 1 or (name == "--level" and share == 0):
            raise CommandError(f"{name} must be a share between 0 and 1, got {share:g}.")
        if not hasattr(model, "calibration_"):
            raise CommandError(
                f"{name}: the model was fitted without rows held out (in Python, or it was "
                "stopped); fit it again with covey fit."
            )
    if level is not None and classes:
        always = model.calibration_.always_in_sets(level, model.classes_)
        if always:
            console.note(always)
    if reject is not None:
        found = model.rejection(reject)
        console.note(
            f"Of rows held out {found.reject:.1%} are left to a person; {found.accuracy:.1%} of "
            f"the others are right (with 95 % confidence more than {found.low:.1%})."
        )


@contextmanager
def _json_writer() -> Iterator[Any]:
    """Write frames as the records of one JSON object, which the command closes."""
    begun = False

    def write(frame: pd.DataFrame) -> None:
        nonlocal begun
        frame = frame.astype(object).where(frame.notna(), None)
        for record in frame.to_dict("records"):
            sys.stdout.write(", " if begun else '{"predictions": [')
            sys.stdout.write(as_json(record))
            begun = True

    try:
        yield write
    except BaseException as error:
        if begun:
            vars(error)["begun_json"] = "], "
        raise


def predictions(
    model: Any,
    piece: pd.DataFrame,
    proba: bool = False,
    explain: bool = False,
    copies: pd.DataFrame | None = None,
    level: float | None = None,
    reject: float | None = None,
) -> pd.DataFrame:
    """Return predictions of a data frame as a data frame, after the columns that are copied."""
    import numpy as np
    import pandas as pd

    from covey._decisions import decided

    copied = {} if copies is None else {name: copies[name] for name in copies.columns}
    made = dict(copied)
    if hasattr(model, "classes_"):
        probabilities = model.predict_proba(piece)
        labels = model.classes_[decided(model, probabilities)]
        if reject is not None:
            left = probabilities.max(axis=1) < model.rejection(reject).threshold
            labels = np.where(left, None, labels.astype(object))
        made["prediction"] = labels
        if level is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # classes that are in all sets are noted
                sets = model.predict_set(piece, level)
            made["set"] = [
                "; ".join(str(label) for label in model.classes_[one].tolist()) for one in sets
            ]
        if proba:
            for code, label in enumerate(model.classes_.tolist()):
                made[f"probability_{label}"] = probabilities[:, code]
    else:
        made["prediction"] = model.predict(piece)
        if level is not None:
            made["low"], made["high"] = model.predict_interval(piece, level).T
    if explain:
        records = model.explain(piece, top=_TOP_REASONS, max_members=1)
        for side in ("because", "against"):
            made[side] = ["; ".join(map(_reason, record[side])) for record in records]
        made["typical_row"] = [record["baseline"] for record in records]
        first = [record["members"][0] for record in records if record["members"]]
        if first:
            made["decided_by"] = [one.get("name", f"member {one['member']}") for one in first]
            made["weight"] = [round(one["weight"], 4) for one in first]
            # A number beyond the training range by itself is no prediction.
            made["member_predicts"] = [
                None if record.get("cancelling") else record["members"][0]["prediction"]
                for record in records
            ]
        if "gate_share" in records[0]:
            made["gate_share"] = [round(record["gate_share"], 4) for record in records]
    for name, values in copied.items():
        if made[name] is not values:
            raise CommandError(
                f"--copy: what is predicted has a column {name!r}, too; rename that of the table."
            )
    return pd.DataFrame(made)


def _reason(one: dict[str, Any]) -> str:
    """Write a column that speaks for or against a decision: ``age = 71 (typical 52, +0.3)``."""
    value, typical = _shown(one["value"]), _shown(one["typical"])
    return f"{one['column']} = {value} (typical {typical}, {signed(one['push'], 2)})"


def _shown(value: Any) -> str:
    if value is None or value != value:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
