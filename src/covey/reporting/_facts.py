"""What there is to say about a flock, as plain numbers: nothing here is drawn."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.pipeline import Pipeline

from covey._blocks import take_rows
from covey._core.inspection.bounds import binomial_limits
from covey.members import SubsetEnsembleClassifier
from covey.reporting._inputs import ReportInputs

CONFIDENCE = 0.95

# Everything about single members is told from so many rows at most; accuracy from all.
MOST_ROWS = 5000

# A probability of zero has no logarithm.
_LEAST = 1e-15


def limits(n_right, n_rows):
    """Exact limits of a share of rows."""
    low, high = binomial_limits(np.array([n_right]), n_rows, (1.0 - CONFIDENCE) / 2)
    return float(low[0]), float(high[0])


@dataclass(frozen=True, eq=False)
class Strength:
    """How much features move members.

    Attributes
    ----------
    size : ndarray of shape (n_members, n_features)
        Of linear members: how far one standard deviation moves the logits, on average.
    towards : ndarray of shape (n_members, n_features)
        The class that more of a feature speaks for, as a position; -1 where none is plain.
    """

    size: np.ndarray
    towards: np.ndarray


class Facts:
    """A flock on some rows.

    Attributes
    ----------
    asked : ReportInputs
    probabilities : ndarray of shape (n_rows, n_classes)
    predicted : ndarray of shape (n_rows,)
        As positions of classes.
    sample : ndarray
        The rows that members are judged on; all, unless there are too many.
    P : Predictions
        What members say of the sample.
    importance : ndarray of shape (n_sample, n_members)
    """

    def __init__(self, asked: ReportInputs):
        self.asked, self.flock = asked, asked.flock
        self.classes = [str(label) for label in asked.classes]
        self.features, self.codes = asked.features, asked.codes
        self.n_rows, self.n_classes = len(self.codes), len(self.classes)
        self.probabilities = self.flock.predict_proba(asked.seen)
        self.predicted = self.probabilities.argmax(axis=1)
        self.right = self.predicted == self.codes
        self.sample = np.arange(self.n_rows)
        if self.n_rows > MOST_ROWS:
            self.sample = np.linspace(0, self.n_rows - 1, MOST_ROWS).astype(np.intp)
        self.seen = take_rows(asked.seen, self.sample)
        self.P = self.flock._predictions(self.flock._check_rows(self.seen))
        self.importance = self.flock.explain_fusion(self.seen)
        self.names = [str(name) for name in self.P.names]
        self.n_members = self.P.n_members

    # -- the whole -------------------------------------------------------------------------

    @property
    def n_right(self):
        """How many rows are predicted rightly."""
        return int(self.right.sum())

    @property
    def accuracy(self):
        """The share of rows that are."""
        return self.n_right / self.n_rows

    @property
    def accuracy_limits(self):
        """Between what the accuracy on new rows lies."""
        return limits(self.n_right, self.n_rows)

    @cached_property
    def log_loss(self):
        """Mean negative logarithm of the true class's probability."""
        of_truth = self.probabilities[np.arange(self.n_rows), self.codes]
        return float(-np.log(np.clip(of_truth, _LEAST, 1.0)).mean())

    @cached_property
    def brier(self):
        """Mean squared distance of the probabilities from the truth, over all classes."""
        truth = np.eye(self.n_classes)[self.codes]
        return float(((self.probabilities - truth) ** 2).sum(axis=1).mean())

    @cached_property
    def confusion(self):
        """How often each class (row) is called each (column)."""
        pairs = self.codes * self.n_classes + self.predicted
        return np.bincount(pairs, minlength=self.n_classes**2).reshape(self.n_classes, -1)

    @property
    def most_common(self):
        """The most common class of these rows, and its share."""
        counts = np.bincount(self.codes, minlength=self.n_classes)
        return int(counts.argmax()), float(counts.max() / self.n_rows)

    # -- the members -----------------------------------------------------------------------

    @cached_property
    def spoken(self):
        """Where each member has spoken, (n_sample, n_members)."""
        if self.P.available is None:
            return np.ones((len(self.sample), self.n_members), dtype=bool)
        return self.P.available

    @property
    def all_spoke(self):
        """Whether every member speaks of every row."""
        return bool(self.spoken.all())

    @cached_property
    def member_right(self):
        """Where each member is right, (n_sample, n_members)."""
        return (self.P.labels == self.codes[self.sample][:, None]) & self.spoken

    @cached_property
    def member_accuracy(self):
        """Of the rows that each member speaks of; NaN if there are none."""
        return _shares(self.member_right.sum(axis=0), self.spoken.sum(axis=0))

    @cached_property
    def member_recall(self):
        """Share of each class that each member gets right, (n_members, n_classes)."""
        is_class = np.eye(self.n_classes)[self.codes[self.sample]]
        return _shares(self.member_right.T @ is_class, self.spoken.T @ is_class)

    @cached_property
    def asked_for(self):
        """How much each member is asked, over all rows of the sample."""
        return self.importance.mean(axis=0)

    @property
    def by_importance(self):
        """The members, those that are asked the most first."""
        return np.argsort(-np.round(self.asked_for, 12), kind="stable")

    @property
    def decides_evenly(self):
        """Whether all members have the same say on every row."""
        return bool(np.allclose(self.importance, 1.0 / self.n_members, atol=1e-9))

    @property
    def oracle_accuracy(self):
        """Share of the sample on which any member is right."""
        return float(self.member_right.any(axis=1).mean())

    # -- what members look at --------------------------------------------------------------

    @cached_property
    def support(self):
        """Which features each member looks at, (n_members, n_features); None if not known."""
        support = getattr(self.flock, "support_", None)
        shape = (self.n_members, len(self.features))
        if support is None or np.shape(support) != shape:
            return None
        return np.asarray(support, dtype=bool)

    @cached_property
    def strength(self):
        """How much features move members; None where that is not known."""
        flock = self.flock
        if isinstance(flock, SubsetEnsembleClassifier):
            return _of_linear(flock.coef_ * flock._column_scale, flock.basis_)
        coef, scale = getattr(flock, "coef_", None), getattr(flock, "scale_", None)
        if np.ndim(coef) == 3 and np.shape(coef)[2] == len(self.features) and scale is not None:
            return _of_linear(coef * scale)
        return self._of_any()

    def _of_any(self):
        """The same from what scikit-learn's members tell of themselves."""
        sizes = np.zeros((self.n_members, len(self.features)))
        towards = np.full(sizes.shape, -1)
        for place, member in enumerate(getattr(self.flock, "estimators_", ())):
            own = np.ones(sizes.shape[1], bool) if self.support is None else self.support[place]
            importances = getattr(member, "feature_importances_", None)
            if np.shape(importances) == (own.sum(),):
                sizes[place, own] = importances
                continue
            moved = self._moved_by(member, own)
            if moved is not None:
                sizes[place, own] = np.abs(moved).mean(axis=0)
                if len(moved) == self.n_classes:
                    towards[place, own] = moved.argmax(axis=0)
        return Strength(sizes, towards) if sizes.any() else None

    def _moved_by(self, member, own):
        """How one deviation of each of its features moves a linear member; None for others."""
        last = member.steps[-1][1] if isinstance(member, Pipeline) else member
        coef = getattr(last, "coef_", None)
        if np.ndim(coef) != 2 or np.shape(coef)[1] != own.sum() or hasattr(self.seen, "tocsr"):
            return None
        try:
            rows = self.seen if own.all() else np.asarray(self.seen)[:, own]
            if last is not member:
                rows = member[:-1].transform(rows)
            spread = np.asarray(rows, dtype=np.float64).std(axis=0)
        except (TypeError, ValueError):
            # Rows of other things than numbers have no deviation.
            return None
        moved = np.asarray(coef) * np.where(np.isfinite(spread), spread, 0.0)
        moved = moved if len(moved) > 1 else np.vstack([-moved, moved]) / 2
        return moved - moved.mean(axis=0)

    @cached_property
    def feature_weight(self):
        """How much each feature matters to the whole; sums to one. None where not known."""
        if self.strength is None:
            return None
        # Members of different makes measure differently: each is given the weight of its say.
        size = self.strength.size
        total = size.sum(axis=1, keepdims=True)
        each = np.divide(size, total, out=np.zeros_like(size), where=total > 0)
        if isinstance(self.flock, SubsetEnsembleClassifier):
            return self.flock.feature_importances_
        weight = self.asked_for @ each
        return weight / weight.sum()


def _of_linear(moved, basis=None):
    """Strength of linear members that move logits (K, C, columns) by one deviation."""
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


def _shares(part, whole):
    part, whole = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)
