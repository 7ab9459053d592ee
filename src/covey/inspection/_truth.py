"""What is known of the truth behind test rows, for `bias_variance`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from covey._validation import check_number


@dataclass(frozen=True)
class Truth:
    """What is known of the truth at the test rows."""

    function: Any
    values: Any
    noise_variance: Any
    probabilities: Any
    classes: Any

    @property
    def is_known(self):
        given = (self.function, self.values, self.probabilities)
        return any(one is not None for one in given)

    def check(self, loss, X_test):
        """Refuse what cannot be used, before anything is fitted."""
        if loss == "squared" and (self.probabilities is not None or self.classes is not None):
            raise ValueError(
                "true_probabilities and classes are for loss='zero_one'; with squared loss use "
                "true_function or true_values."
            )
        if loss == "zero_one" and (
            self.function is not None or self.values is not None or self.noise_variance is not None
        ):
            raise ValueError(
                "true_function, true_values and noise_variance are for loss='squared'; with "
                "zero-one loss use true_probabilities."
            )
        if self.function is not None and self.values is not None:
            raise ValueError("true_function and true_values say the same; give one of them.")
        if self.function is not None and not callable(self.function):
            raise TypeError(
                "true_function must be a function of X_test; give numbers as true_values."
            )
        if self.noise_variance is not None and not self.is_known:
            raise ValueError(
                "noise_variance needs true_function or true_values: without the truth, bias and "
                "noise are one term."
            )
        if self.classes is not None and self.probabilities is None:
            raise ValueError("classes names the columns of true_probabilities; give both or none.")
        if np.ndim(self.noise_variance) == 0 and self.noise_variance is not None:
            check_number(self.noise_variance, "noise_variance", low=0)
        if X_test is None:
            arrays = {
                "true_values": self.values is not None,
                "noise_variance": np.ndim(self.noise_variance) > 0,
                "true_probabilities": (
                    self.probabilities is not None and not callable(self.probabilities)
                ),
            }
            for name, given in arrays.items():
                if given:
                    raise ValueError(
                        f"{name} holds an entry for each test row, but X_test is not given; "
                        "give X_test too."
                    )

    def at(self, X_test):
        """The truth at the test rows, as checked arrays."""
        n_test = X_test.shape[0]
        if self.probabilities is not None:
            return KnownTruth(None, None, self._probabilities_at(X_test, n_test))
        if self.is_known:
            return KnownTruth(self._values_at(X_test, n_test), self._noise_at(n_test), None)
        return KnownTruth(None, None, None)

    def _values_at(self, X_test, n_test):
        name = "true_values" if self.function is None else "true_function"
        values = self.values if self.function is None else self.function(X_test)
        if np.ndim(values) == 0 or len(values) != n_test:
            raise ValueError(
                f"{name} must give one value for each of the {n_test} test rows, got "
                f"{'one number' if np.ndim(values) == 0 else len(values)}."
            )
        return targets(values, "squared", name)

    def _noise_at(self, n_test):
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

    def _probabilities_at(self, X_test, n_test):
        given = self.probabilities(X_test) if callable(self.probabilities) else self.probabilities
        given = check_array(given, dtype=np.float64, input_name="true_probabilities")
        if len(given) != n_test:
            raise ValueError(
                f"true_probabilities must have a row for each of the {n_test} test rows, got "
                f"{len(given)}."
            )
        total = given.sum(axis=1)
        broken = (given < 0).any(axis=1) | (np.abs(total - 1) > 1e-6)
        if broken.any():
            raise ValueError(
                "true_probabilities must not be negative and must sum to one in each row, but "
                f"row {int(np.argmax(broken))} does not."
            )
        return given / total[:, None]


@dataclass(frozen=True)
class KnownTruth:
    """The truth at the test rows; None is what is not known."""

    values: np.ndarray | None  # (n_test,) or (n_test, n_outputs)
    noise: np.ndarray | None  # (n_test,)
    probabilities: np.ndarray | None  # (n_test, n_classes)


def targets(y, loss, name):
    """Labels as a flat array; numbers as floats, flat if there is one output."""
    if loss == "zero_one":
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        return y
    y = check_array(y, dtype=np.float64, ensure_2d=False, input_name=name)
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
