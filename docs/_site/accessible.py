"""Mends markup of Sphinx and its extensions that readers of a screen would stumble over."""

from __future__ import annotations

import re

SIGNATURE = re.compile(r'<dt class="sig sig-object.*?</dt>', re.DOTALL)
THUMBNAIL = re.compile(
    r'<a class="reference internal" (href="[^"]*")>(<span class="[^"]*">([^<]*)</span></a></p>\s*'
    r'<div class="sphx-glr-thumbnail-title">)'
)


def mended(body: str) -> str:
    """A page's body: lists that hold what lists may hold, and links that have a name."""
    # Parameters of a long signature are a list of definitions without terms.
    body = SIGNATURE.sub(lambda found: _without_definitions(found[0]), body)
    # References are no items of a list.
    for kind in ("citation", "footnote"):
        body = body.replace(f'<div role="list" class="{kind}-list">', f'<div class="{kind}-list">')
    # The text of a thumbnail's link is hidden.
    return THUMBNAIL.sub(r'<a class="reference internal" \1 aria-label="\3">\2', body)


def _without_definitions(signature: str) -> str:
    for tag, kind in (("dl", "sig-params"), ("dd", "sig-line")):
        signature = signature.replace(f"<{tag}>", f'<span class="{kind}">')
        signature = signature.replace(f"</{tag}>", "</span>")
    return signature


def _mend(app, pagename, templatename, context, doctree) -> None:
    if "body" in context:
        context["body"] = mended(context["body"])


def setup(app):
    app.connect("html-page-context", _mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
