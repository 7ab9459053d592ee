"""What is known of a model from rows that were held out: one object, wherever it is shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

# No probability of the true class counts as less.
LEAST_PROBABILITY = 1e-15


@dataclass(frozen=True, eq=False)
class Judgement:
    """What models that were fitted as a model was, but without a row, predict of that row.

    A model that was fitted on all rows is judged by this: the terminal, the page and the file
    all show what is in here, and compute nothing of their own.

    Parameters
    ----------
    rows : ndarray of shape (n,)
        The rows that were held out, as positions in the model's table, rising.
    numbers : ndarray of shape (n,)
        Their numbers in the user's file: the first row below the header has 1.
    y : ndarray of shape (n,)
        Their labels, or their numbers.
    predictions : ndarray of shape (n, n_classes) or (n,)
        Probabilities of ``classes``, or numbers.
    classes : ndarray of shape (n_classes,), or None
        None where numbers are predicted.
    how : str
        How rows were held out, in words.
    scores : list of dict
        Records of the model, then of those that it is compared with, on the same rows: ``name``,
        ``accuracy`` and ``log_loss`` (or ``r2`` and ``rmse``), ``low``, ``high``, ``seconds``.
    groups : ndarray of shape (n,), optional
        Rows that belong together, which are not independent of each other.

    Examples
    --------
    >>> import numpy as np
    >>> judgement = Judgement(
    ...     np.arange(3), np.arange(1, 4), np.array(["a", "b", "b"]),
    ...     np.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]]), np.array(["a", "b"]), "3 folds",
    ... )
    >>> judgement.predicted.tolist(), judgement.correct.tolist()
    (['a', 'b', 'a'], [True, True, False])
    >>> [(one["class"], one["rows"], one["right"]) for one in judgement.by_class()]
    [('a', 1, 1), ('b', 2, 1)]
    """

    rows: np.ndarray
    numbers: np.ndarray
    y: np.ndarray
    predictions: np.ndarray
    classes: np.ndarray | None
    how: str
    scores: list[dict] = field(default_factory=list)
    groups: np.ndarray | None = None

    @property
    def predicted(self) -> np.ndarray:
        """The label, or the number, that is predicted of each row."""
        if self.classes is None:
            return self.predictions
        return self.classes[self.predictions.argmax(axis=1)]

    @property
    def correct(self) -> np.ndarray:
        """Whether the label of each row is predicted."""
        return self.predicted == self.y

    @property
    def losses(self) -> np.ndarray:
        """The log-loss of each row, or its squared error."""
        if self.classes is None:
            return (self.predictions - self.y) ** 2
        return log_losses(self.classes, self.predictions, self.y)

    def by_class(self) -> list[dict[str, Any]]:
        """Of each class how many rows there are, how many are found, and how many are said to be.

        ``taken_for`` is the class that its other rows are taken for most often, None without any.
        """
        if self.classes is None:
            return []
        predicted, found = self.predicted, []
        for label in self.classes:
            of_class = self.y == label
            wrong = predicted[of_class & (predicted != label)]
            names, counts = np.unique(wrong, return_counts=True)
            found.append(
                {
                    "class": label.item() if hasattr(label, "item") else label,
                    "rows": int(of_class.sum()),
                    "right": int((of_class & (predicted == label)).sum()),
                    "said": int((predicted == label).sum()),
                    "taken_for": names[counts.argmax()].item() if len(names) else None,
                }
            )
        return found


def log_losses(classes: np.ndarray, probabilities: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The log-loss of each row; a class that is not known has no probability."""
    known = np.flatnonzero(np.isin(y, classes))
    of_truth = np.zeros(len(y))
    of_truth[known] = probabilities[known, np.searchsorted(classes, y[known])]
    return -np.log(np.clip(of_truth, LEAST_PROBABILITY, 1.0))
