"""The checkpoint file of a long computation, from which it continues after a kill.

It is a `covey._core.journal.Journal` on disk. It is written and read as plain arrays, so that a
file cannot make the reader execute anything.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from covey._core.journal import Arrays
from covey._files import replacing

FORMAT = 2
# A journal is written again when this share of the steps is new: the most that a kill can cost.
_NEW_SHARE = 0.08


class JournalError(ValueError):
    """A journal that cannot be used; the text is one sentence."""


@dataclass(frozen=True)
class WrittenTask:
    """One part of the computation: see `covey._core.journal.Journal`."""

    result: Arrays | None
    state: Arrays | None
    step: Callable[[Callable[[], Arrays]], None]
    finish: Callable[[Arrays], None]


class Journal:
    """The tasks of one computation, in a file from which it continues if that exists.

    ``key`` is a digest of all that the computation depends on; a file with another one is refused.
    ``seed`` becomes the seed of the process that began; ``n_steps`` counts the steps of all
    processes.
    """

    def __init__(self, path: str | os.PathLike[str], key: str, seed: int) -> None:
        self._path = Path(path)
        self._key = key
        self.seed = seed
        self.n_steps = 0
        self._results: list[Arrays] = []
        self._state: Arrays | None = None
        self._next = 0
        if self._path.exists():
            self._read()
        elif not self._path.resolve().parent.is_dir():
            raise JournalError(
                f"checkpoint={str(path)!r} lies in a folder that does not exist; make the folder."
            )
        self._n_written = self.n_steps

    # -- the computation ---------------------------------------------------------------------

    def begin(self) -> WrittenTask:
        """Return the next task."""
        position, self._next = self._next, self._next + 1
        if position < len(self._results):
            return WrittenTask(self._results[position], None, self.count, self.keep)
        state = self._state if position == len(self._results) else None
        return WrittenTask(None, state, self.count, self.keep)

    def count(self, snapshot: Callable[[], Arrays]) -> None:
        """Count a step that is done, and write the state if it is time."""
        self.n_steps += 1
        if self.n_steps - self._n_written > _NEW_SHARE * self._n_written:
            self._state = snapshot()
            self._write()

    def keep(self, result: Arrays) -> None:
        """Keep the result of a task that is done; its state is no longer needed."""
        self._results.append(result)
        self._state = None
        self._write()

    # -- the file ----------------------------------------------------------------------------

    def _write(self) -> None:
        arrays: Arrays = {
            "format": np.array(FORMAT),
            "key": np.array(self._key),
            "seed": np.array(self.seed),
            "n_steps": np.array(self.n_steps),
            "n_results": np.array(len(self._results)),
        }
        for number, result in enumerate(self._results):
            arrays.update({f"result/{number}/{name}": x for name, x in result.items()})
        for name, x in (self._state or {}).items():
            arrays[f"state/{name}"] = x
        arrays["digest"] = np.array(_digest(arrays))
        try:
            with replacing(self._path) as draft, open(draft, "wb") as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]
        except OSError as error:
            raise JournalError(
                f"The checkpoint {str(self._path)!r} cannot be written: {error.strerror}."
            ) from error
        self._n_written = self.n_steps

    def _read(self) -> None:
        try:
            with np.load(self._path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            known = int(arrays["format"])
            digest = str(arrays.pop("digest", ""))
        except Exception as error:
            # Damaged archives end in errors of a dozen types, of zipfile, zlib and NumPy.
            raise JournalError(
                f"{str(self._path)!r} is not a checkpoint; delete it, or give another path."
            ) from error
        if known != FORMAT:
            raise JournalError(
                f"The checkpoint {str(self._path)!r} was written by another covey; use that one, "
                "or delete the file."
            )
        if digest != _digest(arrays):
            raise JournalError(
                f"The checkpoint {str(self._path)!r} is damaged; delete it, or give another path."
            )
        if str(arrays["key"]) != self._key:
            raise JournalError(
                f"The checkpoint {str(self._path)!r} belongs to a fit of other data, with other "
                "parameters or by another covey; delete it, or give another path."
            )
        self.seed = int(arrays["seed"])
        self.n_steps = int(arrays["n_steps"])
        self._results = [{} for _ in range(int(arrays["n_results"]))]
        state: Arrays = {}
        for name, x in arrays.items():
            part, _, rest = name.partition("/")
            if part == "result":
                number, _, rest = rest.partition("/")
                self._results[int(number)][rest] = x
            elif part == "state":
                state[rest] = x
        self._state = state or None


def _digest(arrays: Arrays) -> str:
    """Return a digest that tells whether a file holds every bit that was written."""
    found = hashlib.sha256()
    for name in sorted(arrays):
        x = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {x.dtype.str} {np.shape(arrays[name])}\n".encode())
        found.update(x.tobytes())
    return found.hexdigest()
