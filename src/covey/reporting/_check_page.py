"""One self-contained page about a check of a model on new rows."""

from __future__ import annotations

from covey import __version__
from covey._number_words import cell, percent
from covey._templates import Markup, environment
from covey.evaluation import Check
from covey.evaluation._check_record import CheckedColumn, Shift
from covey.reporting._drawing import Bar, Dot, bars, box, dot_plot, line, svg
from covey.reporting._report import Report
from covey.reporting._words import described

# How many columns that have changed are drawn.
_MOST_DRAWN = 12
_MOST_BARS = 12


def build_check_page(found: Check, *, title: str = "") -> Report:
    """Build a page that shows what has changed since a model was fitted.

    Parameters
    ----------
    found : Check
        A result of `covey.check`.
    title : str, default=""

    Returns
    -------
    page : Report
        Shows itself in a notebook; ``page.save(path)`` writes it.

    Examples
    --------
    >>> from covey.evaluation import Check
    >>> from covey.reporting import build_check_page
    >>> page = build_check_page(Check("classes", n_rows=40, sentences=["Nothing has changed."]))
    >>> "Nothing has changed" in page.html
    True
    """
    changed = [one for one in found.columns if one.state == "changed"]
    changed.sort(key=lambda one: (-(one.share or 0.0), -one.distance))
    lead, *rest = found.sentences or ["Nothing is known."]
    drawn = [one for one in changed if one.now][:_MOST_DRAWN]
    below = {f"{one.sentence}." for one in drawn}  # beside their drawings
    return Report(
        environment("covey.reporting")
        .get_template("check.html")
        .render(
            title=title or "A check on new rows",
            lead=lead,
            rest=[sentence for sentence in rest if sentence not in below],
            found=found,
            percent=percent,
            cell=cell,
            outlook=_outlook(found),
            drawn=[(one, _then_and_now(f"column{place}", one)) for place, one in enumerate(drawn)],
            decisions=[
                (heading, drawing)
                for heading, drawing in (
                    ("Who decides", _shifts("members", found.members)),
                    ("What is predicted", _shifts("classes", found.classes)),
                )
                if drawing is not None
            ],
            version=__version__,
        )
    )


def _outlook(found: Check) -> Markup | None:
    """Draw the share that is right: before, expected and measured."""
    if found.task != "classes":
        return None
    kinds = ("held out at the fit", found.before, "limit"), ("expected", found.expected, "own")
    dots = [
        Dot(name, one.value, one.low, one.high, kind)
        for name, one, kind in (*kinds, ("measured", found.measured, "other"))
        if one is not None
    ]
    return dot_plot("outlook", dots, title="How often it is right") if dots else None


def _shifts(key: str, shifts: list[Shift]) -> Markup | None:
    if not shifts:
        return None
    most = sorted(shifts, key=lambda one: -max(one.now, one.then))[:_MOST_BARS]
    items = [Bar(str(one.name), one.now, f"at the fit {percent(one.then)}") for one in most]
    return bars(key, items, show=percent, title="Shares now, and at the fit")


def _then_and_now(key: str, one: CheckedColumn) -> Markup:
    """Draw the shares of rows in the same bins, at the fit (wide) and now (narrow)."""
    width, tall = 464, 90
    each, most = width / len(one.now), max(*one.then, *one.now, 1e-9)
    parts = []
    for place, (then, now) in enumerate(zip(one.then, one.now, strict=True)):
        left, tip = each * place, f"at the fit {percent(then)}, now {percent(now)}"
        for share, kind, inset in ((then, "bar faint", 0.04), (now, "bar", 0.28)):
            height, space = tall * share / most, each * inset
            parts.append(box(left + space, tall - height, each - 2 * space, height, kind, tip))
    parts.append(line(0, tall, width, tall, "rule"))
    told = described(
        (f"part {place + 1}", f"{percent(then)} at the fit, {percent(now)} now")
        for place, (then, now) in enumerate(zip(one.then, one.now, strict=True))
    )
    return svg(key, width, tall + 2, *parts, title=f"{one.name}, then and now", description=told)
