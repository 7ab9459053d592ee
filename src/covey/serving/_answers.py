"""The answers of a model to rows, and the reasons for them, in the form of JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.exceptions import HTTPException

from covey._decisions import decided
from covey.evaluation._checking import RowCounts
from covey.inspection._row_card import unusual_words
from covey.serving._columns import Column
from covey.tables._categories import gap_word

if TYPE_CHECKING:
    import pandas as pd

_MOST_MEMBERS = 8
# Rows are counted anew after so many; until a tenth of it is reached, those before are told.
_ROWS_COUNTED = 100_000


class Answers:
    """Answers of a model to rows, each a dictionary of the model's columns.

    Parameters
    ----------
    model : FlockClassifier or FlockRegressor
        Fitted to a data frame.
    columns : sequence of Column
    """

    def __init__(self, model: Any, columns: Sequence[Column]):
        self._model, self._columns = model, columns
        # Counts of the last rows, those of the rows before, and who may write them.
        self._counts: RowCounts | None = None
        self._counted: RowCounts | None = None
        self._counting = Lock()
        self.classes = model.classes_.tolist() if hasattr(model, "classes_") else None

    def frame(self, rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
        """Return rows as a table that the model takes."""
        import pandas as pd

        made: dict[str, Any] = {}
        for one in self._columns:
            values = [row[one.name] for row in rows]
            if one.kind == "number":
                made[one.name] = np.array(values, dtype=np.float64)  # None becomes NaN
            elif one.dates is None:
                made[one.name] = pd.Series(values, dtype=object)
            else:
                dates = pd.Series(np.array(values, dtype="datetime64[us]"))
                made[one.name] = dates.dt.tz_localize(UTC) if one.dates.time_zone else dates
        return pd.DataFrame(made)

    def count(self, rows: Sequence[dict[str, Any]], made: Sequence[dict[str, Any]]) -> None:
        """Count rows that were predicted, and the answers, for `check`; none of them is kept."""
        if self.classes is None:
            said = np.array([one["prediction"] for one in made])
        else:
            said = np.array([[*one["probabilities"].values()] for one in made])
        with self._counting:
            if self._counts is None or self._counts.n_rows >= _ROWS_COUNTED:
                self._counted, self._counts = self._counts, RowCounts(self._model)
            self._counts.add(self.frame(rows), examples=False, said=said)

    def check(self) -> dict[str, Any]:
        """Return whether the model still holds on the last rows that were predicted."""
        with self._counting:
            counts = self._counts
            if counts is None:
                raise HTTPException(503, "No row was predicted yet that could be checked.")
            if counts.n_rows < _ROWS_COUNTED // 10 and self._counted is not None:
                counts = self._counted
            return counts.found().as_dict()

    def remarks(self, row: dict[str, Any]) -> list[str]:
        """Return what a user should know of a row: the values that the model has never seen."""
        if all(value is None for value in row.values()):
            return ["All values are missing: the answer is that for a typical row."]
        made = []
        for one in self._columns:
            value = row[one.name]
            if value is None or not one.used or gap_word(value) in one.gaps:
                continue
            known = one.categories if one.kind == "category" else None
            made.append(unusual_words(one.name, value, (one.low, one.high), known))
        return [f"{said}." for said in made if said]

    def predict(
        self, rows: Sequence[dict[str, Any]], level: float | None = None
    ) -> list[dict[str, Any]]:
        """Return the answer for each row, with a level also a set of classes, or bounds."""
        model, classes = self._model, self.classes
        if level is not None and not hasattr(model, "calibration_"):
            raise HTTPException(
                422,
                "level: the model does not know how far off it is; leave level out, or fit a "
                "flock with covey fit.",
            )
        numbers = self.frame(rows)
        values = model.predict(numbers) if classes is None else model.predict_proba(numbers)
        if not np.isfinite(values).all():
            raise HTTPException(422, "The model has no finite answer for values of this size.")
        made: list[dict[str, Any]] = [{"prediction": value} for value in values.tolist()]
        if classes is not None:
            made = [
                {
                    "prediction": classes[best],
                    "probability": row[best],
                    "probabilities": dict(zip(map(str, classes), row, strict=True)),
                }
                for row, best in zip(values.tolist(), decided(model, values), strict=True)
            ]
        if level is not None and classes is not None:
            for answer, own in zip(made, model.predict_set(numbers, level), strict=True):
                answer["set"] = [classes[place] for place in np.flatnonzero(own)]
        elif level is not None:
            bounds = model.predict_interval(numbers, level).tolist()
            for answer, own in zip(made, bounds, strict=True):
                # If too few rows were held out, there are no bounds.
                finite = (bound if math.isfinite(bound) else None for bound in own)
                answer.update(zip(("low", "high"), finite, strict=True))
        for answer, row in zip(made, rows, strict=True):
            answer["remarks"] = self.remarks(row)
        return made

    def explain(
        self, rows: Sequence[dict[str, Any]], level: float | None, top: int
    ) -> list[dict[str, Any]]:
        """Return for each row the answer, what moved it, and who decided."""
        told = self._model.explain(self.frame(rows), top=top, max_members=_MOST_MEMBERS)
        parts = ("baseline", "because", "against", "other", "members")
        # Members whose sum alone is possible have no answers of their own.
        return [
            {"answer": answer, **{name: record[name] for name in parts}}
            | ({"members": []} if record.get("cancelling") else {})
            for answer, record in zip(self.predict(rows, level), told, strict=True)
        ]

    def smallest_changes(
        self, rows: Sequence[dict[str, Any]], fixed: Sequence[str], to: Any
    ) -> list[dict[str, Any]]:
        """Return for each row the smallest change that changes the answer, if there is one."""
        made = []
        for row in rows:
            found = self._model.smallest_change(self.frame([row]), to=to, fixed=fixed)
            answer = {} if found is None else {"changes": found.changes, **found.after}
            made.append(
                {name: answer.get(name) for name in ("changes", "prediction", "probability")}
            )
        return made

    def wanted(self, to: Any) -> Any:
        """Return the wanted answer in the model's own type."""
        if self.classes is None:
            if isinstance(to, bool | str | None):
                raise HTTPException(422, "to: give the number that the prediction is to reach.")
            return to
        same = [label for label in self.classes if label == to or str(label) == str(to)]
        if to is not None and not same:
            raise HTTPException(422, f"to: {str(to)[:100]!r} is not a class of the model.")
        return None if to is None else same[0]
