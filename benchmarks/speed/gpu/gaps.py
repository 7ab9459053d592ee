"""Flocks of tables with gaps and categories on a GPU: the same as on the processor, or not.

    SCIPY_ARRAY_API=1 python benchmarks/speed/gpu/gaps.py > benchmarks/speed/gpu/gaps.txt

Needs PyTorch with a CUDA device. For classes and for numbers, with and without a search, of frames
(gaps and categories) and of tensors on the device (gaps): seconds on both, and the largest
difference of what is predicted. It ends with 1 if one is beyond 1e-6 in double precision.
"""

import sys
import time

import numpy as np
import pandas as pd
import torch
from sklearn import config_context

from covey import FlockClassifier, FlockRegressor, SubsetEnsembleClassifier

N_ROWS = 20_000
LARGEST = 1e-6


def table():
    """Numbers with gaps, few and many categories; a class and a number to predict."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 8))
    few, many = rng.integers(0, 4, N_ROWS), rng.integers(0, 60, N_ROWS)
    value = X[:, 0] + X[:, 1] * (X[:, 2] > 0) + 0.8 * (few == 1) + np.sin(many)
    value += rng.normal(size=N_ROWS)
    gaps = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    frame = pd.DataFrame(gaps, columns=list("abcdefgh")).assign(
        few=pd.Categorical(few), many=np.array([f"m{one}" for one in many])
    )
    return frame, gaps, (value > np.median(value)).astype(int), value


def models():
    """Makers of models, and whether they predict numbers."""
    search = {"random_state": 0, "n_estimators": 3}
    yield "classes, a search", lambda **how: FlockClassifier(**search, **how), False
    yield "classes, fast", lambda **how: FlockClassifier(effort="fast", **search, **how), False
    yield (
        "Algorithm 1",
        lambda **how: SubsetEnsembleClassifier(3, max_iter=50, random_state=0, **how),
        False,
    )
    yield "numbers, a search", lambda **how: FlockRegressor(**search, **how), True


def predicted(make, X, y, rows, **how):
    """What a fitted model predicts, and the seconds of its fit."""
    began = time.perf_counter()
    model = make(**how).fit(X, y)
    seconds = time.perf_counter() - began
    found = model.predict_proba(rows) if hasattr(model, "classes_") else model.predict(rows)
    return np.asarray(found), seconds


def main():
    """Print a line for each model and kind of table."""
    frame, gaps, classes, value = table()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {N_ROWS:,} rows")
    worst = 0.0
    for name, make, numbers in models():
        y = value if numbers else classes
        sent = [torch.asarray(one, device="cuda") for one in (gaps, y)]
        for what, host, device, how in (
            ("frame", (frame, y), (frame, y), {"device": "cuda"}),
            ("tensor", (gaps, y), sent, {}),
        ):
            rows = host[0][:1_000]
            wanted, on_host = predicted(make, *host, rows)
            with config_context(array_api_dispatch=what == "tensor"):
                found, on_device = predicted(make, *device, rows, **how)
            off = float(np.abs(found - wanted).max())
            worst = max(worst, off)
            print(
                f"{name}, {what}: {on_device:.2f} s, on the processor {on_host:.2f} s, "
                f"differs by {off:.2g}",
                flush=True,
            )
    sys.exit(1 if worst > LARGEST else 0)


if __name__ == "__main__":
    main()
