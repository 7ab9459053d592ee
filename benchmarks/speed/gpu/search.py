"""How long a flock takes on a GPU, and on the processor beside it.

    python benchmarks/speed/gpu/search.py > benchmarks/speed/gpu/search.txt

Needs PyTorch with a CUDA device. Seconds of three fits, one for each seed; the first one on the
GPU also starts it and compiles its kernels.
"""

import os
import platform
import time

import torch
from sklearn.datasets import make_classification

from covey import FlockClassifier

ROWS = 10_000, 100_000, 1_000_000
# A longer table takes minutes on a processor, which is measured elsewhere.
MOST_ROWS_OF_A_PROCESSOR = 100_000
SEEDS = range(3)


def seconds(X, y, **how):
    started = time.perf_counter()
    FlockClassifier(**how).fit(X, y)
    return time.perf_counter() - started


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
        for effort in ("fast", "balanced"):
            devices = ["cuda", None] if n_rows <= MOST_ROWS_OF_A_PROCESSOR else ["cuda"]
            for device in devices:
                how = {"effort": effort, "device": device}
                found = [seconds(X[:n_rows], y[:n_rows], random_state=n, **how) for n in SEEDS]
                said = ", ".join(f"{one:.2f}" for one in found)
                where = "GPU" if device else "processor"
                print(f"{n_rows:,} rows, {effort}, {where}: {said} s", flush=True)


if __name__ == "__main__":
    main()
