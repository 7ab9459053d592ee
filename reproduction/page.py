"""The page: sections written in Markdown, and from it one HTML file."""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup

TITLE = "The paper, reproduced"
LEAD = (
    "Gupta, Audhkhasi and Narayanan, *Training ensemble of diverse classifiers on feature "
    "subsets*: every figure, table and claim, made again by covey."
)


class Section(NamedTuple):
    """A heading, its anchor, and the Markdown below it."""

    title: str
    anchor: str
    text: str


@lru_cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        # Markdown is escaped when it becomes HTML.
        autoescape=lambda name: not name.endswith(".md"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def filled(title: str, anchor: str, **context: Any) -> Section:
    """The section that the template ``templates/sections/ANCHOR.md`` makes of the context."""
    template = _templates().get_template(f"sections/{anchor}.md")
    text = template.render(table=table, figure=figure, points=points, **context)
    # What a template leaves out, leaves no gap.
    return Section(title, anchor, re.sub(r"\n{3,}", "\n\n", text.strip()))


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    caption: str,
    text_columns: Collection[int] = (0,),
) -> str:
    """A table; columns are numbers, except those of text."""
    marks = [" --- " if n in text_columns else " ---: " for n in range(len(header))]
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join(marks) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + f"\n\n*{caption}*"


def figure(name: str, caption: str) -> str:
    """A figure by the name of its file, without an ending."""
    return f"![{caption}]({name}.svg)\n\n*{caption}*"


def points(items: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {item}" for item in items)


def markdown(sections: list[Section]) -> str:
    """The page as Markdown; figures are files beside it."""
    parts = [f"# {TITLE}", LEAD]
    for one in sections:
        parts += [f"## {one.title}", one.text]
    return "\n\n".join(parts) + "\n"


def page(sections: list[Section], svgs: dict[str, str]) -> str:
    """The page as one HTML file that needs nothing else; figures by their names."""
    return (
        _templates()
        .get_template("reproduction.html")
        .render(
            title=TITLE,
            lead=_html(LEAD, svgs),
            sections=[{**one._asdict(), "html": _html(one.text, svgs)} for one in sections],
        )
    )


def _html(text: str, svgs: dict[str, str]) -> Markup:
    """Markdown as HTML, with captions inside tables and figures inside the page."""
    from markdown_it import MarkdownIt

    html = MarkdownIt("js-default").render(text)
    html = html.replace(' style="text-align:right"', ' class="num"')
    html = re.sub(
        r"<table>(.*?</table>)\n<p><em>(.*?)</em></p>",
        r'<div class="wide"><table><caption>\2</caption>\1</div>',
        html,
        flags=re.DOTALL,
    )

    def drawn(match: re.Match[str]) -> str:
        name, alternative, caption = match.groups()
        svg = _inline_svg(svgs[name], name, alternative)
        return f"<figure>{svg}<figcaption>{caption}</figcaption></figure>"

    shown = r'<p><img src="(\w+)\.svg" alt="([^"]*)"></p>\n<p><em>(.*?)</em></p>'
    return Markup(re.sub(shown, drawn, html))


def _inline_svg(svg: str, name: str, alternative: str) -> str:
    """A drawing whose own names are prefixed, since several figures share one page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(xlink:href|href)="#', rf'\1="#{name}-', svg)
    svg = re.sub(r"url\(#", f"url(#{name}-", svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{alternative}"', 1)


# Okabe and Ito's colors, which color-blind readers can tell apart.
COLORS = {
    "baseline": "#22272e",
    "theta": "#D55E00",
    "both": "#0072B2",
    "logistic": "#009E73",
    "covey": "#AA4499",
}
INK, GREY = "#22272e", "#7a8490"

_SETTINGS = {
    "svg.hashsalt": "covey",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
}


def panels(rows: int, columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    """A figure and its axes, without the frames that show nothing."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_SETTINGS):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=rows == 1 or columns == 1)
    for ax in axes.ravel():
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def band(
    ax: Any,
    x: Any,
    intervals: Any,
    color: str,
    label: str | None = None,
    shade: float = 0.18,
    **line: Any,
) -> None:
    """A line through means, with their intervals as a band."""
    low, high = [one.low for one in intervals], [one.high for one in intervals]
    ax.fill_between(x, low, high, color=color, alpha=shade, linewidth=0)
    line = {"marker": "o", "ms": 3.5, "lw": 1.6, **line}
    ax.plot(x, [one.mean for one in intervals], color=color, label=label, **line)


def rendered(figure: Any) -> tuple[str, bytes]:
    """The figure as SVG text and as PNG bytes, free of dates and versions."""
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        svg, png = io.BytesIO(), io.BytesIO()
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
        figure.set_layout_engine("none")  # what it found stays
        figure.savefig(png, format="png", dpi=150, metadata={"Software": None})
    return svg.getvalue().decode(), png.getvalue()
