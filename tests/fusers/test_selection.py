"""Every method of dynamic selection against its literal version, and most against DESlib."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from covey import Predictions
from covey._core.fusion.competence import reference_wins
from covey.fusers import DynamicSelection
from covey.fusers._dynamic import METHODS, default_meta
from covey.fusers._fixed import make_fuser

from . import literal_selection as literal
from .deslib.problems import LOADERS, N_RATED, problem

LABELS = np.load(Path(__file__).parent / "deslib" / "labels.npz")
DRAWN = ("a_priori", "a_posteriori", "mcb")
POTENTIAL = tuple(literal.SOURCES)


def predictions(pool, X):
    return Predictions(np.stack([member.predict_proba(X) for member in pool], axis=1))


@pytest.fixture(scope="module", params=LOADERS)
def case(request):
    pool, (X, y), (X_test, _) = problem(request.param)
    return request.param, predictions(pool, X), y, X, predictions(pool, X_test), X_test


def small_problem(numbers, n_members=5):
    """Known samples and others, with members that are silent here and there."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((52, 2))
    if numbers:
        y = X[:, 0] + 0.1 * rng.standard_normal(52)
        P = y[:, None] + rng.standard_normal((52, n_members)) * (0.2 + (X[:, 1:] > 0))
        P[:, 0] = np.where(X[:, 0] > 0, y + 0.05, -3.0)
    else:
        y = rng.choice(3, 52, p=[0.5, 0.3, 0.2])
        sure = rng.dirichlet([0.6] * 3, (52, n_members))
        knows = X[:, :1, None] > rng.random((1, n_members, 1))
        P = 0.6 * sure + 0.4 * np.eye(3)[y][:, None] * knows
        P /= P.sum(axis=2, keepdims=True)
    P[rng.random((52, n_members)) < 0.15] = np.nan
    return (X[:40], y[:40], P[:40]), (X[40:], P[40:])


def literal_weights(method, known, X, P):
    return np.stack([literal.weights(method, known, x, p) for x, p in zip(X, P, strict=True)])


@pytest.mark.parametrize("name", literal.METHODS)
def test_method_is_its_literal_version(name):
    (X, y, P), (X_new, P_new) = small_problem(numbers=False)
    fuser = make_fuser(name, scale=False).fit(P, y, X)
    known = literal.Known(X, y, P)
    rows = zip(X_new, P_new, strict=True)
    rated = [literal.ratings(literal.METHODS[name], known, *row) for row in rows]
    ours = fuser._rated(Predictions(P_new), X_new)
    spoken = ~np.isnan(P_new[:, :, 0])
    assert_allclose(ours[spoken], np.array(rated)[spoken], atol=1e-12)
    expected = literal_weights(literal.METHODS[name], known, X_new, P_new)
    assert len(np.unique(expected, axis=0)) > 2
    assert_allclose(fuser.importance(P_new, X_new), expected, atol=1e-12)
    soft = name in ("ola", "lca", "mla", "rank")
    values = np.nan_to_num(P_new if soft else np.eye(3)[P_new.argmax(axis=2)])
    assert_allclose(fuser.fuse(P_new, X_new), np.einsum("nk,nkc->nc", expected, values))


def test_knop_is_knora_u_among_profiles():
    (X, y, P), (_, P_new) = small_problem(numbers=False)
    known = literal.profiles(literal.Known(X, y, P))
    rows = [literal.profile(one) for one in P_new]
    expected = literal_weights(literal.METHODS["knora_u"], known, rows, P_new)
    assert_allclose(make_fuser("knop").fit(P, y).importance(P_new), expected, atol=1e-12)


def test_meta_des_is_its_literal_version():
    (X, y, P), (X_new, P_new) = small_problem(numbers=False)
    fuser = make_fuser("meta_des", scale=False).fit(P, y, X)
    known = literal.Known(X, y, P)
    rated = literal.meta_des(known, X_new, P_new, default_meta())
    spoken = ~np.isnan(rated)
    assert len(np.unique(rated[spoken].round(6))) > 9
    assert_allclose(fuser._rated(Predictions(P_new), X_new)[spoken], rated[spoken], atol=1e-12)


