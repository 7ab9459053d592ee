"""How one class is written and read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from covey._state import has_state, stored_fields, stored_parameters
from covey.persistence._errors import NotCoveredError, damaged
from covey.persistence._reading import Node
from covey.persistence._writing import Writer


@dataclass(frozen=True)
class Format:
    """A class, and the two functions that take its objects apart and make them again."""

    cls: type
    write: Callable[[Any, Writer], dict[str, Any]]
    read: Callable[[Node], Any]


def declared_format(cls: type) -> Format:
    """The format of a class that declares its fields: of an estimator beside its parameters.

    A class all of whose parameters are declared is made of them.
    """
    arguments = inspect.signature(cls).parameters
    if arguments and arguments.keys() <= stored_fields(cls).keys():
        return Format(cls, lambda one, out: out.fields(one, cls), lambda node: node.made(cls)[0])
    special = stored_parameters(cls)
    models = {name: one.model for name, one in special.items() if one.model is not None}
    lists = [name for name, one in special.items() if one.members]

    def write(model: Any, out: Writer) -> dict[str, Any]:
        why = _why_not(model)
        if why is not None:
            raise NotCoveredError(f"a {cls.__name__} {why}")
        return {
            "parameters": out.parameters(model, models, lists),
            "fitted": out.fields(model, cls) if has_state(model) else None,
        }

    return Format(cls, write, _reader(cls, lambda model, node: node.state(model), models, lists))


def _why_not(model: Any) -> str | None:
    """What a file would not tell of a model, or what no model of a file has."""
    return getattr(model, "_why_not_stored", lambda: None)()


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

    return Format(cls, write_all, _reader(cls, read, models, lists))


def _reader(
    cls: type,
    read: Callable[[Any, Node], None],
    models: Mapping[str, type],
    lists: Collection[str],
) -> Callable[[Node], Any]:
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
        why = _why_not(estimator)
        if why is not None:
            damaged(node.where, f"is a {cls.__name__} {why}.")
        if not node.none("fitted"):
            with node.child("fitted") as inner:
                read(estimator, inner)
        return estimator

    return read_all
