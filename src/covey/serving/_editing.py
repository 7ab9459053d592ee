"""Corrections that a person draws on a page: their effects, their price, and a file of them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from starlette.exceptions import HTTPException

from covey.members._correcting import correctable, curve_of, priced

# A correction: a column, the class whose probability moves, and pairs of values and effects.
Drawn = tuple[str, Any, tuple[tuple[Any, float], ...]]
# The most corrected models that are kept, for requests that add a correction to one of them.
_KEPT = 32


class Editing:
    """Corrected copies of a model, each a function of what is drawn alone.

    Requests therefore share nothing that one of them could damage for another, and the model
    itself never changes.

    Parameters
    ----------
    model : FlockClassifier or FlockRegressor
        Of linear members, fitted to a data frame.
    save : callable
        ``save(corrected)`` writes a model and says where, or raises an `OSError` that says why not.
    held_out : pair (X, y), optional
        Rows on which effects and prices are measured.
    caution : str, optional
        What a person should know of these rows.

    Attributes
    ----------
    key : str
        Who knows it may draw and save. It is told on the terminal alone.

    Examples
    --------
    >>> from covey.serving import Editing, make_app
    >>> editing = Editing(flock, save, held_out=(X, y))  # doctest: +SKIP
    >>> app = make_app(flock, editing=editing)  # doctest: +SKIP
    """

    def __init__(
        self,
        model: Any,
        save: Callable[[Any], str],
        held_out: Any = None,
        caution: str | None = None,
    ):
        self._model, self._save, self._held_out = model, save, held_out
        self.key = secrets.token_urlsafe(16)
        target = model.model_.target
        self.facts = {
            "columns": correctable(model),
            "caution": caution,
            # A change that is worth to see, where a curve is flat.
            "scale": float(target.scale) / 5 if target.is_numeric else 0.05,
        }
        self._made, self._curve = lru_cache(_KEPT)(self._make), lru_cache(_KEPT)(self._draw)

    def check(self, key: str) -> None:
        """Refuse who does not know the key."""
        if not secrets.compare_digest(key.encode(), self.key.encode()):
            told = "Open the page by the address that covey serve has printed; its end is the key."
            raise HTTPException(403, told)

    def effects(
        self, asked: Sequence[tuple[Drawn, ...]], column: str, label: Any
    ) -> list[dict[str, Any]]:
        """Return for each list of corrections the effect of a column, and what they cost."""
        values, before = self._curve((), column, label)
        answers = []
        for drawn in asked:
            done = self._made(drawn).corrections_[-len(drawn) :] if drawn else ()
            cost = None
            if drawn and self._held_out is not None:
                cost = priced(self._model, self._made(drawn), self._held_out)[-1]
            now = self._curve(drawn, column, label)[1]
            said = [one.said for one in done]
            answers.append(
                {"values": values, "before": before, "now": now, "cost": cost, "corrections": said}
            )
        return answers

    def save(self, asked: Sequence[tuple[Drawn, ...]]) -> list[dict[str, str]]:
        """Write the model with each list of corrections, and say where."""
        try:
            return [{"saved": self._save(self._made(drawn))} for drawn in asked]
        except OSError as error:
            raise HTTPException(409, str(error)) from None

    def _make(self, drawn: tuple[Drawn, ...]) -> Any:
        if not drawn:
            return self._model
        *before, (column, label, points) = drawn
        try:
            return self._made(tuple(before)).with_effect(
                column, points, label=label, held_out=self._held_out
            )
        except (TypeError, ValueError) as error:
            raise HTTPException(422, str(error)) from None

    def _draw(self, drawn: tuple[Drawn, ...], column: str, label: Any) -> tuple[Any, Any]:
        rows = None if self._held_out is None else self._held_out[0]
        try:
            values, curve = curve_of(self._made(drawn), column, label, rows)
        except (TypeError, ValueError) as error:
            raise HTTPException(422, str(error)) from None
        if not np.isfinite(curve).all():
            raise HTTPException(422, f"The effect of {column} would not be finite.")
        return values.tolist(), curve.tolist()
