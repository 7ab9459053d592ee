"""The main job on embedded data: ``python examples/demo.py``, or ``make demo``.

A table from the question to the decision: fits a flock to the breast cancer data that scikit-learn
bundles, says how right it is, what it looks at, and why it says what it says of one row. Then what
a flock is for: the paper's ensembles and the flock beside one linear classifier, on the paper's
synthetic set, whose border no line follows, and on wine, where one line nearly suffices.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

import covey
from covey import FlockClassifier, SubsetEnsembleClassifier, make_quarter_circle

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

N_REPEATS = 5
N_MEMBERS = 10
FUSIONS = ("fused", "oracle")
ROWS = ("one classifier", "paper: boundaries", "paper: + subsets", "FlockClassifier")
_LEGEND = f"""\
Accuracy on held-out rows, mean ± half of its 95 % interval over {N_REPEATS} seeds.
'paper: boundaries' trains {N_MEMBERS} linear members, each drawn to what the others get wrong;
'+ subsets' lets each choose its own features too: SubsetEnsembleClassifier.paper(). The oracle
picks a member that is right wherever there is one; 'gain' is over the one classifier.
"""

Rows = tuple[Any, np.ndarray]
Split = tuple[Rows, Rows]


def quarter_circle(seed: int) -> Split:
    """The paper's synthetic set: few training rows, many test rows."""
    training = make_quarter_circle(100, random_state=seed)
    return training, make_quarter_circle(10_000, random_state=10_000 + seed)


def wine(seed: int) -> Split:
    """The wine data, 70 % to train on and 30 % to test on."""
    from sklearn.datasets import load_wine
    from sklearn.model_selection import train_test_split

    X, y = load_wine(return_X_y=True, as_frame=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    return (X, y), (X_test, y_test)


PROBLEMS = {
    "Quarter circle (the paper's synthetic set), 100 training rows a class": quarter_circle,
    "Wine, 178 rows, 13 features, 3 classes": wine,
}


def compare(problem: Callable[[int], Split], seed: int) -> np.ndarray:
    """Accuracies of one repetition, as (row, fusion)."""
    training, test = problem(seed)
    boundaries, subsets = (
        SubsetEnsembleClassifier.paper(
            n_estimators=N_MEMBERS,
            flip_probability=flip_probability,
            select_size=None,
            random_state=seed,
        ).fit(*training)
        for flip_probability in (0.0, 0.01)
    )
    flock = FlockClassifier(random_state=seed).fit(*training)
    ensembles = (boundaries, subsets, flock)
    single = boundaries.estimators_[0].score(*test)
    accuracies = [(one.score(*test), one.oracle_score(*test)) for one in ensembles]
    return np.array([(single, single), *accuracies])


def with_interval(values: np.ndarray) -> str:
    """Mean and half-width of the 95 % interval of the mean, in per cent."""
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return f"{100 * values.mean():.1f} ± {100 * half:.1f}"


def _titled(title: str) -> Table:
    from rich.table import Table

    return Table(title=title, title_style="bold", title_justify="left")


def comparison_table(title: str, accuracies: np.ndarray) -> Table:
    """A table of ``accuracies`` (repetition, row, fusion)."""
    table = _titled(title)
    table.add_column("per cent", no_wrap=True)
    for fusion in FUSIONS:
        table.add_column(fusion, justify="right", no_wrap=True)
        table.add_column("gain", justify="right", no_wrap=True)
    table.add_row(ROWS[0], with_interval(accuracies[:, 0, 0]))
    for row, name in enumerate(ROWS[1:], 1):
        gains = accuracies[:, row] / accuracies[:, 0] - 1
        cells = [
            with_interval(values[:, fusion])
            for fusion in range(len(FUSIONS))
            for values in (accuracies[:, row], gains)
        ]
        table.add_row(name, *cells)
    return table


def decide(console: Console) -> None:
    """From a table to a decision: fit, how right, what it looks at, one row explained."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    X, codes = load_breast_cancer(return_X_y=True, as_frame=True)
    y = codes.map({0: "malignant", 1: "benign"})
    X, X_new, y, y_new = train_test_split(X, y, test_size=143, stratify=y, random_state=0)
    started = time.perf_counter()
    flock = FlockClassifier(random_state=0).fit(X, y)
    seconds = time.perf_counter() - started
    console.print("[bold]Is a tumour malignant?[/] 30 measurements of the nuclei of its cells")
    for said in (
        f"Fitted to {len(y)} rows in {seconds:.1f} s.",
        flock.summary(),
        f"Asked about {len(y_new)} rows that were held out:",
        covey.evaluate(flock, X_new, y_new),
        "Why is the first of them what it is?",
        flock.explain(X_new[:1]),
    ):
        laid_out = not isinstance(said, covey.Evaluation)
        console.print(str(said), soft_wrap=laid_out, highlight=False, markup=False)
        console.print()


def how_to_go_on() -> str:
    """The lines to type next, where the command is in the folder of this interpreter."""
    folder = Path(sys.executable).parent
    with suppress(ValueError):
        folder = folder.relative_to(Path.cwd())
    activate = f". {folder / 'activate'}\n  " if (folder / "activate").exists() else ""
    return f"Now on a table:\n  {activate}covey demo --table wine.csv\n  covey --help"


def main() -> None:
    """Run the demo."""
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        sys.exit("The demo draws its tables with rich: pip install 'covey[cli]'.")
    started = time.perf_counter()
    console = Console()
    decide(console)
    console.print("[bold]What a flock is for[/]")
    console.print(_LEGEND, soft_wrap=True, highlight=False)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("growing flocks", total=len(PROBLEMS) * N_REPEATS)
        for title, problem in PROBLEMS.items():
            accuracies = []
            for seed in range(N_REPEATS):
                accuracies.append(compare(problem, seed))
                progress.advance(task)
            console.print(comparison_table(title, np.stack(accuracies)))
    console.print(f"{time.perf_counter() - started:.0f} s")
    console.print(how_to_go_on(), soft_wrap=True, highlight=False, markup=False)


if __name__ == "__main__":
    main()
