"""Corrections that a person draws on a page: their effects, their price, and a file of them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

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
        ``save(corrected)`` writes a model and says where, or why not by an `OSError`.
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
        target, self._made = model.model_.target, lru_cache(_KEPT)(self._make)
        # A difference of effects that is worth to see, if a curve is flat.
        scale = float(target.scale) / 5 if target.is_numeric else 0.05
        self.facts = {"columns": correctable(model), "caution": caution, "scale": scale}

    def answer(
        self, asked: Sequence[tuple[Drawn, ...]], column: str, label: Any, save: bool
    ) -> list[dict[str, Any]]:
        """Return the effect of a column before and after corrections, and what they cost."""
        (drawn,), rows = asked, self._held_out and self._held_out[0]
        try:
            made = self._made(drawn)
            values, before = curve_of(self._model, column, label, rows)
            answer = {"values": values, "before": before, "cost": None, "saved": None}
            answer["now"] = curve_of(made, column, label, rows)[1]
            if drawn and self._held_out:
                answer["cost"] = priced(self._model, made, self._held_out)[-1]
            if drawn and save:
                answer["saved"] = self._save(made)
        except (OSError, TypeError, ValueError) as error:
            raise HTTPException(422, str(error)) from None
        done = made.corrections_[len(self._model.corrections_) :]
        return [{**answer, "corrections": [one.said for one in done]}]

    def _make(self, drawn: tuple[Drawn, ...]) -> Any:
        """Return the model with corrections, of which all but the last are often known."""
        if not drawn:
            return self._model
        *before, (column, label, points) = drawn
        made = self._made(tuple(before))
        return made.with_effect(column, points, label=label, held_out=self._held_out)
