"""The way to write and read one class."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from covey._state import has_state, stored_fields, stored_parameters
from covey.persistence._nodes import Node
from covey.persistence._refusals import NotCoveredError, damaged
from covey.persistence._writer import Writer


@dataclass(frozen=True)
class Format:
    """A class, and the two functions that take its objects apart and make them again."""

    cls: type
    write: Callable[[Any, Writer], dict[str, Any]]
    read: Callable[[Node], Any]


def declared_format(cls: type, said_by: type | None = None) -> Format:
    """Return the format of a class with declared fields: of an estimator beside its parameters.

    Another class declares the fields of a foreign class. A class that needs arguments is made from
    its fields.
    """
    by = cls if said_by is None else said_by
    arguments = inspect.signature(cls).parameters.values()
    needed = {one.name for one in arguments if one.default is one.empty}
    if needed and needed <= stored_fields(by).keys():
        return Format(
            cls, lambda one, out: out.fields(one, by), lambda node: node.made(by, make=cls)[0]
        )
    special = stored_parameters(by)
    return estimator_format(
        cls,
        lambda model: has_state(model, by),
        lambda model, out: out.fields(model, by),
        lambda model, node: node.state(model, by),
        models={name: one.model for name, one in special.items() if one.model is not None},
        lists=[name for name, one in special.items() if one.members],
        why_not=getattr(by, "_why_not_stored", lambda model: None),
    )


def estimator_format(
    cls: type,
    fitted: str | Callable[[Any], bool],
    write: Callable[[Any, Writer], dict[str, Any]],
    read: Callable[[Any, Node], None],
    *,
    models: Mapping[str, type] | None = None,
    lists: Collection[str] = (),
    why_not: Callable[[Any], str | None] = lambda model: None,
) -> Format:
    """Return the format of an estimator: its parameters, and the results of ``fit``.

    ``fitted`` says whether one is fitted, or names the attribute that it then has. ``write``
    returns the results of its fit as an object of the document, and ``read`` checks and sets them.
    ``models`` are the parameters that may be models of a class, ``lists`` those that may be lists
    of members, and ``why_not`` says why no file can hold an estimator.
    """
    models = models or {}

    def write_all(model: Any, out: Writer) -> dict[str, Any]:
        why = why_not(model)
        if why is not None:
            raise NotCoveredError(f"a {cls.__name__} {why}")
        is_fitted = hasattr(model, fitted) if isinstance(fitted, str) else fitted(model)
        return {
            "parameters": out.parameters(model, models, lists),
            "fitted": write(model, out) if is_fitted else None,
        }

    def read_all(node: Node) -> Any:
        parameters = node.parameters(cls, models, lists)
        for name, wanted in models.items():
            value = parameters.get(name)
            proper = not hasattr(value, "get_params") or isinstance(value, wanted)
            node.check(proper, name, f"is no {wanted.__name__}.")
        try:
            model = cls(**parameters)
        except TypeError:
            damaged(node.where, "lacks a parameter.")
        why = why_not(model)
        node.check(why is None, "parameters", f"are those of a {cls.__name__} {why}.")
        if not node.none("fitted"):
            with node.child("fitted") as inner:
                read(model, inner)
        return model

    return Format(cls, write_all, read_all)
