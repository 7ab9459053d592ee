"""What a server has done so far, for those who watch it."""

from __future__ import annotations

import time
from collections import Counter, deque

import numpy as np

_REMEMBERED = 2048


class Counts:
    """Requests by path and status, rows, and how long the last answers took."""

    def __init__(self) -> None:
        self._began = time.time()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._seconds: deque[float] = deque(maxlen=_REMEMBERED)
        self.rows = 0
        self.draining = False  # whether the server ends

    @property
    def answered(self) -> int:
        """How many requests have been answered, by whatever status."""
        return sum(self._requests.values())

    def add(self, path: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._requests[path, status] += 1
        if status == 200 and path != "other":
            self._seconds.append(seconds)

    def text(self, waiting: int) -> str:
        """The counts in the text format that Prometheus reads."""
        lines = ["# TYPE covey_requests_total counter"]
        lines += [
            f'covey_requests_total{{path="{path}",status="{status}"}} {count}'
            for (path, status), count in sorted(self._requests.items())
        ]
        lines += ["# TYPE covey_rows_total counter", f"covey_rows_total {self.rows}"]
        lines += ["# TYPE covey_rows_waiting gauge", f"covey_rows_waiting {waiting}"]
        lines += ["# TYPE covey_answer_seconds gauge"]
        if self._seconds:
            shares = (0.5, 0.9, 0.99)
            for share, value in zip(shares, np.quantile(list(self._seconds), shares), strict=True):
                lines.append(f'covey_answer_seconds{{quantile="{share}"}} {value:.6f}')
        lines += [
            "# TYPE covey_up_seconds gauge",
            f"covey_up_seconds {time.time() - self._began:.0f}",
        ]
        return "\n".join(lines) + "\n"
