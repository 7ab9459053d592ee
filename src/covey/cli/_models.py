"""Models in and out of files, and values that they have not seen."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd

from covey._files import replacing
from covey.cli._console import CommandError
from covey.cli._problem import Problem, check_column, row_hashes
from covey.cli._reading import read_pieces
from covey.cli._sources import opening
from covey.cli._text_tables import Note, ignored
from covey.cli._writing import writing
from covey.evaluation import Evaluation
from covey.evaluation._held_out import HeldOut
from covey.tables._encoders import Text
from covey.tables._kinds import listed
from covey.tables._known_columns import encoders_of, formats_of, kinds_of, table_for

# The most training rows of which a model keeps hashes.
_MOST_ROWS_REMEMBERED = 20_000
# How many strange rows are named; the others are counted.
_MOST_NAMED = 5


def keep_evaluation(
    model: Any,
    problem: Problem,
    evaluation: Evaluation,
    rows: pd.DataFrame,
    held_out: HeldOut | None = None,
) -> None:
    """Keep with a model its evaluation, and hashes of the rows that it was fitted on."""
    # Single rows of the table must not reach those who get the model.
    model.evaluation_ = evaluation.without_rows()
    formats = {name: form for name, form in problem.formats.items() if name in problem.kinds}
    predicts_by = model.model_
    model.model_ = replace(predicts_by, table=predicts_by.table.with_formats(formats))
    calibrate = getattr(model, "_calibrate_out_of_fold", None)
    if held_out is not None and calibrate is not None:
        # Sets, bounds and rows for a person then use the same rows as the scores.
        calibrate(held_out.y, held_out.predictions)
    model.seen_ = np.unique(row_hashes(rows.head(_MOST_ROWS_REMEMBERED), kinds_of(model)))


def save_model(model: Any, path: str, rows: pd.DataFrame, keeps_rows: bool = True) -> None:
    """Save a model, once a draft of the file was loaded and predicts as the model does.

    The first of some rows is predicted by both. If anything fails, an earlier file remains. The
    file has training rows only if it ``keeps_rows``.
    """
    from covey.persistence import ModelFileError, load, save

    try:
        with writing(path), replacing(path) as draft:
            save(model, draft, rows=keeps_rows)
            again = load(draft)
            predicted, wanted = (predictions_of(one, rows.head(1)) for one in (again, model))
            if not np.array_equal(predicted, wanted):
                raise CommandError(
                    f"{path} was not written: what is loaded from it does not predict what the "
                    "model does; please report that.",
                    1,
                )
    except ModelFileError as error:
        raise CommandError(str(error), 1) from None


def predictions_of(model: Any, rows: pd.DataFrame) -> np.ndarray:
    """Return probabilities, or numbers of a regressor."""
    rows = table_for(model, rows)
    return model.predict_proba(rows) if hasattr(model, "classes_") else model.predict(rows)


def load_model(path: str) -> Any:
    """Load a model of a table from a file of ``covey fit``."""
    from covey.members._base_flock import Flock
    from covey.persistence import ModelFileError, load

    try:
        with opening(path, "model", "; covey fit makes one"):
            model = load(path)
    except ModelFileError as error:
        raise CommandError(str(error)) from None
    if not isinstance(model, Flock) or not hasattr(model, "feature_names_in_"):
        raise CommandError(
            f"{path} holds a {type(model).__name__} that was not fitted to the columns of a "
            "table; give a file that covey fit has saved, or use covey.load in Python."
        )
    return model


def number_columns(model: Any) -> set[str]:
    """Return the columns of numbers that a model needs."""
    return {name for name, kind in kinds_of(model).items() if kind == "number"}


def pieces_for(
    model: Any, path: str, copy: Sequence[str] = (), note: Note = ignored
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Yield rows with the columns that a model needs, some at a time, and those to copy."""
    n_rows = 0
    for piece, copies in read_pieces(
        path,
        number_columns(model),
        {*model.feature_names_in_, *copy},
        copy=copy,
        formats=formats_of(model),
        note=note,
    ):
        if not n_rows:
            check_needed(model, piece.columns, path)
            for name in copy:
                check_column(piece, name, "--copy")
        n_rows += len(piece)
        yield piece, copies
    if not n_rows:
        raise CommandError(f"{path} has a header but no rows.")


