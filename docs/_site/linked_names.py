"""Makes links of public names: ``FlockClassifier`` in a page leads to the reference."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx import addnodes

from _site.public_names import PublicName, public_names
from covey.fusers._base import FUSERS

# `covey.fuse`, `Gate()`, `FlockClassifier(members="mixed")`, `"knora_e"`, `Fuser.fit`
NAME = re.compile(r"""^["']?([A-Za-z_][\w.]*)["']?(\(.*\))?$""", re.DOTALL)


# Pages on which "mean" and "max" are rules; elsewhere they are words.
OF_RULES = {"guide/fuse", "choosing", "dynamic"}


def rules(names: list[PublicName]) -> dict[str, str]:
    """From the name of a rule to the path of its page."""

    by_class = {public.value: public.path for public in names if public.kind == "class"}
    rules = ((name, getattr(make, "func", make)) for name, make in FUSERS.items())
    return {name: by_class[cls] for name, cls in rules if cls in by_class}


def table(names: list[PublicName]) -> dict[str, str]:
    """From what may be written to the path of a page: full paths, plain names, names of rules."""
    paths = {}
    for public in names:
        if public.kind == "data":
            continue
        spellings = {public.path, public.name}
        module = getattr(public.value, "__module__", "")
        package = ".".join(module.split(".")[:2])
        spellings.add(f"{package}.{public.name}")
        spellings.add(f"{module}.{public.name}")
        for spelling in spellings:
            paths.setdefault(spelling, public.path)
    for rule, path in rules(names).items():
        if "_" in rule:
            paths.setdefault(rule, path)
    return paths


def resolved(written: str, paths: dict[str, str]) -> str | None:
    """The path of the object whose page should be linked, methods included."""
    if written in paths:
        return paths[written]
    head, _, method = written.rpartition(".")
    return f"{paths[head]}.{method}" if head in paths and method else None


def _link(app, doctree) -> None:
    if app.env.docname.startswith(("api/", "gallery/")):
        return
    paths = app.covey_names
    if app.env.docname in OF_RULES:
        paths = {**rules(public_names()), **paths}
    for literal in list(doctree.findall(nodes.literal)):
        if isinstance(literal.parent, (nodes.reference, addnodes.pending_xref, nodes.title)):
            continue
        match = NAME.match(literal.astext())
        path = match and resolved(match[1], paths)
        if not path:
            continue
        xref = addnodes.pending_xref(
            "", refdomain="py", reftype="obj", reftarget=path, refexplicit=True, refwarn=False
        )
        xref["refdoc"] = app.env.docname
        literal.replace_self(xref)
        xref += literal


def _missing(app, env, node, contnode):
    if node.get("refdomain") != "py":
        return None
    path = resolved(node.get("reftarget", ""), app.covey_names)
    if path is None or path == node["reftarget"]:
        return None
    return env.get_domain("py").resolve_xref(
        env, node.get("refdoc", env.docname), app.builder, "obj", path, node, contnode
    )


# A name such as n_estimators_ is no reference, which reStructuredText would take it for.
TRAILING = re.compile(r"(?<![`\w\\])(\w*[A-Za-z0-9])_(?![\w`])")


def _escape(app, what, name, obj, options, lines) -> None:
    """Escape names that end in an underscore; called when numpydoc has made its sections."""
    in_example = False
    for number, line in enumerate(lines):
        if line.startswith(".. rubric::"):
            in_example = "Examples" in line
        if in_example or ".. [" in line or line.lstrip().startswith(">>>"):
            continue
        parts = re.split(r"(``.*?``|`[^`]*`_?)", line)
        parts[::2] = [TRAILING.sub(r"\1\\_", part) for part in parts[::2]]
        lines[number] = "".join(parts)


# From a page of source code back to the reference: viewcode takes all names of a module for those
# of one package, though some are public in covey itself. The name of the page is right.
BACK = re.compile(r'(href="[^"#]*api/)(covey[\w.]*)(\.html)#(covey[\w.]*)"')


def _back(match: re.Match) -> str:
    page, place = match[2], match[4]
    name = page.rpartition(".")[2]
    # A whole word: `fuse` is not the beginning of `fusers`. What it returns is on its page, too.
    after = re.search(rf"\.{re.escape(name)}\b(.*)", place)
    after = after[1] if after else ""
    return f'{match[1]}{page}{match[3]}#{page}{after}"'


def _mend_source_pages(app, pagename, templatename, context, doctree) -> None:
    if pagename.startswith("_modules/covey"):
        context["body"] = BACK.sub(_back, context["body"])


def setup(app):
    app.connect("html-page-context", _mend_source_pages)
    app.connect("autodoc-process-docstring", _escape, priority=900)
    app.covey_names = table(public_names())
    app.connect("doctree-read", _link)
    app.connect("missing-reference", _missing)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
