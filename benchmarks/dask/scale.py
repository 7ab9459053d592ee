"""How a step of Algorithm 1 would scale with workers: a model, and what it is checked against.

    python benchmarks/dask/scale.py                        # about two minutes on two quiet cores
    python benchmarks/dask/scale.py --page docs/dask.md    # and the table goes into the page

A step reduces all blocks twice, ``slopes`` and ``evaluate``. With W workers, and the rows in B
blocks of n rows each, it takes

    t(W) = ceil(B / W) (a + b n) + l0 + l1 W + l2 B

where a + b n is the work on a block, and the rest is communication: two requests go to every
worker, each block's result comes back, and one process adds them up.

- Both are fitted to fits on 1, 2 and 4 workers: a step's time is that in which the busiest worker
  works, which gives a and b, and what remains, which gives l0, l1 and l2. With 4 workers only the
  latter is used, since they share cores.
- On this machine workers share the cores with the process that sends the requests, so that
  communication costs more than it would where each has cores of its own. A network adds its own
  delay, once a request, and the results' bytes.
- What the model predicts for 1 and 2 workers is compared with what is measured, on tables that it
  was not fitted to.
"""

import argparse
import os
from pathlib import Path

import numpy as np
from run import N_CLASSES, N_FEATURES, cluster, table, timed_steps
from scipy.optimize import nnls

PICTURE = Path(__file__).parents[2] / "docs" / "dask_scale.png"
MARKS = "<!-- scale: begin -->", "<!-- scale: end -->"

# Workers, blocks, and rows of each: what the model is fitted to, and what it is checked by.
MEASURED = (
    *((1, 4, n_rows) for n_rows in (10_000, 20_000, 40_000)),
    *((2, 8, n_rows) for n_rows in (10_000, 20_000, 40_000)),
    *((1, n_blocks, 2_000) for n_blocks in (32, 128)),
    (4, 4, 10_000),
)
CHECKED = ((1, 8, 30_000), (2, 12, 30_000), (2, 16, 15_000))
N_CORES = 2

# Rows of a table and of its blocks: 50 columns are 4 GB, and 400 GB.
TABLES = ((10_000_000, 100_000), (1_000_000_000, 1_000_000), (1_000_000_000, 100_000))
PREDICTED = (1, 2, 10, 100, 1000)


def steps(client, n_rows, n_blocks, n_steps, n_repeats=3):
    """Seconds that a step takes, and those in which the busiest worker works.

    Of the fastest of several fits: whatever else runs only ever adds to it.
    """
    X, y = table(n_rows, n_blocks)
    times = [timed_steps(client, X, y, 1, n_steps) for _ in range(n_repeats)]
    taken, busy, n_taken = min(times, key=lambda one: one[0] / one[2])
    return taken / n_taken, busy / n_taken


class Model:
    """What a step takes: the coefficients of the module's formula, in seconds.

    Parameters
    ----------
    measured : list of (workers, blocks, rows of each, seconds, seconds of the busiest worker)
    """

    def __init__(self, measured):
        workers, blocks, rows, taken, busy = np.array(measured).T
        alone = workers <= N_CORES
        block = (busy * workers / blocks)[alone]
        self.a, self.b = fitted([np.ones(alone.sum()), rows[alone]], block)
        communication = [np.ones(len(workers)), workers, blocks]
        self.l0, self.l1, self.l2 = fitted(communication, taken - busy)

    def block(self, n_rows):
        """Seconds of work on a block."""
        return self.a + self.b * n_rows

    def communication(self, n_workers, n_blocks):
        """Seconds for two requests, without the work on blocks."""
        return self.l0 + self.l1 * n_workers + self.l2 * n_blocks

    def step(self, n_workers, n_blocks, n_rows):
        """Seconds for a step."""
        return -(-n_blocks // n_workers) * self.block(n_rows) + self.communication(
            n_workers, n_blocks
        )


def fitted(columns, seconds):
    """Coefficients, none below nothing, that make the relative errors small."""
    return nnls(np.stack(columns, axis=1) / seconds[:, None], np.ones(len(seconds)))[0].tolist()


