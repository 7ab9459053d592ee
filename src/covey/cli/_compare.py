"""``covey compare``."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covey._number_words import counted, points, quoted
from covey.cli import _options as options
from covey.cli._console import CommandError, Console

if TYPE_CHECKING:
    from covey.evaluation._held_out import HeldOut

EXAMPLE = (
    "covey demo --table wine.csv",
    "covey compare wine.csv --target cultivar --models logistic --models fast",
)

# A difference is called real if chance would make one as large less often than this.
_CHANCE = 0.05
_FEW_ROWS = 20_000


_MODELS = options.option(
    "Only models whose names contain this; repeatable.", "--models", metavar="NAME"
)
_MORE = options.option(
    "Add a model of another package: lightgbm, ebm (of interpret) or catboost; repeatable. "
    "LightGBM is always included if it is installed.",
    "--with",
    metavar="NAME",
)


def compare(
    table: options.Table,
    target: options.Target,
    sheet: options.Sheet = None,
    models: Annotated[list[str] | None, _MODELS] = None,
    more: Annotated[list[str] | None, _MORE] = None,
    group: options.Group = None,
    time: options.Time = None,
    drop: options.Drop = None,
    keep: options.Keep = None,
    gap: options.Gap = None,
    task: options.Task = "auto",
    seed: options.Seed = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare flocks with the usual models on the same rows held out, honestly.

    All get the same columns and the same rows. The best comes first. A difference from it is
    called real if chance alone would hardly make one so large in any of the comparisons; models
    without such a difference may as well be the best. Besides: how much there is to read, or to
    store, and how long a fit takes.
    """
    from covey.cli._evaluate import Trial, make_splits
    from covey.cli._problem import read_problem

    console, table = Console(quiet, as_json), options.part_of(table, sheet)
    reading = dict[str, Any](group=group, time=time, drop=drop, keep=keep, gap=gap, task=task)
    problem = read_problem(table, target, console, **reading)
    field = contestants(problem, seed, more or ())

    def among(name: str, wanted: Iterable[str]) -> bool:
        return any(one.lower() in name.lower() for one in wanted)

    for wanted in models or []:
        if not any(among(name, [wanted]) for name in field):
            known = ", ".join(map(repr, field))
            raise CommandError(f"--models: no model is called {wanted!r}; there are {known}.")
    if models:
        chosen = [*models, *(more or ())]
        field = {name: one for name, one in field.items() if among(name, chosen)}
    splits, how = make_splits(problem, seed)
    # A model that cannot learn this table is left out; the others are still compared.
    failures: dict[str, str] = {}
    sizes: dict[str, Size] = {}

    def measure(name: str, model: Any) -> None:
        if name not in sizes:
            sizes[name] = size_of(model)

    stopped = False
    with console.progress(len(field) * len(splits), "comparing") as step:
        trial = Trial(problem, splits, seed, step=step, failures=failures, on_fitted=measure)
        try:
            trial.run(field)
        except KeyboardInterrupt:
            if trial.held_out() is None:
                raise
            stopped = True
            console.note("stopped: what is finished is compared on the rows held out by then.")
    for name, message in failures.items():
        console.note(f"{name}: left out, since it failed: {message}")
    held_out = trial.held_out(how=how)
    if held_out is None:
        raise CommandError("no model could be fitted to this table.", 1)
    _show(console, problem, held_out, sizes, failures)
    if stopped:
        raise typer.Exit(130)


# -- the result -----------------------------------------------------------------------------------


