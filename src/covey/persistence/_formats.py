"""How one class is written and read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
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


def declared_format(cls: type, said_by: type | None = None) -> Format:
    """The format of a class whose fields are declared: of an estimator beside its parameters.

    A class of others is spoken for by another class. One all of whose parameters are declared is
    made of them.
    """
    by = cls if said_by is None else said_by
    arguments = inspect.signature(cls).parameters
    if arguments and arguments.keys() <= stored_fields(by).keys():
        return Format(cls, lambda one, out: out.fields(one, by), lambda node: node.made(cls)[0])
    special = stored_parameters(by)
    models = {name: one.model for name, one in special.items() if one.model is not None}
    lists = [name for name, one in special.items() if one.members]
    why_not = getattr(by, "_why_not_stored", lambda model: None)

    def write(model: Any, out: Writer) -> dict[str, Any]:
        why = why_not(model)
        if why is not None:
            raise NotCoveredError(f"a {cls.__name__} {why}")
        return {
            "parameters": out.parameters(model, models, lists),
            "fitted": out.fields(model, by) if has_state(model, by) else None,
        }

    def read(node: Node) -> Any:
        parameters = node.parameters(cls, models, lists)
        for name, wanted in models.items():
            value = parameters.get(name)
            if hasattr(value, "get_params") and not isinstance(value, wanted):
                damaged(f"{node.where}.{name}", f"is no {wanted.__name__}.")
        try:
            model = cls(**parameters)
        except TypeError:
            damaged(node.where, "lacks a parameter.")
        why = why_not(model)
        if why is not None:
            damaged(node.where, f"is a {cls.__name__} {why}.")
        if not node.none("fitted"):
            with node.child("fitted") as inner:
                inner.state(model, by)
        return model

    return Format(cls, write, read)


def estimator_format(
    cls: type,
    fitted: str,
    write: Callable[[Any, Writer], dict[str, Any]],
    read: Callable[[Any, Node], None],
    *,
    models: Mapping[str, type] | None = None,
    why_not: Callable[[Any], str | None] = lambda model: None,
) -> Format:
    """The format of an estimator: its parameters, and what ``fit`` has learnt.

    ``fitted`` is the attribute that a fitted one has. ``write`` gives what it has learnt as an
    object of the document, and ``read`` checks that and sets it. ``models`` are the parameters
    that may be models, and ``why_not`` says of an estimator why no file can hold it.
    """
    models = models or {}

    def write_all(estimator: Any, out: Writer) -> dict[str, Any]:
        why = why_not(estimator)
        if why is not None:
            raise NotCoveredError(f"a {cls.__name__} {why}")
        written = {"parameters": out.parameters(estimator, models), "fitted": None}
        if hasattr(estimator, fitted):
            written["fitted"] = write(estimator, out)
        return written

    def read_all(node: Node) -> Any:
        estimator = cls(**node.parameters(cls, models))
        why = why_not(estimator)
        node.check(why is None, "parameters", f"are those of a {cls.__name__} {why}.")
        if not node.none("fitted"):
            with node.child("fitted") as inner:
                read(estimator, inner)
        return estimator

    return Format(cls, write_all, read_all)