def check_needed(model: Any, names: Collection[str], path: str) -> None:
    """Name the columns that a table lacks, and how many of the needed ones it has."""
    needed = list(model.feature_names_in_)
    absent = [name for name in needed if name not in set(names)]
    if not absent:
        return
    if len(absent) == len(needed):
        missing = listed(absent).partition(" ")[2]
        raise CommandError(
            f"{path} has none of the {len(needed)} columns that the model needs ({missing}); "
            "is it another table's model?"
        )
    raise CommandError(f"{path} lacks the {listed(absent)}, which the model needs.")


def truth_of(values: pd.Series, classes: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return a target's values as a model's classes, or as numbers; and which are known."""
    if classes is None or np.issubdtype(classes.dtype, np.number):
        truth = pd.to_numeric(values, errors="coerce").to_numpy(np.float64)
        return truth, np.isfinite(truth) if classes is None else np.isin(truth, classes)
    known = values.notna().to_numpy()
    if pd.api.types.is_float_dtype(values.dtype) and (values[known] % 1 == 0).all():
        values = values.astype("Int64")
    truth = values.astype(str).to_numpy(dtype=object)
    return truth, known & np.isin(truth, classes)


class Notable:
    """Counts, over the pieces of a table, of values that a model has not seen."""

    def __init__(self, model: Any):
        known = encoders_of(model).items()
        self._model, self._encoders = model, {name: one for name, one in known if one is not None}
        self._ranges = {
            seen.name: (seen.values[0], seen.values[-1])
            for seen in model._seen_columns.columns
            if seen.kind == "number" and seen.values
        }
        self._unread: dict[str, tuple[int, int, Any]] = {}
        self._far: list[str] = []
        self._empty: list[int] = []
        self._n_rows = self._n_far = self._n_empty = 0

    def count(self, piece: pd.DataFrame) -> Self:
        """Count unreadable, far, unknown and empty values in the next rows."""
        for name, encoder in self._encoders.items():
            if isinstance(encoder, Text):
                continue
            values = encoder.present(piece[name])
            read = encoder.numbers(values)
            count, total, example = self._unread.get(name, (0, 0, None))
            more, among, other = encoder.unread(values, read)
            self._unread[name] = count + more, total + among, other if example is None else example
            # Beyond the range that the model has seen by more than its width.
            low, high = self._ranges.get(name, (np.nan, np.nan))
            width, numbers = high - low or max(1.0, abs(high)), read[:, 0]
            far = np.flatnonzero((numbers < low - width) | (numbers > high + width))
            self._n_far += len(far)
            self._far += [
                f"row {self._n_rows + row + 1:,}: {name} = {numbers[row]:g} is far outside of "
                f"what the model has seen ({low:g} to {high:g})"
                for row in far[: max(0, _MOST_NAMED - len(self._far))]
            ]
        gaps = piece[self._model.feature_names_in_.tolist()].isna().to_numpy()
        empty = np.flatnonzero(gaps.all(axis=1)) + self._n_rows + 1
        self._n_empty += len(empty)
        self._empty += empty[: max(0, _MOST_NAMED - len(self._empty))].tolist()
        self._n_rows += len(piece)
        return self

    def sentences(self) -> Iterator[str]:
        """Yield the findings as sentences for the user."""
        for name, (count, total, example) in self._unread.items():
            if count:
                yield self._encoders[name].told(name, count, total, example)
        left = self._n_far - len(self._far)
        if left:
            self._far[-1] += f"; so are {left:,} more values"
        yield from (f"{sentence}." for sentence in self._far)
        if self._empty:
            named = ", ".join(f"{row:,}" for row in self._empty)
            more, one = self._n_empty - len(self._empty), self._n_empty == 1
            yield (
                f"{'row' if one else 'rows'} {named}{f' and {more:,} more' if more else ''} "
                f"{'has' if one else 'have'} no value in any column that the model needs; what is "
                "predicted is for a typical row."
            )
