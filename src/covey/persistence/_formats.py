"""How one class is written and read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from covey.persistence._errors import damaged
from covey.persistence._reading import Node
from covey.persistence._writing import Writer


@dataclass(frozen=True)
class Format:
    """A class, and the two functions that take its objects apart and make them again."""

    cls: type
    write: Callable[[Any, Writer], dict[str, Any]]
    read: Callable[[Node], Any]


def estimator_format(
    cls: type,
    fitted: str,
    write: Callable[[Any, Writer], dict[str, Any]],
    read: Callable[[Any, Node], None],
    *,
    models: Mapping[str, type] | None = None,
    lists: Collection[str] = (),
) -> Format:
    """The format of an estimator: its parameters, and what ``fit`` has learnt.

    ``fitted`` is the attribute that a fitted one has. ``write`` gives what it has learnt as an
    object of the document, and ``read`` checks that and sets it. ``models`` are the parameters
    that may be models, with the class that each must have, and ``lists`` those that are lists of
    members.
    """
    models = models or {}

    def write_all(estimator: Any, out: Writer) -> dict[str, Any]:
        written = {"parameters": out.parameters(estimator, models, lists), "fitted": None}
        if hasattr(estimator, fitted):
            written["fitted"] = write(estimator, out)
        return written

    def read_all(node: Node) -> Any:
        parameters = node.parameters(cls, models, lists)
        for name, wanted in models.items():
            value = parameters.get(name)
            if hasattr(value, "get_params") and not isinstance(value, wanted):
                damaged(f"{node.where}.{name}", f"is no {wanted.__name__}.")
        try:
            estimator = cls(**parameters)
        except TypeError:
            damaged(node.where, "lacks a parameter.")
        if not node.none("fitted"):
            with node.child("fitted") as inner:
                read(estimator, inner)
        return estimator

    return Format(cls, write_all, read_all)
