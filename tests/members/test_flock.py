"""The default: a search for gated groups, and what is left of it to read."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)
from sklearn.preprocessing import StandardScaler

import covey._core.search.rows as rungs
import covey._core.search.search as search
import covey.members._linear_search as _linear_search
from covey import (
    FlockClassifier,
    FlockRegressor,
    Gate,
    SubsetEnsembleClassifier,
    make_quarter_circle,
)
from covey._core.search.cross_fit import CrossFit
from covey._folds import make_folds


def flock(**parameters):
    return FlockClassifier(**{"n_estimators": 3, "random_state": 0, **parameters})


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def fitted(iris):
    return flock().fit(*iris)


def rings(n=300, seed=0):
    """Two classes that no line tells apart, and two columns of noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (np.hypot(X[:, 0], X[:, 1]) > 1.18).astype(int)


# -- how good --------------------------------------------------------------------------------


@pytest.mark.parametrize("effort", ["fast", "balanced", "best"])
def test_bends_where_a_line_cannot(effort):
    X, y = rings()
    X_test, y_test = rings(2000, seed=1)
    ours, line = (
        1 - model.fit(X, y).score(X_test, y_test)
        for model in (flock(effort=effort), LogisticRegression())
    )
    assert ours < line / 4


def test_is_a_line_where_a_line_is_best():
    rng = np.random.default_rng(0)
    X, X_test = rng.normal(size=(200, 6)), rng.normal(size=(4000, 6))
    beta = np.array([1.0, -1, 0.5, 0, 0, 0])
    y, y_test = (rng.random(len(Z)) < 1 / (1 + np.exp(-Z @ beta)) for Z in (X, X_test))
    ours = log_loss(y_test, flock().fit(X, y).predict_proba(X_test))
    line = log_loss(y_test, LogisticRegression().fit(X, y).predict_proba(X_test))
    assert ours < line + 0.02


def test_knows_products():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    fresh = rng.normal(size=(2000, 4))
    model = flock().fit(X, y)
    ours, line = (
        1 - one.score(fresh, fresh[:, 0] * fresh[:, 1] > 0)
        for one in (model, LogisticRegression().fit(X, y))
    )
    assert ours < line / 10
    assert set(np.argsort(-model.feature_importances_)[:2]) == {0, 1}


# -- what is left to read --------------------------------------------------------------------


def test_attributes_agree_with_each_other(fitted, iris):
    X, _ = iris
    n_members, n_groups = fitted.n_estimators_, len(fitted.group_weights_)
    assert fitted.member_coef_.shape == (n_members, 3, fitted.basis_.n_columns)
    assert fitted.support_.shape == (n_members, 4)
    assert len(fitted.n_iter_) == len(fitted.estimators_) == n_members
    assert_array_equal(np.unique(fitted.group_of_), np.arange(n_groups))
    assert fitted.group_weights_.sum() == pytest.approx(1)
    assert (np.diff(fitted.group_weights_) <= 1e-12).all(), "the heaviest group comes first"
    assert fitted.feature_importances_.sum() == pytest.approx(1)
    results = fitted.cv_results_
    assert results["weight"].sum() == pytest.approx(1)
    assert (results["weight"] > 0).sum() == n_groups
    assert ((results["n_members"] == 1) & (results["basis"] == "features")).any(), (
        "plain softmax regression is always a candidate"
    )
    importance = fitted.explain_fusion(X)
    assert_allclose(importance.sum(axis=1), 1, rtol=1e-12)
    for group, weight in enumerate(fitted.group_weights_):
        assert_allclose(importance[:, fitted.group_of_ == group].sum(axis=1), weight, rtol=1e-12)


def test_members_say_what_the_ensemble_says_of_them(fitted, iris):
    X, y = iris
    said = fitted.member_probabilities(X)
    for number, member in enumerate(fitted.estimators_):
        assert_allclose(member.predict_proba(X), said[:, number], rtol=1e-12)
    linear = fitted.cv_results_["pool"] == "linear"
    assert linear[fitted.cv_results_["weight"] > 0].all()
    by_hand = np.einsum("nk,nkc->nc", fitted.explain_fusion(X), said)
    assert_allclose(fitted.predict_proba(X), by_hand, rtol=1e-10)
    assert fitted.oracle_score(X, y) >= fitted.score(X, y)


