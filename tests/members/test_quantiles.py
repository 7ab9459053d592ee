"""Several quantiles by a flock each, which never cross."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_pinball_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

from covey import FlockQuantiles, FlockRegressor
from covey.persistence import ModelFileError, load
from tests.persistence._helpers import changed, round_trip, saved

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(200, 3))
Y = X[:, 0] + (1.1 + X[:, 1]) * rng.normal(size=200)
SHARES = [0.2, 0.45, 0.5, 0.55, 0.9]
FAST = FlockRegressor(effort="fast", n_estimators=3, alpha=0.001, random_state=0)


@pytest.fixture(scope="module")
def fitted():
    return FlockQuantiles(SHARES, FAST).fit(X, Y)


def test_columns_are_those_of_single_flocks_sorted_and_never_lose_by_it(fitted):
    singles = [one.set_params(n_jobs=None).predict(X) for one in fitted.estimators_]
    alone = FlockRegressor(**FAST.get_params() | {"loss": "quantile", "quantile": 0.9}).fit(X, Y)
    np.testing.assert_array_equal(singles[-1], alone.predict(X))
    assert (np.diff(singles, axis=0) < 0).any()  # some cross before they are sorted
    found = fitted.predict(X)
    assert found.shape == (200, 5)
    assert (np.diff(found, axis=1) >= 0).all()
    before, after = (
        sum(mean_pinball_loss(Y, f, alpha=q) for q, f in zip(SHARES, columns, strict=True))
        for columns in (singles, found.T)
    )
    assert after <= before


def test_each_share_of_rows_lies_below_and_bounds_widen_where_numbers_spread(fitted):
    found = fitted.predict(X)
    np.testing.assert_allclose((Y[:, None] < found).mean(axis=0), SHARES, atol=0.07)
    width, wide = found[:, -1] - found[:, 0], X[:, 1] > 0
    assert width[wide].mean() > 1.5 * width[~wide].mean()
    assert 0 < fitted.score(X, Y) < 1


def test_files_bring_it_back_and_refuse_what_does_not_belong_together(fitted, tmp_path):
    np.testing.assert_array_equal(round_trip(fitted, tmp_path).predict(X), fitted.predict(X))
    path = saved(fitted, tmp_path / "model.covey")
    few = changed(path, lambda d: d["model"]["fitted"]["estimators"].__delitem__(0))
    with pytest.raises(ModelFileError, match="are not one for each quantile"):
        load(few)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"quantiles": []}, "must be one or more that rise"),
        ({"quantiles": [0.5, 0.5]}, "must be one or more that rise"),
        ({"quantiles": [0.9, 0.1]}, "must be one or more that rise"),
        ({"quantiles": [0.0, 0.5]}, "quantiles"),
        ({"quantiles": ["a"]}, "quantiles"),
        ({"estimator": Ridge()}, "estimator must be a FlockRegressor"),
    ],
)
def test_impossible_parameters_are_refused_in_one_sentence(parameters, match):
    with pytest.raises((ValueError, TypeError), match=match) as refused:
        FlockQuantiles(**parameters).fit(X, Y)
    assert "\n" not in str(refused.value)


_COUNTS_ROWS = "the penalty depends on how many rows there are, not on their weight"


@parametrize_with_checks(
    [FlockQuantiles(estimator=FlockRegressor(effort="fast", random_state=0))],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": _COUNTS_ROWS,
        "check_sample_weight_equivalence_on_sparse_data": _COUNTS_ROWS,
        "check_estimator_sparse_array": "a prediction has a column for each quantile",
        "check_estimator_sparse_matrix": "a prediction has a column for each quantile",
    },
)
def test_scikit_learn_check_passes(estimator, check):
    check(estimator)
