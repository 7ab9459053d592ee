"""How much each feature moves each member of a flock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

if TYPE_CHECKING:
    from covey.reporting._facts import Facts


class Strength(NamedTuple):
    """How much features move members; arrays of shape (n_members, n_features)."""

    # Of linear members: how far one standard deviation of a feature moves the logits (on
    # average over the classes), or the value.
    size: np.ndarray
    # The outcome that more of a feature favors, as a position; -1 where there is no single one.
    towards: np.ndarray

    @property
    def shares(self) -> np.ndarray:
        """The sizes, scaled so that those of a member sum to one (or to zero)."""
        total = self.size.sum(axis=1, keepdims=True)
        return np.divide(self.size, total, out=np.zeros_like(self.size), where=total > 0)


def strength_of(facts: Facts) -> Strength | None:
    """The `Strength` of the members of a flock on rows; None where it is not known."""
    flock, n_features = facts.flock, facts.n_features
    # The paper's rivals have one shape of coefficients only.
    coef = getattr(flock, "member_coef_", getattr(flock, "coef_", None))
    if coef is not None and hasattr(flock, "basis_"):
        strength = _of_linear(coef * flock._column_scale, flock.basis_)
        made_of = getattr(flock, "preparation_", None)
        return strength if made_of is None else _of_features(strength, made_of)
    scale = getattr(flock, "scale_", None)
    if np.ndim(coef) == 3 and np.shape(coef)[2] == n_features and scale is not None:
        return _of_linear(coef * scale)
    size = np.zeros((facts.n_members, n_features))
    towards = np.full(size.shape, -1)
    if hasattr(flock, "_member_importances"):
        return Strength(flock._member_importances(), towards)
    for k, member in enumerate(getattr(flock, "estimators_", ())):
        own = np.ones(n_features, bool) if facts.support is None else facts.support[k]
        importances = getattr(member, "feature_importances_", None)
        if np.shape(importances) == (own.sum(),):
            size[k, own] = importances
        elif (moved := _moved_by(member, own, facts.seen)) is not None:
            size[k, own] = np.abs(moved).mean(axis=0)
            if len(moved) == len(facts.outcomes):
                towards[k, own] = moved.argmax(axis=0)
    return Strength(size, towards) if size.any() else None


def _of_features(strength: Strength, made_of: Any) -> Strength:
    """The strength of features, of which several columns are made: these have no one direction."""
    shares = made_of.shares()
    alone = (shares.sum(axis=0) == 1)[made_of.column_of]
    towards = np.full((len(strength.size), shares.shape[1]), -1)
    towards[:, made_of.column_of[alone]] = strength.towards[:, alone]
    return Strength(strength.size @ shares, towards)


def _of_linear(moved: np.ndarray, basis: Any = None) -> Strength:
    """Strength of linear members that move outputs (K, C, columns) by one deviation."""
    if moved.shape[1] == 1:
        # A value moves up or down: two opposite outcomes of the same size.
        moved = np.concatenate([-moved, moved], axis=1)
    # Softmax ignores what all classes share.
    moved = moved - moved.mean(axis=1, keepdims=True)
    size = np.abs(moved).mean(axis=1)
    if basis is None or basis.is_plain:
        return Strength(size, moved.argmax(axis=1))
    # Features and ramps rise with the feature; what products do depends on the other one.
    rising = moved * (basis.partner < 0)
    trend = np.stack([[basis.on_features(of_class) for of_class in member] for member in rising])
    products = np.stack([basis.on_features(one * (basis.partner >= 0)) for one in size])
    size = np.stack([basis.on_features(one) for one in size])
    unclear = (products > size / 2) | (np.abs(trend).max(axis=1) == 0)
    return Strength(size, np.where(unclear, -1, trend.argmax(axis=1)))


def _moved_by(member: Any, own: np.ndarray, seen: Any) -> np.ndarray | None:
    """How one deviation of each of its features moves a linear member; None for others."""
    last = member.steps[-1][1] if isinstance(member, Pipeline) else member
    coef = getattr(last, "coef_", None)
    if coef is None or np.ndim(coef) not in (1, 2) or hasattr(seen, "tocsr"):
        return None
    one_value = np.ndim(coef) == 1
    coef = np.atleast_2d(coef)
    if coef.shape[1] != own.sum():
        return None
    try:
        rows = seen if own.all() else np.asarray(seen)[:, own]
        if last is not member:
            rows = member[:-1].transform(rows)
        spread = np.asarray(rows, dtype=np.float64).std(axis=0)
    except (TypeError, ValueError):
        # Rows of other things than numbers have no deviation.
        return None
    moved = coef * np.where(np.isfinite(spread), spread, 0.0)
    if len(moved) == 1:
        moved = np.vstack([-moved, moved]) / (1 if one_value else 2)
    return moved - moved.mean(axis=0)
