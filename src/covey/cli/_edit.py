"""``covey edit``."""

from __future__ import annotations

import csv
from dataclasses import replace
from typing import Annotated, Any

from covey.cli import _options as options
from covey.cli._console import CommandError, Console

EXAMPLE = (
    *options.FITTED,
    "covey edit flock.covey --drop proline --table wine.csv --out better.covey",
)


PRICED_ON = options.option(
    "Rows that the model was not fitted on, with their true values, to measure the price.",
    metavar="TABLE",
)
_DROP = options.option("Predict without a column; repeatable.", metavar="COLUMN")
_MERGE = options.option(
    "Categories that count as the last of them from now on, as job=maid,cook "
    'or town="Paris, south",Rome; repeatable.',
    metavar="COLUMN=VALUES",
)
_EFFECT = options.option(
    "Points of the effect of a column, as age=20:-0.1,60:0.3, or a table of values and effects, "
    "as age=points.csv; repeatable.",
    metavar="COLUMN=POINTS",
)
_CLASS = options.option(
    "The class whose probability --effect moves; by default the second of two.",
    "--class",
    metavar="NAME",
)
_REFIT = options.option(
    "Fit the members again, to three quarters of the rows of --table, before --effect.",
    "--refit",
)
_RISING, _FALLING = (
    options.option(
        f"With --refit: a column with which the prediction never {way}; repeatable.",
        metavar="COLUMN",
    )
    for way in ("falls", "rises")
)
_WAYS, _POINTS = {1: "rising", -1: "falling"}, "age=20:-0.1,60:0.3"
# The share of the rows on which the price of a refit is measured.
_HELD_OUT = 4


def edit(
    model: options.Model,
    out: Annotated[str, options.option("Where to save it.", metavar="FILE.covey")],
    table: Annotated[str | None, PRICED_ON] = None,
    sheet: options.Sheet = None,
    drop: Annotated[list[str] | None, _DROP] = None,
    rising: Annotated[list[str] | None, _RISING] = None,
    falling: Annotated[list[str] | None, _FALLING] = None,
    merge: Annotated[list[str] | None, _MERGE] = None,
    effect: Annotated[list[str] | None, _EFFECT] = None,
    label: Annotated[str | None, _CLASS] = None,
    refit: Annotated[bool, _REFIT] = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Correct a model: leave columns out, merge categories, change effects; save a new one.

    Without --refit nothing is fitted again: a column that is left out counts as its typical value,
    and the price is measured on the rows of --table. With it, the members are fitted again to
    three quarters of these rows, and the price is measured on the others. The file says what was
    done, and at what price.
    """
    import numpy as np

    from covey.cli import _models as models
    from covey.cli._explain import _wanted
    from covey.cli._fitting import checked_constraints
    from covey.cli._writing import check_writable
    from covey.members._constraints import constraints_in_words
    from covey.tables._known_columns import formats_of, table_for

    console, table = Console(quiet, as_json), table and options.part_of(table, sheet)
    check_writable(out, (".covey",), inputs=[one for one in (model, table) if one])
    monotone = checked_constraints(rising, falling, None).get("monotone", {})
    if not (drop or merge or effect or monotone):
        raise CommandError("give --drop, --merge, --effect, --rising or --falling.")
    if refit and (table is None or len(merge or ()) > 1):
        raise CommandError("--refit takes rows (--table), and one --merge at most.")
    if monotone and not refit:
        raise CommandError("--rising and --falling fit the members again: give --refit, too.")
    fitted = models.load_model(model)
    columns = fitted.feature_names_in_.tolist()
    changes: list[tuple[str, str, Any]] = [
        ("drop", one, None) for one in dict.fromkeys(drop or ())
    ]
    changes += [(_WAYS[way], name, way) for name, way in monotone.items()]
    for option, texts, example in (("merge", merge, "job=maid,cook"), ("effect", effect, _POINTS)):
        for text in texts or ():
            # A name may hold "=", and so may a category.
            starts = [name for name in columns if text.startswith(f"{name}=")]
            name = max(starts, key=len, default=text.partition("=")[0])
            if not (rest := text[len(name) + 1 :]):
                raise CommandError(f"--{option}: {text!r} is none; give it as {example}.")
            changes.append((option, name, rest))
    for option, name, _ in changes:
        if name not in columns:
            raise CommandError(f"--{option}: the model has no column {name!r}.")
    target = getattr(getattr(fitted, "evaluation_", None), "target", "")
    wanted, rows, again = _wanted(fitted, label, "--class"), None, ()
    held_out, caution = priced_on(fitted, table, console)
    if held_out is not None:
        rows, truth = held_out
        if refit:
            order = np.random.default_rng(0).permutation(len(rows))
            parts = np.split(order, [len(rows) // _HELD_OUT])
            held_out, again = ((rows.iloc[part], truth[part]) for part in parts)
            told = f"The model is fitted again to {len(parts[1]):,} rows of {len(rows):,}"
            console.note(f"{told}, and measured on the others.")
    made = fitted
    try:
        for option, name, given in changes:
            about = {"held_out": held_out and (table_for(made, held_out[0]), held_out[1])}
            if option == "drop":
                made = made.without(name, *again, **about)
            elif option == "merge":
                (words,) = csv.reader([given])
                made = made.merge_categories(name, words, words[-1], *again, **about)
            elif option == "effect":
                made = made.with_effect(name, _points(given), label=wanted, **about)
            else:
                made = made.with_monotone(name, given, *again, **about)
    except (TypeError, ValueError) as error:
        raise CommandError(str(error)) from None
    known = made.model_.table.with_formats(formats_of(fitted))
    made.model_ = replace(made.model_, table=known)
    done = made.corrections_[-len(changes) :]
    for one in done:
        console.result(str(one))
    for kept in constraints_in_words(made, target or "y"):
        console.note(f"Constraints: {kept}.")
    if caution is not None and not refit and hasattr(made, "evaluation_"):
        made.evaluation_ = replace(made.evaluation_, caution=caution)
    models.save_model(made, out, known.remembered(typical=True) if rows is None else rows)
    console.result(f"Saved {out}.")
    console.emit(out=out, corrections=done)


def priced_on(fitted: Any, table: str | None, console: Console) -> tuple[Any, str | None]:
    """Return the rows of a table with their true values, to measure a price; and a caution."""
    from covey.cli._report import true_rows

    if table is None:
        return None, None
    target = getattr(getattr(fitted, "evaluation_", None), "target", "")
    if not target:
        told = "the model's file does not say which column has the true values"
        raise CommandError(f"--table: {told}; covey fit makes files that do.")
    _, rows, truth, caution = true_rows(fitted, table, target, console)
    if caution is not None:
        caution = f"{caution.partition(':')[0]}: the price is not that on new rows."
        console.note(caution)
    return (rows, truth), caution


def _points(text: str) -> Any:
    """Return values and effects, which are given by themselves or in a file."""
    from covey.cli._reading import read_table

    if not text.lower().endswith(".csv"):
        return [one.rpartition(":")[::2] for one in next(csv.reader([text]))]
    frame = read_table(text)
    if frame.shape[1] != 2:
        raise CommandError(f"--effect: {text} must have two columns, values and effects.")
    return frame.to_numpy().tolist()
