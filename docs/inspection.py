"""Draws every display of covey.inspection: writes docs/inspection.png."""

from io import BytesIO
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import BaggingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor

from covey import (
    FlockClassifier,
    Gate,
    SubsetEnsembleClassifier,
    SubsetSelector,
    make_quarter_circle,
)
from covey import inspection as look


def noisy_wave(rng):
    X = rng.uniform(0, 1, (60, 1))
    return X, wave(X) + 0.3 * rng.normal(size=60)


def wave(X):
    return np.sin(6 * X[:, 0])


def wave_models():
    """Regressors of the four kinds, judged on the same fresh training sets."""
    models = {
        "bagged trees": BaggingRegressor(DecisionTreeRegressor(min_samples_leaf=3), 30),
        "deep tree": DecisionTreeRegressor(),
        "straight line": LinearRegression(),
        "random stump": DecisionTreeRegressor(max_depth=1, splitter="random"),
    }
    X_test = np.linspace(0.02, 0.98, 49)[:, None]
    return {
        name: look.bias_variance(
            model,
            draw=noisy_wave,
            X_test=X_test,
            truth=wave,
            noise_variance=0.09,
            n_runs=60,
            random_state=0,
        )
        for name, model in models.items()
    }


def main():
    figure, axes = plt.subplots(4, 3, figsize=(13, 15.5), layout="constrained")
    axes = iter(axes.ravel())

    X, y = make_quarter_circle(100, n_dummy_features=6, random_state=0)
    selector = SubsetSelector(n_pairs=5, random_state=0).fit(X, y)
    for kind in ("frequency", "pairs", "features"):
        look.CoSelectionDisplay.from_estimator(selector, kind=kind, ax=next(axes))

    X, y = load_wine(return_X_y=True, as_frame=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    grown = SubsetEnsembleClassifier.paper(n_estimators=8, select_size=None, random_state=0)
    grown.fit(X, y)
    look.TrainingHistoryDisplay.from_estimator(grown, ax=next(axes))
    look.SizeDisplay.from_estimator(grown, X_test, y_test, ax=next(axes))
    look.KappaErrorDisplay.from_estimator(grown, X_test, y_test, ax=next(axes))

    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X[["petal length (cm)", "petal width (cm)"]]
    flock = FlockClassifier(random_state=0).fit(X, y)
    look.DecisionRegionsDisplay.from_estimator(flock, X, y, ax=next(axes))
    X, y = make_quarter_circle(100, random_state=2)
    gated = SubsetEnsembleClassifier(3, fuser=Gate(), random_state=0).fit(X, y)
    look.DecisionRegionsDisplay.from_estimator(gated, X, y, ax=next(axes))
    look.ImportanceDisplay.from_estimator(gated, X, ax=next(axes))
    X, y = make_quarter_circle(100, random_state=2)
    asked = SubsetEnsembleClassifier.paper(
        n_estimators=12, select_size=None, fuser="knora_u", random_state=0
    ).fit(X, y)
    look.ImportanceDisplay.from_estimator(asked, X, ax=next(axes))

    results = wave_models()
    look.BiasVarianceDisplay.from_results(results, ax=next(axes))
    look.DartsDisplay.from_results(results, ax=next(axes))

    path = Path(__file__).with_name("inspection.png")
    drawn = BytesIO()
    figure.savefig(drawn, dpi=100)
    # A palette is enough, and makes the file a third of the size.
    colors = Image.open(drawn).convert("RGB")
    colors.quantize(256, method=Image.Quantize.MAXCOVERAGE).save(path, optimize=True)
    print(f"wrote {path}, {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
