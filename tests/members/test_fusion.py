"""FusionClassifier: any models, fitted here or elsewhere."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
)
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    GroupKFold,
    StratifiedGroupKFold,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
    train_test_split,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import covey
from covey import FusionClassifier, Predictions, SubsetEnsembleClassifier
from covey.fusers._fixed import make_fuser


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return train_test_split(X, y, random_state=0)


def members():
    return [
        ("logistic", make_pipeline(StandardScaler(), LogisticRegression())),
        ("bayes", GaussianNB()),
        ("tree", DecisionTreeClassifier(max_depth=3, random_state=0)),
    ]


def fused_by_hand(pool, rule, X, y, X_new):
    """Each model alone on all rows, and a rule that has learnt from the models' folds."""
    fuser = make_fuser(rule)
    method = "predict" if fuser.kinds[0] == "label" else "predict_proba"

    def table(predicted):
        return Predictions(np.stack(predicted, axis=1), classes=np.unique(y))

    if fuser.learns:
        held_out = [cross_val_predict(model, X, y, cv=5, method=method) for model in pool]
        fuser.fit(table(held_out), y, X)
    return fuser.fuse(table([getattr(clone(m).fit(X, y), method)(X_new) for m in pool]), X_new)


@pytest.mark.parametrize("rule", ["mean", "majority", "borda", "knora_e", "meta_des"])
def test_members_are_fitted_and_fused(wine, rule):
    X_train, X_test, y_train, y_test = wine
    fused = FusionClassifier(members(), rule).fit(X_train, y_train)
    expected = fused_by_hand([one for _, one in members()], rule, X_train, y_train, X_test)
    assert_allclose(fused.predict_proba(X_test), expected, atol=1e-12)
    assert list(fused.named_estimators_) == ["logistic", "bayes", "tree"]
    frame = fused.explain_fusion(X_test, as_frame=True)
    assert list(frame.columns) == ["logistic", "bayes", "tree"]
    assert_array_equal(frame.index, X_test.index)
    assert_allclose(frame.sum(axis=1), 1)
    assert fused.oracle_score(X_test, y_test) >= fused.score(X_test, y_test)
    assert list(fused.feature_names_in_) == list(X_train.columns)


def test_the_oracle_does_not_choose_among_constant_members(wine):
    X_train, X_test, y_train, y_test = wine
    weak = [("stump", DecisionTreeClassifier(max_depth=1))]
    always = [(str(k), DummyClassifier(strategy="constant", constant=k)) for k in range(3)]
    alone = FusionClassifier(weak).fit(X_train, y_train)
    beside = FusionClassifier([*always, *weak]).fit(X_train, y_train)
    assert beside.oracle_score(X_test, y_test) == alone.oracle_score(X_test, y_test) < 0.8
    staged = beside.staged_score(X_test, y_test, fuser="oracle")
    shares = np.bincount(y_test) / len(y_test)
    assert_allclose(staged[:3], np.maximum.accumulate(shares))
    # The fuser itself is the paper's, and takes what it is given.
    P = covey.Predictions(beside.member_probabilities(X_test))
    fused = covey.fuse(P, "oracle", y=y_test)
    assert (fused.argmax(axis=1) == y_test).all()
    # Where nothing else is left, the best constant member is the oracle.
    nothing = FusionClassifier(always).fit(X_train, y_train)
    assert nothing.oracle_score(X_test, y_test) == shares.max()


def test_a_learning_fuser_sees_only_out_of_fold_predictions(wine):
    X, _, y, _ = wine
    # A tree that memorises is perfect on its own rows and poor out of fold.
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(len(y)) < 0.5, rng.permutation(y), y)
    pool = [("memory", DecisionTreeClassifier(random_state=0)), ("bayes", GaussianNB())]
    fused = FusionClassifier(pool, covey.fusers.Mean("accuracy"), cv=4).fit(X, noisy)
    expected = [(cross_val_predict(member, X, noisy, cv=4) == noisy).mean() for _, member in pool]
    assert_allclose(fused.fuser_.weights_, np.array(expected) / np.sum(expected))
    assert fused.estimators_[0].score(X, noisy) == 1.0  # the member itself has seen all rows


