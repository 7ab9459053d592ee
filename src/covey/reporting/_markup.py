"""HTML and SVG as text in which nothing that a user wrote can be anything but text.

What is not `Markup` is escaped wherever it is put into a tag. So whoever forgets to think of it
gets visible signs on the page, and never a hole in it.
"""

import re
from html import escape

# What a page must not hold: control characters, and halves of characters that have no encoding.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")

# Elements of HTML that have no end.
_EMPTY = {"br", "meta"}


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escaped(value):
    """Any value as `Markup`; text is escaped, `Markup` stays as it is."""
    if isinstance(value, Markup):
        return value
    return Markup(escape(_UNPRINTABLE.sub("�", str(value))))


def joined(parts, between=""):
    """Parts one after the other; those that are None are left out."""
    return Markup(escaped(between).join(escaped(part) for part in parts if part is not None))


def fill(template, *values):
    """A sentence of our own with values in its braces."""
    return Markup(template.format(*map(escaped, values)))


def tag(name, *children, **attributes):
    """An element; attributes are written as keywords, ``class_`` and ``data_value`` so."""
    written = "".join(
        f' {_attribute(key)}="{escaped(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _EMPTY:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(children)}</{name}>")


def _attribute(key):
    return key.rstrip("_").replace("_", "-")