@pytest.mark.parametrize("name", literal.VALUE_METHODS)
def test_method_for_numbers_is_its_literal_version(name):
    (X, y, P), (X_new, P_new) = small_problem(numbers=True)
    fuser = make_fuser(name, scale=False).fit(Predictions(P, kind="value"), y, X)
    expected = literal_weights(literal.VALUE_METHODS[name], literal.Known(X, y, P), X_new, P_new)
    assert len(np.unique(expected, axis=0)) > 2
    new = Predictions(P_new, kind="value")
    assert_allclose(fuser.importance(new, X_new), expected, atol=1e-12)
    assert_allclose(fuser.fuse(new, X_new), (expected * np.nan_to_num(P_new)).sum(axis=1))


@pytest.mark.parametrize("name", POTENTIAL)
def test_source_is_its_literal_version(name):
    (X, y, P), _ = small_problem(numbers=False)
    P = np.where(np.isnan(P), 1 / 3, P)
    fuser = make_fuser(name).fit(P, y, X)
    known = literal.Known(X, y, P)
    expected = [[literal.SOURCES[name](known, k, i) for k in range(5)] for i in range(40)]
    assert_allclose(fuser.worth_, expected, atol=1e-12)
    guess = METHODS[name].worth(np.full((1, 1, 3), 1 / 3), np.array([1]))
    assert_allclose(guess, fuser._threshold(), atol=1e-3)


def test_the_randomized_reference_has_the_numbers_that_its_authors_published():
    supports = np.array([[[0.3, 0.6, 0.1]], [[1 / 3, 1 / 3, 1 / 3]]])
    wins = reference_wins(supports, np.array([1, 0]))[:, 0]
    assert_allclose(wins, [0.784953394056843, 0.332872292262951], atol=1e-12)


