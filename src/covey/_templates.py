"""HTML from jinja2 templates in which nothing that a user wrote can be anything but text.

Whatever is not `Markup` is escaped wherever it enters a page. A template that forgets to
consider it therefore shows visible signs on the page, and never opens a hole in it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

try:
    import jinja2
    from markupsafe import Markup, escape
except ImportError as error:
    raise ImportError(
        "Reports are filled in by jinja2; install covey with the extra that brings it: "
        'pip install "covey[cli]".'
    ) from error

__all__ = ["Markup", "environment", "escaped", "printable"]
# What a page must not hold: control characters, and halves of characters that have no encoding.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def printable(value: Any) -> Any:
    """A value without characters that no page may hold; nothing for None."""
    if isinstance(value, Markup):
        return value
    return "" if value is None else _UNPRINTABLE.sub("�", str(value))


def escaped(value: Any) -> Markup:
    """Any value as `Markup`; text is escaped, `Markup` stays as it is."""
    return escape(printable(value))


@lru_cache
def environment(package: str) -> jinja2.Environment:
    """The templates of a package, and those of `covey.reporting`, which others build on."""
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
