"""What a report says of fits that are missing or failed."""


def not_run(column, wanted, tables, results):
    """Lines on the rivals that have no result, and on the tables that lack some and are left out.

    ``column`` says what is compared, ``rival`` or ``method``; ``wanted`` are all of them, and
    ``results`` those of the complete tables.
    """
    absent = [name for name in wanted if name not in set(results[column])]
    missing = sorted(set(tables) - set(results["problem"]))
    lines = []
    if absent:
        lines += ["", f"{column.capitalize()}s that were not run yet: {', '.join(absent)}."]
    if missing:
        lines += ["", f"Not yet run by every {column}, and left out: {', '.join(missing)}."]
    return lines


def failures(failed, described):
    """A section on fits that ended in an error; ``described`` says of a line which fit it was."""
    if failed.empty:
        return []
    listed = [f"- {described(line)}: {line['error']}" for _, line in failed.iterrows()]
    return ["", "## Failures", "", *listed]
