"""HTML from jinja2 templates, in which everything that a user wrote remains plain text.

Everything but `Markup` is escaped where it enters a page. A template that forgets this therefore
shows visible signs on the page, and never opens a security hole.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from covey._names import extra

with extra("Reports need", "cli"):
    import jinja2
    from markupsafe import Markup, escape

__all__ = ["Markup", "environment", "escaped", "printable"]
# Characters that a page must not hold: control characters, and halves of surrogate pairs.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def printable(value: Any) -> Any:
    """Return a value without characters that no page may hold; nothing for None."""
    if isinstance(value, Markup):
        return value
    return "" if value is None else _UNPRINTABLE.sub("�", str(value))


def escaped(value: Any) -> Markup:
    """Return any value as `Markup`; text is escaped, `Markup` is unchanged."""
    return escape(printable(value))


@lru_cache
def environment(package: str) -> jinja2.Environment:
    """Return the templates of a package, and those of `covey.reporting`, which others extend."""
    loaders = [jinja2.PackageLoader(name) for name in dict.fromkeys((package, "covey.reporting"))]
    return jinja2.Environment(
        loader=jinja2.ChoiceLoader(loaders),
        # Markdown is escaped when it becomes HTML.
        autoescape=lambda name: name is None or not name.endswith(".md"),
        finalize=printable,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