def test_a_member_outside_its_subset_does_not_look():
    X, y = make_classification(200, 12, n_informative=4, random_state=0)
    model = flock(effort="fast", max_features=5).fit(X, y)
    assert not model.support_.all()
    before = model.member_probabilities(X)
    for number, support in enumerate(model.support_):
        changed = X.copy()
        changed[:, ~support] += 100.0
        assert_allclose(
            model.member_probabilities(changed)[:, number], before[:, number], rtol=1e-9
        )


def test_explain_names_members_and_features(fitted, iris):
    X, _ = iris
    records = fitted.explain(X.iloc[[0, 75, 140]], top=2)
    importance = fitted.explain_fusion(X.iloc[[0, 75, 140]])
    for record, shares, probabilities in zip(
        records, importance, fitted.predict_proba(X.iloc[[0, 75, 140]]), strict=True
    ):
        assert record["probability"] == pytest.approx(probabilities.max())
        assert fitted.classes_.tolist().index(record["prediction"]) == probabilities.argmax()
        weights = [member["weight"] for member in record["members"]]
        assert weights == sorted(weights, reverse=True)
        assert weights[0] == pytest.approx(shares.max())
        for member in record["members"]:
            assert len(member["because"]) <= 2
            for name, push in member["because"]:
                assert any(feature in name for feature in X.columns)
                assert push > 0


def test_a_member_prints_as_a_formula(fitted):
    member = fitted.estimators_[0]
    lines = str(member).splitlines()
    assert [line.split(" = ")[0] for line in lines] == [f"score of {c}" for c in range(3)]
    assert "petal" in lines[0]
    assert "smaller terms" in member.formula(top=1)


def test_formula_gives_the_log_odds():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :3]
    member = flock(n_estimators=1, effort="fast").fit(X, y).estimators_[0]

    def ramp(x, low, high):
        return np.clip((x - low) / (high - low), 0, 1)

    right = member.formula(digits=12).split(" = ")[1]
    # "0.5 x0" is a product; everything else is Python already.
    terms = right.replace(" + ", "|+").replace(" - ", "|-").split("|")
    total = np.full(len(X), float(terms[0]))
    for term in terms[1:]:
        number, name = term.split(" ", 1)
        total += float(number) * eval(name, {"ramp": ramp, **{f"x{i}": X[:, i] for i in range(3)}})
    assert_allclose(total, member.decision_function(X), rtol=1e-6, atol=1e-3)


def test_few_members_are_enough():
    X, y = load_wine(return_X_y=True)
    model = FlockClassifier(random_state=0).fit(X, y)
    shares = model.explain_fusion(X).mean(axis=0)
    heaviest = [shares[model.group_of_ == group].max() for group in model.group_of_]
    assert ((shares >= 0.004) | (shares == heaviest)).all()


# -- the same, whatever the way --------------------------------------------------------------


def test_same_seed_same_bits(iris):
    X, y = iris
    one, other = flock().fit(X, y), flock(n_jobs=2).fit(X, y)
    assert_array_equal(one.member_coef_, other.member_coef_)
    assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    copy = pickle.loads(pickle.dumps(one))
    assert_array_equal(one.predict_proba(X), copy.predict_proba(X))
    plain = flock().fit(X.to_numpy(), y)
    # Products of sparse rows are added up in another order.
    from_sparse = plain.predict_proba(sparse.csr_array(X.to_numpy()))
    assert_allclose(one.predict_proba(X), from_sparse, atol=1e-12)


def test_units_of_x_do_not_matter(iris):
    X, y = iris
    plain = flock().fit(X.to_numpy(), y).predict_proba(X.to_numpy())
    moved = 1000 * X.to_numpy() - 5
    assert_allclose(flock().fit(moved, y).predict_proba(moved), plain, atol=1e-3)


