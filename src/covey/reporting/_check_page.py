"""One self-contained page about a check of a model on new rows."""

from __future__ import annotations

from covey import __version__
from covey._number_words import cell, percent
from covey._templates import Markup, environment
from covey.evaluation import Check
from covey.reporting._drawing import Bar, Dot, bars, dot_plot
from covey.reporting._report import Report

# How many columns that have changed are drawn, and how many bars of anything.
_MOST_DRAWN, _MOST_BARS = 12, 24


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
    changed = changed[:_MOST_DRAWN]
    outlook: Markup | None = None
    if found.task == "classes" and found.before is not None:
        kinds = {"limit": found.before, "own": found.expected, "other": found.measured}
        names = "held out at the fit", "expected", "measured"
        both = zip(names, kinds.items(), strict=True)
        dots = [Dot(name, *one, kind) for name, (kind, one) in both if one is not None]
        outlook = dot_plot("outlook", dots, title="How often it is right")
    shares = [(one.sentence, one.parts) for one in changed]
    shares += [("Who decides", found.members), ("What is predicted", found.classes)]
    drawn = {}
    for place, (heading, parts) in enumerate(shares):
        items = [Bar(str(one.name), one.now, f"at the fit {percent(one.then)}") for one in parts]
        key, title = f"shares{place}", "Shares now, and at the fit"
        drawing = bars(key, items[:_MOST_BARS], show=percent, title=title)
        drawn[heading] = drawing if items else None
    lead, *rest = found.sentences or ["Nothing is known."]
    page = environment("covey.reporting").get_template("check.html")
    return Report(
        page.render(
            title=title or "A check on new rows",
            lead=lead,
            rest=[one for one in rest if one.removesuffix(".") not in drawn],
            found=found,
            percent=percent,
            cell=cell,
            outlook=outlook,
            drawn=list(drawn.items()),
            n_columns=len(changed),
            version=__version__,
        )
    )
