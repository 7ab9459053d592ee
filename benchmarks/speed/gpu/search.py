"""How long flocks, and ensembles of Algorithm 1, take on a GPU, and on the processor beside it.

    python benchmarks/speed/gpu/search.py > benchmarks/speed/gpu/search.txt

Needs PyTorch with a CUDA device. Seconds of three fits, one for each seed; the first one on the
GPU also starts it.
"""

import os
import platform
import time

import torch
from sklearn.datasets import make_classification

from covey import FlockClassifier, SubsetEnsembleClassifier

ROWS = 10_000, 100_000, 1_000_000
# A longer table takes minutes on a processor, which is measured elsewhere.
MOST_ROWS_OF_A_PROCESSOR = 100_000
SEEDS = range(3)


# Five members, each of 150 steps.
ALL_STEPS = {"n_estimators": 5, "tol": -float("inf"), "n_iter_no_change": None, "max_iter": 150}


def seconds(model, X, y):
    started = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - started


def models(seed, device):
    """What is timed, by name."""
    how = {"random_state": seed, "device": device}
    return {
        "fast": FlockClassifier(effort="fast", **how),
        "balanced": FlockClassifier(**how),
        "150 steps": SubsetEnsembleClassifier(**ALL_STEPS, **how),
    }


def main():
    print(f"{torch.cuda.get_device_name()}, {os.cpu_count()} cores, torch {torch.__version__}")
    print(f"Python {platform.python_version()}, 30 columns, 2 classes")
    X, y = make_classification(
        max(ROWS),
        30,
        n_informative=12,
        n_clusters_per_class=4,
        flip_y=0.05,
        random_state=0,
    )
    for n_rows in ROWS:
        for name in models(0, None):
            for device in ["cuda", None] if n_rows <= MOST_ROWS_OF_A_PROCESSOR else ["cuda"]:
                fits = [models(seed, device)[name] for seed in SEEDS]
                found = [seconds(model, X[:n_rows], y[:n_rows]) for model in fits]
                said = ", ".join(f"{one:.2f}" for one in found)
                where = "GPU" if device else "processor"
                print(f"{n_rows:,} rows, {name}, {where}: {said} s", flush=True)


if __name__ == "__main__":
    main()