def test_sparse_rows_are_searched_without_ramps():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((400, 30)) < 0.2, rng.random((400, 30)), 0.0)
    y = (X[:, 0] + X[:, 1] > 0.3).astype(int)
    thin = sparse.csr_array(X[:200])
    with pytest.warns(UserWarning, match="X is sparse, so members see its columns alone"):
        model = flock().fit(thin, y[:200])
    assert set(model.cv_results_["basis"]) == {"features"}
    assert model.basis_.is_plain
    assert_allclose(model.predict_proba(thin), model.predict_proba(X[:200]), rtol=1e-10)
    line = LogisticRegression().fit(X[:200], y[:200])
    ours, theirs = (log_loss(y[200:], one.predict_proba(X[200:])) for one in (model, line))
    assert ours < theirs


def test_alpha_is_the_only_penalty_if_given(iris):
    model = flock(alpha=0.05).fit(*iris)
    assert set(model.cv_results_["alpha"]) == {0.05}
    small = flock(alpha=1e-4, effort="fast").fit(*iris)
    large = flock(alpha=1.0, effort="fast").fit(*iris)
    assert np.abs(large.member_coef_).max() < np.abs(small.member_coef_).max()


def test_weightless_rows_do_not_exist(iris):
    X, y = iris[0].to_numpy(), iris[1].to_numpy().copy()
    weight = np.ones(150)
    weight[::7] = 0.0
    garbage, rows = X.copy(), np.flatnonzero(weight)
    garbage[::7], y[::7] = [50.0, -50.0, 50.0, -50.0], 1
    model = flock(effort="fast").fit(garbage, y, sample_weight=weight)
    without = flock(effort="fast").fit(X[rows], y[rows])
    assert_allclose(model.predict_proba(X), without.predict_proba(X), atol=1e-5)
    folds = list(StratifiedKFold(3).split(X[rows], y[rows]))
    whole = [(rows[train], np.append(rows[test], 0)) for train, test in folds]
    model = flock(cv=whole).fit(garbage, y, sample_weight=weight)
    without = flock(cv=folds).fit(X[rows], y[rows])
    # Sums of single precision are made in another order.
    assert_allclose(model.cv_results_["log_loss"], without.cv_results_["log_loss"], rtol=0.03)


# -- folds -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cv",
    [
        2,
        StratifiedKFold(3),
        KFold(4, shuffle=True, random_state=0),
        [([*range(0, 150, 2)], [1, 3])],
    ],
)
def test_cv_takes_what_scikit_learn_takes(iris, cv):
    X, y = iris[0].to_numpy(), iris[1].to_numpy()
    model = flock(n_estimators=1, alpha=0.01, cv=cv).fit(X, y)
    if cv == 2:
        folds = make_folds(
            cv, X, y, np.ones(150), model.classes_, groups=None, seed=model._seed, n_repeats=3
        )
    else:
        folds = list(cv.split(X, y)) if hasattr(cv, "split") else cv
    # The first candidate, softmax regression on the features, by the log-loss of these folds.
    Z = StandardScaler().fit_transform(X)
    losses = []
    for train, test in folds:
        line = LogisticRegression(C=100 / len(train), tol=1e-8).fit(Z[train], y[train])
        losses += list(-line.predict_log_proba(Z[test])[np.arange(len(test)), y[test]])
    assert_allclose(model.cv_results_["log_loss"][0], np.mean(losses), rtol=5e-3)


def test_rows_outside_a_fold_teach_it_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.arange(120) % 2
    X[:, 0] += y
    fold = np.arange(60), np.arange(60, 90)
    taught = {}
    for name, changed in (("as they are", slice(0)), ("after", slice(90, 120)), ("in", slice(60))):
        labels = y.copy()
        labels[changed] = 1 - labels[changed]
        taught[name] = flock(cv=[fold]).fit(X, labels).cv_results_["log_loss"]
    # Sums of single precision are made in another order.
    assert_allclose(taught["after"], taught["as they are"], rtol=1e-3)
    best = np.argmin(taught["as they are"])
    assert taught["in"][best] > 1.2 * taught["as they are"][best]


