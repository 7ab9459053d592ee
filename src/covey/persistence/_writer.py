"""The writer of models: numbers and strings under fixed names, and plain arrays."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from covey._state import ABSENT, stored_fields
from covey.persistence._archive import stored_as
from covey.persistence._refusals import NotCoveredError

# Parameters that belong to a machine or to one fit rather than to a model. A loaded model has
# their defaults: it starts no processes and writes no files.
OF_THE_MACHINE = ("cache_size", "checkpoint", "device", "n_jobs")
_DEEPEST_VALUE = 6


class Writer:
    """A collector of the arrays of a file while its document is made.

    ``write_model(model, writer)`` is the function that writes models of all kinds. ``keeps_rows``
    says whether training rows may be written.
    """

    def __init__(
        self,
        write_model: Callable[[Any, Writer], dict[str, Any]],
        by_hand: Callable[[type], Any],
        keeps_rows: bool = True,
    ) -> None:
        self.arrays: list[np.ndarray] = []
        self.keeps_rows = keeps_rows
        self._write_model = write_model
        self._by_hand = by_hand

    def model(self, model: Any) -> dict[str, Any] | None:
        """Return another model, or None, as an object of the document."""
        return None if model is None else self._write_model(model, self)

    def fields(self, owner: Any, cls: type) -> dict[str, Any]:
        """Return the fields that a class declares, of an object that has them."""
        return {
            name.strip("_"): own.write(value, self)
            for name, kind in stored_fields(cls).items()
            if kind.is_written
            and (own := kind.for_(owner)) is not None
            and (value := own.of(owner, name)) is not ABSENT
        }

    def record(self, value: Any) -> dict[str, Any]:
        """Return an object with declared fields, or of a class that is written by hand."""
        home = self._by_hand(type(value))
        return self.fields(value, type(value)) if home is None else home.write(value, self)

    def plain(self, value: Any) -> Any:
        """Return a plain value in JSON's form."""
        return plain(value)

    def models(self, models: Iterable[Any]) -> list[dict[str, Any] | None]:
        """Return a list of models."""
        return [self.model(model) for model in models]

    def array(self, values: Any, kind: str = "float") -> int | None:
        """Return the number of an array of a kind in the file, or None."""
        if values is None:
            return None
        self.arrays.append(np.asarray(values).astype(stored_as(kind), casting="same_kind"))
        return len(self.arrays) - 1

    def matrix(self, values: Any) -> dict[str, Any]:
        """Return a matrix of float64, dense or sparse."""
        if not sparse.issparse(values):
            return {"dense": self.array(values)}
        values = sparse.csr_matrix(values)
        values.sort_indices()
        return {
            "n_columns": values.shape[1],
            "starts": self.array(values.indptr, "whole"),
            "columns": self.array(values.indices, "whole"),
            "values": self.array(values.data),
        }

    def texts(self, texts: Sequence[str] | np.ndarray | None) -> list[int | None] | None:
        """Return a list of strings as two arrays: their lengths, and their joined bytes."""
        if texts is None:
            return None
        encoded = [str(text).encode("utf-8", "surrogatepass") for text in texts]
        lengths = self.array(np.array([len(text) for text in encoded], dtype=np.int64), "whole")
        return [lengths, self.array(np.frombuffer(b"".join(encoded), dtype=np.uint8), "byte")]

    def labels(self, labels: np.ndarray | None) -> dict[str, Any] | None:
        """Return the classes, with their type."""
        if labels is None:
            return None
        labels = np.asarray(labels)
        if labels.dtype.kind == "O":
            found = {type(label) for label in labels.tolist()}
            if found != {str}:
                raise NotCoveredError("classes that are neither text nor numbers")
        if labels.dtype.kind in "OU":
            kind = "object" if labels.dtype.kind == "O" else "text"
            return {"type": kind, "values": self.texts(labels.tolist())}
        kinds = {"b": "flag", "i": "whole", "u": "unsigned", "f": "float"}
        if labels.dtype.kind not in kinds:
            raise NotCoveredError(f"classes of the type {labels.dtype}")
        values = self.array(labels, kinds[labels.dtype.kind])
        return {"type": labels.dtype.name, "values": values}

    def columns(self, columns: Mapping[str, np.ndarray] | None) -> dict[str, Any] | None:
        """Return columns of numbers or text by name, such as a history."""
        if columns is None:
            return None
        kinds = {"b": "flag", "i": "whole", "f": "float"}
        return {
            name: {"text": self.texts(values)}
            if (kind := np.asarray(values).dtype.kind) in "UO"
            else {kinds[kind]: self.array(values, kinds[kind])}
            for name, values in columns.items()
        }

    def members(self, listed: Iterable[Any]) -> list[dict[str, Any]]:
        """Return a list of unfitted members: models or words, with or without names, or layers."""
        written: list[dict[str, Any]] = []
        for entry in listed:
            if isinstance(entry, list):
                written.append({"layer": self.members(entry)})
                continue
            name, member = entry if isinstance(entry, tuple) else (None, entry)
            part = {"name": None if name is None else str(name)}
            if isinstance(member, str):
                written.append({**part, "word": member})
            else:
                written.append({**part, "model": self.model(clone(member))})
        return written

    def parameters(
        self, estimator: Any, models: Collection[str] = (), lists: Collection[str] = ()
    ) -> dict[str, Any]:
        """Return the constructor's parameters that are plain values.

        Those whose names are in ``models`` may be models too, and those in ``lists`` lists of
        members. Others, such as a generator of random numbers, a function or a splitter, are left
        out: the loaded model has their defaults. For other packages' classes only parameters that
        differ from their defaults are written, since parameters come and go.
        """
        defaults: Mapping[str, Any] = {}
        if not type(estimator).__module__.startswith("covey."):
            defaults = inspect.signature(type(estimator)).parameters
        written: dict[str, Any] = {}
        for name, value in sorted(estimator.get_params(deep=False).items()):
            if name in OF_THE_MACHINE or _is_default(value, defaults.get(name)):
                continue
            if name == "cv" and not isinstance(value, Integral | str | None):
                continue  # rows of one table, which are long and of no use with another
            if name in models and hasattr(value, "get_params"):
                written[name] = {"model": self.model(value)}
                continue
            if name in models and callable(value):
                raise NotCoveredError(f"a {type(estimator).__name__} whose {name} is a function")
            if name in lists and isinstance(value, list | tuple):
                written[name] = {"members": self.members(value)}
                continue
            try:
                written[name] = plain(value)
            except NotCoveredError:
                continue
        return written


def _is_default(value: Any, parameter: inspect.Parameter | None) -> bool:
    if parameter is None:
        return False
    default = parameter.default
    return value is default or (
        type(value) is type(default)
        and isinstance(value, bool | int | float | str)
        and value == default
    )


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value in JSON's form, tagged if JSON has no such type."""
    if depth > _DEEPEST_VALUE:
        raise NotCoveredError("a value that is nested deeply")
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Integral) and abs(int(value)) < 2**63:
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Integral):
        number = float(value)
        return number if math.isfinite(number) else {"float": str(number)}
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "bifU":
        return {"array": [plain(part, depth + 1) for part in value.tolist()]}
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [plain(part, depth + 1) for part in value]}
    if isinstance(value, dict):
        pairs = [[plain(part, depth + 1) for part in pair] for pair in value.items()]
        return {"dict": pairs}
    raise NotCoveredError(f"a {type(value).__name__}")
