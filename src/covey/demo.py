"""The main job on embedded data: ``python -m covey.demo`` (or ``make demo``).

Trains the paper's ensembles on its synthetic set and on the wine data that scikit-learn
bundles, prints how they compare with a single classifier, and then each member's features.
"""

import sys
import time

import numpy as np

from covey import SubsetEnsembleClassifier, make_quarter_circle

N_REPEATS = 20
N_MEMBERS = 10
FUSIONS = ("product", "oracle")
ROWS = ("one classifier", "flock, boundaries only", "flock, and subsets")


def quarter_circle(seed):
    """The paper's synthetic set: few training rows, many test rows; K tuned on the former."""
    training = make_quarter_circle(25, random_state=seed)
    return training, training, make_quarter_circle(10_000, random_state=10_000 + seed)


def wine(seed):
    """The wine data: 80 % train, 10 % to tune K, 10 % test, as the paper splits real data."""
    from sklearn.datasets import load_wine
    from sklearn.model_selection import train_test_split

    X, y = load_wine(return_X_y=True)
    X, X_rest, y, y_rest = train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)
    X_tune, X_test, y_tune, y_test = train_test_split(
        X_rest, y_rest, test_size=0.5, stratify=y_rest, random_state=seed
    )
    return (X, y), (X_tune, y_tune), (X_test, y_test)


def compare(problem, seed):
    """Accuracies of one repetition, as (row, fusion), and the last ensemble."""
    training, tuning, test = problem(seed)
    accuracies = np.empty((len(ROWS), len(FUSIONS)))
    for row, flip_probability in ((1, 0.0), (2, 0.01)):
        flock = SubsetEnsembleClassifier.paper(
            n_estimators=N_MEMBERS,
            flip_probability=flip_probability,
            select_size=None,
            random_state=seed,
        ).fit(*training)
        for column, fusion in enumerate(FUSIONS):
            size = np.argmax(flock.staged_score(*tuning, fusion=fusion))
            accuracies[row, column] = flock.staged_score(*test, fusion=fusion)[size]
        if row == 1:
            accuracies[0] = flock.estimators_[0].score(*test)
    return accuracies, flock


def with_interval(values):
    """Mean and half-width of the 95 % interval of the mean, in per cent."""
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    return f"{100 * values.mean():.1f} ± {100 * half:.1f}"


def comparison_table(title, accuracies):
    """What a person sees of ``accuracies`` (repetition, row, fusion)."""
    from rich.table import Table

    table = Table(title=title, title_style="bold", title_justify="left")
    table.add_column("per cent, ± 95 %", no_wrap=True)
    for column in ("equal weights", "gain", "oracle", "gain"):
        table.add_column(column, justify="right", no_wrap=True)
    for row, name in enumerate(ROWS):
        cells = []
        for fusion in range(len(FUSIONS)):
            improvement = accuracies[:, row, fusion] / accuracies[:, 0, fusion] - 1
            cells.append(with_interval(accuracies[:, row, fusion]))
            cells.append("" if row == 0 else with_interval(improvement))
        if row == 0:
            cells[2] = ""
        table.add_row(name, *cells)
    return table


def member_table(flock, names):
    """Each member's features by name: the heaviest, and those that it leaves out."""
    from rich.table import Table

    table = Table(
        title="Members of the last flock on wine", title_style="bold", title_justify="left"
    )
    table.add_column("", justify="right")
    table.add_column("uses", justify="right", no_wrap=True)
    table.add_column("heaviest features")
    table.add_column("leaves out")
    # Coefficients times the columns' spread are comparable between columns.
    weights = np.ptp(flock.coef_, axis=1) * flock.scale_
    for number, (support, weight) in enumerate(zip(flock.support_, weights, strict=True), 1):
        heaviest = ", ".join(names[np.argsort(-weight)[:2]])
        table.add_row(
            str(number),
            f"{support.sum()} of {len(support)}",
            heaviest,
            ", ".join(names[~support]) or "nothing",
        )
    return table


def main():
    """Run the demo."""
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        sys.exit("The demo draws its tables with rich: pip install 'covey[cli]'.")
    from sklearn.datasets import load_wine

    started = time.perf_counter()
    console = Console()
    problems = {
        "Quarter circle (the paper's synthetic set), 25 training rows a class": quarter_circle,
        "Wine, 178 rows, 13 features, 3 classes": wine,
    }
    results = {}
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("growing flocks", total=len(problems) * N_REPEATS)
        for title, problem in problems.items():
            accuracies = []
            for seed in range(N_REPEATS):
                repetition, flock = compare(problem, seed)
                accuracies.append(repetition)
                progress.advance(task)
            results[title] = np.stack(accuracies)
    console.print(
        f"Accuracy on held-out rows, mean over {N_REPEATS} seeds; 'gain' is the relative "
        "improvement over the single classifier. Equal weights fuse members by their product; "
        "the oracle picks a member that is right, where there is one: a bound, not a method.\n"
    )
    for title, accuracies in results.items():
        console.print(comparison_table(title, accuracies))
    console.print(member_table(flock, np.array(load_wine().feature_names)))
    console.print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
