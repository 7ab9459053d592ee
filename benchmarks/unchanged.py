"""Whether a change of the code changed what is fitted.

    python benchmarks/unchanged.py record before.npz     # before the change
    python benchmarks/unchanged.py compare before.npz    # after it

Fits every estimator on scikit-learn's tables (flocks, the paper's ensembles, fusions by every
rule, stacks, code books, samples, views, rivals, selectors, clusterings), and lets ``covey fit``
and ``covey predict`` do it. Compares subsets, selected candidates and predictions. Set
OPENBLAS_NUM_THREADS=1 both times: other numbers of threads round otherwise, and a search in single
precision then selects otherwise. ``--only NAME`` takes what has NAME in its name.
"""

import argparse
import contextlib
import io
import tempfile
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import covey
from covey.fusers import Gate, LastStage, Majority
from covey.fusers._base import FUSERS
from covey.fusers._fixed import make_fuser

TOLERANCE = 1e-10


def fits():
    """Models and their tables, by name."""
    wine, iris = load_wine(return_X_y=True), load_iris(return_X_y=True)
    cancer, diabetes = load_breast_cancer(return_X_y=True), load_diabetes(return_X_y=True)
    subset = partial(covey.SubsetEnsembleClassifier, random_state=0)
    paper = partial(covey.SubsetEnsembleClassifier.paper, random_state=0)
    flock = partial(covey.FlockClassifier, random_state=0)
    numbers = partial(covey.FlockRegressor, random_state=0)
    members = [
        LogisticRegression(max_iter=2000),
        GaussianNB(),
        DecisionTreeClassifier(max_depth=3, random_state=0),
    ]
    regressors = [Ridge(), DecisionTreeRegressor(max_depth=3, random_state=0)]
    found = {
        "paper": (paper(), wine),
        "paper, size by validation": (paper(select_size="validation"), wine),
        "annealed": (subset(acceptance="metropolis", flip_probability=0.1), wine),
        "costly features": (subset(subset_penalty=0.003, flip_probability=0.1), wine),
        "adaboost": (subset(loss="exponential", reweighting="adaboost"), wine),
        "newton": (subset(learning_rate="newton", max_iter=20), wine),
        "gate": (subset(4, max_iter=50, fuser=Gate()), wine),
        "flock, best": (flock(effort="best"), iris),
        "flock, groups of features": (flock(feature_groups=[[0, 1, 2], [5, 6]]), wine),
    }
    for name, table in (("wine", wine), ("iris", iris), ("cancer", cancer)):
        found[f"flock, {name}"] = flock(), table
        found[f"flock, fast, {name}"] = flock(effort="fast"), table
    for rule in FUSERS:
        if rule != "oracle":
            found[f"fusion by {rule}"] = covey.FusionClassifier(members, rule, cv=3), iris
        if "value" in make_fuser(rule).kinds and rule != "oracle":
            found[f"numbers by {rule}"] = covey.FusionRegressor(regressors, rule, cv=3), diabetes
    for loss in ("squared", "huber", "quantile"):
        found[f"flock, {loss}"] = numbers(loss=loss), diabetes
        found[f"subsets, {loss}"] = (
            covey.SubsetEnsembleRegressor(loss=loss, random_state=0),
            diabetes,
        )
    return found | others(wine, iris, cancer, diabetes, members, regressors)


