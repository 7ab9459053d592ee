"""``covey compare``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from covey.cli import _options as options
from covey.cli._console import CommandError, Console

EXAMPLE = (
    "covey demo --table wine.csv",
    "covey compare wine.csv --target cultivar --models logistic --models fast",
)


def compare(
    table: options.Table,
    target: options.Target,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--models", metavar="NAME", help="Only those whose names hold this; repeatable."
        ),
    ] = None,
    group: options.Group = None,
    time: options.Time = None,
    drop: options.Drop = None,
    keep: options.Keep = None,
    task: options.Task = "auto",
    seed: options.Seed = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare flocks with the usual models on the same rows held out, honestly.

    All get the same columns and the same folds. A model whose interval of the difference from
    the best holds zero may as well be the best.
    """
    from covey.cli._evaluate import Trial, make_splits
    from covey.cli._problem import read_problem

    console = Console(quiet, as_json)
    problem = read_problem(
        table, target, console, group=group, time=time, drop=drop, keep=keep, task=task
    )
    field = contestants(problem, seed)
    for wanted in models or []:
        if not any(wanted.lower() in name.lower() for name in field):
            raise CommandError(
                f"--models: no model is called {wanted!r}; there are {', '.join(field)}."
            )
    if models:
        field = {
            name: one
            for name, one in field.items()
            if any(wanted.lower() in name.lower() for wanted in models)
        }
    splits, how = make_splits(problem, seed)
    # A model that cannot learn this table is left out; the others are still compared.
    failures: dict[str, str] = {}
    with console.progress(len(field) * len(splits), "comparing") as step:
        trial = Trial(problem, splits, seed, step=step, failures=failures)
        trial.run(field)
    scores = trial.scores()
    for name, message in failures.items():
        console.note(f"{name}: left out, since it failed: {message}")
    if not scores:
        raise CommandError("no model could be fitted to this table.", 1)
    scores.sort(key=lambda one: (-one.value, one.loss))
    _show(console, problem, scores, how, list(failures))


def contestants(problem: Any, seed: int) -> dict[str, Any]:
    """Our ensembles and the usual rivals, by name, unfitted."""
    import numpy as np
    from sklearn import ensemble, linear_model, neighbors, svm
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import covey
    from covey.cli._evaluate import linear, simplest
    from covey.cli._fitting import flock

    kind = "Regressor" if problem.regression else "Classifier"

    def trees(name: str, *settings: int) -> Any:
        return getattr(ensemble, f"{name}{kind}")(*settings, random_state=seed)

    def scaled(learner: Any) -> Any:
        return make_pipeline(StandardScaler(), learner)

    plain: Any
    if problem.regression:
        machine, plain, paper = "SVR", linear_model.Ridge(), {}
        folds = 5
    else:
        machine, plain = "SVC", linear_model.LogisticRegression(max_iter=1000)
        folds = max(2, min(5, int(np.unique(problem.y, return_counts=True)[1].min()) // 2))
        paper = {"covey, as the paper": covey.SubsetEnsembleClassifier.paper(random_state=seed)}
    members = [
        ("linear", scaled(plain)),
        ("forest", trees("RandomForest", 100)),
        ("boosting", trees("HistGradientBoosting")),
    ]
    grid = {f"{machine.lower()}__C": [0.1, 1.0, 10.0, 100.0]}
    return {
        "covey": flock(problem, seed=seed),
        "covey, fast": flock(problem, effort="fast", seed=seed),
        "covey, mixed": flock(problem, limits={"members": "mixed"}, seed=seed),
        **paper,
        "covey, fusion of three": getattr(covey, f"Fusion{kind}")(members, fuser="mean"),
        **linear(problem, seed),
        "random forest": trees("RandomForest", 300),
        "extra trees": trees("ExtraTrees", 300),
        "gradient boosting": trees("HistGradientBoosting"),
        f"RBF {machine}, tuned": GridSearchCV(scaled(getattr(svm, machine)()), grid, cv=folds),
        "nearest neighbours": scaled(getattr(neighbors, f"KNeighbors{kind}")(10)),
        **simplest(problem),
    }


def _show(console: Console, problem: Any, scores: list, how: str, failed: list[str]) -> None:
    from covey.cli._evaluate import difference

    regression, best = problem.regression, scores[0]
    console.result(f"{problem.target}: {len(best.rows):,} rows held out ({how}).", "")
    rows, records = [], []
    for one in scores:
        record = one.as_record(regression)
        row = [one.name, one.text(regression)]
        if not regression:
            record["difference_from_best"] = gap, low, high = difference(one, best, problem)
            between = f"{100 * gap:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
            row.append("" if one is best else between)
        loss = "-" if one.loss != one.loss else f"{one.loss:.4g}"
        rows.append([*row, loss, f"{one.seconds:.2f}"])
        records.append(record)
    if regression:
        head = ("", "R2 (95 %)", "RMSE", "fit, s")
    else:
        head = ("", "accuracy (95 %)", "from the best, points", "log-loss", "fit, s")
    console.table(head, rows)
    console.emit(
        target=problem.target, rows=len(best.rows), held_out=how, scores=records, failed=failed
    )
