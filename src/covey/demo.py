"""The main job on embedded data: ``python -m covey.demo`` (or ``make demo``).

Trains the paper's ensembles and covey's default on the paper's synthetic set and on the wine
data that scikit-learn bundles, prints how they compare with a single classifier, and then who
decided one wine and why.
"""

import sys
import time

import numpy as np

from covey import FlockClassifier, SubsetEnsembleClassifier, make_quarter_circle

N_REPEATS = 20
N_MEMBERS = 10
FUSIONS = ("fused", "oracle")
ROWS = ("one classifier", "flock: boundaries", "flock: + subsets", "the default: + gates")


def quarter_circle(seed):
    """The paper's synthetic set: few training rows, many test rows."""
    training = make_quarter_circle(100, random_state=seed)
    return training, make_quarter_circle(10_000, random_state=10_000 + seed)


def wine(seed):
    """The wine data, 70 % to train on and 30 % to test on."""
    from sklearn.datasets import load_wine
    from sklearn.model_selection import train_test_split

    X, y = load_wine(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    return (X, y), (X_test, y_test)


def compare(problem, seed):
    """Accuracies of one repetition, as (row, fusion), and the last ensemble."""
    training, test = problem(seed)
    accuracies = np.empty((len(ROWS), len(FUSIONS)))
    for row, flip_probability in ((1, 0.0), (2, 0.01)):
        flock = SubsetEnsembleClassifier.paper(
            n_estimators=N_MEMBERS,
            flip_probability=flip_probability,
            select_size=None,
            random_state=seed,
        ).fit(*training)
        accuracies[row] = flock.score(*test), flock.oracle_score(*test)
        if row == 1:
            accuracies[0] = flock.estimators_[0].score(*test)
    flock = FlockClassifier(random_state=seed).fit(*training)
    accuracies[3] = flock.score(*test), flock.oracle_score(*test)
    return accuracies, flock


def with_interval(values):
    """Mean and half-width of the 95 % interval of the mean, in per cent."""
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    return f"{100 * values.mean():.1f} ± {100 * half:.1f}"


def comparison_table(title, accuracies):
    """What a person sees of ``accuracies`` (repetition, row, fusion)."""
    from rich.table import Table

    table = Table(title=title, title_style="bold", title_justify="left")
    table.add_column("per cent", no_wrap=True)
    for fusion in FUSIONS:
        table.add_column(fusion, justify="right", no_wrap=True)
        table.add_column("gain", justify="right", no_wrap=True)
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


def member_table(flock, X, names):
    """Who decided the rows of X on average, and which features count."""
    from rich.table import Table

    table = Table(
        title="Members of the last flock on wine", title_style="bold", title_justify="left"
    )
    table.add_column("", justify="right")
    table.add_column("asked", justify="right", no_wrap=True)
    table.add_column("looks at", no_wrap=True)
    table.add_column("because of what the last wine is")
    asked = flock.explain_fusion(X).mean(axis=0)
    reasons = {member["member"]: member for member in flock.explain(X[-1:])[0]["members"]}
    for number, (member, share) in enumerate(zip(flock.estimators_, asked, strict=True), 1):
        reason = "not asked"
        if number in reasons:
            because = ", ".join(name for name, _ in reasons[number]["because"][:2])
            reason = f"class {reasons[number]['prediction']}: {because}"
        for position, name in reversed(list(enumerate(names))):
            reason = reason.replace(f"x{position}", name)
        table.add_row(
            str(number),
            f"{100 * share:.0f} %",
            f"{member.support_.sum()} of {len(member.support_)}",
            reason,
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
        "Quarter circle (the paper's synthetic set), 100 training rows a class": quarter_circle,
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
        f"Accuracy on held-out rows, mean ± half of its 95 % interval over {N_REPEATS} seeds.\n"
        f"'flock: boundaries' trains {N_MEMBERS} linear members, each drawn to what the others "
        "get wrong;\n'+ subsets' lets each choose its own features too: the paper's ensembles, "
        "fused by the product\nof probabilities. '+ gates' is covey's default: groups of members "
        "and, for each sample, a gate\nthat says whom to ask. The oracle picks a member that is "
        "right wherever there is one: a bound,\nnot a method. 'gain' is the relative improvement "
        "over the one classifier.\n",
        soft_wrap=True,
    )
    for title, accuracies in results.items():
        console.print(comparison_table(title, accuracies))
    console.print(member_table(flock, wine(N_REPEATS - 1)[1][0], load_wine().feature_names))
    console.print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
