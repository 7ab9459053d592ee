"""Writes the pages of the API reference, one for each public name, grouped by verb."""

from __future__ import annotations

import re
from pathlib import Path

from _site.public_names import (
    EXTEND,
    OTHER,
    VERBS,
    PublicName,
    attributes_are_methods,
    methods,
    public_names,
)

INTRO = """# API reference

Every public name, grouped by the verb that it serves. What is in the first five groups is all
that most programs need. `import covey` is light: a name is loaded when it is first used.

"""


def write_reference(folder: Path, write) -> None:
    """Write ``index.md`` and a page for each name; ``write(path, text)`` writes a file."""
    names = public_names()
    write(folder / "index.md", _index(names))
    listed: set[str | None] = set()
    for name in names:
        write(folder / f"{name.path}.rst", page(name, name.result in listed))
        listed.add(name.result)


def _index(names: list[PublicName]) -> str:
    verbs = {verb: about for verb, (about, _) in VERBS.items()}
    verbs |= dict([OTHER, EXTEND])
    text = INTRO
    for verb, about in verbs.items():
        group = [name for name in names if name.verb == verb]
        if not group:
            continue
        text += f"## {verb}\n\n{about}\n\n| name | |\n| --- | --- |\n"
        for name in group:
            text += f"| [`{name.path}`]({name.path}.rst) | {_in_markdown(name)} |\n"
        listed = "\n".join(f"{name.name} <{name.path}>" for name in group)
        text += f"\n```{{toctree}}\n:hidden:\n:caption: {verb}\n{listed}\n```\n\n"
    return text


def _in_markdown(name: PublicName) -> str:
    if name.kind == "data":
        return "A constant."
    sentence = re.sub(r"\s*\[\d\]_", "", name.sentence)  # references are on the name's own page
    return sentence.replace("``", "`").replace("|", r"\|")


def page(name: PublicName, result_is_listed: bool = False) -> str:
    """The page of a name, in reStructuredText; what another page lists, the index leaves out."""
    home = name.path.rpartition(".")[0]
    lines = [name.name, "=" * len(name.name), "", f".. currentmodule:: {home}", ""]
    if name.kind == "function":
        lines += [f".. autofunction:: {name.path}", ""]
        if name.result:
            lines += ["What it returns", "-" * 15, "", f".. autoclass:: {name.result}"]
            lines += ["   :members:", *["   :no-index:"] * result_is_listed, ""]
    elif name.kind == "data":
        lines += [f".. autodata:: {name.path}", *_options(name), ""]
    else:
        directive = "exception" if issubclass(name.value, BaseException) else "class"
        lines += [f".. auto{directive}:: {name.path}", ""]
        for member in methods(name.value):
            kind = "method" if attributes_are_methods(name.value, member) else "property"
            lines += [f"   .. auto{kind}:: {name.path}.{member}", ""]
    lines += [f".. minigallery:: {name.path}", "   :add-heading: In the gallery", ""]
    return "\n".join(lines)


def _options(name: PublicName) -> list[str]:
    # A table of classes would be as long as the page that links them.
    return ["   :no-value:"] if len(repr(name.value)) > 200 else []
