"""Save models as this version of covey saves them, for later versions to load.

    python tests/golden/make.py

writes ``<model>-<version>.covey`` and, beside it, ``<model>-<version>.json``: a few rows and what
the model said of them. Files that are there stay as they are: they stand for the versions that
wrote them, and a later covey must still read them. (A file of a version that has not been
released yet may be deleted and made again.)
"""

import json
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import covey
from covey.persistence import save

HERE = Path(__file__).parent


def models():
    """Small models, by name. Their scikit-learn parts are such as hardly ever change."""
    flock = covey.SubsetEnsembleClassifier
    members = [("nb", GaussianNB()), ("flock", flock(3, fuser="product", random_state=0))]
    return {
        "search": covey.FlockClassifier(n_estimators=2, random_state=0),
        "product": flock(3, fuser="product", max_iter=30, random_state=0),
        "gate": flock(3, fuser=covey.Gate(features="quadratic"), max_iter=30, random_state=0),
        "pipeline": make_pipeline(
            StandardScaler(), covey.FlockClassifier(n_estimators=2, effort="fast", random_state=0)
        ),
        "fusion": covey.FusionClassifier(members, fuser="median"),
    }


def main():
    """Fit and save all of them on a third of the iris data, with names for rows and classes."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    X, y = X.iloc[::3], np.array(["setosa", "versicolor", "virginica"])[y[::3]]
    rows = X.iloc[::7]
    for name, model in models().items():
        path = HERE / f"{name}-{covey.__version__}.covey"
        if path.exists():
            continue
        model.fit(X, y)
        save(model, path)
        said = {
            "columns": list(rows.columns),
            "rows": rows.to_numpy().tolist(),
            "labels": model.predict(rows).tolist(),
            "probabilities": model.predict_proba(rows).tolist(),
        }
        path.with_suffix(".json").write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main()
