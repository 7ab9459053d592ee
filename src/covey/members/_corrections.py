"""The records of corrections that a person made to a fitted model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from covey import _state as stored
from covey._number_words import counted, listed, number, signed

# The measures of a price, in words.
_MEASURES = {"accuracy": "accuracy", "log_loss": "log-loss", "r2": "R²", "mae": "mean error"}
# The most points of a curve that a sentence names.
_MOST_SHOWN = 5
KINDS = ("without", "with_effect", "with_monotone", "merge_categories")


@dataclass(frozen=True)
class Correction:
    """A correction of a model: what was done to which column, and its price on rows held out.

    Attributes
    ----------
    what : {"without", "with_effect", "with_monotone", "merge_categories"}
    column : str
    arguments : dict
        The other arguments; for an effect also how far it is ``off`` its points at most, and the
        number of ``rows`` on which that was measured.
    refitted : bool
        Whether the members were fitted again.
    n_rows : int
        How many rows held out the price was measured on; 0 if it is not known.
    price : dict
        For each measure: its value before and after, and the difference with the limits of its
        95 % interval.

    Examples
    --------
    >>> from covey.members._corrections import Correction
    >>> print(Correction("without", "postcode", {"typical": 4050}))
    postcode is not looked at: it counts as 4050 in every row. The cost of that is not known.
    """

    what: Annotated[str, stored.OneOf(*KINDS)]
    column: Annotated[str, stored.Text()]
    arguments: Annotated[dict[str, Any], stored.Plain(dict)] = field(default_factory=dict)
    refitted: Annotated[bool, stored.Flag()] = False
    n_rows: Annotated[int, stored.Whole()] = 0
    price: Annotated[dict[str, Any], stored.Plain(dict)] = field(default_factory=dict)

    def _restored(self) -> None:
        try:
            str(self)
        except (KeyError, TypeError, ValueError, IndexError):
            stored.refuse("arguments", "are not those of a correction.")

    def __str__(self) -> str:
        return f"{self.done()}. {self._cost()}"

    def done(self) -> str:
        """Return in words what was done, without the price."""
        how, column = self.arguments, self.column
        again = "; the members were fitted again" if self.refitted else ""
        if self.what == "without":
            typical = "missing" if how["typical"] is None else how["typical"]
            return f"{column} is not looked at{again or f': it counts as {typical} in every row'}"
        if self.what == "with_monotone":
            never = "fall" if how["direction"] > 0 else "rise"
            return f"{column}: no prediction {never}s when it rises"
        if self.what == "merge_categories":
            words = [repr(word) for word in how["categories"] if word != how["into"]]
            verb = "counts" if len(words) == 1 else "count"
            return f"{column}: {listed(words)} {verb} as {how['into']!r}{again}"
        shown = [
            f"{at if isinstance(at, str) else number(at)}: {signed(by)}"
            for at, by in how["points"]
        ]
        of = "" if how["label"] is None else f" on the probability of {how['label']!r}"
        more = [f"{len(shown) - _MOST_SHOWN} more points"] if len(shown) > _MOST_SHOWN else []
        return (
            f"{column}: its effect{of} goes through {listed(shown[:_MOST_SHOWN] + more)} (at most "
            f"{number(how['off'], 2)} off, on {counted(how['rows'], 'row')})"
        )

    def _cost(self) -> str:
        if not self.price:
            return "The cost of that is not known."
        parts = [
            f"{_MEASURES[name]} {number(after)} instead of {number(before)} "
            f"({signed(change)}; 95 %: {signed(low)} to {signed(high)})"
            for name, (before, after, change, low, high) in self.price.items()
        ]
        return f"On {counted(self.n_rows, 'row')} held out: {', '.join(parts)}."
