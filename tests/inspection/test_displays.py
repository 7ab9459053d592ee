"""Displays: what is drawn is what was measured, on any axes, with few and many features."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_iris
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from covey import (
    FlockClassifier,
    FusionClassifier,
    FusionRegressor,
    SubsetEnsembleClassifier,
    SubsetEnsembleRegressor,
    SubsetSelector,
    make_quarter_circle,
)
from covey.inspection import (
    BiasVarianceDisplay,
    CoSelectionDisplay,
    DartsDisplay,
    DecisionRegionsDisplay,
    ImportanceDisplay,
    KappaErrorDisplay,
    SizeDisplay,
    TrainingHistoryDisplay,
    bias_variance,
    diversity,
)
from covey.inspection._bias_variance import BiasVariance

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def square():
    return make_quarter_circle(60, random_state=0)


@pytest.fixture(scope="module")
def petals():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X.iloc[:, 2:], y


@pytest.fixture(scope="module")
def printed(square):
    """Algorithm 1 as printed: a fixed rule, and every member with a history."""
    flock = SubsetEnsembleClassifier.paper(n_estimators=5, select_size=None, random_state=0)
    return flock.fit(*square)


@pytest.fixture(scope="module")
def searched(petals):
    """Members on ramps and products, several classes, a gate that learns."""
    flock = FlockClassifier(random_state=0).fit(*petals)
    assert not flock.basis_.is_plain
    return flock


@pytest.fixture(scope="module")
def voters(square):
    members = [DecisionTreeClassifier(random_state=0), GaussianNB(), LogisticRegression()]
    return FusionClassifier(members, fuser="majority").fit(*square)


@pytest.fixture(scope="module")
def selectors():
    def fitted(n_dummy):
        X, y = make_quarter_circle(60, n_dummy_features=n_dummy, random_state=0)
        return SubsetSelector(n_resamples=10, random_state=0).fit(X, y)

    return {8: fitted(6), 200: fitted(198)}


def noisy_wave(rng):
    X = rng.uniform(0, 1, (30, 1))
    return X, wave(X) + 0.3 * rng.normal(size=30)


def wave(X):
    return np.sin(6 * X[:, 0])


X_WAVE = np.linspace(0.02, 0.98, 21)[:, None]


@pytest.fixture(scope="module")
def waves():
    models = {
        "tree": DecisionTreeRegressor(),
        "line": LinearRegression(),
        "stump": DecisionTreeRegressor(max_depth=1, splitter="random"),
    }
    return {
        name: bias_variance(
            model,
            draw=noisy_wave,
            X_test=X_WAVE,
            truth=wave,
            noise_variance=0.09,
            n_runs=12,
            random_state=0,
        )
        for name, model in models.items()
    }


def drawn_on(display, ax):
    display.figure_.canvas.draw()
    return display.ax_ is ax and display.figure_ is ax.figure


def texts(ax):
    return [text.get_text() for text in ax.texts]


# -- features --------------------------------------------------------------------------------


@pytest.mark.parametrize("n_features", [8, 200])
def test_the_map_holds_the_frequencies_and_what_was_selected(selectors, n_features):
    selector = selectors[n_features]
    _, axes = plt.subplots(1, 3)
    diagonal = np.eye(n_features, dtype=bool)
    expected = {
        "frequency": selector.co_selection_,
        "pairs": selector.co_selection_binary_ & ~diagonal,
        "features": np.diag(selector.support_),
    }
    for ax, (kind, matrix) in zip(axes, expected.items(), strict=True):
        display = CoSelectionDisplay.from_estimator(selector, kind=kind, ax=ax)
        assert drawn_on(display, ax)
        assert_array_equal(display.image_.get_array(), matrix)
    n_pairs = len(selector.top_pairs_)
    assert f"{n_pairs} pairs" in axes[1].get_title(loc="left")
    assert f"{selector.support_.sum()} features" in axes[2].get_title(loc="left")


def test_few_features_have_names_and_values_and_many_have_few_ticks(selectors):
    few = CoSelectionDisplay.from_estimator(selectors[8]).ax_
    assert [label.get_text() for label in few.get_xticklabels()] == list("01234567")
    values = selectors[8].co_selection_
    written = {text.get_position(): float(text.get_text()) for text in few.texts}
    assert written == {(y, x): round(float(v), 2) for (x, y), v in np.ndenumerate(values)}
    many = CoSelectionDisplay.from_estimator(selectors[200]).ax_
    shown = [label.get_text() for label in many.get_xticklabels()]
    assert 1 <= len(shown) <= 8
    assert shown == [str(int(place)) for place in many.get_xticks()]
    assert not many.texts
    pairs = CoSelectionDisplay.from_estimator(selectors[200], kind="pairs").ax_
    # A cell of 200 is too small to see: each has a mark as well.
    (marks,) = pairs.collections
    places = {tuple(map(int, place)) for place in marks.get_offsets()}
    kept = {(one, other) for one, other, _ in selectors[200].top_pairs_}
    assert places == kept | {(other, one) for one, other in kept}


# -- members ---------------------------------------------------------------------------------


def lines(ax):
    return {line.get_label(): line.get_ydata() for line in ax.get_lines()}


def test_size_curves_are_staged_scores(printed, square):
    _, ax = plt.subplots()
    display = SizeDisplay.from_estimator(printed, *square, ax=ax)
    assert drawn_on(display, ax)
    shown = lines(ax)
    assert_array_equal(shown["fused: product"], printed.staged_score(*square))
    assert_array_equal(shown["oracle"], printed.staged_score(*square, fuser="oracle"))
    assert shown["single model"][0] == printed.estimators_[0].score(*square)
    assert "fused as fitted" not in shown
    weight = np.arange(1.0, 121.0)
    other = SizeDisplay.from_estimator(
        printed, *square, fuser="median", baseline=0.5, sample_weight=weight
    )
    assert_array_equal(other.fused, printed.staged_score(*square, weight, fuser="median"))
    assert other.baseline == 0.5


def test_what_cannot_be_staged_is_shown_as_it_is(searched, petals, voters, square):
    display = SizeDisplay.from_estimator(searched, *petals)
    assert display.rule == "product"
    assert lines(display.ax_)["fused as fitted"] == [searched.score(*petals)]
    assert SizeDisplay.from_estimator(voters, *square).rule == "majority"


def test_kappa_points_are_those_of_diversity(printed, square):
    X, y = square
    _, ax = plt.subplots()
    display = KappaErrorDisplay.from_estimator(printed, X, y, ax=ax)
    assert drawn_on(display, ax)
    P = printed.member_probabilities(X)
    kappa = diversity(P, measures="label_kappa").matrices["label_kappa"]
    error = [1 - member.score(X, y) for member in printed.estimators_]
    points = display.points_.get_offsets()
    assert len(points) == 10
    for (one, other), point in zip(display.pairs, points, strict=True):
        assert_allclose(point, [kappa[one, other], (error[one] + error[other]) / 2])
    assert texts(ax)[:2] == ["1-2", "1-3"]


def test_kappa_of_saved_labels_counts_weights():
    P, y = [[0, 0, 1, 1], [0, 1, 1, 0]], [0, 0, 1, 1]
    display = KappaErrorDisplay.from_predictions(P, y, sample_weight=[1, 1, 1, 5])
    assert_allclose(display.error, [(0 + 6 / 8) / 2])


def test_importances_are_sorted_by_class_then_by_who_counts_most(searched, petals):
    X, _ = petals
    _, (left, right) = plt.subplots(1, 2)
    display = ImportanceDisplay.from_estimator(searched, X, kind="stacked", ax=left)
    assert drawn_on(display, left)
    assert_array_equal(display.importance, searched.explain_fusion(X)[display.order])
    assert_array_equal(display.predictions, np.sort(searched.predict(X)))
    assert texts(left) == ["→ 0", "→ 1", "→ 2"]
    display.plot(right, kind="heatmap")
    assert_array_equal(right.images[0].get_array(), display.importance.T)
    assert sorted(display.order) == list(range(len(X)))


def test_many_members_become_a_heat_map_with_some_of_their_names():
    share = np.random.default_rng(0).dirichlet(np.ones(40), 30)
    names = [f"member {number}" for number in range(40)]
    display = ImportanceDisplay(
        importance=share, order=np.arange(30), predictions=None, names=names
    ).plot()
    (image,) = display.ax_.images
    # A row of the picture is a member, a column a row of the data.
    assert_array_equal(image.get_array(), share.T)
    shown = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert 2 <= len(shown) <= 30
    assert shown == [names[int(place)] for place in display.ax_.get_yticks()]


def test_regions_are_predictions_and_lines_are_where_members_tie(printed, square):
    X, y = square
    _, ax = plt.subplots()
    display = DecisionRegionsDisplay.from_estimator(printed, X, y, resolution=30, ax=ax)
    assert drawn_on(display, ax)
    grid = np.stack(np.meshgrid(display.x0, display.x1), axis=2).reshape(-1, 2)
    assert_array_equal(np.ravel(display.regions_.get_array()), printed.predict(grid))
    ties = [c for c in ax.collections if isinstance(c, mpl.contour.ContourSet)]
    drawn = [m for m in printed.estimators_ if np.ptp(m.predict(grid)) > 0]
    assert len(ties) == len(drawn) + 1
    for member, tie in zip(drawn, ties, strict=False):
        assert_allclose(member.decision_function(tie.get_paths()[0].vertices), 0, atol=1e-9)


def test_regions_of_three_classes_with_names_and_bent_members(searched, petals):
    display = DecisionRegionsDisplay.from_estimator(searched, *petals, resolution=25)
    grid = np.stack(np.meshgrid(display.x0, display.x1), axis=2).reshape(-1, 2)
    expected = searched.predict(
        petals[0]
        .iloc[:0]
        .reindex(range(len(grid)))
        .assign(**dict(zip(petals[0].columns, grid.T, strict=True)))
    )
    assert_array_equal(np.ravel(display.regions_.get_array()), expected)
    # All points are shown, and lie within the axes.
    low, high = petals[0].min().to_numpy(), petals[0].max().to_numpy()
    assert display.x0[0] < low[0] < high[0] < display.x0[-1]
    assert display.x1[0] < low[1] < high[1] < display.x1[-1]
    assert display.ax_.get_xlabel() == "petal length (cm)"
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["fused", "members", "0", "1", "2"]


def test_regions_of_voters_without_labels_of_points(voters, square):
    display = DecisionRegionsDisplay.from_estimator(voters, square[0], resolution=20)
    grid = np.stack(np.meshgrid(display.x0, display.x1), axis=2).reshape(-1, 2)
    votes = display.members.argmax(axis=3).reshape(-1, 3)
    expected = np.column_stack([member.predict(grid) for member in voters.estimators_])
    assert_array_equal(votes, expected)
    assert_array_equal(np.ravel(display.regions_.get_array()), (expected.sum(axis=1) > 1))
    assert display.codes is None


def test_history_is_drawn_step_by_step(printed):
    _, ax = plt.subplots()
    display = TrainingHistoryDisplay.from_estimator(printed, relative=False, ax=ax)
    assert drawn_on(display, ax)
    upper, lower = (lines(half) for half in display.axes_)
    for number, past in enumerate(printed.history_, start=1):
        assert_array_equal(upper[f"member {number}"], past["weighted_accuracy"])
        assert_array_equal(lower[f"member {number}"], past["subset_size"])
    assert display.skipped == []
    relative = TrainingHistoryDisplay.from_estimator(printed).axes_[0]
    assert all(line.get_ydata().max() <= 1 for line in relative.get_lines())


def test_members_without_history_are_said(printed):
    display = TrainingHistoryDisplay(history=[{}, printed.history_[0], {}]).plot()
    assert display.skipped == [1, 3]
    assert texts(display.axes_[1]) == ["no history: members 1, 3, fitted alone"]
    with pytest.raises(ValueError, match="every member was fitted alone"):
        TrainingHistoryDisplay(history=[{}, {}]).plot()


# -- bias and variance -------------------------------------------------------------------------


def test_bars_add_up_to_the_expected_loss(waves):
    _, ax = plt.subplots()
    display = BiasVarianceDisplay.from_results(waves, ax=ax)
    assert drawn_on(display, ax)
    assert list(display.bars_) == ["bias", "variance", "noise"]
    heights = [[bar.get_height() for bar in bars] for bars in display.bars_.values()]
    assert_allclose(np.sum(heights, axis=0), [r.expected_loss for r in waves.values()])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["tree", "line", "stump"]
    named = BiasVarianceDisplay.from_results(waves["line"])
    assert list(named.results) == ["LinearRegression"]


def test_negative_parts_go_below_zero(square):
    found = bias_variance(
        DecisionTreeClassifier(max_depth=1), *square, n_runs=8, random_state=0, max_samples=0.1
    )
    display = BiasVarianceDisplay.from_results({"stump": found})
    heights = [bars[0].get_height() for bars in display.bars_.values()]
    assert_allclose(sum(heights), found.expected_loss)
    helped = BiasVariance("zero_one", "domingos", 0.3, 0.2, bias=0.5, net_variance=-0.2)
    lowered = BiasVarianceDisplay.from_results({"model": helped})
    (bar,) = lowered.bars_["net_variance"]
    assert (bar.get_y(), bar.get_height()) == (0, -0.2)


def test_darts_are_errors_of_two_rows(waves):
    _, ax = plt.subplots()
    truth = wave(X_WAVE)
    display = DartsDisplay.from_results(waves, rows=(3, 15), ax=ax)
    assert drawn_on(display, ax)
    for target, result in zip(display.axes_, waves.values(), strict=True):
        expected = (result.predictions - truth)[:, [3, 15]]
        assert_array_equal(target.collections[0].get_offsets(), expected)
        # No dart misses the target.
        assert np.hypot(*expected.T).max() <= target.get_xlim()[1]
    chosen = DartsDisplay.from_results(waves).rows
    assert chosen[0] < chosen[1]


# -- what is refused -----------------------------------------------------------------------------


def test_bad_input_is_answered_with_a_sentence(selectors, printed, square, waves):
    X, y = square
    cases = [
        (lambda: CoSelectionDisplay.from_estimator(printed), TypeError, "fitted SubsetSelector"),
        (lambda: CoSelectionDisplay.from_estimator(selectors[8], kind="a"), ValueError, "kind"),
        (
            lambda: SizeDisplay.from_estimator(GaussianNB(), X, y),
            TypeError,
            "wrap other models in a FusionClassifier",
        ),
        (lambda: KappaErrorDisplay.from_predictions([[0, 1]], [0, 1]), ValueError, "two or more"),
        (
            lambda: DecisionRegionsDisplay.from_estimator(printed, np.ones((3, 4)), y),
            ValueError,
            "two features to be drawn on a plane, got 4",
        ),
        (
            lambda: DecisionRegionsDisplay.from_estimator(printed, X, y + 5),
            ValueError,
            "y holds the label",
        ),
        (
            lambda: TrainingHistoryDisplay.from_estimator(GaussianNB()),
            TypeError,
            "grown step by step, got GaussianNB",
        ),
        (lambda: BiasVarianceDisplay.from_results({}), TypeError, "what bias_variance returned"),
        (lambda: BiasVarianceDisplay.from_results([1]), TypeError, "what bias_variance returned"),
        (
            lambda: DartsDisplay.from_results(waves, rows=(1, 1)),
            ValueError,
            "two different test rows",
        ),
        (
            lambda: DartsDisplay.from_results(waves, rows=(0, 21)),
            ValueError,
            "rows == 21",
        ),
    ]
    for call, error, sentence in cases:
        with pytest.raises(error, match=sentence):
            call()


def test_the_oracle_has_no_regions_and_results_of_two_losses_no_common_bars(square, waves):
    X, y = square
    oracle = SubsetEnsembleClassifier.paper(n_estimators=2, fuser="oracle", random_state=0)
    oracle.fit(X, y)
    assert SizeDisplay.from_estimator(oracle, X, y).fitted_score is None
    for call in (DecisionRegionsDisplay.from_estimator, ImportanceDisplay.from_estimator):
        with pytest.raises(ValueError, match="fused by the oracle"):
            call(oracle, X)
    votes = bias_variance(GaussianNB(), X, y, n_runs=2, random_state=0)
    with pytest.raises(ValueError, match="share one loss and decomposition"):
        BiasVarianceDisplay.from_results({"votes": votes, "line": waves["line"]})
    with pytest.raises(ValueError, match="regressors with one output"):
        DartsDisplay.from_results(votes)
    with pytest.raises(ValueError, match="regressors with one output"):
        DartsDisplay.from_results(replace(waves["line"], predictions=None))


def test_without_matplotlib_its_name_is_said(monkeypatch, selectors):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="needs matplotlib: pip install matplotlib"):
        CoSelectionDisplay.from_estimator(selectors[8])


def test_a_regressors_members_are_drawn_like_a_classifiers():
    X, y = load_diabetes(return_X_y=True)
    flock = SubsetEnsembleRegressor(3, fuser="mean", random_state=0).fit(X, y)
    display = ImportanceDisplay.from_estimator(flock, X)
    assert display.predictions is None
    assert display.importance.shape == (len(y), 3)
    history = TrainingHistoryDisplay.from_estimator(flock)
    line = history.axes_[0].get_lines()[0].get_ydata()
    assert line[0] == 1
    assert line[-1] < 0.8
    assert "loss" in history.axes_[0].get_ylabel()
    fused = FusionRegressor([LinearRegression(), DummyRegressor()]).fit(X, y)
    names = ImportanceDisplay.from_estimator(fused, X).names
    assert names == ["linearregression", "dummyregressor"]


def test_categories_and_gaps_are_no_points_of_a_plane():
    rng = np.random.default_rng(0)
    X = rng.random((60, 2))
    y = X.sum(axis=1) > 1
    flock = FlockClassifier(effort="fast", n_estimators=1, random_state=0)
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0.5, "u", "v")})
    gaps = np.where(np.arange(60)[:, None] % 9 == 0, np.nan, X)
    for rows in (table, gaps):
        fitted = flock.fit(rows, y)
        with pytest.raises(ValueError, match="X must hold finite numbers to be drawn on a plane"):
            DecisionRegionsDisplay.from_estimator(fitted, rows, y)
