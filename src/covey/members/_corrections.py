"""The records of corrections that a person made to a fitted model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from covey import _state as stored

# A refit keeps the first two.
KINDS = ("without", "with_monotone", "with_effect", "merge_categories")
KEPT = KINDS[:2]


@dataclass(frozen=True)
class Correction:
    """A correction of a model: what was done to which column, and its price on given rows.

    Attributes
    ----------
    what : {"without", "with_monotone", "with_effect", "merge_categories"}
    column : str
    said : str
        All of it in a sentence or two.
    arguments : dict
        The other arguments; for an effect also how far it is ``off`` its points at most.
    refitted : bool
        Whether the members were fitted again.
    n_rows : int
        How many given rows the price was measured on; 0 if it is not known.
    price : dict
        For each measure its value before and after, and the difference with the limits of its
        95 % interval.

    Examples
    --------
    >>> from covey.members._corrections import Correction
    >>> print(Correction("without", "postcode", "postcode is not looked at."))
    postcode is not looked at.
    """

    what: Annotated[str, stored.OneOf(*KINDS)]
    column: Annotated[str, stored.Text()]
    said: Annotated[str, stored.Text()]
    arguments: Annotated[dict[str, Any], stored.Plain(dict)] = field(default_factory=dict)
    refitted: Annotated[bool, stored.Flag()] = False
    n_rows: Annotated[int, stored.Whole()] = 0
    price: Annotated[dict[str, Any], stored.Plain(dict)] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.said
