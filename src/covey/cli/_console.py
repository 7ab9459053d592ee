"""What a command says, and where: results on stdout, everything else on stderr."""

import functools
import glob
import json
import math
import os
import sys
import warnings
from contextlib import contextmanager


class Terminated(KeyboardInterrupt):
    """The process was asked to end."""


class CommandError(Exception):
    """A sentence for the user, and the exit status.

    Parameters
    ----------
    sentence : str
    status : int, default=2
        1 for what could not be done, 2 for bad input.
    """

    def __init__(self, sentence, status=2):
        super().__init__(sentence)
        self.status = status


class Console:
    """Where a command says things.

    Parameters
    ----------
    quiet : bool
        Whether notes and progress are left out.
    as_json : bool
        Whether the result is one JSON object.
    """

    def __init__(self, quiet=False, as_json=False):
        self.quiet = quiet
        self.as_json = as_json
        self.notes = []

    def note(self, sentence):
        """Say something about the input or the way, on stderr; and keep it for the JSON."""
        self.notes.append(sentence)
        if not self.quiet:
            print(sentence, file=sys.stderr, flush=True)

    def result(self, *lines):
        """Lines of the result, on stdout."""
        if not self.as_json:
            for line in lines:
                print(line)

    def table(self, head, rows):
        """A table of text on stdout: the first column to the left, the others to the right."""
        if not self.as_json:
            print(aligned(head, rows))

    def emit(self, **result):
        """The result as one JSON object on stdout, where that is asked for."""
        if self.as_json:
            print(as_json({**result, "notes": self.notes}))

    @contextmanager
    def progress(self, total, what, writes_stdout=False):
        """A bar on stderr, where that is a terminal; gives a function to call at each step.

        There is none where results appear on the same terminal meanwhile.
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
            redirect_stdout=False,  # results are for whoever reads stdout
        ) as bar:
            task = bar.add_task(what, total=total)

            def step(text, done=0):
                bar.update(task, description=text, advance=done)

            yield step


def aligned(head, rows):
    """A table as text.

    Parameters
    ----------
    head : sequence of str
    rows : sequence of sequences of str
    """
    cells = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(len(row[place]) for row in cells) for place in range(len(head))]
    lines = []
    for row in cells:
        first = row[0].ljust(widths[0])
        rest = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([first, *rest]).rstrip())
    return "\n".join(lines)


def as_json(value):
    """A value as JSON that any reader takes."""
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)


def _plain(value):
    """What JSON can hold: no arrays, and nothing for what is not a number."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)


def guarded(command):
    """A command whose failures are one sentence on stderr and an exit status.

    ``COVEY_DEBUG=1`` in the environment shows the traceback of an error instead.
    """
    import typer

    @functools.wraps(command)
    def wrapped(*args, **kwargs):
        if os.environ.get("COVEY_DEBUG"):
            return command(*args, **kwargs)
        try:
            with warnings.catch_warnings():
                # Meant for those who write code.
                warnings.simplefilter("ignore")
                return command(*args, **kwargs)
        except typer.Exit:
            raise
        except KeyboardInterrupt as error:
            _fail(_stopped(kwargs.get("checkpoint")), kwargs, error)
            raise typer.Exit(143 if isinstance(error, Terminated) else 130) from None
        except BrokenPipeError:
            # Whoever read has enough; there is nobody to tell.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except CommandError as error:
            _fail(str(error), kwargs, error)
            raise typer.Exit(error.status) from None
        except MemoryError as error:
            _fail("there is not enough memory for this table.", kwargs, error)
            raise typer.Exit(1) from None
        except Exception as error:
            _fail(_one_sentence(error), kwargs, error)
            raise typer.Exit(1) from None

    return wrapped


def _one_sentence(error):
    said = str(error).strip().splitlines()
    said = said[0] if said else "it failed without a word"
    # What covey raises is written for users; of other errors the type helps.
    known = isinstance(error, ValueError | TypeError | ImportError | OSError)
    return said if known else f"{type(error).__name__}: {said} (COVEY_DEBUG=1 shows where)"


def _stopped(checkpoint):
    if checkpoint and glob.glob(f"{glob.escape(checkpoint)}*"):
        return f"stopped; the same command goes on from {checkpoint}."
    return "stopped; no file was changed."


def _fail(sentence, options, error):
    print(f"covey: {sentence}", file=sys.stderr, flush=True)
    if options.get("as_json"):
        # An object that was begun is ended, so that there is one.
        print(f'{getattr(error, "half_said", "{")}"error": {as_json(sentence)}}}')
