"""Fits of all public estimators to random tables, with random parameters."""

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.cluster import KMeans
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import covey
from covey import fusers
from covey._blocks import take_rows
from covey._decisions import decided
from covey.fusers._base import FUSERS
from covey.rivals import DecorateClassifier, DiverseMaxEntClassifier, SubsetSearchClassifier
from tests.fuzz.outcomes import (
    OutcomeError,
    attempt,
    check_finite,
    check_probabilities,
    check_same,
)
from tests.fuzz.tables import (
    chance,
    classes,
    n_rows_of,
    numbers,
    one_of,
    parameters,
    table,
    weights,
)

RULES = sorted(FUSERS)
MEMBERS = [
    GaussianNB(),
    DecisionTreeClassifier(max_depth=3, random_state=0),
    KNeighborsClassifier(3),
    LogisticRegression(max_iter=20),
    DummyClassifier(),
]
VALUE_MEMBERS = [
    Ridge(),
    DecisionTreeRegressor(max_depth=3, random_state=0),
    KNeighborsRegressor(3),
    DummyRegressor(),
]
FLOCK = {
    "effort": ["fast", "fast", "balanced"],
    "n_estimators": [1, 2, 3],
    "max_features": [1, 2, 0.5],
    "max_members": [1, 2],
    "max_terms": [3, 20],
    "alpha": [1e-3, 1.0],
    "cv": [2, 3],
    "always_keep": [[0], [1, 0], ["c0"]],
    "feature_groups": [[[0, 1]], {"both": [1, 2]}],
    "monotone": [{0: 1}, {1: -1, 2: 1}, {"c0": 1}],
    "interactions": ["none", [(0, 1)], [("c0", "c1")]],
    "members": ["linear", ["neighbors"], [GaussianNB(), "linear"]],
}
COSTS = [{0: 9}, {"class 0": 9.0}, {"miss": 5}, {}, [[0, 1], [9, 0]], {0: {1: 2}}, -1, "x"]
ALGORITHM_1 = {
    "n_estimators": [1, 2, 4],
    "flip_probability": [0.0, 0.1, 1.0],
    "learning_rate": ["auto", 0.1, 1e6],
    "tol": [0.0, 1e-3, np.inf],
    "max_iter": [1, 20],
    "n_iter_no_change": [1, 5],
    "init_scale": [0.0, 1.0],
    "acceptance": ["metropolis"],
    "subset_penalty": [0.1],
    "select_size": ["validation", "train"],
    "of_equals": ["most"],
    "validation_fraction": [0.3],
    "always_keep": [[0]],
}
CLASS_FUSERS = {
    "fuser": [
        *RULES,
        fusers.Gate(features="quadratic"),
        fusers.KOfN(k=2),
        fusers.DynamicSelection("rrc", 5, metric="cosine", scale=False),
        fusers.GreedySelection(3, scoring="balanced_accuracy"),
    ]
}
VALUE_FUSERS = {
    "fuser": [
        *("mean", "median", "linear_stacking", "stacking", "gate", "oracle", "single_best"),
        *("greedy_selection", "ola", "knora_e", "knora_u", "des_p", "rrc"),
        fusers.DynamicSelection("knora_u", metric="mahalanobis"),
        fusers.GreedySelection(scoring="neg_mean_absolute_error"),
    ]
}


def _members(rng, known):
    return [clone(one_of(rng, known)) for _ in range(one_of(rng, [2, 2, 3, 1, 0]))]


def _of(kind, choices, **fixed):
    """A maker of one estimator with random parameters."""
    return lambda rng, odd: kind(**{**fixed, **parameters(rng, choices, odd)})


