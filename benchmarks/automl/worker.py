"""One fit in an environment of its own: ``worker.py METHOD SECONDS IN.npz OUT.npz``.

It knows nothing of this repository, so that it runs where only the rival is installed.
"""

import os
import pickle
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def autogluon(preset):
    def fit(X, y, seconds):
        import pandas as pd
        from autogluon.tabular import TabularPredictor

        folder = tempfile.mkdtemp()
        names = [f"x{position}" for position in range(X.shape[1])]
        table = pd.DataFrame(X, columns=names).assign(y=y)
        predictor = TabularPredictor("y", eval_metric="log_loss", path=folder, verbosity=0)
        # To find out first whether stacking helps takes a fit of its own; there is no time.
        how = {"dynamic_stacking": False} if preset == "best_quality" else {}
        predictor.fit(table, presets=preset, time_limit=seconds, num_cpus=os.cpu_count(), **how)

        def predict(rows):
            frame = pd.DataFrame(rows, columns=names)
            return predictor.predict_proba(frame)[sorted(predictor.class_labels)].to_numpy()

        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        return predict, size

    return fit


def flaml(X, y, seconds):
    from flaml import AutoML

    model = AutoML()
    model.fit(
        X,
        y,
        task="classification",
        metric="log_loss",
        time_budget=seconds,
        verbose=0,
        seed=0,
        n_jobs=os.cpu_count(),
    )
    return model.predict_proba, len(pickle.dumps(model.model))


def covey(share):
    def fit(X, y, seconds):
        from covey import FlockClassifier

        model = FlockClassifier(
            members="mixed", time_limit=share * seconds, n_jobs=-1, random_state=0
        )
        model.fit(X, y)
        return model.predict_proba, len(pickle.dumps(model))

    return fit


METHODS = {
    "covey, mixed": covey(1.0),
    "covey, mixed, a quarter of the time": covey(0.25),
    "AutoGluon, medium quality": autogluon("medium_quality"),
    "AutoGluon, best quality": autogluon("best_quality"),
    "FLAML": flaml,
}


def main():
    method, seconds, given, out = sys.argv[1:]
    with np.load(given) as table:
        X, y, X_test = table["X"], table["y"], table["X_test"]
    started = time.perf_counter()
    predict, size = METHODS[method](X, y, float(seconds))
    fitted = time.perf_counter()
    probabilities = np.asarray(predict(X_test), dtype=float)
    np.savez(
        out,
        probabilities=probabilities,
        fit_seconds=fitted - started,
        predict_seconds=time.perf_counter() - fitted,
        size=size,
    )


if __name__ == "__main__":
    main()