def test_many_references_are_looked_up_as_few_are_computed():
    rng = np.random.default_rng(0)
    for n_classes in (2, 5, 40):
        P = rng.dirichlet(np.full(n_classes, 0.05), (1 + 8000 // n_classes, 1))
        P[:3, 0] = np.eye(n_classes)[[0, 1, 0]]
        codes = rng.integers(0, n_classes, len(P))
        assert P.size > 4096
        one = [reference_wins(P[[row]], codes[[row]])[0] for row in range(60)]
        assert_allclose(reference_wins(P, codes)[:60], one, atol=1e-9)


# -- DESlib ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rank", "mla", "des_mi", *DRAWN])
def test_competences_are_deslibs(case, name):
    table, known, y, X, P, X_test = case
    fuser = make_fuser(name).fit(known, y, X)
    ours = fuser._rated(P.rows(slice(N_RATED)), X_test[:N_RATED])
    theirs = LABELS[f"{table}-{name}-competence"]
    if name == "des_mi":
        ours = ours / ours.max(axis=1, keepdims=True)
    assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("name", ["rank", "mla"])
def test_labels_of_the_best_member_are_deslibs(case, name):
    table, known, y, X, P, X_test = case
    fused = make_fuser(name).fit(known, y, X).fuse(P, X_test)
    assert_array_equal(fused.argmax(axis=1), LABELS[f"{table}-{name}"])


@pytest.mark.parametrize("name", DRAWN)
def test_deslib_draws_one_of_the_members_that_are_selected(case, name):
    table, known, y, X, P, X_test = case
    best = make_fuser(name, threshold=0).fit(known, y, X).fuse(P, X_test)
    assert_array_equal(best.argmax(axis=1), LABELS[f"{table}-{name}-all"])
    several = make_fuser(name).fit(known, y, X).fuse(P, X_test)
    drawn = several[np.arange(P.n_samples), LABELS[f"{table}-{name}"]]
    assert (drawn > 0).all()


@pytest.mark.parametrize("name", POTENTIAL)
def test_potential_functions_are_deslibs_but_for_what_vanishes_there(case, name):
    table, known, y, X, P, X_test = case
    fuser = make_fuser(name).fit(known, y, X)
    source, threshold = fuser.worth_, fuser._threshold()
    if name == "des_kl":  # where DESlib adds the entropy of members that are right
        right = fuser.right_
        source = np.where(right, 2.0 - source, source)
    if name == "logarithmic":
        threshold = 1 / P.n_classes
    weight = np.exp(-(fuser._neighbors.distances(fuser._scaled(X_test)) ** 2))
    vanished = (weight == 0).any(axis=1)
    rated = weight @ fuser.worth_ / weight.sum(axis=1, keepdims=True)
    assert_allclose(fuser._rated(P, X_test)[~vanished], rated[~vanished], atol=1e-10)
    # Potentials that underflow are 1e-20 in DESlib, be others smaller or not.
    weight[weight == 0] = 1e-20
    theirs = weight @ source / weight.sum(axis=1, keepdims=True)
    expected = LABELS[f"{table}-{name}-competence"]
    assert_allclose(theirs[:N_RATED], expected, atol=1e-5)
    selected = theirs > threshold
    selected |= ~selected.any(axis=1, keepdims=True)
    votes = (np.eye(P.n_classes)[P.labels] * selected[:, :, None]).sum(axis=1)
    assert_array_equal(votes.argmax(axis=1), LABELS[f"{table}-{name}"])


def last_of_equals(values):
    """DESlib's order: by decreasing value, in what order argsort leaves equals."""
    return np.argsort(values)[::-1]


def test_des_mi_is_deslibs_up_to_the_order_of_equals(case):
    table, known, y, X, P, X_test = case
    fuser = make_fuser("des_mi").fit(known, y, X)
    _, region = fuser._region(P, X_test)
    weight = 1 / (1 + np.exp(0.9 * np.bincount(y)[y[region]]))
    # scikit-learn's ``normalize`` leaves rows alone that hardly differ from zero.
    total = weight.sum(axis=1, keepdims=True)
    weight /= np.where(total < 10 * np.finfo(float).eps, 1.0, total)
    rated = (fuser.right_[region] * weight[:, :, None]).sum(axis=1)
    labels = [
        np.bincount(P.labels[row][last_of_equals(rated[row])[:12]], minlength=P.n_classes).argmax()
        for row in range(P.n_samples)
    ]
    assert (labels == LABELS[f"{table}-des_mi"]).mean() >= 0.99


def test_static_selection_is_deslibs(case):
    table, known, y, _, P, _ = case
    fuser = make_fuser("static_selection").fit(known, y)
    accuracy = (known.labels == y[:, None]).mean(axis=0)
    chosen = np.sort(np.argsort(-accuracy, kind="stable")[:15])
    assert_array_equal(np.flatnonzero(fuser.weights_), chosen)
    votes = np.eye(P.n_classes)[P.labels][:, last_of_equals(accuracy)[:15]].sum(axis=1)
    assert_array_equal(votes.argmax(axis=1), LABELS[f"{table}-static_selection"])


def test_des_clustering_is_deslibs_up_to_the_order_of_equals(case):
    table, known, y, X, P, X_test = case
    fuser = make_fuser("des_clustering")
    # Another scikit-learn finds other clusters; here they are DESlib's.
    fuser._find_centers = lambda points: LABELS[f"{table}-des_clustering-centers"]
    fuser.fit(known, y, X)
    cluster = fuser._region(P, X_test)[1][:, 0]
    of_known = fuser._region(known, X)[1][:, 0]
    theirs, ours = [], []
    for one in range(5):
        right = fuser.right_[of_known == one]
        accuracy, wrong = right.mean(axis=0), 1.0 - right
        faults = (wrong.T @ wrong).sum(axis=1) - wrong.sum(axis=0)
        accurate = last_of_equals(accuracy)[:15]
        theirs.append(accurate[last_of_equals(-faults[accurate])[:10]])
        first = np.argsort(-accuracy, kind="stable")[:15]
        # Of equally diverse members ours are the more accurate, then the first.
        ours.append(first[np.lexsort((first, -accuracy[first], faults[first]))[:10]])

    def votes(chosen):
        voted = (P.labels[row][chosen[one]] for row, one in enumerate(cluster))
        return np.stack([np.bincount(labels, minlength=P.n_classes) for labels in voted])

    assert_allclose(fuser.fuse(P, X_test), votes(ours) / 10)
    assert_array_equal(votes(theirs).argmax(axis=1), LABELS[f"{table}-des_clustering"])


# -- distances ------------------------------------------------------------------------------------

METRICS = {
    "euclidean": lambda u, v: np.sqrt(((u - v) ** 2).sum()),
    "manhattan": lambda u, v: np.abs(u - v).sum(),
    "chebyshev": lambda u, v: np.abs(u - v).max(),
    "cosine": lambda u, v: 1 - u @ v / np.sqrt((u @ u) * (v @ v)),
}


@pytest.mark.parametrize("name", ["knora_u", "a_priori", "logarithmic"])
@pytest.mark.parametrize("metric", [*METRICS, "mahalanobis"])
def test_a_metric_is_the_function_of_two_rows_that_it_names(metric, name):
    (X, y, P), (X_new, P_new) = small_problem(numbers=False)
    X = np.column_stack([X, X[:, 0] + 0.3 * X[:, 1] ** 2, X[:, 0]])  # correlated, and a twin
    X_new = np.column_stack([X_new, X_new[:, 0] + 0.3 * X_new[:, 1] ** 2, X_new[:, 0]])
    inverse = np.linalg.pinv(np.cov(X.T), hermitian=True)
    function = METRICS.get(metric, lambda u, v: np.sqrt(max((u - v) @ inverse @ (u - v), 0.0)))
    named = make_fuser(name, metric=metric, scale=False).fit(P, y, X)
    given = make_fuser(name, metric=function, scale=False).fit(P, y, X)
    assert_allclose(named.importance(P_new, X_new), given.importance(P_new, X_new), atol=1e-9)
    if metric in ("euclidean", "manhattan", "cosine"):
        few = make_fuser(name, metric=metric, scale=False).fit(P, y, sparse.csr_array(X))
        rows = sparse.csr_array(X_new)
        assert_allclose(few.importance(P_new, rows), given.importance(P_new, X_new), atol=1e-9)


def test_a_tree_of_many_points_finds_the_same_neighbors():
    rng = np.random.default_rng(0)
    X, y, P = rng.random((1200, 2)), rng.integers(0, 2, 1200), rng.dirichlet([1, 1], (1200, 3))
    for metric in ("euclidean", "manhattan", "chebyshev"):
        fuser = make_fuser("ola", metric=metric).fit(P, y, X)
        assert fuser._neighbors.index.algorithm == "kd_tree"
        scaled = fuser._scaled(X[:20])
        distance = fuser._neighbors.distances(scaled)
        nearest = np.argsort(distance, axis=1)[:, :7]
        assert_array_equal(fuser._neighbors.nearest(scaled)[1], nearest)


def test_without_scaling_a_wide_column_decides_who_is_near():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(60), 1e3 * rng.random(60)])
    y = rng.integers(0, 2, 60)
    P = rng.dirichlet([1, 1], (60, 4))
    plain = make_fuser("knora_u", scale=False).fit(P, y, X)
    alone = make_fuser("knora_u", scale=False).fit(P, y, X[:, 1:])
    assert_array_equal(plain.importance(P, X), alone.importance(P, X[:, 1:]))
    scaled = make_fuser("knora_u").fit(P, y, X)
    assert (scaled.importance(P, X) != plain.importance(P, X)).any()


