"""What a long computation needs of a journal of its progress: `covey._checkpoint` writes one.

The computation is a sequence of tasks, always the same one for the same input. Of a task that is
finished the journal keeps the result, of the one under way its state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.generic]]


class Task(Protocol):
    """One part of the computation."""

    @property
    def result(self) -> Arrays | None:
        """The result, if an earlier process finished the task."""

    @property
    def state(self) -> Arrays | None:
        """The state in which an earlier process left the task."""

    def step(self, snapshot: Callable[[], Arrays]) -> None:
        """Count a step; ``snapshot`` gives the state, and is called when it is time to write."""

    def finish(self, result: Arrays) -> None:
        """Keep the result; the state is no longer needed."""


class Journal(Protocol):
    """The tasks of one computation."""

    def begin(self) -> Task:
        """The next task."""
