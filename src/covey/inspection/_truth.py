"""What is known of the truth behind test rows, for `bias_variance`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from covey._validation import check_labels, check_number


@dataclass(frozen=True)
class Truth:
    """The true values or class probabilities at the test rows, and the noise about them."""

    loss: str
    given: Any  # by the user: numbers, or a function of the test rows
    noise_variance: Any
    classes: Any  # the labels of the columns of probabilities

    def check(self, X_test: Any) -> None:
        """Refuse what cannot be used, before anything is fitted."""
        if self.loss == "squared" and self.classes is not None:
            raise ValueError("classes is for loss='zero_one'; leave it out with squared loss.")
        if self.loss == "zero_one" and self.noise_variance is not None:
            raise ValueError(
                "noise_variance is for loss='squared'; with zero-one loss the probabilities in "
                "truth hold the noise."
            )
        if self.given is None and self.noise_variance is not None:
            raise ValueError(
                "noise_variance needs truth: without the true values, bias and noise are one term."
            )
        if self.given is None and self.classes is not None:
            raise ValueError("classes names the columns of truth; give both or none.")
        noise_of_rows = np.ndim(self.noise_variance) > 0
        if self.noise_variance is not None and not noise_of_rows:
            check_number(self.noise_variance, "noise_variance", low=0)
        if X_test is None:
            values_of_rows = self.given is not None and not callable(self.given)
            for name, of_rows in (("truth", values_of_rows), ("noise_variance", noise_of_rows)):
                if of_rows:
                    raise ValueError(
                        f"{name} holds an entry for each test row, but X_test is not given; "
                        "give X_test too."
                    )

    def at(self, X_test: Any) -> np.ndarray | None:
        """Values (n_test,) or (n_test, n_outputs), or probabilities (n_test, n_classes)."""
        if self.given is None:
            return None
        n_test = X_test.shape[0]
        known = self.given(X_test) if callable(self.given) else self.given
        if np.ndim(known) == 0 or len(known) != n_test:
            raise ValueError(
                f"truth must have an entry for each of the {n_test} test rows, got "
                f"{'one number' if np.ndim(known) == 0 else len(known)}."
            )
        if self.loss == "squared":
            return targets(known, self.loss, "truth")
        if np.ndim(known) != 2:
            raise ValueError(
                "truth must hold a probability for each class in each row, shape (n_test, "
                f"n_classes), got shape {np.shape(known)}."
            )
        probabilities = check_array(known, dtype=np.float64, input_name="truth")
        total = probabilities.sum(axis=1)
        broken = (probabilities < 0).any(axis=1) | (np.abs(total - 1) > 1e-6)
        if broken.any():
            raise ValueError(
                "truth must hold probabilities, which are not negative and sum to one in each "
                f"row, but row {int(np.argmax(broken))} does not."
            )
        return probabilities / total[:, None]

    def noise_at(self, n_test: int) -> np.ndarray | None:
        """The noise's variance at each test row, (n_test,)."""
        if self.noise_variance is None:
            return None
        if np.ndim(self.noise_variance) == 0:
            return np.full(n_test, float(self.noise_variance))
        noise = check_array(
            self.noise_variance, dtype=np.float64, ensure_2d=False, input_name="noise_variance"
        )
        if noise.shape != (n_test,):
            raise ValueError(
                f"noise_variance must be a number or one for each of the {n_test} test rows, "
                f"got shape {noise.shape}."
            )
        if (noise < 0).any():
            entry = int(np.argmax(noise < 0))
            raise ValueError(
                f"noise_variance must not be negative, but entry {entry} is {noise[entry]:g}."
            )
        return noise


def targets(y: ArrayLike, loss: str, name: str) -> np.ndarray:
    """Labels as a flat array; numbers as floats, flat if there is one output."""
    if loss == "zero_one":
        y = column_or_1d(y, warn=True)
        check_labels(y)
        return y
    y = check_array(y, dtype=np.float64, ensure_2d=False, input_name=name)
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