@pytest.mark.parametrize("size", [2.0**600, 2.0**-600])
def test_scaled_features_of_any_size_are_the_same(size):
    (X, y, P), (X_new, P_new) = small_problem(numbers=False)
    for name in ("ola", "rrc", "des_clustering"):
        plain = make_fuser(name).fit(P, y, X).importance(P_new, X_new)
        assert_allclose(
            make_fuser(name).fit(P, y, size * X).importance(P_new, size * X_new), plain
        )


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"metric": "nearness"}, "metric must be one of 'euclidean', .* got 'nearness'"),
        ({"metric": 2}, "metric must be one of"),
        ({"scale": "standard"}, "scale must be True or False, got 'standard'"),
        ({"n_neighbors": 0}, "n_neighbors == 0, must be >= 1"),
        ({"threshold": 2.0}, "threshold == 2.0, must be <= 1"),
        ({"similarity": -1.0}, "similarity == -1.0, must be >= 0"),
        ({"voting": "loud"}, "voting must be one of"),
    ],
)
def test_bad_parameters_get_one_sentence(how, message):
    (X, y, P), _ = small_problem(numbers=False)
    with pytest.raises(ValueError, match=message):
        make_fuser("mcb", **how).fit(P, y, X)


def test_what_does_not_fit_gets_one_sentence():
    (X, y, P), (X_new, P_new) = small_problem(numbers=False)
    with pytest.raises(ValueError, match="metric='chebyshev' needs dense rows"):
        make_fuser("ola", metric="chebyshev").fit(P, y, sparse.csr_array(X))
    with pytest.raises(ValueError, match="size 1e.200, .* set scale=True"):
        make_fuser("ola", scale=False).fit(P, y, 1e200 * np.sign(X))
    fuser = make_fuser("ola").fit(P, y, X)
    with pytest.raises(ValueError, match=r"DynamicSelection\('ola'\) has learnt to fuse classes"):
        fuser.fuse(Predictions(P_new[:, :, 0], kind="value"), X_new)
    with pytest.raises(ValueError, match="'ola' has no parameter 'alpha'; it has n_neighbors"):
        make_fuser("ola", alpha=0.5).fit(P, y, X)
    with pytest.raises(ValueError, match="method must be one of 'ola', .* got 'knora'"):
        DynamicSelection("knora").fit(P, y, X)
    for name, bad in (("des_mi", {"alpha": 0}), ("des_clustering", {"n_clusters": 0})):
        with pytest.raises(ValueError, match="must be >"):
            make_fuser(name, **bad).fit(P, y, X)
    with pytest.raises(ValueError, match="diverse_share=0.9 must not exceed"):
        make_fuser("des_clustering", diverse_share=0.9).fit(P, y, X)


