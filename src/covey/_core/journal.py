"""The part of a journal of progress that long computations use; `covey._checkpoint` writes it.

The computation is a sequence of tasks, always the same one for the same input. The journal keeps
the result of each finished task, and the state of the present one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from covey._core.arrays import like, to_host

Arrays = dict[str, npt.NDArray[np.generic]]


#: A `covey._checkpoint.Journal`. Its ``begin()`` gives the next task, which has the ``result`` if
#: an earlier process finished it, and the ``state`` in which it was left; ``step(snapshot)``
#: counts a step and calls ``snapshot`` when it is time to write, ``finish(result)`` keeps it.
Journal = Any


def arrays_of(part: Any, name: str = "") -> Arrays:
    """Return dataclasses, lists, arrays and numbers as arrays on the host, each by its place."""
    if is_dataclass(part):
        part = vars(part)
    elif isinstance(part, list):
        part = dict(enumerate(part))
    elif not isinstance(part, dict):
        return {name.strip(): np.asarray(part) if np.isscalar(part) else to_host(part)}
    found: Arrays = {}
    for key, value in part.items():
        found |= arrays_of(value, f"{name} {key}")
    return found


def restored(template: Any, arrays: Arrays, name: str = "") -> Any:
    """Return what `arrays_of` took apart, of the types and on the devices of a template's parts.

    A list has entries like the one entry of its template.
    """
    if is_dataclass(template):
        parts = {key: restored(x, arrays, f"{name} {key}") for key, x in vars(template).items()}
        made: Callable[..., Any] = type(template)
        return made(**parts)
    if isinstance(template, list):
        count = sum(key.startswith(f"{name} ".strip() + " ") for key in arrays)
        return [restored(template[0], arrays, f"{name} {number}") for number in range(count)]
    kept = arrays[name.strip()]
    if isinstance(template, int):
        return int(kept)
    return kept.astype(template.dtype) if type(template) is np.ndarray else like(template, kept)