CLASSIFIERS = {
    "FlockClassifier": _of(
        covey.FlockClassifier,
        FLOCK | {"class_weight": ["balanced"], "costs": COSTS},
        effort="fast",
        n_estimators=2,
        cv=2,
        random_state=0,
    ),
    "SubsetEnsembleClassifier": _of(
        covey.SubsetEnsembleClassifier,
        ALGORITHM_1
        | CLASS_FUSERS
        | {
            "loss": ["focal", "log"],
            "reweighting": [None, "mean_probability"],
            "learning_rate": ["auto", "newton", "constant", 1e6],
            "class_weight": ["balanced", {0: 2.0}],
            "scale_features": [False],
            "fit_intercept": [False],
        },
        n_estimators=2,
        max_iter=30,
        random_state=0,
    ),
    "FusionClassifier": lambda rng, odd: covey.FusionClassifier(
        _members(rng, MEMBERS),
        **parameters(rng, {**CLASS_FUSERS, "cv": [2, 3], "costs": COSTS}, odd),
        n_jobs=1,
    ),
    "MultiviewClassifier": _of(
        covey.MultiviewClassifier,
        {
            "views": [2, 3, {"a": [0], "b": [1, 2]}, [[0], [1]]],
            "method": ["co_training", "co_em", "supervised"],
            "unlabeled_label": [0, -1, "class 0"],
            "agree": [False],
            "n_per_round": [3, 0.5],
            "fuser": ["mean", "product", "majority"],
        },
        estimator=GaussianNB(),
        max_iter=3,
        cv=2,
        random_state=0,
    ),
    "GeneralStackingClassifier": lambda rng, odd: covey.GeneralStackingClassifier(
        _members(rng, MEMBERS),
        **parameters(
            rng,
            {
                "final_estimator": [LogisticRegression(), GaussianNB(), Ridge()],
                "outputs": ["auto", "probabilities", "logits", "ranks", "one_hot"],
                "passthrough": [True],
                "clip": [0.1, 1e-12],
                "cv": [2, 3],
            },
            odd,
        ),
    ),
    "CodeBookClassifier": _of(
        covey.CodeBookClassifier,
        {
            "code": ["max_distance", "one_vs_all", "one_vs_one", "random"],
            "n_bits": [2, 5],
            "decoding": ["absolute", "hamming"],
        },
        estimator=GaussianNB(),
        random_state=0,
    ),
    "DecorateClassifier": _of(
        DecorateClassifier,
        {"artificial_size": [0.5], "fuser": ["mean", "majority"]},
        estimator=GaussianNB(),
        n_estimators=3,
        max_iter=4,
        random_state=0,
    ),
    "DiverseMaxEntClassifier": _of(
        DiverseMaxEntClassifier,
        {"diversity": ["cross_correlation", "posterior"], "alpha": [1e-9, 1.0]},
        n_estimators=2,
        max_iter=20,
        random_state=0,
    ),
    "SubsetSearchClassifier": _of(
        SubsetSearchClassifier,
        {"search": ["hill_climbing", "genetic"], "acceptance": ["sum", "both"]},
        estimator=GaussianNB(),
        n_estimators=2,
        max_passes=1,
        cv=2,
        population_size=4,
        n_generations=2,
        max_fits=60,
        random_state=0,
    ),
}
LOSSES = {"loss": ["squared", "huber", "quantile"], "quantile": [0.1, 0.9], "epsilon": [1.0, 9.0]}
LOGS = {"loss": [*LOSSES["loss"], "poisson", "gamma", "tweedie"], "power": [1.1, 1.9]}
REGRESSORS = {
    "FlockRegressor": _of(
        covey.FlockRegressor,
        {k: v for k, v in FLOCK.items() if k != "members"} | LOSSES | LOGS,
        effort="fast",
        n_estimators=2,
        cv=2,
        random_state=0,
    ),
    "SubsetEnsembleRegressor": _of(
        covey.SubsetEnsembleRegressor,
        ALGORITHM_1 | VALUE_FUSERS | LOSSES | {"alpha": [0.1]},
        n_estimators=2,
        max_iter=30,
        random_state=0,
    ),
    "FusionRegressor": lambda rng, odd: covey.FusionRegressor(
        _members(rng, VALUE_MEMBERS), **parameters(rng, {**VALUE_FUSERS, "cv": [2, 3]}, odd)
    ),
    "GeneralStackingRegressor": lambda rng, odd: covey.GeneralStackingRegressor(
        _members(rng, VALUE_MEMBERS),
        **parameters(
            rng,
            {
                "final_estimator": [Ridge(), DecisionTreeRegressor(random_state=0)],
                "passthrough": [True],
                "cv": [2, 3],
            },
            odd,
        ),
    ),
}
OTHERS = {
    "FlockQuantiles": _of(
        covey.FlockQuantiles,
        {"quantiles": [[0.5], (0.1, 0.9)]},
        estimator=covey.FlockRegressor(effort="fast", n_estimators=2, random_state=0),
    ),
    "SubsetSelector": _of(
        covey.SubsetSelector,
        {
            "select": ["smallest"],
            "n_features_to_select": [1, 2],
            "n_pairs": [1],
            "level": [0.2],
        },
        estimator=covey.SubsetEnsembleClassifier(2, max_iter=20),
        n_resamples=2,
        random_state=0,
    ),
    "ConsensusClustering": _of(
        covey.ConsensusClustering,
        {
            "n_clusters": [2, 5],
            "method": ["co_association", "voting", "graph"],
            "linkage": ["average", "single"],
            "max_features": [0.5],
            "max_samples": [0.5, 1.0],
        },
        estimator=KMeans(2, n_init=1),
        n_partitions=3,
        random_state=0,
    ),
}
ALL = {**CLASSIFIERS, **REGRESSORS, **OTHERS}
UNWEIGHTED = ("ConsensusClustering",)


