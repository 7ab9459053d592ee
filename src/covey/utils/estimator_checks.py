"""covey's own contract, beside scikit-learn's: the promises of fusers and fused classifiers.

Write a fuser or an ensemble of your own, and ``check_fuser`` or ``check_fused_classifier`` fails
if it breaks the contract. Each check is also a function of its own, for use with a test runner::

    @pytest.mark.parametrize("check", FUSER_CHECKS)
    def test_my_fuser(check):
        check(MyFuser())
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from covey.fusers import Fuser, Predictions

__all__ = ["FUSED_CLASSIFIER_CHECKS", "FUSER_CHECKS", "check_fused_classifier", "check_fuser"]


def check_fuser(fuser: Fuser) -> None:
    """Run all checks of a fuser.

    Parameters
    ----------
    fuser : Fuser
        Unfitted.

    Examples
    --------
    >>> import covey
    >>> from covey.utils.estimator_checks import check_fuser
    >>> check_fuser(covey.fusers.Median())
    """
    for check in FUSER_CHECKS:
        check(fuser)


def check_fused_classifier(classifier: Any) -> None:
    """Run all checks of a classifier that fuses members.

    Parameters
    ----------
    classifier : Ensemble
        Unfitted.

    Examples
    --------
    >>> import covey
    >>> from covey.utils.estimator_checks import check_fused_classifier
    >>> check_fused_classifier(covey.SubsetEnsembleClassifier(3, random_state=0))
    """
    for check in FUSED_CLASSIFIER_CHECKS:
        check(classifier)


# -- fusers ------------------------------------------------------------------------------------


class _Case:
    """Samples, their predictions by members, and a fuser that has learned from other samples."""

    def __init__(self, fuser: Fuser, *, n_classes: int = 3) -> None:
        rng = np.random.default_rng(0)
        self.fuser = clone(fuser).fit(*self._draw(rng, 80, 5, n_classes))
        self.P, self.y, self.X = self._draw(rng, 40, 5, n_classes)

    @staticmethod
    def _draw(
        rng: np.random.Generator, n_samples: int, n_members: int, n_classes: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        y = rng.integers(0, n_classes, n_samples)
        X = rng.standard_normal((n_samples, 3)) + y[:, None]
        sharpness = 0.3 + 2 * rng.random((n_samples, n_members, 1)) * np.eye(n_classes)[y][:, None]
        draws = rng.gamma(np.broadcast_to(sharpness, (n_samples, n_members, n_classes))) + 1e-9
        return draws / draws.sum(axis=2, keepdims=True), y, X

    def fuse(self, P: Any = None, rows: slice = slice(None)) -> np.ndarray:
        P = self.P if P is None else P
        return self.fuser.fuse(P, self.X[rows], self.y[rows])

    def importance(self, P: Any = None) -> np.ndarray:
        return self.fuser.importance(self.P if P is None else P, self.X, self.y)


def check_rows_sum_to_one(fuser: Fuser) -> None:
    """Check that fused probabilities are probabilities."""
    for n_classes in (2, 3, 7):
        fused = _Case(fuser, n_classes=n_classes).fuse()
        assert fused.shape == (40, n_classes)
        assert (fused >= 0).all()
        np.testing.assert_allclose(fused.sum(axis=1), 1.0, atol=1e-12)


def check_importance_is_a_distribution(fuser: Fuser) -> None:
    """Check that importances are non-negative and sum to one."""
    importance = _Case(fuser).importance()
    assert importance.shape == (40, 5)
    assert (importance >= 0).all()
    np.testing.assert_allclose(importance.sum(axis=1), 1.0, atol=1e-12)


def check_rows_are_independent(fuser: Fuser) -> None:
    """Check that the fusion of a sample does not depend on the others fused with it."""
    case = _Case(fuser)
    whole = case.fuse()
    for rows in (slice(0, 1), slice(7, 20), slice(39, 40)):
        np.testing.assert_allclose(case.fuse(case.P[rows], rows), whole[rows], atol=1e-12)


def check_log_is_the_logarithm(fuser: Fuser) -> None:
    """Check that ``fuse_log`` is the logarithm of ``fuse``."""
    case = _Case(fuser)
    logs = case.fuser.fuse_log(case.P, case.X, case.y)
    np.testing.assert_allclose(np.exp(logs), case.fuse(), atol=1e-12)


def check_unanimous_certainty_stays(fuser: Fuser) -> None:
    """Check that a class of which all members are certain stays certain, if that is promised."""
    if not fuser.keeps_certainty:
        return
    case = _Case(fuser)
    certain = np.eye(3)[np.repeat(case.y[:, None], 5, axis=1)]
    fused = case.fuse(certain)
    np.testing.assert_array_equal(fused.argmax(axis=1), case.y)
    np.testing.assert_allclose(fused.max(axis=1), 1.0, atol=1e-12)


def check_zeros_give_no_nan(fuser: Fuser) -> None:
    """Check that members that together rule every class out leave probabilities."""
    case = _Case(fuser)
    vetoes = np.tile(np.eye(3)[[0, 1, 2, 0, 1]], (40, 1, 1))
    fused = case.fuse(vetoes)
    assert np.isfinite(fused).all()
    np.testing.assert_allclose(fused.sum(axis=1), 1.0, atol=1e-12)


def check_absent_members_do_not_count(fuser: Fuser) -> None:
    """Check that a member without a prediction of a sample has no influence on it."""
    case = _Case(fuser)
    available = np.ones((40, 5), dtype=bool)
    available[::2, 1] = False
    available[::3, 4] = False
    loud = case.P.copy()
    loud[~available] = np.eye(3)[0]
    importance = case.importance(Predictions(case.P, available=available))
    assert not importance[~available].any()
    np.testing.assert_allclose(
        case.fuse(Predictions(case.P, available=available)),
        case.fuse(Predictions(loud, available=available)),
        atol=1e-12,
    )


def check_predictions_are_left_alone(fuser: Fuser) -> None:
    """Check that fusing changes nothing in its arguments."""
    case = _Case(fuser)
    before = case.P.copy()
    case.fuse()
    case.importance()
    np.testing.assert_array_equal(case.P, before)


def check_parameters_survive_cloning(fuser: Fuser) -> None:
    """Check that ``fit`` sets no constructor parameter, and a clone has them all."""
    before = {name: repr(value) for name, value in fuser.get_params().items()}
    case = _Case(fuser)
    after = {name: repr(value) for name, value in case.fuser.get_params().items()}
    assert before == after


def check_wrong_kind_is_refused(fuser: Fuser) -> None:
    """Check that raw values of regressors are refused as predictions of classes."""
    case = _Case(fuser)
    message = ""
    try:
        case.fuser.fuse(Predictions(case.P, kind="value"), case.X, case.y)
    except ValueError as error:
        message = str(error)
    assert "kind" in message, f"{fuser.title} fuses predictions of a kind that it does not take."


FUSER_CHECKS: tuple[Callable[[Fuser], None], ...] = (
    check_rows_sum_to_one,
    check_importance_is_a_distribution,
    check_rows_are_independent,
    check_log_is_the_logarithm,
    check_unanimous_certainty_stays,
    check_zeros_give_no_nan,
    check_absent_members_do_not_count,
    check_predictions_are_left_alone,
    check_parameters_survive_cloning,
    check_wrong_kind_is_refused,
)


# -- fused classifiers ---------------------------------------------------------------------------


def _fitted(classifier: Any, n_classes: int = 3) -> tuple[Any, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.arange(120) % n_classes
    X = rng.standard_normal((120, 6))
    X[:, :3] += 1.5 * np.eye(3)[y % 3]
    return clone(classifier).fit(X, y), X, y


def check_predict_is_the_argmax(classifier: Any) -> None:
    """Check that the decision is the most probable class, if there are probabilities."""
    fitted, X, _ = _fitted(classifier)
    if not hasattr(fitted, "predict_proba"):
        return
    expected = fitted.classes_[fitted.predict_proba(X).argmax(axis=1)]
    np.testing.assert_array_equal(fitted.predict(X), expected)


def check_member_probabilities(classifier: Any) -> None:
    """Check that members' probabilities have shape (n_samples, n_members, n_classes)."""
    fitted, X, _ = _fitted(classifier)
    probabilities = fitted.member_probabilities(X)
    assert probabilities.shape == (len(X), len(fitted.estimators_), len(fitted.classes_))