def _show(
    console: Console,
    problem: Any,
    held_out: HeldOut,
    sizes: dict[str, Size],
    failures: dict[str, str],
) -> None:
    from numpy import nan_to_num

    from covey.evaluation import _sentences as sentences

    main, loss = ("r2", "rmse") if problem.regression else ("accuracy", "log_loss")
    # A rare class is found by the ranking.
    main = main if held_out.rare is None else "auc"
    scored = [(one, held_out.score(one)) for one in held_out.models]
    # Unknown values are sorted as zero.
    key = {main: -1, loss: 1}.items()
    scored.sort(key=lambda one: [sign * nan_to_num(one[1].get(name).value) for name, sign in key])
    models = [model for model, _ in scored]
    best, how = models[0], held_out.how
    console.result(f"{problem.target}: {len(held_out.y):,} rows held out ({how}).", "")
    worse = _really_worse(held_out, models, main)
    rows, records = [], []
    for model, score in scored:
        gap, size = held_out.difference(model, best), sizes[score.name]
        between, really = "", ", ".join(worse[score.name])
        record = {
            **sentences.flat(score),
            "difference_from_best": gap.get(main),
            "really_worse_in": worse[score.name],
            "size": {"terms": size.terms, "bytes": size.n_bytes},
        }
        lost = sentences.score_text(score, loss, False)
        more = gap.get(loss)
        if not problem.regression:
            record["loss_difference_from_best"] = more
        if model is not best:
            between = "{} ({} to {})".format(*map(points, gap.get(main)))
            really = really or "no"
            if more.value == more.value:
                lost += f" ({more.value:+.3f})"
        seconds = "" if score.seconds is None else f"{score.seconds:.2f}"
        text = sentences.score_text(score, main)
        rows.append([score.name, text, between, lost, really, str(size), seconds])
        records.append(record)
    heads = (f"{sentences.head_of(main)} (95 %)", "from the best, points", sentences.head_of(loss))
    console.table(("", *heads, "really worse", "size", "fit, s"), rows)
    if len(models) > 1:
        console.result(
            "",
            f"Really worse than {quoted(best.name)}: chance would make any of these differences "
            f"so large in fewer than {100 * _CHANCE:.0f} of 100 tables (Holm's correction; the "
            "same rows were predicted by all).",
        )
        as_good = [one.name for one in models[1:] if not worse[one.name]]
        if as_good:
            console.result(f"As good, as far as these rows tell: {'; '.join(as_good)}.")
    console.emit(
        target=problem.target,
        rows=len(held_out.y),
        held_out=how,
        scores=records,
        failed=[{"name": name, "reason": reason} for name, reason in failures.items()],
    )


def _really_worse(held_out: HeldOut, models: Sequence[Any], main: str) -> dict[str, list[str]]:
    """Name the measures in which a model is worse than the first one by more than chance.

    The p-values of all models are corrected together, for each measure separately.
    """
    import numpy as np

    from covey._intervals import holm

    best, *others = models
    worse: dict[str, list[str]] = {one.name: [] for one in models}
    names = {main: "ranking" if main == "auc" else main, "log_loss": "log-loss"}
    for measure, name in ({"squared": "squared error"} if main == "r2" else names).items():
        chances = np.array([held_out.chance(one, best, measure) for one in others])
        known = np.flatnonzero(np.isfinite(chances))
        for place, chance in zip(known, holm(chances[known]), strict=True):
            one = others[place]
            lost = (held_out.parts(one)[measure] - held_out.parts(best)[measure]).mean()
            if chance < _CHANCE and (-lost if measure in ("accuracy", "auc") else lost) > 0:
                worse[one.name].append(name)
    return worse


# -- sizes ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Size:
    """The size of a fitted model: terms that a person can read, else None; and bytes."""

    terms: int | None
    n_bytes: int

    def __str__(self) -> str:
        if self.terms is not None:
            return counted(self.terms, "term")
        megabytes = self.n_bytes / 1e6
        return f"{megabytes:.1f} MB" if megabytes >= 0.05 else f"{self.n_bytes / 1e3:.0f} kB"


def size_of(model: Any) -> Size:
    """Return the size of a fitted model."""
    try:
        n_bytes = len(pickle.dumps(model, protocol=5))
    except (TypeError, AttributeError, pickle.PicklingError):
        n_bytes = 0
    return Size(_terms(model), n_bytes)


def _terms(model: Any) -> int | None:
    """Return the terms of a linear model, or of a flock of them; None for others."""
    import numpy as np

    model = getattr(model, "best_estimator_", model)
    if getattr(model, "steps", None):
        return _terms(model.steps[-1][1])
    if hasattr(model, "n_terms_"):
        return int(model.n_terms_)
    if type(model).__name__.startswith("Dummy"):
        return 0
    if hasattr(model, "member_coef_"):
        # A column in a member is a term, whatever the number of classes.
        return int(np.sum(model.support_))
    coef = getattr(model, "coef_", None)
    if not isinstance(coef, np.ndarray) or hasattr(model, "support_vectors_"):
        return None
    return int((np.atleast_2d(coef) != 0).any(axis=0).sum())


# -- the models -----------------------------------------------------------------------------------


