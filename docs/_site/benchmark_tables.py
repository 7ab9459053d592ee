"""Puts tables of the benchmark reports into pages, so that no figure is copied by hand.

A page names the report, and if need be the heading above the table, columns and rows::

    ```{benchmark-table} scale
    :heading: 100000x30x2
    :columns: method; fit, s; log-loss
    :rows: covey; LightGBM
    ```
"""

from __future__ import annotations

import re

from _site.staging import ROOT

BLOCK = re.compile(r"^```\{benchmark-table\} (\w+)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"^:(\w+): (.*)$", re.MULTILINE)


def table(report: str, heading: str | None = None) -> list[list[str]]:
    """The first table of a report, or the first below a heading: rows of cells, header first."""
    path = ROOT / "benchmarks" / report / "report.md"
    text = path.read_text(encoding="utf-8")
    if heading is not None:
        parts = re.split(rf"^#+ {re.escape(heading)}.*$", text, maxsplit=1, flags=re.MULTILINE)
        if len(parts) < 2:
            raise ValueError(f"benchmarks/{report}/report.md has no heading {heading!r}.")
        text = parts[1]
    found = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"benchmarks/{report}/report.md has no table there.")
    lines = (line.strip()[1:-1] for line in found[0].splitlines())
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    return [row for row in rows if not re.fullmatch(r"[-: ]+", "".join(row))]


def chosen(report: str, heading=None, columns=None, rows=None) -> str:
    """That table in Markdown, with the columns and rows that are wanted, in that order."""
    header, *body = table(report, heading)
    wanted = _listed(columns) or header
    missing = [name for name in wanted if name not in header]
    by_name = {row[0]: row for row in body}
    missing += [name for name in _listed(rows) or () if name not in by_name]
    if missing:
        raise ValueError(f"benchmarks/{report}/report.md has no {missing[0]!r} in its table.")
    kept = [by_name[name] for name in _listed(rows)] if rows else body
    at = [header.index(name) for name in wanted]
    lines = [wanted, ["---"] * len(wanted), *([row[k] for k in at] for row in kept)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _listed(names: str | None) -> list[str] | None:
    return [name.strip() for name in names.split(";")] if names else None


def filled(text: str) -> str:
    """A page with its benchmark tables in place."""
    return BLOCK.sub(lambda block: chosen(block[1], **dict(OPTION.findall(block[2]))), text)
