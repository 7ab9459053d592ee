"""The models that ``covey compare`` compares: our ensembles, and the usual rivals."""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib.util import find_spec
from typing import Any

import numpy as np

from covey.cli._console import CommandError
from covey.cli._evaluate import linear, simplest
from covey.cli._fitting import flock
from covey.cli._problem import Problem

_FEW_ROWS = 20_000


def contestants(problem: Problem, seed: int, more: Collection[str] = ()) -> dict[str, Any]:
    """All models by name, unfitted; ``more`` are names of other packages' models."""
    import covey

    kind = "Regressor" if problem.regression else "Classifier"
    paper = {}
    if not problem.regression:
        paper = {"covey, as the paper": covey.SubsetEnsembleClassifier.paper(random_state=seed)}
    members = [
        ("linear", next(iter(_plain_linear(problem).values()))),
        ("forest", _trees("RandomForest", kind, seed, 100)),
        ("boosting", _trees("HistGradientBoosting", kind, seed)),
    ]
    return {
        "covey": flock(problem, seed=seed),
        "covey, fast": flock(problem, effort="fast", seed=seed),
        "covey, mixed": flock(problem, limits={"members": "mixed"}, seed=seed),
        **paper,
        "covey, fusion of three": getattr(covey, f"Fusion{kind}")(members, fuser="mean"),
        **linear(problem, seed),
        "random forest": _trees("RandomForest", kind, seed, 300),
        "extra trees": _trees("ExtraTrees", kind, seed, 300),
        "gradient boosting": _trees("HistGradientBoosting", kind, seed),
        **_kernel_machine(problem),
        **_neighbors(problem),
        **simplest(problem),
        **_of_other_packages(problem, seed, more),
    }


def _trees(name: str, kind: str, seed: int, *settings: int) -> Any:
    from sklearn import ensemble

    return getattr(ensemble, f"{name}{kind}")(*settings, random_state=seed)


def _scaled(learner: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), learner)


def _plain_linear(problem: Problem) -> dict[str, Any]:
    from sklearn.linear_model import LogisticRegression, Ridge

    learner = Ridge() if problem.regression else LogisticRegression(max_iter=1000)
    return {"linear": _scaled(learner)}


def _kernel_machine(problem: Problem) -> dict[str, Any]:
    from sklearn import svm
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.model_selection import GridSearchCV
    from sklearn.preprocessing import StandardScaler

    penalties = [0.1, 1.0, 10.0, 100.0]
    if problem.regression:
        tuned = GridSearchCV(_scaled(svm.SVR()), {"svr__C": penalties}, cv=5)
        # Its margin is 0.1 in units of the target, whatever these are: so they are deviations.
        return {"RBF SVR, tuned": TransformedTargetRegressor(tuned, transformer=StandardScaler())}
    folds = max(2, min(5, int(np.unique(problem.y, return_counts=True)[1].min()) // 2))
    tuned = GridSearchCV(_scaled(svm.SVC()), {"svc__C": penalties}, cv=folds)
    return {"RBF SVC, tuned": tuned}


def _neighbors(problem: Problem) -> dict[str, Any]:
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    kind = KNeighborsRegressor if problem.regression else KNeighborsClassifier
    return {"nearest neighbours": _scaled(kind(10))}


# -- other packages ----------------------------------------------------------------------------


def _of_other_packages(problem: Problem, seed: int, wanted: Collection[str]) -> dict[str, Any]:
    """The models that are asked for, and those that are there and quick to import."""
    for name in wanted:
        if name not in _PACKAGES:
            raise CommandError(
                f"--with: no model is called {name!r}; there are {', '.join(_PACKAGES)}."
            )
        module, distribution, _, _ = _PACKAGES[name]
        if find_spec(module) is None:
            raise CommandError(
                f"--with: {name} needs {distribution}; install it with: pip install "
                f"{distribution}.",
                1,
            )
    # Threads that wait for each other cost more than they bring where rows are few.
    n_jobs = 1 if len(problem.y) < _FEW_ROWS else None
    found = {}
    for name, (module, _, shown, make) in _PACKAGES.items():
        if name in wanted or (name == "lightgbm" and find_spec(module) is not None):
            # Names of columns are what people write; these packages refuse some signs in them.
            found[shown] = _of_arrays(make(problem.regression, seed, n_jobs))
    return found


def _of_arrays(learner: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    return make_pipeline(FunctionTransformer(np.asarray), learner)


def _lightgbm(regression: bool, seed: int, n_jobs: int | None) -> Any:
    import lightgbm

    kind = lightgbm.LGBMRegressor if regression else lightgbm.LGBMClassifier
    return kind(random_state=seed, verbose=-1, n_jobs=n_jobs)


def _ebm(regression: bool, seed: int, n_jobs: int | None) -> Any:
    from interpret import glassbox

    name = f"ExplainableBoosting{'Regressor' if regression else 'Classifier'}"
    return getattr(glassbox, name)(random_state=seed, n_jobs=n_jobs or -1)


def _catboost(regression: bool, seed: int, n_jobs: int | None) -> Any:
    import catboost

    kind = catboost.CatBoostRegressor if regression else catboost.CatBoostClassifier
    return kind(
        random_seed=seed, verbose=False, allow_writing_files=False, thread_count=n_jobs or -1
    )


# {name: (module, distribution, shown name, what makes it)}
_PACKAGES: dict[str, tuple[str, str, str, Callable[[bool, int, int | None], Any]]] = {
    "lightgbm": ("lightgbm", "lightgbm", "LightGBM", _lightgbm),
    "ebm": ("interpret", "interpret", "EBM, of interpret", _ebm),
    "catboost": ("catboost", "catboost", "CatBoost", _catboost),
}
