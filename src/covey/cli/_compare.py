"""``covey compare``."""

from typing import Annotated

import typer

from covey.cli import _options as options
from covey.cli._console import CommandError, Console, guarded

_EXAMPLE = options.example(
    "covey demo --table wine.csv",
    "covey compare wine.csv --target cultivar --models logistic --models fast",
)


def add_to(app):
    """Add the command."""
    app.command("compare", short_help="Compare flocks with the usual models.", epilog=_EXAMPLE)(
        guarded(compare)
    )


def compare(
    table: options.Table,
    target: options.Target,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--models",
            metavar="NAME",
            help="Only those whose names hold this; repeatable.",
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
):
    """Compare flocks with the usual models on the same rows held out, honestly.

    All get the same columns and the same folds. A model whose interval of the difference from
    the best holds zero may as well be the best.
    """
    from covey.cli import _evaluate as evaluate
    from covey.cli._fitting import table_model
    from covey.cli._question import ask

    console = Console(quiet, as_json)
    question = ask(table, target, console, group=group, time=time, drop=drop, keep=keep, task=task)
    field = contestants(question, seed)
    if models:
        known = ", ".join(field)
        for wanted in models:
            if not any(wanted.lower() in name.lower() for name in field):
                raise CommandError(f"--models: no model is called {wanted!r}; there are {known}.")
        field = {
            name: one
            for name, one in field.items()
            if any(wanted.lower() in name.lower() for wanted in models)
        }
    splits, how = evaluate.make_splits(question, seed)
    scores, failed = [], []
    with console.progress(len(field) * len(splits), "comparing") as step:
        for name, estimator in field.items():
            model = table_model(question, estimator, seed)
            try:
                scores.append(evaluate.score(name, model, question, splits, step)[0])
            except (ValueError, FloatingPointError) as error:
                # One that cannot learn this table is no reason to lose the others.
                failed.append(name)
                console.note(f"{name}: left out, since it failed: {str(error).splitlines()[0]}")
    if not scores:
        raise CommandError("no model could be fitted to this table.", 1)
    scores.sort(key=lambda one: (-one.value, one.loss))
    _say(console, question, scores, how, failed)


def contestants(question, seed):
    """Our ensembles and the usual rivals, by name, unfitted."""
    import numpy as np
    from sklearn import ensemble, linear_model, neighbors, svm
    from sklearn.dummy import DummyClassifier, DummyRegressor
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from covey.cli._evaluate import linear
    from covey.cli._fitting import flock

    def scaled(learner):
        return make_pipeline(StandardScaler(), learner)

    ours = {
        "covey": flock(question, seed=seed),
        "covey, fast": flock(question, effort="fast", seed=seed),
    }
    name, tuned = linear(question, seed)
    grid = {"svr__C" if question.numbers else "svc__C": [0.1, 1.0, 10.0, 100.0]}
    if question.numbers:
        return {
            **ours,
            name: tuned.estimator,
            "random forest": ensemble.RandomForestRegressor(300, random_state=seed),
            "extra trees": ensemble.ExtraTreesRegressor(300, random_state=seed),
            "gradient boosting": ensemble.HistGradientBoostingRegressor(random_state=seed),
            "RBF SVR, tuned": GridSearchCV(scaled(svm.SVR()), grid),
            "nearest neighbours": scaled(neighbors.KNeighborsRegressor(10)),
            "the mean": DummyRegressor(),
        }
    from covey import FusionClassifier, SubsetEnsembleClassifier

    fewest = int(np.unique(question.y, return_counts=True)[1].min())
    folds = max(2, min(5, fewest // 2))
    machine = GridSearchCV(scaled(svm.SVC()), grid, cv=folds)
    forest = ensemble.RandomForestClassifier(300, random_state=seed)
    fused = FusionClassifier(
        [
            ("linear", scaled(linear_model.LogisticRegression(max_iter=1000))),
            ("forest", ensemble.RandomForestClassifier(100, random_state=seed)),
            ("boosting", ensemble.HistGradientBoostingClassifier(random_state=seed)),
        ],
        fuser="mean",
    )
    return {
        **ours,
        "covey, as the paper": SubsetEnsembleClassifier.paper(random_state=seed),
        "covey fuser of three": fused,
        name: tuned.estimator,
        "random forest": forest,
        "extra trees": ensemble.ExtraTreesClassifier(300, random_state=seed),
        "gradient boosting": ensemble.HistGradientBoostingClassifier(random_state=seed),
        "RBF SVC, tuned": machine,
        "nearest neighbours": scaled(neighbors.KNeighborsClassifier(10)),
        "commonest class": DummyClassifier(strategy="prior"),
    }


def _say(console, question, scores, how, failed):
    from covey.cli import _evaluate as evaluate

    numbers = question.numbers
    best = scores[0]
    console.result(f"{question.target}: {len(best.rows):,} rows held out ({how}).", "")
    rows, records = [], []
    for one in scores:
        record = one.as_baseline(numbers)
        row = [one.name, evaluate.measured(one, numbers)]
        if not numbers:
            gap, low, high = evaluate.difference(one, best, question.groups)
            record["difference_from_best"] = [gap, low, high]
            row.append(
                "" if one is best else f"{100 * gap:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
            )
        loss = "-" if one.loss != one.loss else f"{one.loss:.4g}"
        rows.append([*row, loss, f"{one.seconds:.2f}"])
        records.append(record)
    if numbers:
        head = ("", "R2 (95 %)", "RMSE", "fit, s")
    else:
        head = ("", "accuracy (95 %)", "from the best, points", "log-loss", "fit, s")
    console.table(head, rows)
    console.emit(
        target=question.target, rows=len(best.rows), held_out=how, scores=records, failed=failed
    )
