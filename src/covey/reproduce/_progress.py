"""How far the work is, on stderr: one line that moves on a terminal, a plain one elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any

_SECONDS_BETWEEN_LINES = 30.0


def duration(seconds: float) -> str:
    """Seconds in the unit that suits them.

    >>> duration(42.2), duration(754), duration(7300)
    ('42 s', '13 min', '2 h 2 min')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class Progress:
    """Prints what is done and how long the rest will take, from the costs of the parts."""

    def __init__(self, stream: Any = None):
        self._stream = sys.stderr if stream is None else stream
        self._moves = self._stream.isatty()
        self._width = 0

    def expect(self, tasks: list, left: list) -> None:
        """Start over with these parts, some of which are left to do."""
        self._total, self._done = len(tasks), len(tasks) - len(left)
        self._cost_left = sum(task.cost for task in left)
        self._cost_done = 0.0
        self._started = self._said = time.monotonic()
        if left and self._done:
            self.line(f"{self._done} of {self._total} parts are there already")
        elif left:
            self.line(f"{self._total} parts to do")

    def done(self, task: Any) -> None:
        """One more part is finished."""
        self._done += 1
        self._cost_done += task.cost
        self._cost_left -= task.cost
        now = time.monotonic()
        last = self._done == self._total
        if not (self._moves or last or now - self._said > _SECONDS_BETWEEN_LINES):
            return
        self._said = now
        elapsed = now - self._started
        text = f"{self._done} of {self._total} parts, {duration(elapsed)}"
        if not last:
            left = elapsed * self._cost_left / self._cost_done
            text += f", about {duration(left)} left ({task.experiment})"
        self.line(text, over=self._moves, end="\n" if last or not self._moves else "")

    def line(self, text: str, over: bool = False, end: str = "\n") -> None:
        """A line of its own, or one that replaces the line before."""
        text = f"[covey.reproduce] {text}"
        if over:
            padded = text.ljust(self._width)
            self._width = len(text) if not end else 0
            text = "\r" + padded
        print(text, end=end, file=self._stream, flush=True)