def test_prefit_members_are_used_as_they_are(wine):
    X_train, X_test, y_train, y_test = wine
    fitted = [clone(member).fit(X_train, y_train) for _, member in members()]
    fused = FusionClassifier(fitted, "single_best", prefit=True).fit(X_test, y_test)
    assert all(one is other for one, other in zip(fused.estimators_, fitted, strict=True))
    best = max(member.score(X_test, y_test) for member in fitted)
    assert fused.score(X_test, y_test) == best
    frozen = [FrozenEstimator(member) for member in fitted]
    again = FusionClassifier(frozen, "mean").fit(X_test, y_test)
    expected = np.mean([member.predict_proba(X_test) for member in fitted], axis=0)
    assert_allclose(again.predict_proba(X_test), expected)


def test_flock_members_can_be_fused(wine):
    X_train, X_test, y_train, y_test = wine
    flock = SubsetEnsembleClassifier(n_estimators=3, fuser="product", random_state=0).fit(
        X_train, y_train
    )
    fused = FusionClassifier(flock.estimators_, "product", prefit=True).fit(X_test, y_test)
    assert_allclose(fused.predict_proba(X_test), flock.predict_proba(X_test), atol=1e-12)


def test_string_labels_and_members_that_saw_fewer_classes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    some = y != 2
    named, numbered = (
        [LogisticRegression().fit(X[some], labels[some]), GaussianNB().fit(X, labels)]
        for labels in (names, y)
    )
    fused = {}
    for rule in ("mean", "product", "min", "majority", "borda", "knora_u", "ola"):
        model = FusionClassifier(named, rule, prefit=True).fit(X, names)
        assert list(model.classes_) == ["setosa", "versicolor", "virginica"]
        fused[rule] = model.predict_proba(X)
        same = FusionClassifier(numbered, rule, prefit=True).fit(X, y)
        assert_array_equal(fused[rule], same.predict_proba(X))
    # Who never saw a class has no say on it, in a mean as in a product.
    partial, whole = (member.predict_proba(X) for member in numbered)
    mean = np.column_stack([(partial + whole[:, :2]) / 2, whole[:, 2]])
    assert_allclose(fused["mean"], mean / mean.sum(axis=1, keepdims=True), atol=1e-12)
    product = np.column_stack([np.sqrt(partial * whole[:, :2]), whole[:, 2]])
    assert_allclose(fused["product"], product / product.sum(axis=1, keepdims=True), atol=1e-12)


def test_rare_class_missing_from_a_fold_is_survived():
    X, y = load_iris(return_X_y=True)
    keep = np.r_[0:100, 100]  # one row of the third class
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fused = FusionClassifier(members(), "knora_u", cv=3).fit(X[keep], y[keep])
    assert fused.predict_proba(X).shape == (150, 3)


def test_pipelines_on_different_columns(wine):
    X_train, X_test, y_train, _ = wine
    pool = [
        make_pipeline(
            make_column_transformer((StandardScaler(), list(X_train.columns[part]))),
            LogisticRegression(),
        )
        for part in (slice(0, 5), slice(5, 9), slice(9, 13))
    ]
    for rule in ("mean", "knora_e"):
        fused = FusionClassifier(pool, rule).fit(X_train, y_train)
        expected = fused_by_hand(pool, rule, X_train, y_train, X_test)
        assert_allclose(fused.predict_proba(X_test), expected, atol=1e-12)
    assert list(fused.named_estimators_) == ["pipeline", "pipeline-2", "pipeline-3"]


