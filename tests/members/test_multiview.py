"""Views: what they are, what happens where one is absent, and how they teach each other."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_selector
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from covey import MultiviewClassifier, fuse
from covey.fusers import Predictions
from covey.fusers._base import FUSERS
from covey.fusers._fixed import make_fuser
from covey.members._multiview import rows_with_views
from covey.utils.estimator_checks import FUSED_CLASSIFIER_CHECKS

VIEWS = {"sepal": [0, 1], "petal": [2, 3]}


@parametrize_with_checks(
    [
        MultiviewClassifier(),
        MultiviewClassifier(
            2,
            make_pipeline(SimpleImputer(keep_empty_features=True), GaussianNB()),
            "linear_stacking",
            unlabeled_label=-7,
            method="co_em",
            cv=2,
        ),
    ]
)
def test_scikit_learn_check_passes(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", FUSED_CLASSIFIER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "classifier",
    [
        MultiviewClassifier(estimator=GaussianNB(), random_state=0),
        MultiviewClassifier(
            3, [GaussianNB(), DecisionTreeClassifier(max_depth=2)], "knora_e", random_state=0
        ),
    ],
    ids=repr,
)
def test_covey_check_passes(classifier, check):
    check(classifier)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def frame():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y


def with_gaps(X, seed=0):
    """Rows that lack the first view, the second, or both."""
    X = X.copy()
    lot = np.random.default_rng(seed).integers(0, 10, len(X))
    X[lot == 0, :2] = np.nan
    X[lot == 1, 2:] = np.nan
    X[lot == 2] = np.nan
    return X, lot


# -- which columns -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "petal",
    [
        ["petal length (cm)", "petal width (cm)"],
        [2, 3],
        [-2, -1],
        np.array([2, 3]),
        slice(2, None),
        slice("petal length (cm)", "petal width (cm)"),
        [False, False, True, True],
        make_column_selector(pattern="petal"),
        lambda X: [name for name in X.columns if "petal" in name],
    ],
    ids=lambda columns: type(columns).__name__,
)
def test_a_view_is_named_in_any_way(frame, petal):
    X, y = frame
    fused = MultiviewClassifier({"sepal": [0, 1], "petal": petal}, GaussianNB()).fit(X, y)
    assert_array_equal(fused.views_["petal"], [2, 3])
    assert list(fused.named_estimators_["petal"].feature_names_in_) == list(X.columns[2:])
    assert_array_equal(fused.support_, [[True, True, False, False], [False, False, True, True]])
    by_hand = GaussianNB().fit(X.iloc[:, 2:], y).predict_proba(X.iloc[:, 2:])
    assert_allclose(fused.member_probabilities(X)[:, 1], by_hand)


def test_one_column_and_a_list_of_views(iris):
    X, y = iris
    fused = MultiviewClassifier([0, slice(1, 4)], GaussianNB()).fit(X, y)
    assert {name: view.tolist() for name, view in fused.views_.items()} == {
        "view 1": [0],
        "view 2": [1, 2, 3],
    }


def test_a_number_parts_all_columns():
    X, y = load_breast_cancer(return_X_y=True)
    fused = MultiviewClassifier(4, GaussianNB(), random_state=0).fit(X, y)
    assert sorted(len(view) for view in fused.views_.values()) == [7, 7, 8, 8]
    assert_array_equal(np.sort(np.concatenate(list(fused.views_.values()))), np.arange(30))
    assert_array_equal(fused.support_.sum(axis=0), 1)
    same = clone(fused).fit(sparse.csr_array(X).toarray(), y)
    assert_array_equal(same.support_, fused.support_)


def test_frames_of_pandas_and_polars_sparse_matrices_and_arrays_agree(frame):
    X, y = frame
    model = MultiviewClassifier(VIEWS, GaussianNB())
    expected = model.fit(X.to_numpy(), y).predict_proba(X.to_numpy())
    for table in (X, pl.from_pandas(X)):
        assert_array_equal(clone(model).fit(table, y).predict_proba(table), expected)
    trees = MultiviewClassifier(2, DecisionTreeClassifier(), random_state=0)
    expected = trees.fit(X.to_numpy(), y).predict_proba(X.to_numpy())
    packed = sparse.csr_array(X.to_numpy())
    assert_array_equal(clone(trees).fit(packed, y).predict_proba(packed), expected)


# -- members -------------------------------------------------------------------------------------


def test_each_view_has_members_of_its_own(iris):
    X, y = iris
    estimator = {
        "sepal": [GaussianNB(), DecisionTreeClassifier()],
        "petal": KNeighborsClassifier(),
    }
    fused = MultiviewClassifier(VIEWS, estimator, random_state=0).fit(X, y)
    assert list(fused.named_estimators_) == ["sepal 1", "sepal 2", "petal"]
    assert fused.member_views_ == ["sepal", "sepal", "petal"]
    assert list(fused.explain_fusion(X[:2], as_frame=True).columns) == list(
        fused.named_estimators_
    )


def test_members_without_a_seed_are_reproducible(iris):
    X, y = iris
    some = np.where(np.arange(len(y)) % 5 == 0, y, -1)
    for how in ({}, {"unlabeled_label": -1, "pool_size": 20}):
        model = MultiviewClassifier(
            2, DecisionTreeClassifier(max_features=1), random_state=3, **how
        )
        one, other = clone(model).fit(X, some), clone(model).fit(X, some)
        assert_array_equal(one.predict_proba(X), other.predict_proba(X))
        assert_array_equal(one.transduction_, other.transduction_)
        again = pickle.loads(pickle.dumps(one))
        assert_array_equal(one.predict_proba(X), again.predict_proba(X))


def test_a_pipelines_scaler_gets_the_weights_too(iris):
    X, y = iris
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    weighed = MultiviewClassifier(VIEWS).fit(X, y, sample_weight=weight)
    again = MultiviewClassifier(VIEWS).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighed.predict_proba(X), again.predict_proba(X), atol=1e-4)
    centre = weighed.named_estimators_["petal"]["standardscaler"].mean_
    assert_allclose(centre, np.average(X[:, 2:], axis=0, weights=weight))


# -- absent views --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule", [name for name in FUSERS if name != "oracle" and not make_fuser(name).learns]
)
def test_dropping_an_absent_view_is_fusing_the_others(iris, rule):
    X, y = iris
    views = {"sepal": [0, 1], "petal": [2, 3], "length": [0, 2]}
    gone = X.copy()
    gone[:, 2] = np.nan
    gone[:, 0] = np.nan  # "length" is absent, the others are not
    model = MultiviewClassifier(views, HistGradientBoostingClassifier(max_iter=5), rule)
    model.fit(X, y)
    said = [
        model.named_estimators_[view].predict_proba(gone[:, views[view]])
        for view in ("sepal", "petal")
    ]
    assert_allclose(model.predict_proba(gone), fuse(said, rule), atol=1e-12)
    assert not model.explain_fusion(gone)[:, 2].any()
    assert np.isnan(model.member_probabilities(gone)[:, 2]).all()


GAPS_CV = KFold(3, shuffle=True, random_state=0)
GAPS_MODELS = [GaussianNB(), LogisticRegression()]


@pytest.fixture(scope="module")
def gaps_by_hand(iris):
    """What two models of each view predict of `with_gaps`, out of fold and in sample."""
    X, lot = with_gaps(iris[0])
    models = [(columns, model) for columns in VIEWS.values() for model in GAPS_MODELS]
    known = [np.flatnonzero((lot != 2) & (lot != view)) for view in (0, 0, 1, 1)]

    def predicted(folds):
        table = np.full((len(X), 4, 3), np.nan)
        for train, test in folds:
            for k, (columns, model) in enumerate(models):
                rows, asked = np.intersect1d(train, known[k]), np.intersect1d(test, known[k])
                fitted = clone(model).fit(X[rows][:, columns], iris[1][rows])
                table[asked, k] = fitted.predict_proba(X[asked][:, columns])
        return Predictions(table)

    everyone = np.arange(len(X))
    return predicted(GAPS_CV.split(X)), predicted([(everyone, everyone)])


@pytest.mark.parametrize("rule", [name for name in FUSERS if name != "oracle"])
def test_every_fuser_works_where_views_are_absent(iris, gaps_by_hand, rule):
    X, y = iris
    X, lot = with_gaps(X)
    model = MultiviewClassifier(VIEWS, GAPS_MODELS, rule, cv=GAPS_CV).fit(X, y)
    fused, importance = model.predict_proba(X), model.explain_fusion(X)
    assert_allclose(fused.sum(axis=1), 1)
    assert_allclose(importance.sum(axis=1), 1)
    assert not importance[lot == 0, :2].any()
    assert not importance[lot == 1, 2:].any()
    # Who lacks all views is any class alike.
    assert_allclose(fused[lot == 2], 1 / 3)
    assert_allclose(importance[lot == 2], 1 / 4)
    assert_array_equal(model.predict(X), model.classes_[fused.argmax(axis=1)])
    # The rule by hand; one that looks at X sees a column's mean where its value is missing.
    fuser = make_fuser(rule)
    held_out, now = (
        Predictions(P.labels, P.classes, available=P.available) if fuser.kinds[0] == "label" else P
        for P in gaps_by_hand
    )
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    if fuser.learns:
        fuser.fit(held_out.rows(lot != 2), y[lot != 2], filled[lot != 2])
    assert_allclose(fused, fuser.fuse(now, filled), atol=1e-9)


def test_members_learn_from_the_rows_that_have_their_view(iris):
    X, y = iris
    gaps, lot = with_gaps(X)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = MultiviewClassifier(VIEWS, GaussianNB()).fit(gaps, y, sample_weight=weight)
    here = (lot != 0) & (lot != 2)
    alone = GaussianNB().fit(X[here, :2], y[here], weight[here])
    assert_array_equal(model.named_estimators_["sepal"].theta_, alone.theta_)
    known = lot != 2
    assert model.oracle_score(gaps[known], y[known]) >= model.score(gaps[known], y[known])


def test_a_learnt_fusion_is_learnt_out_of_fold_where_views_are_present(iris):
    X, y = iris
    X, lot = with_gaps(X)
    X, y = X[lot != 2], y[lot != 2]
    cv = KFold(3, shuffle=True, random_state=0)
    model = MultiviewClassifier(VIEWS, GaussianNB(), "linear_stacking", cv=cv).fit(X, y)
    said = np.full((len(y), 2, 3), np.nan)
    for train, test in cv.split(X):
        for k, columns in enumerate(VIEWS.values()):
            known = train[~np.isnan(X[train][:, columns]).any(axis=1)]
            asked = test[~np.isnan(X[test][:, columns]).any(axis=1)]
            member = GaussianNB().fit(X[known][:, columns], y[known])
            said[asked, k] = member.predict_proba(X[asked][:, columns])
    by_hand = make_fuser("linear_stacking").fit(Predictions(said), y)
    assert_allclose(model.fuser_.weights_, by_hand.weights_, atol=1e-12)


def test_a_class_that_a_view_never_saw_is_left_to_the_others(iris):
    X, y = iris
    gaps = X.copy()
    gaps[y == 2, :2] = np.nan
    model = MultiviewClassifier(VIEWS, GaussianNB(), "product").fit(gaps, y)
    sepal, petal = (
        model.named_estimators_[view].predict_proba(X[:, VIEWS[view]]) for view in VIEWS
    )
    assert sepal.shape == (150, 2)
    # Rows with both views, of any class: on the third one the petals alone decide.
    product = np.column_stack([np.sqrt(sepal * petal[:, :2]), petal[:, 2]])
    product /= product.sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(X), product, atol=1e-12)
    assert_allclose(model.predict_proba(gaps)[y == 2], petal[y == 2], atol=1e-12)


def test_missing_values_within_a_view_are_the_members_business(frame):
    X, y = frame
    X = X.copy()
    X.iloc[3, 2] = np.nan
    model = MultiviewClassifier(VIEWS, HistGradientBoostingClassifier(max_iter=3)).fit(X, y)
    assert_allclose(model.explain_fusion(X)[3], 0.5)
    assert MultiviewClassifier(VIEWS).fit(X, y).predict(X[:5]).shape == (5,)  # imputes
    message = (
        "The view 'petal' holds NaN in column 'petal length (cm)', but not in all of its columns, "
        "and a member of it takes no NaN"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        MultiviewClassifier(VIEWS, GaussianNB()).fit(X, y)
    model = MultiviewClassifier(VIEWS, GaussianNB()).fit(X.fillna(1.0), y)
    with pytest.raises(ValueError, match=re.escape(message)):
        model.predict(X)


# -- views that teach each other -----------------------------------------------------------------


@pytest.mark.parametrize("method", ["co_training", "co_em", "supervised", None])
def test_without_unlabelled_rows_all_methods_are_the_same(iris, method):
    X, y = iris
    plain = MultiviewClassifier(VIEWS, GaussianNB()).fit(X, y)
    taught = MultiviewClassifier(VIEWS, GaussianNB(), unlabeled_label=-1, method=method).fit(X, y)
    assert_array_equal(plain.predict_proba(X), taught.predict_proba(X))
    assert_array_equal(taught.transduction_, y)
    assert taught.n_iter_ == 1


def test_minus_one_is_a_class_like_any_other(iris):
    X, y = iris
    model = MultiviewClassifier(VIEWS, GaussianNB()).fit(X, y - 1)
    assert_array_equal(model.classes_, [-1, 0, 1])
    same = MultiviewClassifier(VIEWS, GaussianNB()).fit(X, y)
    assert_array_equal(model.predict_proba(X), same.predict_proba(X))
    assert_array_equal(model.transduction_, y - 1)


@pytest.mark.parametrize("unknown", [-1, np.nan, "?"])
def test_supervised_leaves_unlabelled_rows_out(iris, unknown):
    X, y = iris
    known = np.arange(len(y)) % 3 == 0
    y = np.array(["a", "b", "c"], dtype=object)[y] if unknown == "?" else y
    some = np.where(known, y, unknown)
    model = MultiviewClassifier(
        VIEWS, GaussianNB(), unlabeled_label=unknown, method="supervised"
    ).fit(X, some)
    plain = MultiviewClassifier(VIEWS, GaussianNB()).fit(X[known], some[known])
    assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert_array_equal(model.transduction_[known], some[known])
    assert_array_equal(model.transduction_[~known], plain.predict(X[~known]))


@pytest.mark.parametrize("unknown", [np.nan, pd.NA])
@pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
@pytest.mark.parametrize("names", [["a", "b", "c"], [5, 6, 7]])
def test_what_is_missing_is_unlabelled(iris, unknown, gap, names):
    X, y = iris
    known = np.arange(len(y)) % 3 == 0
    some = np.array([names[code] for code in y], dtype=object)
    some[~known] = gap
    model = MultiviewClassifier(
        VIEWS, GaussianNB(), unlabeled_label=unknown, method="supervised"
    ).fit(X, some)
    plain = MultiviewClassifier(VIEWS, GaussianNB()).fit(X[known], np.array(names)[y][known])
    assert_array_equal(model.classes_, names)
    assert_array_equal(model.predict(X), plain.predict(X))
    assert_array_equal(model.transduction_[~known], plain.predict(X[~known]))


def taught_by_hand(X, y, weight, agree):
    """One round of co-training of two views, a row of each class each, as in the paper."""
    known = y >= 0
    members = [GaussianNB().fit(X[known][:, v], y[known]) for v in VIEWS.values()]
    said = [m.predict_proba(X[:, v]) for m, v in zip(members, VIEWS.values(), strict=True)]
    given = [y.copy(), y.copy()]
    for view in (0, 1):
        for code in (0, 1, 2):
            rows = [
                i
                for i in np.flatnonzero(~known)
                if said[view][i].argmax() == code
                and (not agree or said[1 - view][i].argmax() == code)
            ]
            best = max(rows, key=lambda i: (round(said[view][i, code], 12), -i))
            given[1 - view][best] = code
    weight = np.where(known, 1.0, weight)
    return [
        GaussianNB().fit(X[g >= 0][:, v], g[g >= 0], weight[g >= 0])
        for g, v in zip(given, VIEWS.values(), strict=True)
    ]


@pytest.mark.parametrize("agree", [False, True])
def test_a_round_of_co_training_is_what_it_is_by_hand(iris, agree):
    X, y = iris
    some = np.where(np.arange(len(y)) % 10 == 0, y, -1)
    model = MultiviewClassifier(
        VIEWS, GaussianNB(), unlabeled_label=-1, agree=agree, n_per_round=3, max_iter=1
    ).fit(X, some)
    for member, expected in zip(
        model.estimators_, taught_by_hand(X, some, 0.3, agree), strict=True
    ):
        assert_allclose(member.theta_, expected.theta_)
        assert_allclose(member.var_, expected.var_)
    assert model.n_iter_ == 1


def test_a_round_of_co_em_is_what_it_is_by_hand(iris):
    X, y = iris
    known = np.arange(len(y)) % 10 == 0
    some = np.where(known, y, -1)
    model = MultiviewClassifier(
        VIEWS,
        GaussianNB(),
        unlabeled_label=-1,
        method="co_em",
        agree=False,
        unlabeled_weight=0.5,
        max_iter=1,
    ).fit(X, some)

    def softly(columns, targets):
        """Rows thrice, once for each class, weighing as much as it is probable."""
        targets = np.where(targets >= 1e-3, targets, 0)
        targets = targets / targets.sum(axis=1, keepdims=True)
        targets = np.where(known[:, None], np.eye(3)[y], 0.5 * targets)
        return GaussianNB().fit(
            np.tile(X[:, columns], (3, 1)), np.repeat([0, 1, 2], len(y)), targets.T.ravel()
        )

    first = GaussianNB().fit(X[known, :2], y[known])
    petal = softly([2, 3], first.predict_proba(X[:, :2]))
    sepal = softly([0, 1], petal.predict_proba(X[:, 2:]))
    for member, expected in zip(model.estimators_, (sepal, petal), strict=True):
        assert_allclose(member.theta_, expected.theta_, rtol=1e-9)
        assert_allclose(member.class_prior_, expected.class_prior_, rtol=1e-9)


@pytest.mark.parametrize("method", ["co_training", "co_em"])
def test_labelled_rows_keep_their_labels_and_absent_views_neither_teach_nor_learn(iris, method):
    X, y = iris
    X, lot = with_gaps(X)
    some = np.where(np.arange(len(y)) % 4 == 0, (y + 1) % 3, -1)  # labels that views doubt
    weight = np.random.default_rng(0).uniform(1, 2, len(y))
    # Rows of one view at most that have no label come last.
    apart = (lot < 3) & (some < 0)
    order = np.argsort(apart, kind="stable")
    X, some, weight = X[order], some[order], weight[order]
    labelled = np.flatnonzero(some >= 0)
    model = MultiviewClassifier(
        VIEWS,
        GaussianNB(),
        "linear_stacking",
        unlabeled_label=-1,
        method=method,
        n_per_round=6,
        max_iter=5,
        tol=0,
        cv=[(labelled[::2], labelled[1::2]), (labelled[1::2], labelled[::2])],
        random_state=0,
    ).fit(X, some, sample_weight=weight)
    assert_array_equal(model.transduction_[some >= 0], some[some >= 0])
    # There is no view to teach those rows to another one, so they change nothing.
    n_rows = np.sum(~apart)
    assert n_rows < len(y) - 10
    other = clone(model).fit(X[:n_rows], some[:n_rows], sample_weight=weight[:n_rows])
    assert_array_equal(other.member_probabilities(X), model.member_probabilities(X))
    assert_array_equal(other.predict_proba(X), model.predict_proba(X))
    # The other rows without a label did teach.
    plain = clone(model).set_params(method="supervised").fit(X, some, sample_weight=weight)
    assert not np.array_equal(plain.predict_proba(X), model.predict_proba(X))


def spectrum():
    """Pixels, and how strong each frequency is, wherever in the picture."""
    X, y = load_digits(return_X_y=True)
    strength = np.abs(np.fft.rfft2(X.reshape(-1, 8, 8))).reshape(len(X), -1)
    return np.hstack([X, strength]), y, {"pixels": slice(0, 64), "spectrum": slice(64, None)}


def halves():
    X, y = load_digits(return_X_y=True)
    return X, y, {"top": slice(0, 32), "bottom": slice(32, 64)}


@pytest.mark.slow
@pytest.mark.parametrize("draw", [spectrum, halves])
def test_co_training_beats_learning_from_the_labels_alone(draw):
    X, y, views = draw()
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    rows = np.arange(len(y))
    y[train_test_split(rows, train_size=0.1, stratify=y, random_state=0)[1]] = -1
    recipe = MultiviewClassifier(views, unlabeled_label=-1, n_per_round=0.2)
    single = clone(recipe).set_params(method="supervised").fit(X, y)
    alone = single.classes_[single.member_probabilities(X_test).argmax(axis=2)]
    fused = single.score(X_test, y_test)
    taught = recipe.fit(X, y).score(X_test, y_test)
    # About 0.91 to 0.94, and 0.87 to 0.89; more splits are in benchmarks/multiview.
    assert taught > fused + 0.005
    assert fused > (alone == y_test[:, None]).mean()


def test_rows_of_weight_zero_are_not_there(iris):
    X, y = iris
    some = np.where(np.arange(len(y)) % 5 == 0, y, -1)
    counts = np.arange(len(y)) % 7 > 0
    recipe = MultiviewClassifier(VIEWS, GaussianNB(), unlabeled_label=-1, max_iter=3)
    left_out = clone(recipe).fit(X[counts], some[counts], sample_weight=np.ones(counts.sum()))
    weightless = recipe.fit(X, some, sample_weight=counts.astype(float))
    assert_array_equal(weightless.predict_proba(X), left_out.predict_proba(X))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_rows_of_weight_zero_do_not_fill_gaps_for_a_fuser_that_looks_at_x(iris, make):
    X, y = iris
    rng = np.random.default_rng(0)
    X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    counts = rng.integers(0, 3, len(y)).astype(float)
    X[counts == 0] *= 100
    recipe = MultiviewClassifier(VIEWS, None, "knora_e", cv=KFold(3), random_state=0)
    model = recipe.fit(make(X), y, sample_weight=counts)
    expected = np.nanmean(np.repeat(X, counts.astype(int), axis=0), axis=0)
    assert_allclose(model._column_means, expected)


def test_a_splitter_is_shown_rows_and_labels_as_they_are(frame):
    X, y = frame
    shown = []

    class Splitter(StratifiedKFold):
        def split(self, X, y=None, groups=None):
            shown.append((X, y))
            return super().split(X, y, groups)

    recipe = MultiviewClassifier(VIEWS, GaussianNB(), "linear_stacking", cv=Splitter(3))
    names = np.array(["a", "b", "c"])[y]
    recipe.fit(X, names)
    assert shown[0][0] is X
    assert_array_equal(shown[0][1], names)
    # No splitter would take what is missing.
    gaps = names.astype(object)
    gaps[::4] = None
    recipe.set_params(unlabeled_label=np.nan, method="supervised").fit(X, gaps)
    assert_array_equal(shown[1][1], np.where(np.arange(len(y)) % 4, y, -1))


# -- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"views": {"a": ["petal lenght (cm)"]}}, "the nearest are 'petal length (cm)'"),
        ({"views": {"a": [0, 9]}}, "The view 'a' names the column 9, but X has columns 0 to 3"),
        ({"views": {"a": [0], "b": []}}, "The view 'b' is empty"),
        ({"views": {"a": [False] * 4}}, "The view 'a' is empty"),
        ({"views": {"a": [True] * 3}}, "is a mask of 3 columns, but X has 4"),
        ({"views": {"a": [1, 1]}}, "The view 'a' names column 'sepal width (cm)' twice"),
        ({"views": {}}, "views is empty"),
        ({"views": 5}, "views=5 asks for 5 disjoint views, but X has 4 feature"),
        ({"views": 0}, "views must be at least 1"),
        ({"estimator": {"sepal": GaussianNB()}}, "estimator lacks 'petal'"),
        (
            {"estimator": {"sepal": [], "petal": []}},
            "estimator has no member for the view 'sepal'",
        ),
        ({"estimator": LinearRegression()}, "estimator must be classifiers, but for the view"),
        ({"estimator": GaussianNB}, "estimator must be classifiers"),
        ({"estimator": RidgeClassifier(), "fuser": "product"}, "'sepal' has no predict_proba"),
        ({"fuser": "modal"}, "fuser must be one of"),
        ({"method": "self"}, "method must be one of"),
        ({"n_per_round": 0.0}, "n_per_round"),
        ({"pool_size": 0}, "pool_size"),
        ({"unlabeled_weight": 0}, "unlabeled_weight"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1}, "tol"),
    ],
    ids=str,
)
def test_bad_parameters_get_one_sentence(frame, parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        MultiviewClassifier(**{"views": VIEWS, **parameters}).fit(*frame)


def test_views_of_another_kind_get_one_sentence(frame):
    X, y = frame
    for views, message in (
        ("petal", "views must be a dict from names to columns"),
        ({1: [0]}, "views must be named by str"),
        ({"a": 1.5}, "must be columns by name, number, slice, mask or selector"),
        ({"a": [1.5]}, "must name columns by str or int"),
    ):
        with pytest.raises(TypeError, match=message):
            MultiviewClassifier(views).fit(X, y)
    with pytest.raises(ValueError, match="X has no column names"):
        MultiviewClassifier({"a": ["petal"]}).fit(X.to_numpy(), y)
    with pytest.raises(ValueError, match="Two members would be called 'a 1'"):
        MultiviewClassifier(
            {"a": [0], "a 1": [1]}, {"a": [GaussianNB()] * 2, "a 1": GaussianNB()}
        ).fit(X, y)
    with pytest.raises(NotFittedError):
        MultiviewClassifier().predict(X)


def test_bad_labels_get_one_sentence(iris):
    X, y = iris
    taught = MultiviewClassifier(VIEWS, GaussianNB(), unlabeled_label=-1)
    with pytest.raises(
        ValueError, match="y holds no label at all: every entry is unlabeled_label"
    ):
        taught.fit(X, np.full(len(y), -1))
    with pytest.raises(ValueError, match="at least 2 classes in y, got 1 class"):
        taught.fit(X, np.where(y == 1, 1, -1))
    with pytest.raises(ValueError, match="whose weight is above 0, got 1 class"):
        taught.fit(X, y, sample_weight=(y == 1).astype(float))
    strings = np.array(["a", "b", "-1"])[y]
    with pytest.raises(ValueError, match="is not a string, but y holds strings, '-1' among them"):
        taught.fit(X, strings)
    with pytest.raises(ValueError, match="use unlabeled_label='nan'"):
        clone(taught).set_params(unlabeled_label=np.nan).fit(X, np.array([*strings[1:], np.nan]))
    for mark in (None, -1):
        for gap in (None, pd.NA):
            gaps = y.astype(object)
            gaps[4] = gap
            with pytest.raises(ValueError, match=r"y holds no label \(None or NaN\) in row 4"):
                clone(taught).set_params(unlabeled_label=mark).fit(X, gaps)
    gone = X.copy()
    gone[y > 0, :2] = np.nan
    with pytest.raises(ValueError, match=r"The view 'sepal' has labelled rows of 1 class\(es\)"):
        taught.fit(gone, y)
    some = np.where(np.arange(len(y)) % 50 == 0, y, -1)
    with pytest.raises(ValueError, match="no class has two labelled rows"):
        clone(taught).set_params(fuser="single_best").fit(X, some)


@pytest.mark.parametrize("scale", [2.0**900, 2.0**-900])
def test_numbers_that_cannot_be_standardised_are_refused_by_column(frame, scale):
    X, y = frame
    far = X.astype(float)
    name = far.columns[2]
    far[name] *= scale
    words = "divide it" if scale > 1 else "multiply it by a constant, or drop it"
    model = MultiviewClassifier([[0, 1], [2, 3]])
    with pytest.raises(ValueError, match=f"Column '{re.escape(name)}' holds numbers .*; {words}"):
        model.fit(far, y)
    far.loc[::7, name] = np.nan
    with pytest.raises(ValueError, match=f"Column 2 holds numbers up to .*; {words}"):
        model.fit(far.to_numpy(), y)
    # Columns of no view, large ones in sparse rows and members that can read them are no matter.
    MultiviewClassifier([[0, 1], [3]]).fit(far, y)
    far = far.fillna(0.0)
    near = far.assign(**{name: far[name] / scale})

    def assert_same(model, make):
        expected = clone(model).fit(make(near), y).predict_proba(make(near))
        assert_allclose(model.fit(make(far), y).predict_proba(make(far)), expected, atol=1e-6)

    able = HistGradientBoostingClassifier(max_iter=3)
    assert_same(MultiviewClassifier([[0, 1], [2, 3]], able), np.asarray)
    if scale > 1:
        assert_same(model, sparse.csr_array)
    else:
        with pytest.raises(ValueError, match=f"Column 2 holds numbers up to .*; {words}"):
            model.fit(sparse.csr_array(far), y)


def test_teachers_must_be_sure_and_several_and_take_weights(iris):
    X, y = iris
    some = np.where(np.arange(len(y)) % 5 == 0, y, -1)
    taught = MultiviewClassifier(VIEWS, RidgeClassifier(), "majority", unlabeled_label=-1)
    with pytest.raises(ValueError, match="'sepal' has no predict_proba; calibrate it, or use"):
        taught.fit(X, some)
    with pytest.raises(ValueError, match="needs two or more, got one view"):
        MultiviewClassifier(1, unlabeled_label=-1).fit(X, some)
    neighbours = MultiviewClassifier(VIEWS, KNeighborsClassifier(), unlabeled_label=-1)
    with pytest.raises(TypeError, match="which unlabeled_weight=0.3 needs; use 1"):
        neighbours.fit(X, some)
    with pytest.raises(TypeError, match="sample_weight, which co-EM needs"):
        clone(neighbours).set_params(method="co_em").fit(X, some)
    taught = neighbours.set_params(unlabeled_weight=1).fit(X, some)
    for member in taught.estimators_:
        assert member.n_samples_fit_ > (some >= 0).sum()
    with pytest.raises(TypeError, match="'sepal' cannot be fitted with sample_weight"):
        MultiviewClassifier(VIEWS, KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(150))


def test_the_oracle_bounds_and_cannot_predict(iris):
    X, y = iris
    some = np.where(np.arange(len(y)) % 5 == 0, y, -1)
    views = {"length": [0, 2], "width": [1, 3]}
    model = MultiviewClassifier(views, GaussianNB(), "oracle", unlabeled_label=-1).fit(X, some)
    decided = [model.named_estimators_[view].predict(X[:, views[view]]) for view in views]
    assert model.score(X, y) == (decided == y).any(axis=0).mean()
    assert model.score(X, y) > max((one == y).mean() for one in decided)
    assert model.transduction_.min() >= 0
    with pytest.raises(ValueError, match="The oracle picks a member that is right"):
        model.predict(X)


def test_a_view_is_absent_where_all_its_columns_are_missing():
    X = np.array([[np.nan, np.nan, 1.0], [np.nan, 1.0, np.nan]])
    views = {"a": np.array([0, 1]), "b": np.array([2]), "c": np.array([0])}
    expected = [[False, True, False], [True, False, False]]
    for make in (np.asarray, pd.DataFrame, sparse.csr_array):
        assert_array_equal(rows_with_views(make(X), views), expected)
