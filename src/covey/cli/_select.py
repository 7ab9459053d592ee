"""``covey select``."""

from typing import Annotated

import typer

from covey.cli import _options as options
from covey.cli._console import CommandError, Console, guarded

_EXAMPLE = options.example(
    "covey demo --table wine.csv",
    "covey select wine.csv --target cultivar",
)


def add_to(app):
    """Add the command."""
    app.command(
        "select", short_help="Say which columns matter, and which pairs.", epilog=_EXAMPLE
    )(guarded(select))


def select(
    table: options.Table,
    target: options.Target,
    pairs: Annotated[int, typer.Option(min=0, help="How many pairs of columns to show.")] = 5,
    resamples: Annotated[
        int, typer.Option(min=2, help="On how many halves of the rows members are grown.")
    ] = 30,
    drop: options.Drop = None,
    keep: options.Keep = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
):
    """Say which columns matter for a target, which pairs go together, and how sure that is.

    Members are grown on many halves of the rows. A column is selected when they keep it more
    often than columns are kept whose rows were shuffled.
    """
    from covey.cli._question import ask

    console = Console(quiet, as_json)
    question = ask(table, target, console, drop=drop, keep=keep)
    if question.numbers:
        raise CommandError(
            f"--target: {target!r} is a quantity, and columns are selected for classes only; make "
            "classes of it, such as low and high.",
            1,
        )
    with console.progress(None, "growing members"):
        found = selected_columns(question, n_pairs=pairs, n_resamples=resamples, seed=seed)
    _say(console, question, found)


def selected_columns(question, *, n_pairs, n_resamples, seed):
    """Which of a table's columns members keep, and which pairs.

    Parameters
    ----------
    question : Question
    n_pairs, n_resamples, seed : int

    Returns
    -------
    found : dict
        ``columns``, ``pairs`` and ``stability``.
    """
    import numpy as np

    from covey import SubsetEnsembleClassifier, SubsetSelector
    from covey.tables import TablePreparation

    preparation = TablePreparation(columns=question.kinds, random_state=seed).fit(question.table)
    groups = {name: made for name, made in preparation.groups().items() if len(made) > 1}
    # The selector's own recipe, with columns that come and go together.
    recipe = SubsetEnsembleClassifier(
        1,
        flip_probability=0.05,
        tol=-np.inf,
        max_iter=150,
        subset_penalty=0.003,
        feature_groups=groups or None,
    )
    selector = SubsetSelector(recipe, n_resamples=n_resamples, random_state=seed)
    selector.fit(preparation.transform(question.table), question.y)
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
            "frequency": float(frequency[place]),
            "low": float(selector.frequency_interval_[place, 0]),
            "high": float(selector.frequency_interval_[place, 1]),
            "chance": float(selector.null_probability_[of == name].min()),
        }
        for name, place in zip(names, chief, strict=True)
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


def _say(console, question, found):
    columns = found["columns"]
    chosen = sum(one["selected"] for one in columns)
    console.result(f"{chosen} of {len(columns)} columns stand out for {question.target}:", "")
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
    console.emit(target=question.target, rows=len(question.y), **found)
