"""The predictions of members, in the one form that fusers and measures read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from covey._core.fusion.rules import constant_by_counts, constant_by_spread, decision_counts
from covey._validation import check_one_each

KINDS = ("probability", "score", "label", "value")

# Probabilities saved as text or in half precision are still probabilities.
_SUM_TOLERANCE = 1e-3


class Predictions:
    """The predictions of K members for n samples.

    Make one if members are absent from some samples, or have names, classes or a kind that a plain
    array does not show.

    Parameters
    ----------
    values : array of shape (n_samples, n_members, width)
        The width is the number of classes, or 1 for regression. Labels and the numbers of
        regressors may also be given as an array of shape (n_samples, n_members).
    classes : array of shape (n_classes,), optional
        The labels of the last axis; 0, 1, ... by default, or the labels that occur.
    names : list of str, optional
        The members' names; "member 1", "member 2", ... by default.
    kind : {"probability", "score", "label", "value"}, optional
        The kind of the values. Scores rank the classes, but are not comparable between members; a
        "value" is the prediction of a regressor. By default three dimensions are probabilities,
        and two are labels.
    available : array of shape (n_samples, n_members), bool, optional
        Where a member has a prediction. By default everywhere, except where all its values of a
        sample are NaN.
    seen : array of shape (n_members, n_classes), bool, optional
        Which classes a member knows; all by default. A member abstains on a class that it never
        saw: the others decide how probable that class is.
    log_values : array like ``values``, optional
        The logarithms of probabilities, if they are more exact than the probabilities themselves
        (which may have underflowed).

    Examples
    --------
    >>> import covey
    >>> P = covey.Predictions([[[0.9, 0.1], [0.4, 0.6]]], classes=["no", "yes"])
    >>> P.n_members, P.names
    (2, ['member 1', 'member 2'])
    >>> covey.Predictions([["no", "yes", "yes"]]).labels
    array([[0, 1, 1]])
    """

    def __init__(
        self,
        values: ArrayLike,
        classes: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        kind: str | None = None,
        *,
        available: ArrayLike | None = None,
        seen: np.ndarray | None = None,
        log_values: np.ndarray | None = None,
    ) -> None:
        values = np.asarray(values)
        if kind is None:
            kind = "label" if values.ndim == 2 else "probability"
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}.")
        if kind == "value":
            values = _as_numbers(values)
        if values.ndim != 3 and not (values.ndim == 2 and kind == "label"):
            raise ValueError(
                "Predictions need values of shape (n_samples, n_members, n_classes), "
                f"got an array of shape {values.shape}."
            )
        self.kind = kind
        self.n_samples, self.n_members = values.shape[:2]
        if self.n_members == 0:
            raise ValueError("Predictions hold no member; give at least one.")
        if values.ndim == 3 and values.shape[2] == 0:
            raise ValueError("Predictions hold no class; give at least one column a member.")
        self.names = _checked_names(names, self.n_members)
        self.available = self._checked_available(available)
        self._values = self._labels = None
        if values.ndim == 2:
            values = self._mark_missing_labels(values)
            self.classes, self._labels = _encoded(values, classes)
        else:
            self._values = self._mark_missing(values.astype(np.float64, copy=False))
            self.classes = np.arange(values.shape[2]) if classes is None else np.asarray(classes)
            if kind != "value" and len(self.classes) != values.shape[2]:
                raise ValueError(
                    f"Predictions have {values.shape[2]} columns a member, "
                    f"but {len(self.classes)} classes are named."
                )
        self.log_values = log_values
        self.seen = seen
        # covey's own members need no check of their probabilities.
        self._checked = log_values is not None

    def _checked_available(self, available: ArrayLike | None) -> np.ndarray | None:
        if available is None:
            return None
        available = np.asarray(available, dtype=bool)
        if available.shape != (self.n_samples, self.n_members):
            raise ValueError(
                f"available must hold one bool for each of the {self.n_samples} samples and "
                f"{self.n_members} members, got an array of shape {available.shape}."
            )
        return available

    def _mark_missing_labels(self, labels: np.ndarray) -> np.ndarray:
        """Mark missing labels as not available, and replace them by any other label."""
        if labels.dtype.kind not in "fO":
            return labels
        if labels.dtype.kind == "f":
            missing = np.isnan(labels)
            if (labels[~missing] != np.round(labels[~missing])).any():
                raise ValueError(
                    "A two-dimensional array holds labels, but these are fractions; give "
                    "probabilities of shape (n_samples, n_members, n_classes)."
                )
        else:
            missing = np.array([[x is None or x != x for x in row] for row in labels])
        known = True if self.available is None else self.available
        missing &= known
        if not missing.any():
            return labels
        if missing.all():
            raise ValueError("All labels are missing; no member is available.")
        self.available = known & ~missing
        return np.where(missing, labels[~missing][0], labels)

    def _mark_missing(self, values: np.ndarray) -> np.ndarray:
        """Mark members with only NaN as not available; refuse members with some NaN."""
        if self.available is not None:
            # The values of members that are not available must not matter.
            values = np.where(self.available[:, :, None], values, self._filler(values))
        if not np.isnan(values.sum()):
            return values
        missing = np.isnan(values)
        absent = missing.all(axis=2)
        partly = missing.any(axis=2) & ~absent
        if partly.any() or (self.available is not None and absent.any()):
            sample, member = np.argwhere(partly if partly.any() else absent)[0]
            raise ValueError(
                f"{self.names[member]!r} has NaN among its values for sample {sample}; give all "
                "of them, or NaN for all where the member is not available."
            )
        if absent.any():
            self.available = ~absent
        return np.where(absent[:, :, None], self._filler(values), values)

    def _filler(self, values: np.ndarray) -> float:
        """Return the value for a member that is not available: equal probabilities, or 0."""
        return 0.0 if self.kind == "value" else 1.0 / values.shape[2]

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.classes)

    @property
    def row_size(self) -> int:
        """The numbers that are held for a sample."""
        return self.n_members if self._values is None else self.n_members * self._values.shape[2]

    @property
    def values(self) -> np.ndarray:
        """The values of shape (n_samples, n_members, width); labels as ones and zeros."""
        if self._values is None:
            self._values = np.eye(self.n_classes)[self._labels]
        return self._values

    @property
    def labels(self) -> np.ndarray:
        """The decision of each member, as positions in ``classes``, (n_samples, n_members)."""
        if self._labels is None:
            self._labels = argmax_last(self.values)
        return self._labels

    @property
    def given(self) -> np.ndarray:
        """The values, or the user's labels, of which `Predictions` can be made again."""
        return self.classes[self.labels] if self.kind == "label" else self.values

    @property
    def known(self) -> np.ndarray:
        """A mask of the predictions that members have, (n_samples, n_members) bool."""
        everywhere = np.broadcast_to(True, (self.n_samples, self.n_members))
        return everywhere if self.available is None else self.available

    @property
    def votes(self) -> np.ndarray:
        """Return each member's decision as ones and zeros, (n_samples, n_members, n_classes)."""
        return self.values if self.kind == "label" else np.eye(self.n_classes)[self.labels]

    @property
    def constant_members(self) -> np.ndarray:
        """Return which members are constant over these samples, (n_members,) bool.

        A member is constant if its predictions vary at most a hundredth as much as those of all
        members together: numbers by their standard deviation, others by the share of decisions
        that differ from the member's most frequent one. A member that always decides for one class
        is constant, and so are all members that predict one sample.
        """
        if self.kind == "value":
            return constant_by_spread(self.values[:, :, 0], self.available)
        counts = decision_counts(self.labels, self.available, self.n_classes)
        return constant_by_counts(counts)

    def log(self) -> np.ndarray:
        """Return logarithms of the probabilities, finite everywhere.

        A probability of zero counts as the smallest positive number: a veto that any other
        member's veto on the remaining classes can still outweigh, never a NaN.
        """
        if self.log_values is not None:
            return self.log_values
        return np.log(np.maximum(self.values, np.finfo(np.float64).tiny))

    def _part(
        self, cut: tuple[Any, ...], names: list[str], seen: np.ndarray | None
    ) -> Predictions:
        part = object.__new__(Predictions)
        part.kind, part.classes, part.names, part.seen = self.kind, self.classes, names, seen
        part._checked = self._checked
        for name in ("_values", "_labels", "log_values", "available"):
            whole = getattr(self, name)
            setattr(part, name, None if whole is None else whole[cut])
        known = part.labels if part._values is None else part._values
        part.n_samples, part.n_members = known.shape[:2]
        return part

    def rows(self, rows: Any) -> Predictions:
        """Return the predictions of some samples."""
        return self._part((rows,), self.names, self.seen)

    def where(self, known: ArrayLike) -> Predictions:
        """Return the predictions of some members for some samples, by (n_samples, n_members)."""
        known = np.asarray(known, dtype=bool)
        if self.available is not None and known.shape == self.available.shape:
            known = known & self.available
        of = self.given, self.classes, self.names, self.kind
        return Predictions(*of, available=known, seen=self.seen)

    def first(self, n_members: int) -> Predictions:
        """Return the predictions of the first members."""
        return self.members(slice(n_members))

    def members(self, members: Any) -> Predictions:
        """Return the predictions of some members, by slice or list of positions."""
        names = [self.names[k] for k in np.arange(self.n_members)[members]]
        seen = None if self.seen is None else self.seen[members]
        return self._part((slice(None), members), names, seen)

    def aligned(self, classes: np.ndarray) -> Predictions:
        """Return these predictions over other classes, which must include their own."""
        if np.array_equal(self.classes, classes):
            return self
        positions = encode_labels(self.classes, classes, "The predictions hold")
        if self._values is None:
            labels = classes[positions[self._labels]]
            return Predictions(labels, classes, self.names, self.kind, available=self.available)
        values = np.zeros((self.n_samples, self.n_members, len(classes)))
        values[:, :, positions] = self._values
        seen = np.zeros((self.n_members, len(classes)), dtype=bool)
        seen[:, positions] = True if self.seen is None else self.seen
        return Predictions(
            values, classes, self.names, self.kind, available=self.available, seen=seen
        )

    def encode(self, y: ArrayLike, unknown: str = "error") -> np.ndarray:
        """Return labels ``y`` as positions in ``classes``; -1 for others, if those are ignored.

        For predictions of kind "value" the truth is numbers, which are not changed.
        """
        y = np.asarray(y)
        what = "number" if self.kind == "value" else "label"
        check_one_each(y, self.n_samples, "y", f"{what} for each of the {{}} samples")
        if self.kind == "value":
            y = _as_floats(y, "y")
            if not np.isfinite(y).all():
                raise ValueError("y must hold finite numbers; it has NaN or infinity.")
            return y
        return encode_labels(y, self.classes, "y holds", unknown)

    def check_probabilities(self) -> None:
        """Refuse values that cannot be probabilities, by the name of the member at fault."""
        if self.kind != "probability" or self._checked:
            return
        self._checked = True
        bad = (self.values < -1e-9) | (self.values > 1 + 1e-9)
        if bad.any():
            sample, member, _ = np.argwhere(bad)[0]
            problem = f"gives {self.values[bad][0]:g} as a probability for sample {sample}"
        else:
            off = np.abs(self.values.sum(axis=2) - 1) > _SUM_TOLERANCE
            if not off.any():
                return
            sample, member = np.argwhere(off)[0]
            total = self.values[sample, member].sum()
            problem = f"gives sample {sample} probabilities that sum to {total:g}"
        raise ValueError(
            f"{self.names[member]!r} {problem}; give probabilities, or say kind='score' and use "
            "a rule for scores ('borda', 'majority')."
        )


