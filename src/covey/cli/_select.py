"""``covey select``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from covey.cli import _options as options
from covey.cli._console import Console

EXAMPLE = ("covey demo --table wine.csv", "covey select wine.csv --target cultivar")


def select(
    table: options.Table,
    target: options.Target,
    pairs: Annotated[int, typer.Option(min=0, help="How many pairs of columns to show.")] = 5,
    resamples: Annotated[
        int, typer.Option(min=2, help="On how many halves of the rows members are grown.")
    ] = 30,
    drop: options.Drop = None,
    keep: options.Keep = None,
    task: options.Task = "auto",
    seed: options.Seed = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Show which columns matter for a target, which pairs go together, and how sure that is.

    Members are grown on many halves of the rows. A column is selected when they keep it more
    often than columns are kept whose rows were shuffled.
    """
    from covey.cli._problem import read_problem

    console = Console(quiet, as_json)
    problem = read_problem(table, target, console, drop=drop, keep=keep, task=task)
    with console.progress(None, "growing members"):
        found = selected_columns(problem, n_pairs=pairs, n_resamples=resamples, seed=seed)
    _show(console, problem, found)


def selected_columns(problem: Any, *, n_pairs: int, n_resamples: int, seed: int) -> dict[str, Any]:
    """Which of a table's columns members keep, which pairs, and the stability of that."""
    import numpy as np

    from covey import SubsetEnsembleClassifier, SubsetEnsembleRegressor, SubsetSelector
    from covey.tables import TablePreparation

    preparation = TablePreparation(columns=problem.kinds, random_state=seed)
    numbers = preparation.fit_transform(problem.table)
    groups = {name: made for name, made in preparation.groups().items() if len(made) > 1}
    kind = SubsetEnsembleRegressor if problem.regression else SubsetEnsembleClassifier
    # As the selector does by default, with columns that are flipped together.
    grower = kind(
        1,
        flip_probability=0.05,
        tol=-np.inf,
        max_iter=150,
        subset_penalty=0.003,
        feature_groups=groups or None,
    )
    selector = SubsetSelector(grower, n_resamples=n_resamples, random_state=seed)
    selector.fit(numbers, problem.y)
    # What is made of one column flips together, but for parts that are constant and in no
    # subset: the part kept most stands for it.
    of = np.array(preparation.column_of_)
    names = list(dict.fromkeys(preparation.column_of_))
    frequency = selector.selection_frequency_
    chief = [int(np.flatnonzero(of == name)[np.argmax(frequency[of == name])]) for name in names]
    columns = [
        {
            "column": name,
            "selected": bool(selector.support_[of == name].any()),
            "frequency": float(frequency[part]),
            "low": float(selector.frequency_interval_[part, 0]),
            "high": float(selector.frequency_interval_[part, 1]),
            "chance": float(selector.null_probability_[of == name].min()),
        }
        for name, part in zip(names, chief, strict=True)
    ]
    columns.sort(key=lambda one: (-one["frequency"], one["chance"]))
    together = selector.co_selection_[np.ix_(chief, chief)]
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
        "pairs": pairs,
        "stability": None if np.isnan(stability) else stability,
    }


def _show(console: Console, problem: Any, found: dict[str, Any]) -> None:
    columns = found["columns"]
    chosen = sum(one["selected"] for one in columns)
    console.result(f"{chosen} of {len(columns)} columns stand out for {problem.target}:", "")
    console.table(
        ("column", "selected", "kept by members", "95 % interval", "by chance"),
        [
            (
                one["column"],
                "yes" if one["selected"] else "",
                f"{100 * one['frequency']:.0f} %",
                f"{100 * one['low']:.0f} to {100 * one['high']:.0f}",
                f"p = {one['chance']:.2g}",
            )
            for one in columns
        ],
    )
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