def run(rng):
    """One fit: the name of the estimator, and "answer" or "refused"."""
    name = one_of(rng, list(ALL))
    # At most one thing is odd, so that most of what is checked is an answer.
    odd = one_of(rng, [*([None] * 6), "parameters", "X", "y", "weight", "rows"])
    model = attempt(lambda: ALL[name](rng, odd == "parameters"))
    if model is None:
        return name, "refused"
    X = table(rng, odd == "X")
    if getattr(model, "code", None) == "one_vs_one" and np.ndim(X) == 2:
        # One model for every two classes, of which there may be as many as rows.
        X = take_rows(X, slice(60))
    n_rows = n_rows_of(X)
    target = numbers if name in (*REGRESSORS, "FlockQuantiles") else classes
    y, weight = target(rng, n_rows, odd == "y"), weights(rng, n_rows, odd == "weight")
    weighted = weight is not None and name not in UNWEIGHTED
    how = {"sample_weight": weight} if weighted else {}
    strict = chance(rng, 0.3)
    new = X
    if odd == "rows" and np.ndim(X) == 2:
        new = table(rng, odd=True, n_columns=np.shape(X)[1])

    def answers():
        # Whatever NumPy is told to do about errors, results are the same.
        with np.errstate(all="raise" if strict else "warn"):
            fitted = clone(model).fit(X, y, **how)
            return fitted, _answers(fitted, new)

    found = attempt(answers, X, y, weight, new)
    if found is None:
        return name, "refused"
    fitted, answer = found
    _check(fitted, answer, n_rows_of(new))
    if hasattr(fitted, "calibration_"):
        _check_promises(fitted, answer, new)
    again = attempt(answers, X, y, weight, new)
    if again is None:
        raise OutcomeError("not repeatable", "it was refused the second time")
    for one, other in zip(answer, again[1], strict=True):
        check_same(one, other, f"{name} predicts otherwise when it is fitted again")
    return name, "answer"


def _answers(fitted, X):
    """What a fitted estimator has to say of rows, as arrays."""
    if hasattr(fitted, "predict_proba"):
        return [fitted.predict_proba(X), fitted.predict(X)]
    if hasattr(fitted, "predict"):
        return [fitted.predict(X)]
    if hasattr(fitted, "labels_"):
        return [fitted.labels_]
    return [fitted.get_support(), fitted.transform(X)]


def _check(fitted, answer, n_rows):
    if is_classifier(fitted):
        labels = answer[-1]
        if labels.shape != (n_rows,):
            raise OutcomeError("shape", f"predictions {labels.shape} for {n_rows} rows")
        if not np.isin(labels, fitted.classes_).all():
            raise OutcomeError("unknown label", "a prediction is none of the classes")
        if len(answer) == 2:
            check_probabilities(answer[0], n_rows, len(fitted.classes_))
            if not np.array_equal(fitted.classes_[decided(fitted, answer[0])], labels):
                raise OutcomeError("no argmax", "predict is not the class that is decided")
    elif is_regressor(fitted):
        if answer[0].shape != (n_rows,):
            raise OutcomeError("shape", f"predictions {answer[0].shape} for {n_rows} rows")
        check_finite(answer[0])


def _check_promises(fitted, answer, X):
    """Sets and intervals hold what is predicted, and nothing is left to a person unasked."""
    if is_classifier(fitted):
        codes = np.searchsorted(fitted.classes_, answer[-1])
        if not fitted.predict_set(X, 0.5)[np.arange(len(codes)), codes].all():
            raise OutcomeError("set", "a set lacks the class that is predicted")
        if fitted.predict(X, reject=0).mask.any():
            raise OutcomeError("rejection", "a row is left to a person with reject=0")
    elif np.isnan(bounds := fitted.predict_interval(X, 0.9)).any() or (np.diff(bounds) < 0).any():
        raise OutcomeError("interval", "bounds are no interval")
