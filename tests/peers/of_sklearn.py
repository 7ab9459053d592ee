"""Our equivalents of scikit-learn's ensembles, under its names and with its parameters."""

from __future__ import annotations

from typing import Any

from covey import (
    CodeBookClassifier,
    FusionClassifier,
    FusionRegressor,
    GeneralStackingClassifier,
    GeneralStackingRegressor,
)
from covey.fusers import Majority, Mean
from tests.peers.standing_in import StandsIn


class VotingClassifier(StandsIn, FusionClassifier):
    """Votes by "majority", or by "mean"."""

    cv, prefit = 5, False

    def __init__(
        self,
        estimators: Any,
        *,
        voting: str = "hard",
        weights: Any = None,
        n_jobs: int | None = None,
        flatten_transform: bool = True,
        verbose: bool = False,
    ) -> None:
        self.estimators = estimators
        self.voting = voting
        self.weights = weights
        self.n_jobs = n_jobs
        self.flatten_transform = flatten_transform
        self.verbose = verbose

    @property
    def fuser(self) -> Any:
        """The rule."""
        return (Majority if self.voting == "hard" else Mean)(weights=self.weights)


class VotingRegressor(StandsIn, FusionRegressor):
    """The mean."""

    cv, prefit = 5, False

    def __init__(
        self,
        estimators: Any,
        *,
        weights: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def fuser(self) -> Any:
        """The rule."""
        return Mean(weights=self.weights)


_OUTPUTS = {
    "predict_proba": "probabilities",
    "decision_function": "scores",
    "predict": "one_hot",
}


class StackingClassifier(StandsIn, GeneralStackingClassifier):
    """A stack of one layer."""

    features, clip = None, 1e-6

    def __init__(
        self,
        estimators: Any,
        final_estimator: Any = None,
        *,
        cv: Any = None,
        stack_method: str = "auto",
        n_jobs: int | None = None,
        passthrough: bool = False,
        verbose: int = 0,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.stack_method = stack_method
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.verbose = verbose

    @property
    def outputs(self) -> str:
        """How members' outputs are encoded."""
        return _OUTPUTS.get(self.stack_method, self.stack_method)

    @property
    def stack_method_(self) -> list[str]:
        """The methods by which members predict."""
        methods = {output: method for method, output in _OUTPUTS.items()}
        return [methods[output] for output in self.outputs_[0]]


class StackingRegressor(StandsIn, GeneralStackingRegressor):
    """A stack of one layer."""

    features, outputs = None, "values"

    def __init__(
        self,
        estimators: Any,
        final_estimator: Any = None,
        *,
        cv: Any = None,
        n_jobs: int | None = None,
        passthrough: bool = False,
        verbose: int = 0,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.verbose = verbose


class _Code(StandsIn, CodeBookClassifier):
    """A code book."""

    n_bits, decoding, random_state = None, "absolute", None

    def __init__(self, estimator: Any, *, n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.n_jobs = n_jobs


class OneVsOneClassifier(_Code):
    """One class against another."""

    code = "one_vs_one"


class OneVsRestClassifier(_Code):
    """One class against all others."""

    code = "one_vs_all"

    def __init__(self, estimator: Any, *, n_jobs: int | None = None, verbose: int = 0) -> None:
        super().__init__(estimator, n_jobs=n_jobs)
        self.verbose = verbose


class OutputCodeClassifier(_Code):
    """A code that is drawn at random."""

    code = "random"

    def __init__(
        self,
        estimator: Any,
        *,
        code_size: float = 1.5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(estimator, n_jobs=n_jobs)
        self.code_size = code_size
        self.random_state = random_state

    @property
    def n_bits(self) -> int:
        """As many bits as classes, times ``code_size``."""
        return int(len(self.classes_) * self.code_size)
