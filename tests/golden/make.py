"""Save models as this version of covey saves them, for later versions to load.

    python tests/golden/make.py

writes ``<model>-<format>.covey`` and, beside it, ``<model>-<format>.json``: a few rows and what
the model predicts of them. Files that are there stay as they are: they stand for the versions that
wrote them, and a later covey must still read them. (A file of a version that has not been released
yet may be deleted and made again.)
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import covey
from covey.fusers import DynamicSelection
from covey.persistence import FORMAT, save
from covey.stacking import GeneralStackingClassifier

HERE = Path(__file__).parent


def models():
    """Small models, by name."""
    flock = covey.SubsetEnsembleClassifier
    return {
        "search": covey.FlockClassifier(n_estimators=2, random_state=0),
        "product": flock(3, fuser="product", max_iter=30, random_state=0),
        "gate": flock(3, fuser=covey.Gate(features="quadratic"), max_iter=30, random_state=0),
        "selection": flock(3, fuser="knora_e", max_iter=30, random_state=0),
        "potential": flock(3, fuser="rrc", max_iter=30, random_state=0),
        "clusters": flock(3, fuser="des_clustering", max_iter=30, random_state=0),
        "behavior": covey.FusionClassifier(
            [DecisionTreeClassifier(max_depth=2), GaussianNB()],
            DynamicSelection("mcb", 5, metric="manhattan", scale=False),
        ),
        "mixed": covey.FlockClassifier(members=["linear", "svm"], effort="fast", random_state=0),
        "kinds": covey.FusionClassifier(
            [
                ExtraTreesClassifier(3, max_depth=4, random_state=0),
                HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5),
                make_pipeline(
                    StandardScaler(), CalibratedClassifierCV(SVC(), ensemble=False, cv=3)
                ),
                make_pipeline(StandardScaler(), KNeighborsClassifier(weights="distance")),
                LogisticRegression(max_iter=1000),
            ]
        ),
        "fusion": covey.FusionClassifier(
            [("tree", DecisionTreeClassifier(max_depth=3)), ("bayes", GaussianNB())], "gate"
        ),
        "stack": GeneralStackingClassifier(
            [[GaussianNB(), KNeighborsClassifier()], [LogisticRegression()]], cv=3
        ),
        "numbers": covey.FlockRegressor(
            loss="huber", n_estimators=2, effort="fast", random_state=0
        ),
        "counts": covey.FlockRegressor(
            loss="tweedie", power=1.4, n_estimators=2, effort="fast", random_state=0
        ),
        "quantiles": covey.FlockQuantiles(
            (0.2, 0.7), covey.FlockRegressor(n_estimators=2, effort="fast", random_state=0)
        ),
        "steered": covey.FlockRegressor(
            loss="poisson",
            monotone={"petal length (cm)": 1},
            interactions=[("sepal length (cm)", "petal width (cm)")],
            n_estimators=2,
            random_state=0,
        ),
        "costs": covey.FlockClassifier(
            interactions="none", costs={"virginica": 4}, effort="fast", random_state=0
        ),
        "gaps": covey.FlockClassifier(effort="fast", random_state=0),
        "table": covey.FlockClassifier(effort="fast", random_state=0),
        "written": covey.FlockClassifier(effort="fast", random_state=0).set_params(
            categorical_features={
                "price": "number",
                "share": "number",
                "mass": "number",
                "seen": "season",
            }
        ),
    }


def table():
    """A third of the iris data, with columns of other kinds and gaps, and names of classes."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    X, y = (
        X.iloc[::3].reset_index(drop=True),
        np.array(["setosa", "versicolor", "virginica"])[y[::3]],
    )
    place = np.arange(len(X))
    days = pd.date_range("2024-01-01", periods=len(X), freq="35h")
    more = X.assign(
        town=np.array(["Rome", "Oslo", "Bath"])[place % 3],
        seen=days.strftime("%Y-%m-%dT%H:%M:%SZ"),
        size=np.where(place % 7, place / 2, np.nan),
    )
    return X, more, y


def written(X):
    """Numbers as people write them, and times of which only seasons are learned."""
    days = pd.date_range("2022-01-01", periods=len(X), freq="350h")
    return pd.DataFrame(
        {
            "price": [f"${1000 * value:,.2f}" for value in X.iloc[:, 0]],
            "share": [f"{10 * value:.1f} %" for value in X.iloc[:, 1]],
            "mass": [f"{value:.2f} kg".replace(".", ",") for value in X.iloc[:, 2]],
            "seen": days.strftime("%Y-%m-%dT%H:%M:%S+02:00"),
        }
    )


def corrected(name, model):
    """The model, or a copy with corrections of every kind."""
    if name == "steered":
        points = {1.5: -0.5, 4.0: 0.2, 5.0: 0.1}
        return model.without("size").with_effect("petal length (cm)", points)
    return model.merge_categories("town", ["Oslo"], "Bath") if name == "costs" else model


def main():
    """Fit and save all of them."""
    X, more, y = table()
    for name, model in models().items():
        path = HERE / f"{name}-{FORMAT}.covey"
        if path.exists():
            continue
        rows = {
            "table": more,
            "steered": more,
            "costs": more,
            "gaps": more.drop(columns="seen"),
            "written": written(X),
        }.get(name, X)
        # Flowers of each kind are amounts: 0, 1 or 2, which regressors predict.
        numbers = name in ("numbers", "counts", "quantiles", "steered")
        model.fit(rows, np.unique(y, return_inverse=True)[1] if numbers else y)
        model = corrected(name, model)
        save(model, path)
        rows = rows[list(getattr(model, "feature_names_in_", rows))].iloc[::7]
        said = {
            "columns": list(rows.columns),
            "rows": rows.astype(object).where(rows.notna(), None).to_numpy().tolist(),
            "labels": model.predict(rows).tolist(),
        }
        if hasattr(model, "predict_proba"):
            said["probabilities"] = model.predict_proba(rows).tolist()
        path.with_suffix(".json").write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main()
