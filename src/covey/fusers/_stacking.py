"""Stacking: weights of members, or a model on top of them, learnt from held-out predictions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.utils import check_array
from sklearn.utils.metadata_routing import MetadataRequest, MetadataRouter, get_routing_for_object

from covey._blocks import take_rows
from covey._core.fusion.rules import normalized, weighted_mean
from covey._core.fusion.stacking_weights import log_weights, squared_weights
from covey._core.limits import SQUARABLE
from covey._core.search.selection import greedy_mean, greedy_selection, greedy_weights
from covey._models import classifies, fit_with, parameters_of_rows, regresses, weight_parameters
from covey._scoring import known_score, make_scorer
from covey._state import Array, ListOf, Model, OneOf, Parameter, Record, refuse
from covey._validation import check_choice, check_number, keep_parameters
from covey.fusers._base import (
    Fuser,
    available_weight,
    center_and_unit,
    equal_shares,
    with_means_of_available,
)
from covey.fusers._predictions import Given, Predictions, align_classes, encode_labels


class _StackedFuser(Fuser):
    """A weighted sum of members; a subclass writes ``_learn``."""

    weights_: Annotated[np.ndarray, Array("K")]

    learns = True
    kinds: tuple[str, ...] = ("probability", "label")

    def _fit(self, P: Predictions, codes: np.ndarray, X: Any, sample_weight: np.ndarray) -> None:
        values, known = P.values, np.ones(P.n_members, dtype=bool)
        if P.available is not None:
            # If a member is not available, the mean of the others replaces it, which is evidence
            # neither for nor against it; one that never is available gets no weight.
            available = P.available & (sample_weight > 0)[:, None]
            known = available.any(axis=0)
            sample_weight = sample_weight * available.any(axis=1)
            values = with_means_of_available(P)
        if not known.any():
            self.weights_ = np.full(P.n_members, 1.0 / P.n_members)
            return
        counted, self.weights_ = sample_weight > 0, np.zeros(P.n_members)
        learn = self._learn_values if P.kind == "value" else self._learn
        values, weight = values[counted][:, known], sample_weight[counted]
        self.weights_[known] = learn(values, codes[counted], weight)

    @abstractmethod
    def _learn(self, values: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Learn weights of members from values (n, K, C) and true classes."""

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        if P.kind == "value":
            return with_means_of_available(P)[:, :, 0] @ self.weights_[:, None]
        # Where no member with a weight is available, or nothing positive is left: the mean.
        sums = np.einsum("nkc,nk->nc", P.values, available_weight(P, self.weights_))
        return normalized(np.maximum(sums, 0.0), weighted_mean(P.values, available_weight(P)))

    def _importance(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        return normalized(available_weight(P, np.abs(self.weights_)), equal_shares(P))


def _of_true_class(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the probability that each member gives to the true class, as (n, K)."""
    return values[np.arange(len(codes)), :, codes]


@dataclass(eq=False, repr=False)
class LinearStacking(_StackedFuser, name="linear_stacking"):
    r"""A sum of members with the weights that are best on held-out samples.

    .. math:: \hat w = \arg\min_w \frac{1}{n} \sum_i L\Big(y_i, \sum_k w_k p_k(x_i)\Big)
              + \lambda \sum_k \Big(w_k - \frac{1}{K}\Big)^2

    Where members are not available for a sample, the weights of the others are used; if none of
    them has a weight, the mean rule is used. The numbers of regressors (predictions of kind
    "value") are summed as they are, a member that is not available counts as the mean of the
    others, and the loss is in units of the variance of y.

    Take it for two to some dozen members whose quality differs. It is more stable than `Stacking`
    and, unlike it, says who decided without computing predictions again.

    Parameters
    ----------
    loss : {"squared", "log"}, default="squared"
        "squared": the Brier score, the squared distance to the true class summed over classes.
        "log": the log-loss of the mixture, which needs both constraints.
    nonnegative : bool, default=True
        Whether weights must not be negative. If they may be, sums below zero count as zero
        and the rest is divided by its sum; where nothing is left, the mean rule is used.
    sum_to_one : bool, default=True
        Whether weights must sum to one. Fused probabilities do so in any case.
    uniform_penalty : float, default=0.0
        :math:`\lambda`, which shrinks all weights towards 1/K: with 0 only the held-out samples
        count, a large one is the mean rule.

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        The weights. Importances are their absolute values, divided by their sum: a member that is
        subtracted decides, too.

    Examples
    --------
    >>> import covey
    >>> good, bad = [[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.7, 0.3]]
    >>> covey.LinearStacking().fit([good, bad], [0, 1]).weights_
    array([1., 0.])
    >>> covey.LinearStacking(uniform_penalty=1e6).fit([good, bad], [0, 1]).weights_.round(3)
    array([0.5, 0.5])
    """

    loss: str = "squared"
    nonnegative: bool = True
    sum_to_one: bool = True
    uniform_penalty: float = 0.0

    kinds = ("probability", "label", "value")

    def _check_parameters(self, P: Predictions) -> None:
        check_choice(self.loss, "loss", ("squared", "log"))
        check_number(self.uniform_penalty, "uniform_penalty", low=0)
        if self.loss == "log" and P.kind == "value":
            raise ValueError(
                "loss='log' is for probabilities; use loss='squared' for predictions of kind "
                "value."
            )
        if self.loss == "log" and not (self.nonnegative and self.sum_to_one):
            raise ValueError(
                "loss='log' is defined for mixtures only and needs nonnegative=True and "
                "sum_to_one=True; use loss='squared' for other weights."
            )

    def _learn(self, values: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
        if self.loss == "log":
            return log_weights(_of_true_class(values, codes), weight, self.uniform_penalty)
        n_members, n_classes = values.shape[1:]
        return squared_weights(
            values.transpose(0, 2, 1).reshape(-1, n_members),
            np.eye(n_classes)[codes].ravel(),
            np.repeat(weight, n_classes),
            # The Brier score is a sum over classes, where the mean is over all of A's rows.
            self.uniform_penalty / n_classes,
            self.nonnegative,
            self.sum_to_one,
        )

    def _learn_values(self, values: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        _, unit = center_and_unit(y, weight)
        how = self.uniform_penalty, self.nonnegative, self.sum_to_one
        return squared_weights(values[:, :, 0] / unit, y / unit, weight, *how)


@dataclass(eq=False, repr=False)
class GreedySelection(_StackedFuser, name="greedy_selection"):
    """The mean of members picked one by one, each for the best score on held-out samples.

    This is the ensemble selection of Caruana et al. (2004): it starts from nothing, adds the
    member that helps the mean of all picked so far most, and keeps the best mean on the way. Most
    members of a large library get no weight. Where none of those picked is available for a sample,
    the mean rule is used. The numbers of regressors (predictions of kind "value") are picked in
    the same way.

    Take it for a large library of models, most of which should get no weight, or for a metric
    other than the loss (``scoring``). With a handful of members `LinearStacking` uses all of them.

    Parameters
    ----------
    n_picks : int, default=25
        The most picks.
    replace : bool, default=True
        Whether a member can be picked again: its weight grows.
    scoring : str, callable or None, default=None
        The measure that the best mean maximizes: a name of scikit-learn's, such as "roc_auc" or
        "neg_mean_absolute_error", or a function ``scorer(model, X, y)``, for which the mean of
        those picked is the prediction of ``model``; X are then the numbers of the rows and no
        features. None: the least log-loss, or squared error of numbers.

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        Shares of the picks, which sum to one.

    Examples
    --------
    >>> import covey
    >>> good, bad = [[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.7, 0.3]]
    >>> covey.GreedySelection().fit([good, bad], [0, 1]).weights_
    array([1., 0.])
    >>> covey.GreedySelection(scoring="balanced_accuracy").fit([bad, good], [0, 1]).weights_
    array([0., 1.])
    """

    n_picks: int = 25
    replace: bool = True
    scoring: str | Callable[..., float] | None = None

    kinds = ("probability", "label", "value")

    def _check_parameters(self, P: Predictions) -> None:
        check_number(self.n_picks, "n_picks", low=1, whole=True)
        make_scorer(self.scoring)

    def _fit(self, P: Predictions, codes: np.ndarray, X: Any, sample_weight: np.ndarray) -> None:
        # Scorers read labels in the user's form.
        self._labels = P.classes
        super()._fit(P, codes, X, sample_weight)
        del self._labels

    def _learn(self, values: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
        if self.scoring is not None:
            truth, classes = self._labels[codes], self._labels
            return self._best_scored(values.swapaxes(0, 1), truth, classes, weight)
        of_true = _of_true_class(values, codes).T
        return greedy_selection(of_true, weight, n_picks=self.n_picks, replace=bool(self.replace))

    def _learn_values(self, values: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        every = values[:, :, 0].T
        if self.scoring is not None:
            return self._best_scored(every, y, None, weight)
        # In units of y: a gain within rounding is none.
        unit = float(np.abs(y).max()) or 1.0

        def squared(numbers: np.ndarray) -> np.ndarray:
            return np.minimum(np.abs(numbers - y / unit), SQUARABLE) ** 2

        return greedy_mean(every / unit, squared, weight, self.n_picks, bool(self.replace))

    def _best_scored(self, every: np.ndarray, truth: Any, classes: Any, weight: Any) -> np.ndarray:
        """Return weights (K,) by the scorer of predictions, (K, n, C) or (K, n)."""
        scorer, rows = make_scorer(self.scoring), np.arange(len(truth))[:, None]

        def pick_losses(picked: Sequence[int], allowed: np.ndarray) -> np.ndarray:
            means = (every[list(picked)].sum(axis=0) + every[allowed]) / (len(picked) + 1)
            scores = [known_score(scorer, one, rows, truth, classes, weight) for one in means]
            return -np.array(scores)

        return greedy_weights(pick_losses, len(every), self.n_picks, bool(self.replace))


class Stacking(Fuser, name="stacking"):
    r"""Any model, learnt from members' predictions of held-out samples.

    .. math:: f(x) = A_\theta\big(z(f_1(x)), \ldots, z(f_K(x))\big)

    A is ``final_estimator`` and z encodes a member's prediction as columns: one per class, or a
    single one for two classes and for regressors. It is Wolpert's (1992) stacked generalization,
    on saved predictions.

    A member that is not available for a sample counts as if it had predicted its average.

    The importance of a member, which a general A does not define, is its share of

    - for a linear A (one with ``coef_``), :math:`|\sum_j a_j (z_{kj} - \bar z_{kj})|`, how far
      the member's columns move the score of the decided class, against the mean score of all
      classes (of regressors: the number), from where its average columns would leave it;
    - for any other A, how far the fused probabilities move (half the sum of absolute
      differences), or the number, if that member alone predicts its average.

    Columns of X that A also sees are not counted. Where no member moves anything, all have equal
    shares.

    Take it for saved predictions if a weighted mean is not enough and there are many held-out
    rows. `GeneralStackingClassifier` does the same from models.

    Parameters
    ----------
    final_estimator : classifier or regressor, optional
        A; by default a `LogisticRegression`, or a `RidgeCV` on top of regressors. A classifier
        without ``predict_proba`` gives ones and zeros.
    outputs : str, list of str or dict from members' names, optional
        z, for all members or for each; by default "probabilities" or, for regressors, "values".

        - "probabilities", "values": as they are.
        - "one_hot": a one for the class that the member decides for.
        - "logits": :math:`\log p - \log(1 - p)`.
        - "ranks": average ranks of the classes, from 0 to 1. For regressors the (weighted) share
          of the member's own held-out predictions that are lower, ties by half.
        - "scores": :math:`\log p` less its mean over the classes.

        Labels are encoded as ones and zeros; scores allow only "one_hot" and "ranks".
    passthrough : bool, default=False
        Whether A also sees the columns of X, which must be numbers.
    clip : float, default=1e-6
        Probabilities are kept this far from 0 and 1 before "logits" are taken.
    keep_certainty : bool, default=False
        Whether a class to which all members give the probability 1 keeps it, as under every other
        rule, whatever A predicts. With members that are always certain, such as fully grown trees,
        A then decides only where they do not agree.

    Attributes
    ----------
    final_estimator_ : classifier or regressor
        A, fitted.
    outputs_ : list of str
        One per member.
    means_ : ndarray of shape (n_members, width)
        The average columns.

    Examples
    --------
    >>> import numpy as np
    >>> from covey.fusers import Stacking
    >>> y = np.arange(60) % 2
    >>> good = np.where(y, 0.7, 0.4)
    >>> contrary = np.where(y, 0.1, 0.9)
    >>> P = [np.column_stack([1 - p, p]) for p in (good, contrary)]
    >>> stacking = Stacking(outputs="logits").fit(P, y)
    >>> stacking.fuse(P)[:2].argmax(axis=1)
    array([0, 1])
    >>> stacking.importance(P)[0].round(1)
    array([0.1, 0.9])
    """

    outputs: str | list[str] | Mapping[str, str] | None
    final_estimator: Annotated[Any, Parameter(BaseEstimator)]
    outputs_: Annotated[list[str], ListOf(OneOf(*CLASS_OUTPUTS, *VALUE_OUTPUTS), "K")]
    _ranks: Annotated[list[KnownNumbers] | None, ListOf(Record(KnownNumbers), "K")]
    means_: Annotated[np.ndarray, Array("K W")]
    final_estimator_: Annotated[BaseEstimator, Model()]
    _coefficients: Annotated[np.ndarray | None, Array("S Z")]

    learns = True

    def __init__(
        self,
        final_estimator: Any = None,
        outputs: str | list[str] | Mapping[str, str] | None = None,
        passthrough: bool = False,
        clip: float = 1e-6,
        keep_certainty: bool = False,
    ) -> None:
        keep_parameters(self, locals())

    def _restored(self) -> None:
        final = self.final_estimator_
        refuse("final_estimator", "does not predict.", hasattr(final, "predict"))
        if self._coefficients is not None:
            own = np.array_equal(np.atleast_2d(getattr(final, "coef_", ())), self._coefficients)
            refuse("coefficients", "are not those of the model.", own)

    def fit(
        self,
        P: Given,
        y: ArrayLike | None = None,
        X: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Learn the model from predictions of held-out samples.

        Parameters
        ----------
        P, y, X, sample_weight
            As in `Fuser.fit`.
        **fit_params
            Passed to the ``fit`` of the model.
        """
        return self._fit_checked(P, y, X, sample_weight, **fit_params)

    def get_metadata_routing(self) -> MetadataRequest | MetadataRouter:
        """Return what the ``fit`` of the model requests; the default model requests weights.

        Returns
        -------
        routing : MetadataRequest or MetadataRouter
        """
        if self.final_estimator is not None:
            return get_routing_for_object(self.final_estimator)
        request = MetadataRequest(owner=type(self).__name__)
        request.fit.add_request(param="sample_weight", alias=True)
        return request

    @property
    def needs_X(self) -> bool:  # type: ignore[override]
        """Whether the model sees the features, too."""
        return bool(self.passthrough)

    @property
    def keeps_certainty(self) -> bool:  # type: ignore[override]
        """Whether certainty of all members is kept, whatever the model predicts."""
        return bool(self.keep_certainty)

    @property
    def kinds(self) -> tuple[str, ...]:  # type: ignore[override]
        """The kinds of predictions that can be encoded as wanted."""
        if isinstance(self.outputs, Mapping):
            wanted: Sequence[str | None] = [None, *self.outputs.values()]
        elif isinstance(self.outputs, list | tuple):
            wanted = self.outputs or [None]
        else:
            wanted = [self.outputs]
        given = [
            DEFAULT_KINDS if one is None else KINDS_FOR[check_choice(one, "outputs", KINDS_FOR)]
            for one in wanted
        ]
        return tuple(kind for kind in given[0] if all(kind in kinds for kinds in given))

    @staticmethod
    def default_final(kind: str = "probability") -> Any:
        """Return the default model on top of predictions of a kind."""
        return RidgeCV() if kind == "value" else LogisticRegression()

    def _check(self, P: Any, X: Any) -> tuple[Predictions, Any]:
        if self.needs_X and X is None:
            raise ValueError("Stacking with passthrough=True needs the features X.")
        return super()._check(P, X)

    def _features(self, X: Any) -> Any:
        how = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": "allow-nan"}
        try:
            return check_array(X, **how)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"Stacking with passthrough=True needs numbers in X: {error}"
            ) from None

    def _check_parameters(self, P: Predictions) -> None:
        noun, fits = ("regressor", regresses) if P.kind == "value" else ("classifier", classifies)
        if self.final_estimator is not None and not fits(self.final_estimator):
            raise ValueError(f"final_estimator must be a {noun}, got {self.final_estimator!r}.")
        check_number(self.clip, "clip", low=0, high=0.5, closed="neither")
        self._encodings(P)

    def _keep_members(self, names: Sequence[str], kept: Sequence[str]) -> None:
        dropped, given = set(names) - set(kept), self.outputs
        if isinstance(given, Mapping):
            self.outputs = {name: one for name, one in given.items() if name not in dropped}
        elif isinstance(given, list | tuple) and dropped:
            listed = zip(names, outputs_by_member(given, names, tuple(KINDS_FOR)), strict=True)
            self.outputs = [output for name, output in listed if name in kept]

    def _encodings(self, P: Predictions) -> list[str]:
        choices = VALUE_OUTPUTS if P.kind == "value" else CLASS_OUTPUTS
        return outputs_by_member(self.outputs, P.names, choices)

    def _fit(
        self,
        P: Predictions,
        codes: np.ndarray,
        X: Any,
        sample_weight: np.ndarray,
        **fit_params: Any,
    ) -> None:
        if P.kind != "value" and len(np.unique(codes[sample_weight > 0])) < 2:
            raise ValueError("Stacking needs samples of at least 2 classes to learn from.")
        self.outputs_ = self._encodings(P)
        self._ranks = learn_ranks(P.values, sample_weight) if P.kind == "value" else None
        encoded = self._encode(P)
        weight = available_weight(P) * sample_weight[:, None]
        total = np.maximum(weight.sum(axis=0), np.finfo(np.float64).tiny)[:, None]
        self.means_ = np.einsum("nk,nkw->kw", weight, encoded) / total
        Z = self._join(self._with_means(P, encoded), X)
        y = codes if P.kind == "value" else P.classes[codes]
        if P.available is not None:
            rows = np.flatnonzero(P.available.any(axis=1))
            if not len(rows):
                raise ValueError("Stacking has nothing to learn from: no member is available.")
            fit_params = parameters_of_rows(fit_params, rows, len(y))
            Z, y, sample_weight = take_rows(Z, rows), y[rows], sample_weight[rows]
        # Weights of one are left out, so that models without weights can learn.
        weight = None if (sample_weight == 1).all() else sample_weight
        final = self.final_estimator
        final = self.default_final(P.kind) if final is None else final
        of_weight = weight_parameters(final, "final_estimator", weight)
        self.final_estimator_ = fit_with(clone(final), Z, y, {**fit_params, **of_weight})
        self._coefficients = linear_coefficients(self.final_estimator_, Z)

    def _encode(self, P: Predictions) -> np.ndarray:
        return encode_outputs(P.values, self.outputs_, self.clip, self._ranks)

    def _with_means(self, P: Predictions, encoded: np.ndarray) -> np.ndarray:
        """Return columns of members; the average ones where a member is not available."""
        if P.available is None:
            return encoded
        return np.where(P.available[:, :, None], encoded, self.means_)

    def _join(self, encoded: np.ndarray, X: Any) -> Any:
        """Return the input of A: the members' columns and, if wanted, those of X."""
        return join_columns(encoded.reshape(len(encoded), -1), X if self.needs_X else None)

    def _columns(self, P: Predictions, X: Any) -> Any:
        """Return predictions as the input of A."""
        return self._join(self._with_means(P, self._encode(P)), X)

    def _decide(self, Z: Any, P: Predictions) -> np.ndarray:
        final, classes = self.final_estimator_, P.classes
        if P.kind == "value":
            return _numbers(final.predict(Z)).reshape(-1, 1)
        if hasattr(final, "predict_proba"):
            fused = _numbers(final.predict_proba(Z))
            return align_classes(fused, final.classes_, classes, who="final_estimator predicts")[0]
        return np.eye(len(classes))[
            encode_labels(np.asarray(final.predict(Z)), classes, "final_estimator predicts")
        ]

    def _certain(self, P: Predictions) -> np.ndarray:
        """Return classes to which all available members give the probability 1, (n, C)."""
        if not self.keep_certainty or P.kind != "probability":
            return np.zeros((P.n_samples, P.n_classes), dtype=bool)
        return (np.where(P.known[:, :, None], P.values, 1.0) == 1.0).all(axis=1)

    def _fuse(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        fused = self._decide(self._columns(P, X), P)
        certain = self._certain(P)
        return np.where(certain.any(axis=1, keepdims=True), certain, fused)

    def _importance(self, P: Predictions, X: Any, codes: Any) -> np.ndarray:
        encoded, directions = self._with_means(P, self._encode(P)), self._coefficients
        if directions is None:
            decide = lambda part: self._decide(self._join(part, X), P)  # noqa: E731
            moved = changes_without(decide, encoded, self.means_)
        else:
            if len(directions) > 1:
                # Only the classes that A knows have coefficients, in its order.
                known = encode_labels(self.final_estimator_.classes_, P.classes, "A knows")
                decided = self._decide(self._join(encoded, X), P)[:, known].argmax(axis=1)
                directions = (directions - directions.mean(axis=0))[decided]
            moved = contributions(directions, encoded, self.means_)
        everyone = equal_shares(P)
        certain = self._certain(P).any(axis=1, keepdims=True)
        return np.where(certain, everyone, normalized(moved, everyone))


def linear_coefficients(model: Any, Z: Any) -> np.ndarray | None:
    """Return coefficients (n_scores, n_columns) of a model whose score is linear, or None.

    They are believed only if they reproduce the model's own scores of some rows: a kernel
    machine's scores compare pairs, and a link function bends the line.
    """
    coefficients = getattr(model, "coef_", None)
    score = getattr(model, "decision_function", None) or getattr(model, "predict", None)
    is_linear = hasattr(model, "intercept_") and not callable(coefficients)
    if score is None or coefficients is None or not is_linear:
        return None
    if hasattr(coefficients, "toarray"):
        coefficients = coefficients.toarray()
    coefficients = np.atleast_2d(coefficients)
    if coefficients.ndim != 2 or coefficients.shape[1] != Z.shape[1]:
        return None
    some = Z[:16]
    claimed = np.asarray(some @ coefficients.T + model.intercept_)
    scores = np.asarray(score(some))
    scores = scores.reshape(len(scores), -1)
    if scores.dtype.kind != "f" or scores.shape != claimed.shape:
        return None
    return coefficients if np.allclose(scores, claimed, equal_nan=True) else None


def contributions(directions: np.ndarray, encoded: np.ndarray, means: ArrayLike) -> np.ndarray:
    """Return how far each member moves a linear score from that of its mean, (n, K).

    ``directions`` (n or 1, n_columns) are the score's coefficients; those of members come first.
    """
    moved = encoded - means
    directions = directions[:, : moved[0].size].reshape(-1, *moved.shape[1:])
    return np.abs((directions * moved).sum(axis=2))


def changes_without(
    predict: Callable[[np.ndarray], np.ndarray], encoded: np.ndarray, means: np.ndarray
) -> np.ndarray:
    """Return how far the prediction moves if each member alone predicts its average, (n, K)."""
    predicted = predict(encoded)
    changes = np.empty(encoded.shape[:2])
    for k in range(encoded.shape[1]):
        without = encoded.copy()
        without[:, k] = means[k]
        changes[:, k] = 0.5 * np.abs(predict(without) - predicted).sum(axis=1)
    return changes


def _numbers(predicted: Any) -> np.ndarray:
    """Return the predictions of A; refuse others than numbers."""
    found = np.asarray(predicted, dtype=np.float64)
    lost = np.flatnonzero(~np.isfinite(found).reshape(len(found), -1).all(axis=1))
    if len(lost):
        raise ValueError(
            f"final_estimator predicts NaN or infinity for row {lost[0]} of the {len(found)} it "
            "is given; choose another one, or give it more rows."
        )
    return found


# -- members' predictions as columns for a model on top of them -----------------------------------


# The input of a fuser for each encoding, the most informative kind first.
KINDS_FOR = {
    "probabilities": ("probability", "label"),
    "one_hot": ("label", "probability", "score"),
    "logits": ("probability",),
    "values": ("value",),
    "ranks": ("probability", "score", "label", "value"),
    "scores": ("probability",),
}
# The defaults: probabilities, or the numbers of regressors.
DEFAULT_KINDS = ("probability", "label", "value")
CLASS_OUTPUTS = ("probabilities", "one_hot", "logits", "ranks", "scores")
VALUE_OUTPUTS = ("values", "ranks")


@dataclass(frozen=True)
class KnownNumbers:
    """The predictions of a member in order, and the weight below each of them and in all."""

    known: Annotated[np.ndarray, Array("N", fewest=1)]
    below: Annotated[np.ndarray, Array("N+1", low=0)]

    def _restored(self) -> None:
        refuse("known", "does not ascend.", (np.diff(self.known) >= 0).all())
        ascends = (np.diff(self.below) >= 0).all() and self.below[-1] > 0
        refuse("below", "does not ascend.", ascends)


Ranks = list[KnownNumbers]  # one for each member


def encode_outputs(
    values: np.ndarray, outputs: Sequence[str], clip: float = 1e-6, ranks: Ranks | None = None
) -> np.ndarray:
    """Return members' predictions (n, K, width) as columns for a model, (n, K, width or 1).

    Of two classes the first is left out, since the second determines it. ``ranks`` are the result
    of `learn_ranks`, for the numbers of regressors.
    """
    encoded = np.empty(values.shape)
    for output in set(outputs):
        chosen = [k for k, name in enumerate(outputs) if name == output]
        part = values[:, chosen]
        if output == "one_hot":
            part = np.eye(values.shape[2])[part.argmax(axis=2)]
        elif output == "logits":
            clipped = np.clip(part, clip, 1.0 - clip)
            part = np.log(clipped) - np.log1p(-clipped)
        elif output == "scores":
            logs = np.log(np.maximum(part, np.finfo(np.float64).tiny))
            part = logs - logs.mean(axis=-1, keepdims=True)
        elif output == "ranks" and ranks is not None:
            part = _ranks_of_values(part, [ranks[k] for k in chosen])
        elif output == "ranks":
            part = ranks_of_classes(part)
        encoded[:, chosen] = part
    return encoded[:, :, 1:] if values.shape[2] == 2 else encoded


def ranks_of_classes(values: np.ndarray) -> np.ndarray:
    """Return average ranks of each row's classes, from 0 for the last to 1 for the first."""
    ranks = rankdata(values, axis=-1) - 1.0
    return ranks / max(1, values.shape[-1] - 1)


def learn_ranks(values: np.ndarray, weight: np.ndarray) -> Ranks:
    """Learn the ranks in which later numbers are looked up, for values (n, K, 1)."""
    ranks = []
    for column in values[:, :, 0].T:
        order = np.argsort(column, kind="stable")
        below = np.concatenate([[0.0], np.cumsum(weight[order])])
        ranks.append(KnownNumbers(column[order], below))
    return ranks


def _ranks_of_values(values: np.ndarray, ranks: Ranks) -> np.ndarray:
    """Return the share of each member's known predictions that are lower, ties by half."""
    shares = np.empty(values.shape)
    for k, member in enumerate(ranks):
        known, below = member.known, member.below
        # Rounding must not make equal predictions differ.
        equal = 1e-10 * (known[-1] - known[0])
        lower = below[np.searchsorted(known, values[:, k] - equal, side="left")]
        not_higher = below[np.searchsorted(known, values[:, k] + equal, side="right")]
        shares[:, k] = 0.5 * (lower + not_higher) / below[-1]
    return shares


def outputs_by_member(
    outputs: str | Sequence[str] | Mapping[str, str] | None,
    names: Sequence[str],
    choices: Sequence[str],
) -> list[str]:
    """Return one encoding for each member; the first of the choices is the default."""
    if outputs is None:
        listed = [choices[0]] * len(names)
    elif isinstance(outputs, str):
        listed = [outputs] * len(names)
    elif isinstance(outputs, Mapping):
        unknown = [name for name in outputs if name not in names]
        if unknown:
            raise ValueError(
                f"outputs names the member {unknown[0]!r}; the members are {', '.join(names)}."
            )
        listed = [outputs.get(name, choices[0]) for name in names]
    elif isinstance(outputs, list | tuple):
        listed = list(outputs)
        if len(listed) != len(names):
            raise ValueError(
                f"outputs has {len(listed)} entries for {len(names)} members; give one each."
            )
    else:
        listed = [outputs]
    return [check_choice(output, "outputs", choices) for output in listed]


def join_columns(*blocks: Any) -> Any:
    """Join blocks of columns side by side, sparse if one of them is; None is no block."""
    blocks = [block for block in blocks if block is not None]
    if any(hasattr(block, "tocsr") for block in blocks):
        return sparse.hstack(blocks, format="csr")
    return np.hstack(blocks)