def contestants(problem: Any, seed: int, more: Collection[str] = ()) -> dict[str, Any]:
    """Return all models by name, unfitted; ``more`` are names of other packages' models."""
    import numpy as np
    from sklearn import ensemble, linear_model, neighbors, svm
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import covey
    from covey.cli._evaluate import linear, simplest
    from covey.cli._fitting import flock

    regression, kind = problem.regression, "Regressor" if problem.regression else "Classifier"

    def trees(name: str, *n_trees: int) -> Any:
        return getattr(ensemble, f"{name}{kind}")(*n_trees, random_state=seed)

    def scaled(learner: Any) -> Any:
        return make_pipeline(StandardScaler(), learner)

    line = linear_model.Ridge() if regression else linear_model.LogisticRegression(max_iter=1000)
    three = [
        ("linear", scaled(line)),
        ("forest", trees("RandomForest", 100)),
        ("boosting", trees("HistGradientBoosting")),
    ]
    smallest = len(problem.y) if regression else np.unique(problem.y, return_counts=True)[1].min()
    machine = svm.SVR() if regression else svm.SVC()
    name = type(machine).__name__
    tuned: Any = GridSearchCV(
        scaled(machine),
        {f"{name.lower()}__C": [0.1, 1.0, 10.0, 100.0]},
        cv=max(2, min(5, int(smallest) // 2)),
    )
    if regression:
        # Its margin is 0.1 in units of the target, whatever these are: so they are deviations.
        tuned = TransformedTargetRegressor(tuned, transformer=StandardScaler())
    paper = {}
    if not regression:
        paper["covey, as the paper"] = covey.SubsetEnsembleClassifier.paper(random_state=seed)
    return {
        "covey": flock(problem, seed=seed),
        "covey, fast": flock(problem, effort="fast", seed=seed),
        "covey, mixed": flock(problem, limits={"members": "mixed"}, seed=seed),
        **paper,
        "covey, fusion of three": getattr(covey, f"Fusion{kind}")(three, fuser="mean"),
        **linear(problem, seed),
        "random forest": trees("RandomForest", 300),
        "extra trees": trees("ExtraTrees", 300),
        "gradient boosting": trees("HistGradientBoosting"),
        f"RBF {name}, tuned": tuned,
        "nearest neighbours": scaled(getattr(neighbors, f"KNeighbors{kind}")(10)),
        **simplest(problem),
        **_of_other_packages(problem, seed, more),
    }


def _of_other_packages(problem: Any, seed: int, wanted: Collection[str]) -> dict[str, Any]:
    """Return the models that are asked for, and those that are installed and quick to import."""
    import numpy as np
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    for name in wanted:
        if name not in _PACKAGES:
            raise CommandError(
                f"--with: no model is called {name!r}; there are {', '.join(_PACKAGES)}."
            )
        module, package, *_ = _PACKAGES[name]
        if find_spec(module.partition(".")[0]) is None:
            raise CommandError(
                f"--with: {name} needs {package}; install it with: pip install {package}.", 1
            )
    found = {}
    for name, (module, _, shown, kind, settings, threads) in _PACKAGES.items():
        if name in wanted or (name == "lightgbm" and find_spec(module) is not None):
            kind += "Regressor" if problem.regression else "Classifier"
            learner = getattr(import_module(module), kind)(random_state=seed, **settings)
            # With few rows, threads that wait for each other cost more than they gain.
            if len(problem.y) < _FEW_ROWS:
                learner.set_params(**{threads: 1})
            # Names of columns are free text; these packages refuse some signs in them.
            found[shown] = make_pipeline(FunctionTransformer(np.asarray), learner)
    return found


# For each: module, package, the displayed name, the class before Classifier or Regressor, its
# settings, and the setting of threads.
_PACKAGES: dict[str, tuple[str, str, str, str, dict[str, Any], str]] = {
    "lightgbm": ("lightgbm", "lightgbm", "LightGBM", "LGBM", {"verbose": -1}, "n_jobs"),
    "ebm": (
        *("interpret.glassbox", "interpret", "EBM, of interpret", "ExplainableBoosting"),
        {"n_jobs": -1},
        "n_jobs",
    ),
    "catboost": (
        *("catboost", "catboost", "CatBoost", "CatBoost"),
        {"verbose": False, "allow_writing_files": False},
        "thread_count",
    ),
}
