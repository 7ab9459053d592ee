"""Whether a change of the code changed what is fitted.

    python benchmarks/unchanged.py record before.npz     # before the change
    python benchmarks/unchanged.py compare before.npz    # after it

Fits flocks, the paper's ensembles, fusions by every rule and regressors on scikit-learn's tables,
and compares subsets, selected candidates and predictions. Set OPENBLAS_NUM_THREADS=1 both times:
other numbers of threads round otherwise, and a search in single precision then selects otherwise.
"""

import argparse
import warnings
from functools import partial

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import covey
from covey.fusers import FUSERS, Gate, make_fuser

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
    return found


def results():
    """What each model found, by its name and what it is."""
    found = {}
    for name, (model, (X, y)) in fits().items():
        model.fit(X, y)
        predict = getattr(model, "predict_proba", model.predict)
        found[f"{name} | predictions"] = predict(X)
        if hasattr(model, "support_"):
            found[f"{name} | subsets"] = model.support_.astype(float)
        if hasattr(model, "cv_results_"):
            found[f"{name} | selection"] = model.cv_results_["weight"]
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
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    found = results()
    if arguments.what == "record":
        np.savez_compressed(arguments.file, **found)
        return
    before = np.load(arguments.file)
    differences = {name: difference(before[name], found[name]) for name in before.files}
    other = {name: size for name, size in differences.items() if not size <= TOLERANCE}
    for name, size in other.items():
        print(f"{name}: {size:.1e}")
    print(f"{len(other)} of {len(differences)} differ by more than {TOLERANCE:g}")


if __name__ == "__main__":
    main()