def others(wine, iris, cancer, diabetes, members, regressors):
    """Models that are neither flocks nor plain fusions, and their tables, by name."""
    halves = [list(range(6)), list(range(6, 13))]
    labels = np.column_stack([wine[1], wine[1] % 2])
    targets = np.column_stack([diabetes[1], diabetes[0][:, 2] * 100 + diabetes[1]])
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    ridge = Ridge(alpha=0.1)
    forest = RandomForestClassifier(10, max_depth=4, random_state=0).fit(*wine)
    bags = BaggingRegressor(ridge, 8, random_state=0).fit(*diabetes)
    boosts = AdaBoostClassifier(tree, n_estimators=8, random_state=0).fit(*wine)
    trees = GradientBoostingRegressor(n_estimators=10, random_state=0).fit(*diabetes)

    def fused(ensemble, rule):
        kind = covey.FusionClassifier if is_classifier(ensemble) else covey.FusionRegressor
        return kind(covey.members_of(ensemble), rule, prefit=True)

    rivals = covey.rivals
    found = {
        "mixed flock": (covey.FlockClassifier(members="mixed"), iris),
        "mixed flock of numbers": (covey.FlockRegressor(members="mixed"), diabetes),
        "fusion of a forest": (fused(forest, "mean"), wine),
        "fusion of bags": (fused(bags, "mean"), diabetes),
        "fusion of boosting": (fused(boosts, Majority(boosts.estimator_weights_)), wine),
        "fusion of boosted trees": (fused(trees, LastStage()), diabetes),
        "views": (covey.MultiviewClassifier(halves, LogisticRegression(max_iter=2000)), wine),
        "code book": (covey.CodeBookClassifier(tree), wine),
        "stack": (covey.GeneralStackingClassifier(members), iris),
        "stack of numbers": (covey.GeneralStackingRegressor(regressors), diabetes),
        "labels": (MultiOutputClassifier(tree), (wine[0], labels)),
        "targets": (MultiOutputRegressor(ridge), (diabetes[0], targets)),
        "decorate": (rivals.DecorateClassifier(tree, n_estimators=4), wine),
        "diverse maxent": (rivals.DiverseMaxEntClassifier(3), wine),
        "subset search": (rivals.SubsetSearchClassifier(n_estimators=2), iris),
        "selector": (covey.SubsetSelector(), cancer),
        "clusters": (covey.ConsensusClustering(3), wine),
    }
    for model, _ in found.values():
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
    return found


def commands():
    """What the commands of the terminal write, as numbers, by a name."""
    from covey.cli import main as covey_main

    def run(*words):
        with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
            covey_main([str(word) for word in words])
        return said.getvalue()

    found = {}
    wine, diabetes = load_wine(as_frame=True).frame, load_diabetes(as_frame=True).frame
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name, table in (("wine", wine), ("diabetes", diabetes)):
            rows, model, answers = home / f"{name}.csv", home / f"{name}.covey", home / "out.csv"
            table.to_csv(rows, index=False)
            run("fit", rows, "--target", "target", "--model", model, "--effort", "fast", "--quiet")
            more = ("--proba",) if name == "wine" else ()
            run("predict", model, rows, *more, "--out", answers, "--quiet")
            numbers = pd.read_csv(answers).select_dtypes("number")
            found[f"covey fit and predict, {name} | predictions"] = numbers.to_numpy(float)
    return found


def _numbers(predicted):
    """Predictions as one array; several targets have a list of probabilities."""
    return np.hstack(predicted) if isinstance(predicted, list) else predicted


def results(wanted=""):
    """What each model found, by its name and what it is."""
    found = {}
    for name, (model, (X, y)) in fits().items():
        if wanted not in name:
            continue
        model.fit(X, y)
        if hasattr(model, "labels_"):
            found[f"{name} | labels"] = np.asarray(model.labels_, float)
        elif hasattr(model, "scores_") or not hasattr(model, "predict"):
            found[f"{name} | subsets"] = model.get_support().astype(float)
        else:
            predict = getattr(model, "predict_proba", model.predict)
            found[f"{name} | predictions"] = _numbers(predict(X))
        if hasattr(model, "support_") and getattr(model.support_, "ndim", 0) == 2:
            found[f"{name} | subsets"] = model.support_.astype(float)
        if hasattr(model, "cv_results_") and "weight" in model.cv_results_:
            found[f"{name} | selection"] = model.cv_results_["weight"]
    if wanted in "covey commands":
        found |= commands()
    return found


def difference(one, other):
    """The largest one, as a share of the largest entry if that is above one."""
    if one.shape != other.shape:
        return np.inf
    return np.abs(one - other).max() / max(1.0, np.abs(one).max())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("file")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    found = results(arguments.only)
    if arguments.what == "record":
        np.savez_compressed(arguments.file, **found)
        return
    before = np.load(arguments.file)
    differences = {
        name: difference(before[name], found[name]) if name in found else np.nan
        for name in before.files
        if arguments.only in name
    }
    other = {name: size for name, size in differences.items() if not size <= TOLERANCE}
    for name, size in other.items():
        print(f"{name}: {size:.1e}")
    print(f"{len(other)} of {len(differences)} differ by more than {TOLERANCE:g}")


if __name__ == "__main__":
    main()
