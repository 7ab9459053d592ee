"""``covey select``."""

from __future__ import annotations

from typing import Annotated, Any

from covey._number_words import rough
from covey.cli import _options as options
from covey.cli._console import Console

EXAMPLE = ("covey demo --table wine.csv", "covey select wine.csv --target cultivar")


_LEVEL = options.option(
    "The share of selected columns that may carry nothing, on average.", min=0.0001, max=0.9999
)
_RESAMPLES = options.option("How many halves of the rows members are grown on.", min=2)


def select(
    table: options.Table,
    target: options.Target,
    sheet: options.Sheet = None,
    pairs: Annotated[int, options.option("How many pairs of columns to show.", min=0)] = 5,
    level: Annotated[float, _LEVEL] = 0.05,
    resamples: Annotated[int, _RESAMPLES] = 30,
    drop: options.Drop = None,
    keep: options.Keep = None,
    gap: options.Gap = None,
    task: options.Task = "auto",
    seed: options.Seed = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Show all columns that carry something about a target, and the fewest that suffice.

    Columns are tested alone, beside others and in pairs; a column that is correlated with one that
    matters, matters, too. Of columns that can replace each other, the fewest have one. Members
    that are grown on many halves of the rows show which pairs work together.
    """
    from covey.cli._problem import read_problem

    # Nothing is held out here.
    console = Console(quiet, as_json, lacks=("--time", "--group"))
    table = options.part_of(table, sheet)
    problem = read_problem(table, target, console, drop=drop, keep=keep, gap=gap, task=task)
    with console.progress(None, "growing members"):
        found = selected_columns(
            problem, n_pairs=pairs, n_resamples=resamples, seed=seed, level=level
        )
    _show(console, problem, found)


def selected_columns(
    problem: Any, *, n_pairs: int, n_resamples: int, seed: int, level: float = 0.05
) -> dict[str, Any]:
    """Return the columns that matter, the fewest, their twins, and pairs that members keep.

    They are ordered by the importance that `covey fit` reports.
    """
    import numpy as np

    from covey import SubsetEnsembleClassifier, SubsetEnsembleRegressor, SubsetSelector
    from covey.cli._fitting import PreparedRows, flock
    from covey.selection import GROWTH

    prepared = PreparedRows(problem, np.arange(len(problem.y)), seed)
    kind = SubsetEnsembleRegressor if problem.regression else SubsetEnsembleClassifier
    how = dict[str, Any](select="smallest", level=level, n_resamples=n_resamples)
    how |= {"categorical_features": problem.kinds, "random_state": seed}
    selector = SubsetSelector(kind(1, **GROWTH), **how)
    selector.fit(prepared.table, problem.y)
    names = list(problem.kinds)
    model = prepared.fit(flock(problem, seed=seed))
    columns = [
        {
            "column": name,
            "counts": counts,
            "selected": bool(selector.support_all_[place]),
            "needed": bool(selector.support_smallest_[place]),
            "p": float(selector.pvalues_[place]),
            "score": float(selector.scores_[place]),
            "frequency": float(selector.selection_frequency_[place]),
            "low": float(selector.frequency_interval_[place, 0]),
            "high": float(selector.frequency_interval_[place, 1]),
        }
        for place, (name, counts) in enumerate(
            zip(names, model.importance_.share.tolist(), strict=True)
        )
    ]
    columns.sort(key=lambda one: (-one["counts"], -one["score"], -one["frequency"]))
    together = selector.co_selection_
    first, second = np.triu_indices(len(names), 1)
    order = np.argsort(-together[first, second], kind="stable")[:n_pairs]
    pairs = [
        {
            "columns": [names[first[pair]], names[second[pair]]],
            "frequency": float(together[first[pair], second[pair]]),
        }
        for pair in order
    ]
    stability = float(selector.stability_)
    return {
        "columns": columns,
        "smallest": [
            names[place]
            for place in np.argsort(selector.ranking_, kind="stable")
            if selector.support_smallest_[place]
        ],
        "twins": [list(group) for group in selector.twins_],
        "pairs": pairs,
        "stability": None if np.isnan(stability) else stability,
    }


def _show(console: Console, problem: Any, found: dict[str, Any]) -> None:
    columns = found["columns"]
    chosen = sum(one["selected"] for one in columns)
    console.result(
        f"{chosen} of {len(columns)} columns carry something about {problem.target}:", ""
    )
    console.table(
        ("column", "counts", "carries something", "suffices", "by chance", "kept by members"),
        [
            (
                one["column"],
                rough(one["counts"]),
                "yes" if one["selected"] else "",
                "yes" if one["needed"] else "",
                f"p = {one['p']:.2g}" if one["p"] > 0 else f"p = 1e-{one['score']:.0f}",
                f"{100 * one['frequency']:.0f} %",
            )
            for one in columns
        ],
    )
    if found["smallest"]:
        console.result("", f"Together these suffice: {', '.join(found['smallest'])}.")
    for first, *others in found["twins"]:
        console.result(f"Instead of {first}: {' or '.join(others)}.")
    if found["pairs"]:
        console.result("", "Kept together most often:", "")
        console.table(
            ("pair", "members"),
            [
                (" + ".join(pair["columns"]), f"{100 * pair['frequency']:.0f} %")
                for pair in found["pairs"]
            ],
        )
    if found["stability"] is not None:
        console.result(
            "", f"Stability {found['stability']:.2f}: 1 if all halves agree, 0 as chance would."
        )
    console.emit(target=problem.target, rows=len(problem.y), **found)