def test_groups_are_never_separated():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 5)
    voice = rng.normal(size=(40, 6))[groups]
    y = (rng.random(40) < 0.5).astype(int)[groups]
    X = voice + 0.01 * rng.normal(size=(200, 6))
    # Who speaks is known from the voice, what is said is not: only groups show it.
    by_row = flock(cv=4).fit(X, y).cv_results_["log_loss"].min()
    by_group = flock(cv=4).fit(X, y, groups=groups).cv_results_["log_loss"].min()
    assert by_row < 0.5 < by_group
    assert_array_equal(flock(cv=GroupKFold(4)).fit(X, y, groups=groups).classes_, [0, 1])


def test_works_inside_scikit_learn(iris):
    X, y = iris
    folds = list(StratifiedKFold(3).split(X, y))
    expected = [
        flock(effort="fast").fit(X.iloc[train], y[train]).score(X.iloc[test], y[test])
        for train, test in folds
    ]
    assert_array_equal(cross_val_score(flock(effort="fast"), X, y, cv=folds), expected)


# -- bad input -------------------------------------------------------------------------------


def test_a_class_with_one_row_is_trained_on_and_said(iris):
    X, y = iris
    labels = y.to_numpy().astype(object)
    labels[:] = "common"
    labels[75:] = "other"
    labels[3] = "alone"
    with pytest.warns(UserWarning, match="Class 'alone' has one row, which no fold can hold out"):
        model = flock().fit(X, labels)
    assert model.classes_.tolist() == ["alone", "common", "other"]
    assert model.predict_proba(X).shape == (150, 3)


def test_few_rows_fold_less_and_many_members_are_no_trouble():
    X, y = make_quarter_circle(3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = FlockClassifier(n_estimators=20, cv=10, random_state=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_constant_columns_are_in_no_subset(iris):
    X, y = iris
    X = X.assign(constant=3.0)
    model = flock().fit(X, y)
    assert not model.support_[:, 4].any()
    assert model.feature_importances_[4] == 0
    assert_allclose(
        model.predict_proba(X), model.predict_proba(X.assign(constant=-8.0)), rtol=1e-12
    )


def refused(match, X, y, kind=ValueError, groups=None, **parameters):
    with pytest.raises(kind, match=match):
        flock(**parameters).fit(X, y, groups=groups)


def test_bad_input_gets_one_sentence(iris):
    X, y = iris
    refused("effort must be one of 'fast', 'balanced', 'best', got 'slow'", X, y, effort="slow")
    refused("alpha", X, y, alpha=0.0)
    refused("cv", X, y, cv=1)
    refused("cv must be an int, a splitter or a list of splits, got 'five'", X, y, cv="five")
    refused("cv must be an int, a splitter or a list of splits, got b'x'", X, y, cv=b"x")
    refused("cv holds no fold at all", X, y, cv=[])
    refused("No class has two rows", X.iloc[[0, 60, 120]], y.iloc[[0, 60, 120]])
    refused("groups must hold one entry for each of the 150 rows", X, y, groups=[1, 2, 3])
    refused("groups must hold numbers or strings", X, y, groups=[None] * 75 + ["a"] * 75)
    refused(
        "separates rows of one group",
        X,
        y,
        groups=np.arange(150) // 2,
        cv=StratifiedKFold(3, shuffle=True),
    )
    refused("holds out rows that it also trains on", X, y, cv=[(np.arange(150), np.arange(150))])
    refused("cv must give pairs of rows", X, y, cv=(1, 2))
    refused("names a row beyond", X, y, cv=[(np.arange(149), [1000])])
    refused("at least one of each", X, y, cv=[(np.arange(149), [])])
    refused("groups holds a single group", X, y, groups=np.ones(150))
    refused(
        r"groups leaves fold \d of 3 without class \S+ to train on", X, y, groups=np.array(y), cv=3
    )
    refused(r"cv leaves fold 1 of 3 without class \S*0\S* to train on", X, y, cv=KFold(3))


def test_what_has_no_meaning_is_refused_with_the_reason(fitted, iris):
    with pytest.raises(ValueError, match="cannot collapse into one linear model"):
        fitted.collapse()
    with pytest.raises(ValueError, match="has learnt to fuse all members"):
        fitted.staged_score(*iris)
    with pytest.raises(ValueError, match="learnt together with their members"):
        fitted.fuser_.fit(None)
    with pytest.raises(ValueError, match="top"):
        fitted.explain(iris[0], top=0)


def test_it_says_how_far_it_is(iris, capsys):
    flock(verbose=1).fit(*iris)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 8
    assert "will try one member on features, 3 penalties; one member on ramps" in lines[0]
    assert "3 members on features with a gate on ramps, 1 penalty" in lines[0]
    assert "3 candidates of 1 members on features" in lines[1]
    assert "what is selected, on all rows" in lines[-1]


def test_it_says_how_far_a_long_part_is(iris, capsys, monkeypatch):
    monkeypatch.setattr(_linear_search, "_SECONDS_BETWEEN", 0.0)
    flock(verbose=1, effort="fast").fit(*iris)
    assert "on all rows, iteration 3" in capsys.readouterr().out


def test_train_and_test_rows_agree_on_accuracy():
    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0, stratify=y)
    model = FlockClassifier(random_state=0).fit(X, y)
    right = [model.predict(X) == y, model.predict(X_test) == y_test]
    # Three times the standard error of the difference.
    margin = 3 * np.sqrt(sum(one.var() / len(one) for one in right))
    assert abs(right[0].mean() - right[1].mean()) < margin
    # What the search promises for new rows is what they show.
    promised = model.cv_results_["log_loss"].min()
    losses = -np.log(model.predict_proba(X_test)[np.arange(len(y_test)), y_test])
    assert losses.mean() < promised + 3 * losses.std() / np.sqrt(len(losses))


def test_notebooks_show_the_flock(fitted, iris):
    html = fitted._repr_html_()
    assert html.count("<tr><td>") == fitted.n_estimators_
    assert "petal" in html
    table = html[html.index("<caption>") :]
    assert table in fitted._repr_mimebundle_()["text/html"]
    assert "the heaviest" not in flock()._repr_html_()
    assert "3 members" in SubsetEnsembleClassifier(3).fit(*iris)._repr_html_()
    renamed = iris[0].set_axis(["<b>", "b", "c", "d"], axis=1)
    shown = flock(effort="fast").fit(renamed, iris[1])._repr_html_()
    assert "<b>" not in shown[shown.index("<caption>") :]


@pytest.mark.parametrize("fuser", ["gate", Gate()])
def test_a_gate_reports_whom_it_asks(fuser):
    X, y = make_quarter_circle(60, random_state=0)
    model = SubsetEnsembleClassifier(3, fuser=fuser, random_state=0).fit(X, y)
    assert_allclose(model.model_.shares, model.explain_fusion(X).mean(axis=0), rtol=1e-10)


def test_feature_groups_stay_whole():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(100, 6))
    y = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] > 0
    model = flock(feature_groups=[[0, 4], [1, 5]])
    support = model.fit(X, y).support_
    assert_array_equal(support[:, 0], support[:, 4])
    assert_array_equal(support[:, 1], support[:, 5])