def check_explain_fusion(classifier: Any) -> None:
    """Check that importances are non-negative and sum to one."""
    fitted, X, _ = _fitted(classifier)
    importance = fitted.explain_fusion(X)
    assert importance.shape == (len(X), len(fitted.estimators_))
    assert (importance >= 0).all()
    np.testing.assert_allclose(importance.sum(axis=1), 1.0, atol=1e-12)


def check_oracle_bounds_members(classifier: Any) -> None:
    """Check that no member is more accurate than the oracle (the paper's Theorem 1)."""
    fitted, X, y = _fitted(classifier)
    right = fitted.classes_[fitted.member_probabilities(X).argmax(axis=2)] == y[:, None]
    assert fitted.oracle_score(X, y) >= right.mean(axis=0).max()


def check_labels_of_any_kind(classifier: Any) -> None:
    """Check that strings work as labels."""
    fitted, X, y = _fitted(classifier)
    names = np.array(["low", "mid", "top"])[y]
    renamed = clone(classifier).fit(X, names)
    np.testing.assert_array_equal(
        renamed.predict(X), np.array(["low", "mid", "top"])[fitted.predict(X)]
    )


FUSED_CLASSIFIER_CHECKS: tuple[Callable[[Any], None], ...] = (
    check_predict_is_the_argmax,
    check_member_probabilities,
    check_explain_fusion,
    check_oracle_bounds_members,
    check_labels_of_any_kind,
)
