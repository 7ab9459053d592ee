"""What sections are made of: leads, figures, tables."""

from dataclasses import dataclass

from covey.reporting._markup import Markup, fill, joined, tag
from covey.reporting._words import count


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes
    ----------
    key : str
        Its address on the page.
    short : str
        Its name in the contents.
    title : str
    body : Markup
    """

    key: str
    short: str
    title: str
    body: Markup


@dataclass(frozen=True)
class Cell:
    """A cell of a table: what it shows, and what it is sorted by."""

    shown: object
    by: object = None


def lead(*parts):
    """What a section says in a sentence or two."""
    return tag("p", *parts, class_="lead")


def note(*parts):
    """What a reader may want to know besides."""
    return tag("p", *parts, class_="note")


def figure(drawing, caption=None, wide=False):
    """A drawing with its caption; one that is too wide for a phone scrolls by itself."""
    under = None if caption is None else tag("figcaption", caption)
    if wide:
        label = "Figure, scrolls sideways"
        drawing = tag(
            "div", drawing, class_="scroll", tabindex="0", role="group", aria_label=label
        )
    return tag("figure", drawing, under)


def beside(*parts):
    """Parts next to each other where there is room."""
    return tag("div", *parts, class_="beside")


def more(n_left, what):
    """How much is not shown; None if all is."""
    return note(fill("… and {} more {}.", count(n_left), what)) if n_left > 0 else None


def table(
    key, caption, heads, rows, *, numeric=(), most=None, what="rows", wide=False, tall=False
):
    """A table that sorts itself when a head is pressed.

    Parameters
    ----------
    key : str
        Unlike that of any other table on the page.
    caption : str
        What it shows.
    heads : list of str
    rows : list of list
        Of `Cell`, or of what to show.
    numeric : collection of int
        The columns that hold numbers.
    most : int, optional
        How many rows to show.
    what : str
        What rows are, for those that are not shown.
    wide : bool
        Whether it fills the page.
    tall : bool
        Whether it may be so long that it scrolls by itself.
    """
    shown = rows if most is None else rows[:most]
    head = joined(
        tag(
            "th",
            tag("button", name, tag("span", class_="arrow", aria_hidden="true"), type="button"),
            scope="col",
            aria_sort="none",
            class_="num" if place in numeric else None,
        )
        for place, name in enumerate(heads)
    )
    body = joined(
        tag("tr", *[_cell(cell, place, numeric) for place, cell in enumerate(row)])
        for row in shown
    )
    # A caption inside would scroll away with the table.
    label = f"{key}-caption"
    written = tag(
        "table",
        tag("thead", tag("tr", head)),
        tag("tbody", body),
        class_="sorts wide" if wide else "sorts",
        aria_labelledby=label,
    )
    box = tag(
        "div",
        written,
        class_="scroll tall" if tall else "scroll",
        tabindex="0",
        role="group",
        aria_labelledby=label,
    )
    under = tag("p", caption, id=label, class_="note")
    return joined([box, more(len(rows) - len(shown), what), under])


def _cell(cell, place, numeric):
    if not isinstance(cell, Cell):
        cell = Cell(cell)
    name, scope = ("th", "row") if place == 0 else ("td", None)
    by = None if cell.by is None else (f"{float(cell.by):.9g}" if place in numeric else cell.by)
    return tag(
        name,
        cell.shown,
        scope=scope,
        class_="num" if place in numeric else None,
        data_by=by,
    )