def test_members_without_probabilities_where_the_rule_allows(wine):
    X_train, X_test, y_train, _ = wine
    pool = [
        ("ridge", RidgeClassifier()),  # decision_function only
        ("centroid", NearestCentroid()),
        ("bayes", GaussianNB()),
    ]
    ranks = FusionClassifier(pool[::2], "borda").fit(X_train, y_train)
    assert ranks.kind_ == "score"
    votes = FusionClassifier([*pool, ("svc", LinearSVC())], "majority").fit(X_train, y_train)
    cast = np.stack([member.predict(X_test) for member in votes.estimators_], axis=1)
    shares = (cast[:, :, None] == np.arange(3)).mean(axis=1)
    assert_allclose(votes.predict_proba(X_test), shares, atol=1e-12)
    with pytest.raises(ValueError, match="the member 'ridge' has no predict_proba"):
        FusionClassifier(pool, "product").fit(X_train, y_train)


def test_a_member_with_only_predict_votes(wine):
    X_train, _, y_train, _ = wine

    class OnlyPredict(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.inner_ = Perceptron().fit(X, y)
            self.classes_ = self.inner_.classes_
            return self

        def predict(self, X):
            return self.inner_.predict(X)

    fused = FusionClassifier([OnlyPredict(), GaussianNB()], "majority").fit(X_train, y_train)
    assert fused.kind_ == "label"
    assert_allclose(fused.predict_proba(X_train).sum(axis=1), 1)


def test_time_ordered_and_grouped_splits(wine):
    X, _, y, _ = wine
    with pytest.warns(UserWarning, match="have no out-of-fold prediction under cv=TimeSeries"):
        fused = FusionClassifier(members(), "knora_e", cv=TimeSeriesSplit(3)).fit(X, y)
    assert len(fused.fuser_.truth_) < len(y)
    groups = np.arange(len(y)) // 10
    fused = FusionClassifier(members(), "knora_e", cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert len(fused.fuser_.truth_) == len(y)
    with pytest.raises(ValueError, match="cannot split these rows: The 'groups' parameter"):
        FusionClassifier(members(), "knora_e", cv=GroupKFold(3)).fit(X, y)


def test_a_number_of_folds_divides_no_group(wine):
    X, _, y, _ = wine
    groups = np.arange(len(y)) // 4
    fused, by_group, plain = (
        FusionClassifier(members(), "linear_stacking", cv=cv).fit(X, y, groups=given)
        for cv, given in ((3, groups), (StratifiedGroupKFold(3), groups), (3, None))
    )
    assert_array_equal(fused.fuser_.weights_, by_group.fuser_.weights_)
    assert not np.array_equal(fused.fuser_.weights_, plain.fuser_.weights_)


@pytest.mark.parametrize("rule", ["median", "gate"])
def test_a_member_without_probabilities_is_named_by_rules_of_numbers_too(wine, rule):
    X, _, y, _ = wine
    with pytest.raises(ValueError, match="kind probability, but the member 'ridgeclassifier'"):
        FusionClassifier([GaussianNB(), RidgeClassifier()], rule).fit(X, y)


def test_sample_weight_reaches_members_and_fuser(wine):
    X, _, y, _ = wine
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    fused = FusionClassifier(members(), "mean").fit(X, y, sample_weight=weight)
    repeated = np.repeat(np.arange(len(y)), weight)
    again = FusionClassifier(members(), "mean").fit(X.iloc[repeated], y.iloc[repeated])
    # The scaler in the pipeline does not see the weights; the tree is the same.
    one, other = fused.named_estimators_["tree"], again.named_estimators_["tree"]
    assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-8)
    plain = FusionClassifier(members(), "mean").fit(X, y).named_estimators_
    for name, member in fused.named_estimators_.items():
        assert np.abs(member.predict_proba(X) - plain[name].predict_proba(X)).max() > 1e-6
    with pytest.raises(TypeError, match="'kneighborsclassifier' cannot be fitted with sample_w"):
        FusionClassifier([KNeighborsClassifier()]).fit(X, y, sample_weight=weight)


def test_sparse_rows_and_dynamic_selection(wine):
    X, _, y, _ = wine
    dense = np.where(X.to_numpy() > X.to_numpy().mean(axis=0), X.to_numpy(), 0.0)
    scaled = make_pipeline(MaxAbsScaler(), LogisticRegression())
    pool = [scaled, DecisionTreeClassifier(max_depth=2, random_state=0)]
    fused = FusionClassifier(pool, "knora_e").fit(sparse.csr_array(dense), y)
    same = FusionClassifier(pool, "knora_e").fit(dense, y)
    assert_allclose(
        fused.predict_proba(sparse.csr_array(dense)), same.predict_proba(dense), atol=1e-6
    )


def test_dynamic_selection_wants_numbers():
    frame = pd.DataFrame({"size": [1.0, 2, 3, 4] * 10, "colour": ["red", "blue"] * 20})
    y = np.array([0, 1] * 20)
    pool = [make_pipeline(make_column_transformer((StandardScaler(), ["size"])), GaussianNB())]
    with pytest.raises(ValueError, match=r"DynamicSelection\('knora_e'\) measures distances in X"):
        FusionClassifier(pool, "knora_e").fit(frame, y)
    assert FusionClassifier(pool, "mean").fit(frame, y).predict(frame).shape == (40,)


def test_members_are_reached_by_name(wine):
    X, _, y, _ = wine
    fused = FusionClassifier(members())
    assert fused.get_params()["tree__max_depth"] == 3
    fused.set_params(tree__max_depth=1, bayes=LogisticRegression(max_iter=5000), fuser="median")
    assert fused.get_params()["tree"].max_depth == 1
    assert isinstance(fused.get_params()["bayes"], LogisticRegression)
    grid = {"tree__max_depth": [1, 4], "fuser": ["borda"]}
    search = GridSearchCV(FusionClassifier(members()), grid, cv=3).fit(X, y)
    expected = []
    for params in search.cv_results_["params"]:
        tree = DecisionTreeClassifier(max_depth=params["tree__max_depth"], random_state=0)
        pool = [*members()[:2], ("tree", tree)]
        expected.append(
            cross_val_score(FusionClassifier(pool, params["fuser"]), X, y, cv=3).mean()
        )
    assert_allclose(search.cv_results_["mean_test_score"], expected)
    assert expected[0] != expected[1]


def test_votes_are_what_members_decide():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    pool = [
        (f"at {threshold}", FixedThresholdClassifier(LogisticRegression(), threshold=threshold))
        for threshold in (0.01, 0.5, 0.99)
    ]
    fused = FusionClassifier(pool, "majority").fit(X, y)
    assert_array_equal(fused.predict(X), VotingClassifier(pool).fit(X, y).predict(X))
    one = FusionClassifier(pool[:1], "majority").fit(X, y)
    assert_array_equal(one.predict(X), one.estimators_[0].predict(X))
    assert 0 < one.member_probabilities(X)[0, 0, 0] < 1  # probabilities all the same


def test_one_versus_one_scores_are_no_ranking():
    X, y = load_iris(return_X_y=True)
    pool = [("pairs", SVC(decision_function_shape="ovo")), ("ridge", RidgeClassifier())]
    alone = FusionClassifier(pool[:1], "majority").fit(X, y)
    decided = SVC().fit(X, y).predict(X)
    assert_array_equal(alone.predict(X), decided)
    assert (alone.estimators_[0].decision_function(X).argmax(axis=1) != decided).any()
    assert FusionClassifier(pool, "majority").fit(X, y).kind_ == "label"
    with pytest.raises(ValueError, match="'pairs' has 3 classes, but the columns of its decision"):
        FusionClassifier(pool, "borda").fit(X, y)


def test_columns_are_checked_by_name():
    X, y = load_iris(return_X_y=True, as_frame=True)
    pool = [
        make_pipeline(make_column_transformer((StandardScaler(), [name])), GaussianNB())
        for name in X.columns
    ]
    fused = FusionClassifier(pool, "ola").fit(X, y)
    with pytest.raises(ValueError, match="feature names"):
        fused.predict(X[X.columns[::-1]])
    with pytest.raises(ValueError, match="feature names"):
        fused.predict(X.assign(more=1.0))


def test_blocks_of_rows_change_nothing(wine, monkeypatch):
    X, X_test, y, _ = wine
    for rule in ("mean", "knora_e"):
        fused = FusionClassifier(members(), rule).fit(X, y)
        whole = fused.predict_proba(X_test), fused.explain_fusion(X_test)
        with monkeypatch.context() as patch:
            patch.setattr("covey._blocks.ROWS_PER_BLOCK", 7)
            assert_allclose(fused.predict_proba(X_test), whole[0], atol=1e-12)
            assert_allclose(fused.explain_fusion(X_test), whole[1], atol=1e-12)


def test_fuser_gets_the_rows_weights_and_predictions_of_incomplete_splits(wine):
    X, _, y, _ = wine
    X, y = X.to_numpy(), y.to_numpy()
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    folds = [(np.arange(60, len(y)), np.arange(40, 10, -1)), (np.arange(60), np.arange(70, 100))]
    seen = {}

    class Watching(covey.fusers.DynamicSelection):
        def _fit(self, P, codes, X, sample_weight):
            seen.update(P=P, codes=codes, X=X, weight=sample_weight)
            super()._fit(P, codes, X, sample_weight)

    pool = [("tree", DecisionTreeClassifier(max_depth=2, random_state=0))]
    with pytest.warns(UserWarning, match="under The given cv"):
        FusionClassifier(pool, Watching("knora_u", voting="soft"), cv=folds).fit(
            X, y, sample_weight=weight
        )
    rows = np.r_[11:41, 70:100]
    assert_array_equal(seen["X"], X[rows])
    assert_array_equal(seen["codes"], y[rows])
    assert_array_equal(seen["weight"], weight[rows])
    for train, test in folds:
        tree = DecisionTreeClassifier(max_depth=2, random_state=0)
        tree.fit(X[train], y[train], sample_weight=weight[train])
        assert_array_equal(
            seen["P"].values[np.isin(rows, test), 0], tree.predict_proba(X[np.sort(test)])
        )


def test_a_class_that_only_a_fitted_member_knows(wine):
    X, X_test, y, y_test = wine
    fitted = GaussianNB().fit(X, y)
    two = y_test.to_numpy() < 2
    for member, prefit in ((fitted, True), (FrozenEstimator(fitted), False)):
        fused = FusionClassifier([member], "mean", prefit=prefit).fit(X_test[two], y_test[two])
        assert list(fused.classes_) == [0, 1, 2]
        assert_allclose(fused.predict_proba(X), fitted.predict_proba(X), atol=1e-12)
    weighted = FusionClassifier([FrozenEstimator(fitted)]).fit(X, y, sample_weight=np.ones(len(y)))
    assert weighted.score(X, y) == fitted.score(X, y)


def test_unseen_classes_score_lowest():
    X, y = load_iris(return_X_y=True)
    some = y > 0
    shifted = RidgeClassifier().fit(X[some], y[some])  # scores around zero, class 0 unseen
    fused = FusionClassifier([shifted], "borda", prefit=True).fit(X, y)
    assert_array_equal(fused.predict(X), shifted.predict(X))


def test_models_from_elsewhere_are_members(wine):
    X, _, y, _ = wine

    class Foreign:
        classes_ = np.array([0, 1, 2])

        def predict_proba(self, X):
            return np.tile([0.2, 0.5, 0.3], (len(X), 1))

        def predict(self, X):
            return np.full(len(X), 1)

    fused = FusionClassifier([("foreign", Foreign())], prefit=True).fit(X, y)
    assert_array_equal(fused.predict(X), 1)

    class Nameless(Foreign):
        classes_ = None

    with pytest.raises(ValueError, match="'nameless' has no classes_"):
        FusionClassifier([("nameless", Nameless())], prefit=True).fit(X, y)

    class Short(Foreign):
        def predict_proba(self, X):
            return super().predict_proba(X)[:-1]

    with pytest.raises(ValueError, match="'short' gives 0 rows for 1 samples"):
        FusionClassifier([("short", Short())], prefit=True).fit(X, y)

    class Off(Foreign):
        def predict_proba(self, X):
            return super().predict_proba(X) - 0.5

    with pytest.raises(ValueError, match="'off' gives -0.3 as a probability"):
        FusionClassifier([("off", Off())], prefit=True).fit(X, y)


def test_n_jobs_changes_nothing(wine):
    X, X_test, y, _ = wine
    one, two = (
        FusionClassifier(members(), "des_knn", n_jobs=jobs).fit(X, y).predict_proba(X_test)
        for jobs in (1, 2)
    )
    assert_array_equal(one, two)


def test_bad_input_gets_one_sentence(wine):
    X, _, y, _ = wine
    unfitted = [("bayes", GaussianNB())]
    with pytest.raises(NotFittedError, match="The member 'bayes' is not fitted"):
        FusionClassifier(unfitted, prefit=True).fit(X, y)
    fitted = GaussianNB().fit(X, np.array(["a", "b", "c"])[y])
    with pytest.raises(ValueError, match="'gaussiannb' predicts the classes .'a', 'b', 'c'., but"):
        FusionClassifier([fitted], prefit=True).fit(X, y)
    for estimators, message in (
        ([], "estimators must be a non-empty list"),
        ([("bayes", GaussianNB()), ("bayes", GaussianNB())], "'bayes' is repeated"),
        ([("scaler", StandardScaler())], "The member 'scaler' is not a classifier"),
        ([GaussianNB], "is not a classifier"),
        ([("fuser", GaussianNB())], "name 'fuser' must not contain '__', nor be a parameter"),
        ([("a__b", GaussianNB())], "name 'a__b' must not contain"),
    ):
        with pytest.raises(ValueError, match=message):
            FusionClassifier(estimators).fit(X, y)
    with pytest.raises(ValueError, match="fuser must be one of 'a_posteriori'"):
        FusionClassifier(unfitted, "best").fit(X, y)
    with pytest.raises(ValueError, match="at least 2 classes"):
        FusionClassifier(unfitted).fit(X, np.zeros(len(X)))


def test_flock_with_a_learnt_fusion_says_what_it_cannot(wine):
    X, _, y, _ = wine
    with pytest.raises(ValueError, match="select_size='train' compares flocks .* learns"):
        SubsetEnsembleClassifier(fuser="knora_e", select_size="train").fit(X, y)
    flock = SubsetEnsembleClassifier(3, fuser=covey.fusers.Product([1, 0, 3]), random_state=0).fit(
        X, y
    )
    assert_allclose(
        flock.collapse().predict_proba(X),
        flock.fuser_.fuse(flock.member_probabilities(X)),
        atol=1e-9,
    )
    with pytest.raises(ValueError, match="KOfN has k for all members"):
        flock.staged_score(X, y, fuser=covey.fusers.KOfN(2))
    first = flock.staged_score(X, y)[0]
    assert first == (flock.member_probabilities(X)[:, 0].argmax(axis=1) == y).mean()
    dynamic = SubsetEnsembleClassifier(3, fuser="ola", random_state=0).fit(X, y)
    with pytest.raises(
        ValueError, match=r"DynamicSelection\('ola'\) has learnt to fuse all members"
    ):
        dynamic.staged_score(X, y)


def test_an_ensemble_is_a_function_of_rows_and_no_rule(wine):
    X, X_new, y, _ = wine
    model = FusionClassifier(members()).fit(X, y)
    assert_array_equal(model(X_new), model.predict_proba(X_new))
    numbers = covey.FusionRegressor([LinearRegression()]).fit(X, y)
    assert_array_equal(numbers(X_new), numbers.predict(X_new))
    for rule in (model, GaussianNB()):
        with pytest.raises(ValueError, match="fuser must be one of .*, a Fuser or a function"):
            FusionClassifier(members(), rule).fit(X, y)


def test_prefit_is_true_or_false(wine):
    X, _, y, _ = wine
    for prefit in ("no", 1, None):
        with pytest.raises(ValueError, match="prefit must be True or False"):
            FusionClassifier(members(), prefit=prefit).fit(X, y)
