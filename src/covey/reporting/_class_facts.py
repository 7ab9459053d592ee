"""What there is to report about a classifier, as plain numbers."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from sklearn import metrics

from covey._core.fusion.constancy import staged_oracle
from covey._intervals import Interval, accuracy_interval, mean_interval, proportion_interval
from covey.fusers import Predictions
from covey.reporting._facts import Facts, shares
from covey.reporting._inputs import Details, ReportInputs
from covey.reporting._words import percent


class ClassFacts(Facts):
    """A classifier on some rows; predictions are positions of classes."""

    task = "classification"
    # How scores are shown, their highest value, and the rule that fuses the first few members.
    measure, show, highest = "Accuracy", staticmethod(percent), 1.0
    higher_is_better = True

    def __init__(self, inputs: ReportInputs, details: Details | None = None):
        super().__init__(inputs, details)
        self.classes = self.outcomes = [str(label) for label in inputs.classes]
        self.n_classes = len(self.classes)
        self.truth = self.P.classes[self.y[self.sample]]
        judged = inputs.judgement
        self.probabilities = (
            self.flock.predict_proba(inputs.seen) if judged is None else judged.predictions
        )
        self.predicted = self.probabilities.argmax(axis=1)
        self.right = self.predicted == self.y
        self.n_right = int(self.right.sum())

    # -- the whole -------------------------------------------------------------------------

    @property
    def plain_rule(self) -> str:
        """The rule that fuses the first few members of any flock."""
        return "product" if self.P.kind == "probability" else "majority"

    def score(self, fused: np.ndarray) -> float:
        """The accuracy of fused probabilities of the sample."""
        return float((fused.argmax(axis=1) == self.y[self.sample]).mean())

    @property
    def sample_score(self) -> float:
        return float(self.right[self.sample].mean())

    @cached_property
    def accuracy(self) -> Interval:
        """The share of rows that are predicted correctly."""
        return accuracy_interval(self.right, self.groups)

    @cached_property
    def above_common(self) -> Interval:
        """By how much the accuracy is above that of always answering the most common class."""
        gained = self.right.astype(np.float64) - (self.y == self.most_common[0])
        if self.n_rows < 2:
            return Interval(float(gained.mean()), -1.0, 1.0)
        return mean_interval(gained, self.groups)

    @cached_property
    def recall(self) -> np.ndarray:
        """The share of each class that is found; NaN for a class without rows."""
        return shares(np.diag(self.confusion), self.confusion.sum(axis=1))

    @cached_property
    def watched(self) -> int:
        """The class to look out for: of two the rarer, of several the one that is missed most."""
        counts = np.bincount(self.y, minlength=self.n_classes)
        if self.n_classes == 2:
            return int(counts.argmin()) if counts[0] != counts[1] else 1
        return int(np.nanargmin(np.where(counts > 0, self.recall, np.nan)))

    @cached_property
    def row_losses(self) -> np.ndarray:
        """1 where a row is wrong, else 0."""
        return (~self.right).astype(np.float64)

    def wrong_rows(self, most: int) -> np.ndarray:
        """Positions of the rows that are wrong, the surest first."""
        wrong = np.flatnonzero(~self.right)
        sure = self.probabilities.max(axis=1)[wrong]
        return wrong[np.argsort(-sure, kind="stable")][:most]

    @cached_property
    def log_loss(self) -> float:
        """Mean negative logarithm of the true class's probability."""
        labels = np.arange(self.n_classes)
        # scikit-learn takes a probability of 1 for a little less, which is rounded away.
        return round(float(metrics.log_loss(self.y, self.probabilities, labels=labels)), 12)

    @cached_property
    def brier(self) -> float:
        """Mean squared distance of the probabilities from the truth, over all classes."""
        labels = np.arange(self.n_classes)
        return float(
            metrics.brier_score_loss(
                self.y, self.probabilities, labels=labels, scale_by_half=False
            )
        )

    @cached_property
    def confusion(self) -> np.ndarray:
        """How often each class (row) is predicted as each (column)."""
        return metrics.confusion_matrix(self.y, self.predicted, labels=np.arange(self.n_classes))

    @cached_property
    def most_common(self) -> tuple[int, Interval]:
        """The most common class of these rows, and its share."""
        counts = np.bincount(self.y, minlength=self.n_classes)
        return int(counts.argmax()), proportion_interval(counts.max(), self.n_rows)

    # -- the members -----------------------------------------------------------------------

    @cached_property
    def member_right(self) -> np.ndarray:
        """Where each member is right, (n_sample, n_members)."""
        return (self.P.labels == self.y[self.sample][:, None]) & self.available

    @cached_property
    def member_score(self) -> np.ndarray:
        """Accuracy on the rows that each member predicts; NaN if there are none."""
        return shares(self.member_right.sum(axis=0), self.available.sum(axis=0))

    @property
    def parts(self) -> list[str]:
        """What members are measured on one by one: the classes."""
        return self.classes

    @cached_property
    def member_parts(self) -> np.ndarray:
        """Share of each class that each member gets right, (n_members, n_classes)."""
        is_class = np.eye(self.n_classes)[self.y[self.sample]]
        return shares(self.member_right.T @ is_class, self.available.T @ is_class)

    @property
    def best_member(self) -> int:
        return int(np.nanargmax(self.member_score))

    def staged_oracle(self) -> np.ndarray:
        """Share of the sample on which any of the first 1, 2, ... members is right.

        Members that are constant on the sample are left out, as by ``oracle_score``.
        """
        return staged_oracle(self.member_right, self.constant, np.ones(self.n_sample))

    @property
    def oracle_accuracy(self) -> float:
        """Share of the sample on which any member is right."""
        return float(self.staged_oracle()[-1])

    def predicted_groups(self) -> tuple[np.ndarray, list[str]]:
        """The predicted class of each row of the sample, and the names of the classes."""
        return self.predicted[self.sample], self.classes

    # -- single rows -----------------------------------------------------------------------

    def telling_rows(self) -> list[tuple[int, str]]:
        """Positions of rows with why they are shown, each row once."""
        sure = self.probabilities.max(axis=1)
        right, wrong = np.flatnonzero(self.right), np.flatnonzero(~self.right)
        wanted = [
            ("surest and wrong", wrong[np.argsort(-sure[wrong], kind="stable")][:2]),
            ("most in doubt", np.argsort(sure, kind="stable")[:2]),
            ("surest and right", right[np.argsort(-sure[right], kind="stable")][:2]),
        ]
        chosen: dict[int, str] = {}
        for why, rows in wanted:
            for row in rows:
                chosen.setdefault(int(row), why)
        return list(chosen.items())

    def is_wrong(self, row: int) -> bool:
        return not self.right[row]

    def show_truth(self, row: int) -> str:
        return self.classes[self.y[row]]

    def said(self, row: int) -> dict:
        """What is predicted for a row by a model that was not fitted on it."""
        code = int(self.predicted[row])
        return {
            "prediction": self.flock.classes_.tolist()[code],
            "probability": float(self.probabilities[row, code]),
        }

    def show_prediction(self, label: Any) -> str:
        """A label of the flock as users know it."""
        return self.classes[self.flock.classes_.tolist().index(label)]

    def member_record(self, P: Predictions, row: int, k: int) -> dict:
        """What one member predicts for a row."""
        code = P.labels[row, k]
        sure = float(P.values[row, k, code]) if P.kind == "probability" else None
        return {"prediction": self.flock.classes_.tolist()[code], "probability": sure}
