"""Tests of relevance: against scipy's, against two fitted models, and what each of them sees."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from covey._core.inspection import relevance as core
from covey._core.inspection.relevance import class_scores, unit_columns, value_scores


def evidence_of(X, y, unit=None, level=0.05):
    unit = np.arange(X.shape[1]) if unit is None else np.asarray(unit)
    weight = np.ones(len(y))
    units = unit_columns(X, unit, int(unit.max()) + 1, weight)
    target = value_scores(y, weight) if y.dtype.kind == "f" else class_scores(y, weight)
    marginal = core.marginal_log_p(units, target, len(y))
    return units, target, marginal, core.evidence(units, target, marginal, len(y), level)


def test_a_straight_column_alone_is_an_analysis_of_variance():
    rng = np.random.default_rng(0)
    codes, x = rng.integers(0, 3, 50), rng.normal(size=(50, 1))
    units, _, marginal, _ = evidence_of(x, codes)
    column = units.columns[:, 0]
    expected = stats.f_oneway(*(column[codes == one] for one in range(3))).pvalue
    assert_allclose(np.exp(marginal[0]), expected)
    y = rng.normal(size=50)
    units, target, marginal, _ = evidence_of(x, y)
    expected = stats.linregress(units.columns[:, 0], target[:, 0]).pvalue
    assert_allclose(np.exp(marginal[0]), expected)


def test_log_tails_go_on_where_p_values_end():
    trace = np.array([0.5, 0.99, 0.999])
    found = core.pillai_log_p(trace, np.full(3, 3), 1, np.full(3, 400.0))
    assert_allclose(found[0], stats.f.logsf(trace[0] / 3 / (1 - trace[0]) * 400, 3, 400))
    assert found[1] < np.log(1e-290)
    assert found[2] < found[1]
    # By mpmath with 50 digits.
    assert_allclose(core._log_beta_tail(np.array(0.96), 1.5, 200.0), -641.02366, atol=1e-4)
    assert (core.pillai_log_p(trace, np.full(3, 3), 1, np.zeros(3)) == 0).all()


def test_combined_p_values_are_a_mean_of_cauchy_variables():
    p = np.array([[0.2, 1e-40], [0.01, 1e-50]])
    found = core.combined_log_p(np.log(p))
    mean = np.tan((0.5 - p[:, 0]) * np.pi).mean()
    assert_allclose(np.exp(found[0]), stats.cauchy.sf(mean))
    assert_allclose(found[1], np.log(2e-50), rtol=1e-6)
    assert core.combined_log_p(np.zeros((3, 1)))[0] == pytest.approx(np.log(0.9))


def test_blocks_are_a_comparison_of_two_models():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)), rng.normal(size=80)
    y = y + X[:, 0]
    units, target, _, _ = evidence_of(X, y)
    inside = units.of([0, 1, 2])
    found = core._blocks(units, inside, target, 80)

    def left(columns):
        return np.linalg.lstsq(columns, target, rcond=None)[1][0]

    full, less = left(units.columns[:, inside]), left(units.columns[:, units.of([1, 2])])
    F = (less - full) / 3 / (full / (80 - 1 - 9))
    assert_allclose(np.exp(found[0]), stats.f.sf(F, 3, 70), rtol=1e-5)
    assert found[3] == 0
    # The same of a unit that is not in the model.
    basis = np.linalg.qr(units.columns[:, units.of([1, 2])])[0]
    rest = target - basis @ (basis.T @ target)
    beyond = core._beyond(units, units.of([1, 2]), basis, rest / np.linalg.norm(rest), 80)
    assert_allclose(beyond[0], found[0], rtol=1e-5)
    assert beyond[1] == beyond[2] == 0


def test_a_copy_is_worth_nothing_beyond_itself():
    rng = np.random.default_rng(0)
    x = rng.normal(size=100)
    units, target, _, found = evidence_of(np.stack([x, x], axis=1), x + rng.normal(size=100))
    assert (core._blocks(units, np.arange(6), target, 100) > np.log(0.5)).all()
    assert (found.log_p < np.log(1e-6)).all()


def test_the_small_difference_of_twins_is_not_tested():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[:, 1] = X[:, 0] + 0.05 * X[:, 1]
    units, target, _, _ = evidence_of(X, X[:, 0] - X[:, 1] + X[:, 2])
    found = core._blocks(units, np.flatnonzero(units.straight), target, 200)
    assert found[0] == found[1] == 0
    assert found[2] < np.log(1e-6)


def signal(kind, rng, n=300):
    X = rng.normal(size=(n, 12))
    if kind == "suppressed":
        X[:, 1] = 0.95 * X[:, 0] + 0.3 * X[:, 1]
    odds = {
        "straight": X[:, 0] - X[:, 1],
        "bent": 2 * X[:, 0] ** 2 - 2 * X[:, 1] ** 2,
        "suppressed": 4 * X[:, 0] - 4 * X[:, 1],
        "product": 3 * X[:, 0] * X[:, 1],
    }[kind]
    return X, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)


@pytest.mark.parametrize("kind", ["straight", "bent", "suppressed", "product"])
def test_each_kind_of_signal_is_seen(kind):
    X, codes = signal(kind, np.random.default_rng(0))
    *_, found = evidence_of(X, codes)
    assert found.log_p[:2].max() < np.log(1e-4)
    assert found.log_p[2:].min() > np.log(1e-3)
    assert ((0, 1) in found.pairs) == (kind == "product")


@pytest.mark.parametrize("rare", [False, True])
def test_p_values_of_noise_are_uniform_or_larger(rare):
    """Twins among noise, heavy tails, a rare class: few rows decide a difference of twins."""
    rng = np.random.default_rng(0)
    p = []
    for _ in range(60):
        X = rng.standard_t(2, size=(120, 10))
        X[:, 5:] = X[:, :5] + 0.1 * X[:, 5:]
        codes = rng.random(120) < (0.1 if rare else 0.5)
        p.append(np.exp(evidence_of(X, codes.astype(int))[-1].log_p))
    p = np.concatenate(p)
    assert (p < 0.05).mean() < 0.09
    assert (p < 0.01).mean() < 0.03


def test_a_target_whose_spread_depends_on_a_unit_has_no_more_products():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 40, 6))
    p = []
    for rows in X.transpose(1, 0, 2):
        y = rows[:, 0] * np.exp(rows[:, 0])
        *_, found = evidence_of(rows, y)
        p.append(np.exp(found.log_p[1:]))
    assert (np.concatenate(p) < 0.01).mean() < 0.02
