"""The settings of Algorithm 1 that a flock has: as parameters, or as constants of its class."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from covey._core.algorithm1.settings import TrainingSettings
from covey._validation import check_choice, check_number
from covey.tables._preparation import nothing_varies

_DEFAULT_TEMPERATURE = 0.01


class Algorithm1Settings:
    """Checks the settings, and says how members are trained and columns standardized."""

    _numeric: bool  # whether values are predicted

    def _setting(self, name: str) -> Any:
        """A parameter of Algorithm 1; a search has constants in their place."""
        return getattr(self, name)

    def _check_settings(self) -> None:
        check_number(self.n_estimators, "n_estimators", low=1, whole=True)
        check_number(self._setting("flip_probability"), "flip_probability", low=0, high=1)
        if isinstance(self._setting("learning_rate"), str):
            check_choice(self._setting("learning_rate"), "learning_rate", self._learning_rates)
        else:
            check_number(self._setting("learning_rate"), "learning_rate", low=0, closed="neither")
        check_number(self._setting("tol"), "tol", finite=False)
        if not (self._setting("n_iter_no_change") is None and not self._numeric):
            check_number(self._setting("n_iter_no_change"), "n_iter_no_change", low=1, whole=True)
        check_number(self._setting("max_iter"), "max_iter", low=1, whole=True)
        check_number(self._setting("init_scale"), "init_scale", low=0)
        check_choice(self._setting("acceptance"), "acceptance", ("greedy", "metropolis"))
        if self._setting("temperature") is not None:
            check_number(self._setting("temperature"), "temperature", low=0, closed="neither")
        check_number(self._setting("subset_penalty"), "subset_penalty", low=0)

    def _settings(self) -> TrainingSettings:
        """How a member is trained."""
        temperature = self._setting("temperature")
        if temperature is None:
            temperature = _DEFAULT_TEMPERATURE
        return TrainingSettings(
            learning_rate=self._setting("learning_rate"),
            tol=float(self._setting("tol")),
            patience=self._setting("n_iter_no_change"),
            max_iter=int(self._setting("max_iter")),
            init_scale=float(self._setting("init_scale")),
            acceptance=self._setting("acceptance"),
            temperature=float(temperature),
            subset_penalty=float(self._setting("subset_penalty")),
            **self._settings_of_task(),
        )

    @abstractmethod
    def _settings_of_task(self) -> dict[str, Any]:
        """The settings that depend on the target."""

    def _set_scale(self, mean: np.ndarray, deviation: np.ndarray) -> None:
        """Set what columns are centered and scaled by, and which can be used at all."""
        varies = deviation > 0
        if not varies.any():
            count = getattr(self, "n_features_in_", len(varies))
            raise ValueError(nothing_varies(count, self.preparation_))
        # What is missing in a new row, and in no row of the training.
        self._means = mean
        # Beside an intercept a constant column adds nothing; without one it is the intercept.
        self._usable = varies if self._setting("fit_intercept") else varies | (mean != 0)
        # Without an intercept no column may be shifted: that would amount to one.
        centered = self._setting("scale_features") and self._setting("fit_intercept")
        self.mean_ = mean if centered else np.zeros_like(mean)
        self.scale_ = (
            np.where(varies, deviation, 1.0)
            if self._setting("scale_features")
            else np.ones(len(mean))
        )
