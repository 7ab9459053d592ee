"""Writes a page for the command line, from what the commands themselves say."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

INTRO = """# The command line

`pip install "covey[cli]"` installs `covey`. `covey COMMAND --help` says in a terminal what this
page says.

"""


class Parameter(NamedTuple):
    """An argument or option of a command."""

    name: str
    metavar: str
    help: str
    default: Any


def commands() -> dict[str, Any]:
    """The functions behind the commands, by name, in the order of the help."""
    from covey.cli import _COMMANDS

    return {
        name: getattr(
            import_module(f"covey.cli._{name.replace('-', '_')}"), name.replace("-", "_")
        )
        for name in _COMMANDS
    }


def parameters(command: Any) -> list[Parameter]:
    """What a command takes, as its signature says it."""
    hints = get_type_hints(command, include_extras=True)
    found = []
    for name, parameter in inspect.signature(command).parameters.items():
        hint = hints.get(name)
        if get_origin(hint) is not Annotated:
            continue  # the context of the command
        kind, *said = get_args(hint)
        about = next(info for info in said if hasattr(info, "param_decls"))
        if getattr(about, "hidden", False):
            continue
        argument = type(about).__name__ == "ArgumentInfo"
        # The first spelling of an option is where a default would be.
        said_first = (about.default,) if isinstance(about.default, str) else ()
        spelled = [*said_first, *(about.param_decls or ())]
        spelled = [part for part in spelled if part.startswith("-")]
        flags = ", ".join(spelled) or f"--{name.replace('_', '-')}"
        metavar = about.metavar or _metavar(kind)
        found.append(
            Parameter(
                (about.metavar or name.upper()) if argument else flags,
                "" if argument else metavar,
                about.help or "",
                None if parameter.default is inspect.Parameter.empty else parameter.default,
            )
        )
    return found


def _metavar(kind: Any) -> str:
    kinds = [part for part in (get_args(kind) or (kind,)) if part is not type(None)]
    if get_origin(kind) is Literal:
        return "{" + ", ".join(map(str, kinds)) + "}"
    if len(kinds) == 1 and get_origin(kinds[0]) is Literal:
        return _metavar(kinds[0])
    return {int: "INTEGER", float: "NUMBER", bool: ""}.get(kinds[0], "TEXT")


def write_commands(path: Path, write) -> None:
    """Write the page."""
    from covey.cli import _COMMANDS

    text = INTRO + "| command | |\n| --- | --- |\n"
    for name, about in _COMMANDS.items():
        text += f"| [`covey {name}`](#covey-{name}) | {_escaped(about)} |\n"
    for name, command in commands().items():
        text += f"\n## covey {name}\n\n{_paragraphs(inspect.getdoc(command) or '')}\n\n"
        rows = [
            f"| `{parameter.name}{' ' if parameter.metavar else ''}{parameter.metavar}` "
            f"| {_escaped(parameter.help)}{_default(parameter.default)} |\n".replace("||", "|")
            for parameter in parameters(command)
        ]
        if rows:
            text += "| option | |\n| --- | --- |\n" + "".join(rows) + "\n"
        example = getattr(import_module(command.__module__), "EXAMPLE", ())
        if example:
            text += "```sh\n" + "\n".join(example) + "\n```\n"
    write(path, text)


def _default(value: Any) -> str:
    if value is None or isinstance(value, bool) or value == "":
        return ""
    return f" Default: `{value}`."


def _paragraphs(text: str) -> str:
    parts = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip())]
    return "\n\n".join(_escaped(part) for part in parts)


def _escaped(text: str) -> str:
    """Text of a terminal as Markdown: options are code, and nothing else is markup."""
    text = re.sub(r"([*_<|\[\]])", r"\\\1", " ".join(text.split()))
    return re.sub(r"(?<![\w`])(--[a-z][a-z-]*)", r"`\1`", text)
