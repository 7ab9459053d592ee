"""The table of results: one line for each comparison."""

import csv

import timing

FIELDS = (
    "size",  # quick or full
    "item",
    "problem",
    "ours",
    "other",
    "threads",  # those that both were given; "best": each the fastest of several settings
    "ratio",  # ours / other
    "target",  # what the ratio may be at most
    "holds",
    "our_cost",
    "other_cost",
    "unit",
    "our_accuracy",
    "other_accuracy",
    "our_setting",
    "other_setting",
    "rounds",
    "machine",
)
# What says which comparison a line is about.
KEY = ("size", "item", "problem", "ours", "other", "threads")


def line(item, problem, ours, other="", *, threads="best", target=None, needs=None, **values):
    """A line of the table.

    Parameters
    ----------
    needs : "accuracy", optional
        Whether the target only holds where our accuracy is not lower.
    **values
        More fields. The ratio is that of the costs, unless given.
    """
    values.setdefault("unit", "s")
    if values.get("our_cost") is not None and values.get("other_cost"):
        values.setdefault("ratio", values["our_cost"] / values["other_cost"])
    holds = ""
    if target is not None:
        reached = values["ratio"] <= target
        if needs == "accuracy":
            reached = reached and values["our_accuracy"] >= values["other_accuracy"]
        holds = "yes" if reached else "no"
    return {
        "item": item,
        "problem": problem,
        "ours": ours,
        "other": other,
        "threads": threads,
        "target": target,
        "holds": holds,
        **values,
    }


def compared(item, problem, timings, ours, other, scores=None, **values):
    """The line of two entries of a race."""
    scores = scores or {}
    return line(
        item,
        problem,
        ours,
        other,
        our_cost=timings[ours].seconds,
        other_cost=timings[other].seconds,
        our_accuracy=scores.get(ours),
        other_accuracy=scores.get(other),
        our_setting=timings[ours].setting,
        other_setting=timings[other].setting,
        rounds=timings[ours].rounds,
        **values,
    )


def shown(row):
    """A line for the eye."""

    def number(name):
        value = row.get(name)
        return "" if value in (None, "") else f"{float(value):.4g}"

    text = f"{row['problem']}: {row['ours']}"
    if row["other"]:
        text += f" / {row['other']}"
    if number("ratio"):
        text += f" = {number('ratio')}"
    if number("target"):
        text += f" (at most {number('target')}: {row['holds']})"
    costs = " / ".join(filter(None, (number("our_cost"), number("other_cost"))))
    text += f"; {costs} {row['unit']}" if costs else ""
    if number("our_accuracy"):
        text += f"; accuracy {number('our_accuracy')} / {number('other_accuracy')}"
    return f"{text}; threads {row['threads']}"


def read(path):
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def replace(path, item, size, rows):
    """Put these lines in the place of the earlier ones of the item."""
    kept = [row for row in read(path) if row["item"] != item]
    for row in rows:
        row.update(size=size, machine=timing.machine())
        kept.append({name: _text(row.get(name)) for name in FIELDS})
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)


def _text(value):
    if value is None:
        return ""
    return f"{value:.5g}" if isinstance(value, float) else str(value)
