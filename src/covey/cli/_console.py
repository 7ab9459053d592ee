"""Output of a command: results on stdout, everything else on stderr."""

from __future__ import annotations

import functools
import glob
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

# Control characters but tabs and ends of lines, and marks of direction.
_OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Terminated(BaseException):
    """Raised when the process gets a signal, whose number is the argument: SIGTERM or SIGHUP.

    It is not a KeyboardInterrupt: after Ctrl-C a fit may end with its result so far, after this it
    must not.
    """


class CommandError(Exception):
    """A sentence for the user, and the exit status.

    The status is 1 if something could not be done, 2 for bad input.
    """

    def __init__(self, sentence: str, status: int = 2):
        super().__init__(sentence)
        self.status = status


def printable(text: str) -> str:
    """Return text that a terminal shows and does not interpret.

    Names and labels come from foreign tables: escape sequences in them could hide lines, or
    rewrite what was printed before; marks that reverse the direction could show another name.
    """
    return _OBEYED.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


class Console:
    """The output of a command.

    ``quiet`` leaves notes and progress out; with ``as_json`` the result is one JSON object.
    Notes that recommend options which the command ``lacks`` are left out.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False, lacks: Sequence[str] = ()):
        self.quiet = quiet
        self.lacks = lacks
        self.as_json = as_json
        self.notes: list[str] = []

    def note(self, sentence: str) -> None:
        """Write a remark on the input or the method to stderr, once, and keep it for the JSON."""
        if sentence in self.notes or any(option in sentence.split() for option in self.lacks):
            return
        self.notes.append(sentence)
        if not self.quiet:
            print(printable(sentence), file=sys.stderr, flush=True)

    def meanwhile(self, sentence: str) -> None:
        """Write first results to stderr, for a waiting user; they are no part of the result."""
        if not self.quiet and not self.as_json:
            print(printable(sentence), file=sys.stderr, flush=True)

    def result(self, *lines: str) -> None:
        """Write lines of the result to stdout."""
        if not self.as_json:
            for line in lines:
                print(printable(line))

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Write a table to stdout: the first column to the left, the others to the right."""
        if self.as_json:
            return
        from rich.console import Console as Terminal
        from rich.table import Table

        table = Table(box=None, pad_edge=False)
        for position, name in enumerate(head):
            table.add_column(
                printable(name), justify="right" if position else "left", no_wrap=True
            )
        for row in rows:
            table.add_row(*(printable(str(cell)) for cell in row))
        # A line is never cut, since a program may read it.
        terminal = Terminal(file=sys.stdout, width=1_000_000, markup=False, emoji=False)
        terminal.print(table, highlight=False)

    def emit(self, **result: Any) -> None:
        """Write the result as one JSON object to stdout, if JSON is wanted."""
        if self.as_json:
            print(as_json({**result, "notes": self.notes}))

    @contextmanager
    def progress(
        self, total: int | None, what: str, writes_stdout: bool = False
    ) -> Iterator[Callable[..., None]]:
        """Show a bar on stderr if that is a terminal; yield a function to call at each step.

        There is none if results appear on the same terminal meanwhile.
        """
        if self.quiet or not sys.stderr.isatty() or (writes_stdout and sys.stdout.isatty()):
            yield lambda text, done=0: None
            return
        from rich.console import Console as Terminal
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,.0f}" + (f"/{total:,}" if total else "")),
            TimeElapsedColumn(),
        )
        with Progress(
            *columns,
            console=Terminal(stderr=True),
            transient=True,
            redirect_stdout=False,  # stdout holds results only
        ) as bar:
            task = bar.add_task(what, total=total)
            yield lambda text, done=0: bar.update(task, description=printable(text), advance=done)


def as_json(value: Any) -> str:
    """Return a value as JSON that any reader accepts."""
    from covey.evaluation._record import plain_data

    text = json.dumps(plain_data(value), ensure_ascii=False, allow_nan=False)
    # JSON escapes the others itself.
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def guarded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command whose failures are one sentence on stderr and an exit status.

    ``COVEY_DEBUG=1`` in the environment shows the traceback of an error instead.
    """
    import typer

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if os.environ.get("COVEY_DEBUG"):
            return command(*args, **kwargs)
        try:
            with warnings.catch_warnings():
                # Warnings are for people who write code.
                warnings.simplefilter("ignore")
                return command(*args, **kwargs)
        except typer.Exit:
            raise
        except BrokenPipeError:
            # The reader has closed the pipe: nothing is left to do, or to report.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except (Exception, KeyboardInterrupt, Terminated) as error:
            sentence, status = _failure(error, kwargs.get("checkpoint"))
            print(f"covey: {printable(sentence)}", file=sys.stderr, flush=True)
            if kwargs.get("as_json"):
                # An object that was begun is ended, so that the output is one object.
                print(f'{getattr(error, "begun_json", "{")}"error": {as_json(sentence)}}}')
            raise typer.Exit(status) from None

    return wrapped


def _failure(error: BaseException, checkpoint: str | None) -> tuple[str, int]:
    """Return a sentence about an error, and the exit status."""
    if isinstance(error, CommandError):
        return str(error), error.status
    if isinstance(error, KeyboardInterrupt | Terminated):
        status = 128 + error.args[0] if isinstance(error, Terminated) else 130
        if checkpoint and glob.glob(f"{glob.escape(checkpoint)}*"):
            return f"stopped; the same command goes on from {checkpoint}.", status
        return "stopped; no file was changed.", status
    if isinstance(error, MemoryError):
        return "there is not enough memory for this table.", 1
    lines = str(error).strip().splitlines() or ["it failed without a message"]
    if isinstance(error, ValueError | TypeError | ImportError | OSError):
        # covey raises these, with messages that are written for users.
        return lines[0], 1
    return f"{type(error).__name__}: {lines[0]} (COVEY_DEBUG=1 shows where)", 1
