"""Formulas as MathML, which browsers draw themselves: no script, no fonts from elsewhere."""

from __future__ import annotations

import re

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def _markup(tex: str, block: bool) -> str:
    # MathML lets brackets grow by themselves.
    return tex2mathml(re.sub(r"\\[bB]igg?[lr]?(?![a-z])", "", tex), as_block=block)


def inline(writer, node: nodes.math) -> None:
    writer.body.append(_markup(node.astext(), block=False))
    raise nodes.SkipNode


def block(writer, node: nodes.math_block) -> None:
    number = node.get("number")
    label = f'<span class="equation-number">({number})</span>' if number else ""
    where = f' id="{node["ids"][0]}"' if node.get("ids") else ""
    formula = _markup(node.astext(), block=True)
    writer.body.append(
        f'<div class="equation"{where}><div class="equation-body" tabindex="0">{formula}</div>'
        f"{label}</div>\n"
    )
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer(
        "mathml", inline_renderers=(inline, None), block_renderers=(block, None)
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
