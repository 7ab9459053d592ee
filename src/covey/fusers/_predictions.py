"""What members say, in the one form that fusers and measures read."""

from dataclasses import dataclass, field

import numpy as np

KINDS = ("probability", "score", "label", "value")


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predictions of K members for n samples.

    Parameters
    ----------
    values : array of shape (n_samples, n_members, width)
        The width is the number of classes, or 1 for regression.
    classes : array of shape (n_classes,), optional
        The labels of the last axis; 0, 1, ... by default.
    names : list of str, optional
        The members' names; "member 0", "member 1", ... by default.
    kind : {"probability", "score", "label", "value"}, default="probability"
        What the values are. Scores rank classes, but are not comparable between members.
    available : array of shape (n_samples, n_members), bool, optional
        Where a member has spoken; everywhere by default.
    log_values : array like ``values``, optional
        The logarithms of probabilities, where they are known better than from the
        probabilities themselves (which may have underflowed).

    Examples
    --------
    >>> import covey
    >>> P = covey.Predictions([[[0.9, 0.1], [0.4, 0.6]]], classes=["no", "yes"])
    >>> P.n_members, P.names
    (2, ['member 0', 'member 1'])
    """

    values: np.ndarray
    classes: np.ndarray | None = None
    names: list[str] | None = None
    kind: str = "probability"
    available: np.ndarray | None = None
    log_values: np.ndarray | None = field(default=None, repr=False)

    def __post_init__(self):
        values = np.asarray(self.values)
        if values.ndim != 3:
            raise ValueError(
                "Predictions need values of shape (n_samples, n_members, n_classes), "
                f"got an array of shape {values.shape}."
            )
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {self.kind!r}.")
        classes = np.arange(values.shape[2]) if self.classes is None else np.asarray(self.classes)
        if self.kind != "value" and len(classes) != values.shape[2]:
            raise ValueError(
                f"Predictions have {values.shape[2]} columns a member, "
                f"but {len(classes)} classes are named."
            )
        names = self.names
        if names is None:
            names = [f"member {k}" for k in range(values.shape[1])]
        if len(names) != values.shape[1]:
            raise ValueError(
                f"Predictions hold {values.shape[1]} members, but {len(names)} names are given."
            )
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "names", list(names))

    @property
    def n_samples(self):
        """How many samples there are."""
        return self.values.shape[0]

    @property
    def n_members(self):
        """How many members have spoken."""
        return self.values.shape[1]

    def first(self, n_members):
        """Only the first members."""
        return Predictions(
            self.values[:, :n_members],
            self.classes,
            self.names[:n_members],
            self.kind,
            None if self.available is None else self.available[:, :n_members],
            None if self.log_values is None else self.log_values[:, :n_members],
        )

    def log(self):
        """Logarithms of the probabilities, finite everywhere.

        A probability of zero counts as the smallest positive number: a veto that any other
        member's veto on the remaining classes can still answer, never a NaN.
        """
        if self.log_values is not None:
            return self.log_values
        return np.log(np.maximum(self.values, np.finfo(np.float64).tiny))

    def encode(self, y):
        """The labels ``y`` as positions in ``classes``."""
        y = np.asarray(y)
        if y.ndim != 1 or len(y) != self.n_samples:
            raise ValueError(
                f"y must hold one label for each of the {self.n_samples} samples, "
                f"got an array of shape {y.shape}."
            )
        order = np.argsort(self.classes)
        position = np.searchsorted(self.classes, y, sorter=order)
        codes = order[np.minimum(position, len(order) - 1)]
        unknown = self.classes[codes] != y
        if unknown.any():
            raise ValueError(
                f"y holds the label {y[unknown].tolist()[0]!r}, which is none of the classes "
                f"{', '.join(map(str, self.classes))}."
            )
        return codes
