"""The ruler of speed: ``python benchmarks/speed/run.py``, with ``--quick`` in a few minutes.

Problems x rivals in one run on one machine. What is compared runs in turns, and the result is the
ratio of medians; seconds stand beside it. Each item's lines are written when it is done, in place
of its earlier ones, so ``--only`` makes single items again and ``--resume`` goes on after an
interruption. ``report.py`` makes a page of it, ``check.py`` compares it with the baseline.
"""

import argparse
import time
import traceback
import warnings
from pathlib import Path

import defaults
import flocks
import growth
import memory
import predicting
import results
import steps
import subsets
import timing

HERE = Path(__file__).parent
ITEMS = {
    "floor": flocks.floor,
    "step": steps.step,
    "stacked": steps.stacked,
    "bagging": flocks.bagging,
    "default": defaults.tuned,
    "predict": predicting.predict,
    "subset": subsets.subset,
    "growth": growth.growth,
    "memory": memory.memory,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller problems, fewer rounds")
    parser.add_argument("--only", nargs="+", choices=ITEMS, metavar="NAME", help=", ".join(ITEMS))
    parser.add_argument("--resume", action="store_true", help="leave out items already there")
    parser.add_argument("--repeats", type=int, help="rounds of a race: 5, quick 3")
    parser.add_argument("--jobs", type=int, default=timing.cores(), help="processes of rivals")
    parser.add_argument("--out", type=Path, help="results.csv, or quick.csv with --quick")
    options = parser.parse_args()
    options.repeats = options.repeats or (3 if options.quick else 5)
    out = options.out or HERE / ("quick.csv" if options.quick else "results.csv")
    size = "quick" if options.quick else "full"

    print(timing.machine(), flush=True)
    if timing.blas_threads() < timing.cores():
        print("BLAS is held to fewer threads than there are cores: see OPENBLAS_NUM_THREADS.")
    done = {row["item"] for row in results.read(out)} if options.resume else set()
    failed = []
    for name in options.only or ITEMS:
        if name in done:
            continue
        print(f"\n{name}", flush=True)
        started = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rows = []
                for row in ITEMS[name](options):
                    rows.append(row)
                    print("  " + results.shown(row), flush=True)
        except Exception:
            # The other items can still be measured.
            traceback.print_exc()
            failed.append(name)
            continue
        results.replace(out, name, size, rows)
        print(f"  ({time.perf_counter() - started:.0f} s)", flush=True)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
