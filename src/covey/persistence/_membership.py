"""What members of an ensemble must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from covey.fusers import Fuser, Predictions
from covey.persistence._errors import damaged
from covey.persistence._reading import Node


def check_names(
    model: Any, member: Any, node: Node, name: str, columns: list[str] | None = None
) -> None:
    """See that two that are given the same table know its columns by the same names.

    ``columns`` are those of a model that makes others of its table.
    """
    names, own = (getattr(one, "feature_names_in_", None) for one in (model, member))
    columns = names.tolist() if columns is None and names is not None else columns
    same = names is None or own is None or columns == own.tolist()
    node.check(same, name, "has a member that knows other columns.")


def check_member(
    model: Any,
    member: Any,
    n_features: int | None,
    node: Node,
    name: str,
    columns: list[str] | None = None,
) -> None:
    """See that a member predicts the classes, or the numbers, of its ensemble."""
    classes = getattr(model, "classes_", None)
    if n_features is not None:
        check_names(model, member, node, name, columns)
    proper = model._models.accepts(member)
    proper = proper and n_features in (None, getattr(member, "n_features_in_", -1))
    if classes is not None:
        own = getattr(member, "classes_", None)
        same = own is not None and (own.dtype.kind in "OU") == (classes.dtype.kind in "OU")
        proper = proper and same and bool(np.isin(own, classes).all())
    node.check(proper, name, "has a member that does not fit.")


def read_fuser(
    node: Node,
    example_for: Callable[[Fuser], Predictions],
    n_features: int | None,
) -> Fuser:
    """The part ``fuser``, which fuses predictions like those of an example for it.

    It is tried on the example, beside a row of ``n_features`` zeros where they are known, so that
    what does not fit the members is known now.
    """
    fuser = node.model("fuser")
    node.check(isinstance(fuser, Fuser), "fuser", "is no fuser.")
    node.check(hasattr(fuser, "classes_"), "fuser", "is not fitted.")
    try:
        example = example_for(fuser)
    except (ValueError, TypeError) as error:
        damaged(f"{node.where}.fuser", f"does not fit its members: {error}")
    fits = fuser.n_members_ == example.n_members and np.array_equal(
        fuser.classes_, example.classes
    )
    node.check(fits, "fuser", "fuses other members.")
    if fuser.needs_y:
        return fuser
    try:
        X = None if n_features is None else np.zeros((1, n_features))
        if fuser.needs_X and X is None:
            return fuser
        fused = fuser.fuse(example, X)
    except (ValueError, TypeError, IndexError, ArithmeticError) as error:
        damaged(f"{node.where}.fuser", f"does not fit its members: {error}")
    node.check(np.isfinite(fused).all(), "fuser", "does not give numbers.")
    return fuser
