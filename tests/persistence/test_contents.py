"""Compiled models whose numbers do not fit together are refused."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from covey.persistence import ModelFileError, load
from tests.persistence._helpers import (
    X_NUMBERS,
    Y_NUMBERS,
    X,
    assert_predicts_the_same,
    changed,
    flock,
    nodes,
    number,
    saved,
    with_array,
    y,
)


def tiled(model):
    model.estimators_ = np.tile(model.estimators_, (1, 40))


def narrow_start(model):
    model.init_.class_prior_ = model.init_.class_prior_[:1]


def other_start(model):
    model.init_ = GaussianNB().fit(X, y)


def other_loss(model):
    model._loss = GradientBoostingRegressor(n_estimators=1).fit(X_NUMBERS, Y_NUMBERS)._loss


def no_width(model):
    del model.n_features_in_


def a_step_before(model):
    model._preprocessor = StandardScaler()


def strange_class(model):
    model._y[0] = 1_000_000


def fewer_rows(model):
    model._fit_X = model._fit_X[:, :1]


def fewer_vectors(model):
    model.support_vectors_ = model.support_vectors_[:, :1]


def fewer_coefficients(model):
    model._dual_coef_ = model._dual_coef_[:, :1]


def probabilities(model):
    model.probability = model._effective_probability = True


def other_machine(model):
    model._impl = "one_class"


def narrow_centers(model):
    model.cluster_centers_ = model.cluster_centers_[:, :1]


def listed_tree(model):
    model.tree_ = [model.tree_]


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (GradientBoostingClassifier(n_estimators=2, max_depth=1), tiled),
        (GradientBoostingClassifier(n_estimators=2, max_depth=1), narrow_start),
        (GradientBoostingClassifier(n_estimators=2, max_depth=1), other_start),
        (GradientBoostingClassifier(n_estimators=2, max_depth=1), other_loss),
        (DecisionTreeClassifier(), no_width),
        (DecisionTreeClassifier(), listed_tree),
        (HistGradientBoostingClassifier(max_iter=1), no_width),
        (HistGradientBoostingClassifier(max_iter=1), a_step_before),
        (KNeighborsClassifier(algorithm="brute"), strange_class),
        (KNeighborsClassifier(algorithm="brute"), fewer_rows),
        (SVC(), fewer_vectors),
        (SVC(), fewer_coefficients),
        (SVC(), other_machine),
        (SVC(), probabilities),
        (KMeans(3, n_init=1), narrow_centers),
    ],
    ids=lambda part: getattr(part, "__name__", type(part).__name__),
)
def test_compiled_models_that_do_not_fit_together_are_refused(model, change, tmp_path):
    model.fit(X, y)
    load(saved(model, tmp_path / "model.covey"))
    change(model)
    with pytest.raises(ModelFileError, match="is damaged: .*(tampered with|if you trust whoever)"):
        load(saved(model, tmp_path / "model.covey"))


def test_a_tree_outside_of_an_estimator_of_trees_is_refused(tmp_path):
    model = GaussianNB().fit(X, y)
    model.tree_ = DecisionTreeClassifier().fit(X, y).tree_
    with pytest.raises(ModelFileError, match="a decision tree leads out of it"):
        load(saved(model, tmp_path / "model.covey"))


@pytest.mark.parametrize(
    ("field", "value"), [("left_child", -20_000_000), ("left_child", -2), ("right_child", 0)]
)
def test_a_leaf_has_no_children_of_any_number(field, value, tmp_path):
    path = saved(TREES["tree"].fit(X, y), tmp_path / "model.covey")

    def change(nodes):
        nodes[field][np.flatnonzero(nodes["left_child"] == -1)[0]] = value

    with_array(path, change, fields=TREE_FIELDS["tree"])
    with pytest.raises(ModelFileError, match="a node of a decision tree leads out of it"):
        load(path)


def test_a_tree_is_as_deep_as_it_says(tmp_path):
    model = TREES["tree"].fit(X, y)
    state = model.tree_.__getstate__()
    model.tree_.__setstate__({**state, "max_depth": 1})
    with pytest.raises(ModelFileError, match="the depth of a decision tree"):
        load(saved(model, tmp_path / "model.covey"))


TREE_FIELDS = {
    "tree": ("left_child", "right_child", "feature"),
    "forest": ("left_child", "right_child", "feature"),
    "boosting": ("left", "right", "feature_idx"),
    "neighbours": ("idx_start", "idx_end", "is_leaf"),
}
TREES = {
    "tree": DecisionTreeClassifier(max_depth=3),
    "forest": RandomForestClassifier(2, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=5),
    "neighbours": KNeighborsClassifier(algorithm="kd_tree", leaf_size=5),
}


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        (kind, field, 0 if field == "is_leaf" else 1_000_000)
        for kind, fields in TREE_FIELDS.items()
        for field in fields
    ]
    + [("tree", "left_child", 0), ("boosting", "left", 0)],  # a circle
)
def test_a_tree_that_leads_out_of_itself_is_refused(kind, field, value, tmp_path):
    path = saved(TREES[kind].fit(X, y), tmp_path / "model.covey")
    load(path)

    def change(nodes):
        nodes[field][-1 if field == "is_leaf" else 0] = value

    with_array(path, change, fields=TREE_FIELDS[kind])
    with pytest.raises(ModelFileError, match="is damaged: .* tampered with"):
        load(path)


@pytest.mark.parametrize("owner", ["DecisionTreeClassifier", "RandomForestClassifier"])
def test_a_tree_as_wide_as_its_owner_is_not_is_refused(owner, tmp_path):
    path = saved(TREES["forest"].fit(X, y), tmp_path / "model.covey")

    def narrow(schema):
        for node in nodes(schema):
            if node["__class__"] == owner and "n_features_in_" in node["content"]["content"]:
                node["content"]["content"]["n_features_in_"] = number(1)

    with pytest.raises(ModelFileError, match="tree.* tampered with"):
        load(changed(path, schema=narrow))


def test_a_random_state_that_points_elsewhere_is_refused(tmp_path):
    path = saved(flock(random_state=np.random.RandomState(0)), tmp_path / "model.covey")
    load(path)

    def point(schema):
        for node in nodes(schema):
            content = node.get("content")
            if isinstance(content, dict) and "pos" in content:
                content["pos"] = number(100_000)

    with pytest.raises(ModelFileError, match="a random state leads out of it"):
        load(changed(path, schema=point))


def test_a_sparse_matrix_that_points_elsewhere_is_refused(tmp_path):
    model = KNeighborsClassifier(algorithm="brute").fit(sparse.csr_matrix(X), y)
    model._fit_X.indices[0] = 99
    with pytest.raises(ModelFileError, match="is damaged"):
        load(saved(model, tmp_path / "model.covey"))


def test_boosting_on_categories_needs_trust(tmp_path):
    codes = np.arange(150)[:, None] % 7
    model = HistGradientBoostingClassifier(
        max_iter=2, min_samples_leaf=2, categorical_features=[0]
    ).fit(codes, codes[:, 0] > 3)
    path = saved(model, tmp_path / "model.covey")
    predictor = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
    functions = ["functools.partial", "sklearn.utils.validation.check_array"]
    with pytest.raises(ModelFileError, match=", ".join(functions)):
        load(path)
    with pytest.raises(ModelFileError, match=f"categories.*{predictor}"):
        load(path, functions)
    assert_predicts_the_same(model, load(path, [*functions, predictor]), codes)