def _as_floats(numbers: np.ndarray, owner: str) -> np.ndarray:
    try:
        return numbers.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise ValueError(
            f"{owner} must hold numbers where kind='value', got an array of {numbers.dtype}."
        ) from None


def _as_numbers(values: np.ndarray) -> np.ndarray:
    """Return the predictions of regressors, as (n, K, 1)."""
    values = _as_floats(values, "Predictions")
    if values.ndim == 2:
        values = values[:, :, None]
    if values.ndim != 3 or values.shape[2] != 1:
        raise ValueError(
            "Predictions of kind 'value' need one number for each sample and member, an array of "
            f"shape (n_samples, n_members), got one of shape {values.shape}."
        )
    return values


def _encoded(labels: np.ndarray, classes: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes of a table of labels, and the labels as positions in them."""
    if classes is None:
        highest = _highest_of_range(labels)
        if highest is not None:
            return np.arange(highest + 1), labels.astype(np.intp, copy=False)
        classes = np.unique(labels)
    classes = np.asarray(classes)
    codes = encode_labels(labels.ravel(), classes, "The predictions hold")
    return classes, codes.reshape(labels.shape)


def _highest_of_range(labels: np.ndarray) -> int | None:
    """Return the highest label, if the labels are whole numbers and all from 0 to it occur.

    Sorting millions of labels to find their classes takes longer than counting their votes. The
    first few usually show all classes.
    """
    if labels.dtype.kind not in "iu" or not labels.size:
        return None
    # Read as unsigned, a negative label is a huge one: one pass finds both ends.
    highest = int(labels.view(f"u{labels.dtype.itemsize}").max())
    first = np.unique(labels[: 1 + 4096 // labels.shape[1]])
    return highest if len(first) == highest + 1 and first[0] == 0 else None


def _checked_names(names: Sequence[str] | None, n_members: int) -> list[str]:
    if names is None:
        return [f"member {k}" for k in range(1, n_members + 1)]
    if len(names) != n_members:
        raise ValueError(
            f"Predictions hold {n_members} members, but {len(names)} names are given."
        )
    return list(names)


def argmax_last(values: np.ndarray) -> np.ndarray:
    """Return ``values.argmax(axis=-1)``, the first of equals, faster on short axes."""
    best = values[..., 0]
    winner = np.zeros(best.shape, dtype=np.intp)
    for position in range(1, values.shape[-1]):
        higher = values[..., position] > best
        winner[higher] = position
        best = np.where(higher, values[..., position], best)
    return winner


def encode_labels(
    labels: np.ndarray, classes: np.ndarray, who: str, unknown: str = "error"
) -> np.ndarray:
    """Return positions of labels in ``classes``; ``who`` begins the message about unknown ones.

    Examples
    --------
    >>> import numpy as np
    >>> from covey.fusers._predictions import encode_labels
    >>> encode_labels(np.array(["b", "a"]), np.array(["a", "b"]), "y holds")
    array([1, 0])
    """
    order = np.argsort(classes, kind="stable")
    try:
        position = np.searchsorted(classes, labels, sorter=order)
    except TypeError:
        position = np.zeros(len(labels), dtype=int)
    codes = order[np.minimum(position, len(order) - 1)]
    stray = np.broadcast_to(classes[codes] != labels, codes.shape)
    if unknown == "ignore":
        return np.where(stray, -1, codes)
    if np.any(stray):
        label = np.asarray(labels)[stray].tolist()[0]
        listed = ", ".join(map(str, classes[:10])) + (", ..." if len(classes) > 10 else "")
        raise ValueError(f"{who} the label {label!r}, which is none of the classes {listed}.")
    return codes


def align_classes(
    values: np.ndarray,
    member_classes: ArrayLike,
    classes: np.ndarray,
    fill: float = 0.0,
    who: str = "A member predicts",
) -> tuple[np.ndarray, np.ndarray]:
    """Return one member's columns, for the ensemble's classes, and which of these it has seen.

    Every class of the member must be one of the ensemble's; ``who`` begins the message if not. A
    class that the member never saw gets ``fill``.

    Examples
    --------
    >>> import numpy as np
    >>> from covey.fusers._predictions import align_classes
    >>> values, seen = align_classes(np.array([[0.3, 0.7]]), ["b", "c"], np.array(["a", "b", "c"]))
    >>> values, seen
    (array([[0. , 0.3, 0.7]]), array([False,  True,  True]))
    """
    if np.array_equal(member_classes, classes):
        return values, np.ones(len(classes), dtype=bool)
    positions = encode_labels(np.asarray(member_classes), classes, who)
    aligned = np.full((len(values), len(classes)), fill, dtype=np.float64)
    aligned[:, positions] = values
    seen = np.zeros(len(classes), dtype=bool)
    seen[positions] = True
    return aligned, seen


# All forms that `covey.fuse` takes.
Given = Predictions | ArrayLike | Mapping[str, ArrayLike]


def as_predictions(
    P: Any,
    *,
    classes: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    kind: str | None = None,
) -> Predictions:
    """Return checked `Predictions` of any saved form that `covey.fuse` takes.

    Examples
    --------
    >>> from covey.fusers._predictions import as_predictions
    >>> P = as_predictions([[[0.9, 0.1]], [[0.2, 0.8]]], classes=["no", "yes"])
    >>> P.kind, P.values.shape
    ('probability', (1, 2, 2))
    """
    if isinstance(P, Predictions):
        for name, value in (("classes", classes), ("names", names), ("kind", kind)):
            if value is not None:
                raise ValueError(f"{name} is part of the Predictions given; set it there.")
    else:
        if hasattr(P, "columns"):
            names = list(P.columns) if names is None else names
            P = np.asarray(P)
        elif isinstance(P, dict):
            names = list(P) if names is None else names
            P = list(P.values())
        if isinstance(P, list | tuple) and len(P) and np.ndim(P[0]) in (1, 2):
            P = _stacked(P, names)
        P = Predictions(P, classes, names, kind)
    P.check_probabilities()
    return P


def _stacked(arrays: Sequence[ArrayLike], names: Sequence[str] | None) -> np.ndarray:
    made = [np.asarray(array) for array in arrays]
    names = _checked_names(names, len(made))
    for array, name in zip(made, names, strict=True):
        if array.shape != made[0].shape:
            raise ValueError(
                f"{name!r} has predictions of shape {array.shape}, but {names[0]!r} of "
                f"{made[0].shape}; all members must predict the same samples and classes."
            )
    return np.stack(made, axis=1)


def concatenated(blocks: Sequence[Predictions]) -> Predictions:
    """Join predictions of different samples by the same members.

    Examples
    --------
    >>> from covey.fusers._predictions import as_predictions, concatenated
    >>> P = as_predictions([[[0.9, 0.1]], [[0.2, 0.8]]])
    >>> concatenated([P, P]).values.shape
    (2, 2, 2)
    """
    first = blocks[0]
    every = np.ones((first.n_members, first.n_classes), dtype=bool)
    seen = np.all([every if b.seen is None else b.seen for b in blocks], axis=0)
    available = np.concatenate([b.known for b in blocks])
    available = None if available.all() else available
    seen = None if seen.all() or first.kind == "label" else seen
    values = np.concatenate([b.given for b in blocks])
    how = {"available": available, "seen": seen}
    return Predictions(values, first.classes, first.names, first.kind, **how)