def measured():
    """What steps took: to fit the model to, and to check it by."""
    fitted_to, checked_by = [], []
    for n_workers in (1, 2, 4):
        with cluster(n_workers) as client:
            steps(client, 10_000, 4, 10, 1)  # to warm up
            for tables, found in ((MEASURED, fitted_to), (CHECKED, checked_by)):
                for workers, n_blocks, n_rows in tables:
                    if workers == n_workers:
                        seconds = steps(client, n_blocks * n_rows, n_blocks, 20)
                        found.append((workers, n_blocks, n_rows, *seconds))
    return fitted_to, checked_by


def as_text(model, fitted_to, checked_by):
    lines = [
        f"Measured on {os.cpu_count()} cores with {N_FEATURES} columns and {N_CLASSES} classes: "
        f"a = {model.a * 1e3:.2f} ms, b = {model.b * 1e6:.3f} ms for 1,000 rows,",
        f"l0 = {model.l0 * 1e3:.2f} ms, l1 = {model.l1 * 1e3:.2f} ms, "
        f"l2 = {model.l2 * 1e3:.3f} ms.",
        "",
        "| a step | measured | of which communication | model | of which communication |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, found in (("fitted", fitted_to), ("**check**", checked_by)):
        for n_workers, n_blocks, n_rows, taken, busy in found:
            said = model.step(n_workers, n_blocks, n_rows)
            # Four workers on two cores do not work at once.
            off = "" if n_workers > N_CORES else f" ({said / taken - 1:+.0%})"
            lines.append(
                f"| {name}: {_of(n_workers, 'worker')}, {n_blocks} blocks of {n_rows:,} rows | "
                f"{_time(taken)} | {_time(taken - busy)} | {_time(said)}{off} | "
                f"{_time(model.communication(n_workers, n_blocks))} |"
            )
    head = " | ".join(_of(n_workers, "worker") for n_workers in PREDICTED)
    lines += [
        "",
        f"| predicted: a step of | {head} |",
        "| --- |" + " --- |" * len(PREDICTED),
    ]
    for n_rows, a_block in TABLES:
        times = [model.step(w, n_rows // a_block, a_block) for w in PREDICTED]
        cells = [f"{_time(one)} ({times[0] / one:.3g} x)" for one in times]
        lines.append(f"| {n_rows:,} rows, {a_block:,} a block | {' | '.join(cells)} |")
    return "\n".join(lines)


def _of(number, what):
    return f"{number:,} {what}{'s' if number > 1 else ''}"


def _time(seconds):
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def draw(model, checked_by, path):
    """Seconds of a step against workers."""
    import matplotlib.pyplot as plt

    workers = np.unique(np.geomspace(1, 2000, 200).astype(int))
    figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    colours = ("#3b6ea5", "#d9822b", "#8a95a3")
    for (n_rows, a_block), colour in zip(TABLES, colours, strict=True):
        times = np.array([model.step(w, n_rows // a_block, a_block) for w in workers])
        label = f"{n_rows:,} rows, {a_block:,} a block"
        ax.plot(workers, times, color=colour, label=label)
        ax.plot(workers, times[0] / workers, color=colour, ls=":", lw=1)
    for place, (n_workers, n_blocks, n_rows, seconds, _) in enumerate(checked_by):
        said = model.step(n_workers, n_blocks, n_rows)
        ax.plot(n_workers, seconds, "o", ms=4, c="#22272e", label=None if place else "measured")
        ax.plot(n_workers, said, "+", ms=9, c="#22272e", label=None if place else "its prediction")
    ax.set(xscale="log", yscale="log", xlabel="workers", ylabel="seconds a step")
    ax.set_title("predicted time of a step (dotted: if communication cost nothing)", fontsize=10)
    ax.legend(fontsize=8)
    figure.savefig(path, dpi=160)


def put(page, text):
    """Put the text between the marks of a page."""
    before, _, rest = page.read_text().partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    shown = f"![Predicted seconds of a step against the number of workers.]({PICTURE.name})"
    page.write_text(f"{before}{MARKS[0]}\n{text}\n\n{shown}\n{MARKS[1]}{after}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--page", type=Path, help="where to put the table, and a picture beside")
    arguments = parser.parse_args()
    fitted_to, checked_by = measured()
    model = Model(fitted_to)
    text = as_text(model, fitted_to, checked_by)
    print(text)
    if arguments.page:
        put(arguments.page, text)
        draw(model, checked_by, PICTURE)


if __name__ == "__main__":
    main()