# -- odd samples ----------------------------------------------------------------------------------

LATER = ["rank", "mla", "des_mi", "des_clustering", "static_selection", *DRAWN, *POTENTIAL]


@pytest.mark.parametrize("name", LATER)
def test_odd_samples_are_fused(name):
    rng = np.random.default_rng(0)
    P, y = rng.dirichlet([1, 1, 1], (9, 4)), np.array([0, 0, 0, 0, 1, 1, 1, 2, 2])
    for X in (
        np.zeros((9, 2)),  # all in one place
        rng.standard_normal((9, 1500)),
        1e100 * rng.standard_normal((9, 2)),
        sparse.csr_array(np.eye(9)),
    ):
        fused = make_fuser(name).fit(P, y, X).fuse(P, X)
        assert np.isfinite(fused).all()
        assert_allclose(fused.sum(axis=1), 1.0)
    # Rows beyond all bounds of those that are known.
    far = make_fuser(name).fit(P, y, 1e-100 * rng.standard_normal((9, 2)))
    assert np.isfinite(far.fuse(P, np.full((9, 2), 1e250))).all()
    one = make_fuser(name).fit(P[:1], y[:1], np.ones((1, 2)))
    assert np.isfinite(one.fuse(P, rng.random((9, 2)))).all()
    alone = make_fuser(name).fit(P[:, :1], y, rng.random((9, 2)))
    assert_allclose(alone.importance(P[:, :1], rng.random((9, 2))), 1.0)
    weighted = make_fuser(name).fit(P, y, np.eye(9), sample_weight=[1, 1, 0, 0, 1, 0, 1, 1, 0])
    kept = [0, 1, 4, 6, 7]
    same = make_fuser(name).fit(P[kept], y[kept], np.eye(9)[kept])
    assert_array_equal(weighted.fuse(P, np.eye(9)), same.fuse(P, np.eye(9)))


def test_numbers_of_any_size_are_fused():
    rng = np.random.default_rng(0)
    X, y = rng.random((30, 2)), rng.random(30)
    P = y[:, None] + 0.1 * rng.standard_normal((30, 3))
    P[:, 2] = 1e300
    for name in literal.VALUE_METHODS:
        fuser = make_fuser(name).fit(Predictions(P, kind="value"), y, X)
        fused = fuser.fuse(Predictions(P, kind="value"), X)
        assert np.abs(fused - y).max() < 1
        tiny = make_fuser(name).fit(Predictions(1e-200 * P[:, :2], kind="value"), 1e-200 * y, X)
        assert np.isfinite(tiny.fuse(Predictions(1e-200 * P[:, :2], kind="value"), X)).all()


def test_where_a_mean_is_better_than_every_member_it_is_taken():
    rng = np.random.default_rng(0)
    X, y = rng.random((40, 2)), rng.random(40)
    P = Predictions(y[:, None] + [-1.0, 1.0], kind="value")  # they err to either side
    for name in ("knora_e", "knora_u", "des_p"):
        fuser = make_fuser(name).fit(P, y, X)
        assert_allclose(fuser.fuse(P, X), y)


def test_the_table_of_methods_has_every_name():
    page = (Path(__file__).parents[2] / "docs" / "dynamic.md").read_text()
    for name in METHODS:
        assert f"| `{name}` |" in page
