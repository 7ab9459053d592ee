"""The page: sections of text, tables and figures, written as Markdown and as one HTML file."""

import html
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Text:
    """A paragraph; `code` and **strong** are marked as in Markdown."""

    text: str


@dataclass(frozen=True)
class Points:
    """A list."""

    items: list


@dataclass(frozen=True)
class Table:
    """A table; the first column is text, the others are numbers unless ``text_columns``."""

    header: list
    rows: list
    caption: str
    text_columns: tuple = (0,)


@dataclass(frozen=True)
class Figure:
    """A figure by the name of its file, without an ending."""

    name: str
    caption: str


@dataclass(frozen=True)
class Section:
    """A heading, its anchor, and what stands below it."""

    title: str
    anchor: str
    blocks: list


TITLE = "The paper, reproduced"
LEAD = (
    "Gupta, Audhkhasi and Narayanan, *Training ensemble of diverse classifiers on feature "
    "subsets*: every figure, table and claim, made again by covey."
)


def markdown(sections, made):
    """The page as Markdown; figures are files beside it."""
    parts = [f"# {TITLE}", LEAD]
    for section in [*sections, made]:
        parts.append(f"## {section.title}")
        parts += [_markdown_block(block) for block in section.blocks]
    return "\n\n".join(parts) + "\n"


def _markdown_block(block):
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Points):
        return "\n".join(f"- {item}" for item in block.items)
    if isinstance(block, Figure):
        return f"![{block.caption}]({block.name}.svg)\n\n*{block.caption}*"
    marks = [" --- " if n in block.text_columns else " ---: " for n in range(len(block.header))]
    lines = ["| " + " | ".join(block.header) + " |", "|" + "|".join(marks) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in block.rows]
    return "\n".join(lines) + f"\n\n*{block.caption}*"


_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 "Source Sans 3", "Segoe UI", "Helvetica Neue", Arial, sans-serif;
  color: #22272e; background: #fff; margin: 0; }
main { max-width: 68rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.35rem; margin: 2.8rem 0 .6rem; padding-top: .8rem;
  border-top: 1px solid #d5dae0; }
p, li { max-width: 46rem; }
.lead { font-size: 1.1rem; color: #4a535e; }
nav { margin: 1.2rem 0 0; font-size: .95rem; }
nav a { margin-right: 1rem; white-space: nowrap; }
a { color: #0072B2; }
.wide { overflow-x: auto; margin: 1.1rem 0; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { caption-side: bottom; text-align: left; color: #4a535e; padding-top: .5rem;
  font-size: .88rem; }
th, td { padding: .32rem .7rem; text-align: right; vertical-align: top; }
th { border-bottom: 1.5px solid #22272e; font-weight: 600; vertical-align: bottom; }
td { border-bottom: 1px solid #e9edf2; }
td { white-space: nowrap; }
th.text, td.text { text-align: left; white-space: normal; }
tr:last-child td { border-bottom: 1.5px solid #22272e; }
figure { margin: 1.3rem 0; }
figure svg { width: 100%; height: auto; }
figcaption { color: #4a535e; font-size: .88rem; }
code { font: .88em ui-monospace, Menlo, Consolas, monospace; background: #f3f5f8;
  padding: .1em .3em; border-radius: 3px; overflow-wrap: anywhere; }
@media print { main { max-width: none; } h2 { break-after: avoid; } figure, table {
  break-inside: avoid; } }
"""


def page(sections, made, svgs):
    """The page as one HTML file that needs nothing else.

    Parameters
    ----------
    sections : list of Section
    made : Section
        How it was made.
    svgs : dict of str
        The figures by name.
    """
    links = "".join(
        f'<a href="#{section.anchor}">{html.escape(section.title.split(":")[0])}</a>'
        for section in [*sections, made]
    )
    body = []
    for section in [*sections, made]:
        body.append(f'<h2 id="{section.anchor}">{html.escape(section.title)}</h2>')
        body += [_html_block(block, svgs) for block in section.blocks]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{TITLE}</title><style>{_STYLE}</style></head>\n<body><main>"
        f'<h1>{TITLE}</h1><p class="lead">{_inline(LEAD)}</p><nav>{links}</nav>\n'
        + "\n".join(body)
        + "\n</main></body></html>\n"
    )


def _html_block(block, svgs):
    if isinstance(block, Text):
        return f"<p>{_inline(block.text)}</p>"
    if isinstance(block, Points):
        return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in block.items) + "</ul>"
    if isinstance(block, Figure):
        svg = _of_its_own(svgs[block.name][svgs[block.name].index("<svg") :], block.name)
        svg = svg.replace("<svg", f'<svg role="img" aria-label="{html.escape(block.caption)}"', 1)
        return f"<figure>{svg}<figcaption>{_inline(block.caption)}</figcaption></figure>"
    marks = [' class="text"' if n in block.text_columns else "" for n in range(len(block.header))]
    head = "".join(
        f"<th{mark}>{_inline(cell)}</th>" for mark, cell in zip(marks, block.header, strict=True)
    )
    rows = "".join(
        "<tr>"
        + "".join(f"<td{mark}>{_inline(cell)}</td>" for mark, cell in zip(marks, row, strict=True))
        + "</tr>\n"
        for row in block.rows
    )
    return (
        f'<div class="wide"><table><caption>{_inline(block.caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _of_its_own(svg, name):
    """Names inside a figure, prefixed: several figures share one page."""
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'(xlink:href|href)="#', rf'\1="#{name}-', svg)
    return re.sub(r"url\(#", f"url(#{name}-", svg)


def _inline(text):
    """Escaped, with `code`, **strong** and *emphasis*."""
    text = html.escape(text, quote=False)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
    return re.sub(r"\*([^*]+)\*", r"<em>\1</em>", text)