# -- subsets, and limits of what is to be read -----------------------------------------------


@pytest.fixture(scope="module")
def noisy():
    """Seven columns that matter to two classes, and thirteen that do not."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(160, 20))
    y = (X[:, :5].sum(axis=1) * np.where(X[:, 5] > 0, 1, 0.3) + X[:, 6] ** 2 > 1).astype(int)
    return X, y


@pytest.mark.parametrize(
    "limits",
    [
        {"max_features": 3},
        {"max_features": 0.1, "max_members": 4},
        {"max_terms": 12},
        {"max_terms": 1},
        {"max_members": 1},
        {"max_features": 2, "max_members": 5, "max_terms": 40},
    ],
    ids=str,
)
@pytest.mark.parametrize("effort", ["fast", "balanced"])
def test_limits_are_kept_exactly(noisy, limits, effort):
    X, y = noisy
    model = flock(effort=effort, n_estimators=2, cv=KFold(2), **limits).fit(X, y)
    most = limits.get("max_features", 20)
    most = int(most * 20) if isinstance(most, float) else most
    assert model.support_.sum(axis=1).max() <= most
    assert model.gate_support_.sum(axis=1).max() <= most
    assert model.n_estimators_ <= limits.get("max_members", np.inf)
    assert model.n_terms_ <= limits.get("max_terms", np.inf)


def test_a_limit_of_terms_is_spent_on_single_ramps():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 4))
    # Of each feature one ramp of six would do: with all columns, a feature takes seven terms.
    y = (X > 0.5).sum(axis=1) + 0.1 * rng.normal(size=300)
    limits = {"max_terms": 8, "cv": KFold(3), "random_state": 0}
    model = FlockRegressor(**limits).fit(X[:200], y[:200])
    assert model.n_terms_ <= 8
    assert model.support_.any(axis=0).all()
    assert model.score(X[200:], y[200:]) > 0.85
    whole = FlockRegressor(**limits, max_features=4).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > whole.score(X[200:], y[200:])


def test_what_is_limited_is_not_trained_twice(noisy):
    model = flock(effort="best", n_estimators=2, cv=KFold(2), max_members=1).fit(*noisy)
    assert model.n_estimators_ == 1


def test_a_limit_of_terms_is_kept_on_a_wide_table():
    X = np.random.default_rng(0).normal(size=(60, 600))
    model = flock(cv=2, max_terms=4).fit(X, (X[:, 7] > 0).astype(int))
    assert model.n_terms_ <= 4
    assert model.support_[0, 7]
    assert flock(effort="fast", max_terms=4).fit(X, (X[:, 7] > 0).astype(int)).n_terms_ <= 4


def test_groups_that_do_not_fit_leave_what_is_always_kept(noisy):
    X, y = noisy[0][:, :5], noisy[1]
    limits = {"feature_groups": [[0, 1, 2]], "always_keep": [3, 4], "max_features": 3}
    for effort in ("fast", "balanced"):
        model = flock(effort=effort, n_estimators=2, cv=KFold(2), **limits).fit(X, y)
        assert_array_equal(
            model.support_, [[False, False, False, True, True]] * len(model.support_)
        )


def test_terms_count_for_nothing_where_only_the_loss_does(noisy, monkeypatch):
    """The best effort takes the selection of the least loss, the default a smaller one."""
    worth = []
    thrifty = search.thrifty_weights

    def recorded(pick_losses, compare, budget, n_errors):
        worth.append(n_errors)
        return thrifty(pick_losses, compare, budget, n_errors)

    monkeypatch.setattr(search, "thrifty_weights", recorded)
    for effort in ("balanced", "best"):
        how = {"effort": effort, "members": "linear", "n_estimators": 1, "alpha": 0.1}
        flock(**how, cv=KFold(2)).fit(*noisy)
    assert worth == [1.0, 0.0]


def test_the_price_of_few_terms_is_measured_on_the_rows_held_out():
    X, y = load_breast_cancer(return_X_y=True)
    model = flock().fit(X, y)
    price, held_out = model.readable_, model.out_of_fold_
    assert price.n_terms <= 40 < model.n_terms_
    right = model.classes_[held_out.predictions.argmax(axis=1)] == y[held_out.rows]
    assert price.score_of_all == pytest.approx(right.mean())
    assert 0.9 < price.score <= 1.0
    # A flock that is small has nothing to say.
    assert flock(max_terms=30).fit(X, y).readable_ is None


def test_terms_are_columns_of_members_and_of_gates(noisy):
    model = flock(n_estimators=3, cv=3).fit(*noisy)
    n_terms = (model.member_coef_ != 0).any(axis=1).sum()
    gates = model.fuser_.coef != 0
    for group in range(len(model.group_weights_)):
        n_terms += gates[model.group_of_ == group].any(axis=0).sum()
        seen = model.basis_.features_of(gates[model.group_of_ == group].any(axis=0))
        assert_array_equal(model.gate_support_[group], seen)
    assert model.n_terms_ == n_terms


def test_columns_of_noise_are_left_out(noisy):
    X, y = noisy
    model = flock().fit(X, y)
    important = model.feature_importances_
    assert important[:7].mean() > 3 * important[7:].mean()
    assert model.support_.mean() < 0.5


def test_groups_of_features_leave_together_and_what_is_kept_stays(noisy):
    X, y = noisy
    groups = [[0, 1, 2], [10, 11], [15, 16, 17, 18]]
    model = flock(feature_groups=groups, always_keep=[19], cv=3).fit(X, y)
    for group in groups:
        of_group = model.support_[:, group]
        assert (of_group.all(axis=1) | ~of_group.any(axis=1)).all()
    assert model.support_[:, 19].all()


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_features": 2, "always_keep": [0, 1, 2]}, "max_features=2 allows 2 features"),
        ({"max_terms": 2, "always_keep": [0, 1, 2]}, "max_terms=2 is less than"),
        ({"max_features": 0}, "max_features == 0"),
        ({"max_features": 1.5}, "max_features == 1.5"),
        ({"max_terms": 0}, "max_terms == 0"),
        ({"max_members": 0}, "max_members == 0"),
    ],
)
def test_limits_that_nothing_can_keep_are_refused_by_name(noisy, limits, message):
    with pytest.raises(ValueError, match=message):
        flock(**limits).fit(*noisy)


def test_a_feature_that_only_a_gate_sees_is_important():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] * np.sign(X[:, 1]) > 0).astype(int)
    model = flock(effort="fast", n_estimators=2).fit(X, y)
    assert set(np.argsort(-model.feature_importances_)[:2]) == {0, 1}


# -- interruptions ---------------------------------------------------------------------------


@pytest.fixture
def interrupted(monkeypatch):
    """Lets a method of `CrossFit` be interrupted when called for the nth time."""

    def at(name, number):
        calls = []
        method = getattr(CrossFit, name)

        def counted(*args, **kwargs):
            calls.append(name)
            if len(calls) == number:
                raise KeyboardInterrupt
            return method(*args, **kwargs)

        monkeypatch.setattr(CrossFit, name, counted)

    return at


def test_who_interrupts_at_a_prompt_gets_the_best_so_far(noisy, interrupted, monkeypatch):
    whole = flock(n_estimators=3).fit(*noisy)
    monkeypatch.setattr(_linear_search, "is_interactive", lambda: True)
    interrupted("_optimum", 12)
    with pytest.warns(UserWarning, match="Interrupted: [12] of 6 families"):
        model = flock(n_estimators=3).fit(*noisy)
    n_known = len(model.cv_results_["weight"])
    assert 0 < n_known < len(whole.cv_results_["weight"])
    assert_allclose(model.cv_results_["log_loss"], whole.cv_results_["log_loss"][:n_known])
    assert model.score(*noisy) > np.mean(noisy[1])


def test_nobody_gets_a_part_of_a_search_unasked(noisy, interrupted, monkeypatch):
    interrupted("_optimum", 12)
    with pytest.raises(KeyboardInterrupt):
        flock(n_estimators=3).fit(*noisy)
    monkeypatch.setattr(_linear_search, "is_interactive", lambda: True)
    interrupted("_optimum", 1)
    with pytest.raises(KeyboardInterrupt):
        flock(n_estimators=3).fit(*noisy)


def test_a_last_fit_that_is_interrupted_stays_where_the_comparison_ended(
    noisy, interrupted, monkeypatch
):
    monkeypatch.setattr(rungs, "_FEWEST", 40)
    monkeypatch.setattr(_linear_search, "is_interactive", lambda: True)
    interrupted("continued", 1)
    with pytest.warns(UserWarning, match="not every group of the flock was fitted"):
        model = flock(n_estimators=3).fit(*noisy)
    assert model.score(*noisy) > np.mean(noisy[1])


def test_results_name_the_rows_of_the_rung_that_was_interrupted(noisy, interrupted, monkeypatch):
    monkeypatch.setattr(rungs, "_FEWEST", 40)
    monkeypatch.setattr("covey._core.search.folds._LEAST_OF_CLASS", 5)
    whole = flock(n_estimators=3).fit(*noisy)
    n_rows = np.unique(whole.cv_results_["n_rows"])
    assert len(n_rows) == 2
    monkeypatch.setattr(_linear_search, "is_interactive", lambda: True)
    interrupted("hold_out", 3)
    with pytest.warns(UserWarning, match="Interrupted: 2 of"):
        model = flock(n_estimators=3).fit(*noisy)
    known = len(model.cv_results_["alpha"])
    for name in ("n_rows", "alpha"):
        assert_array_equal(model.cv_results_[name], whole.cv_results_[name][:known])
    assert set(model.cv_results_["n_rows"]) == {n_rows[0]}
