"""What a caller of `build_report` tells besides the model and the rows."""

from __future__ import annotations

from typing import NamedTuple


class Details(NamedTuple):
    """The optional arguments of `build_report`, checked."""

    title: str | None = None
    target: str | None = None
    task: str | None = None
    command: str | None = None
    baselines: list[dict] | None = None
    data_health: list[dict] | None = None
