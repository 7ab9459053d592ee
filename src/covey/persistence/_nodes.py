"""The reader of model files: each part by its name, checked, and nothing else.

A small validator of our own rather than one of a library: most conditions are about arrays and
their shapes, which depend on one another (the numbers of members, classes and columns), and in
this way saving and loading need no extra package.
"""

from __future__ import annotations

import inspect
import itertools
import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NoReturn, Self, TypeVar

import numpy as np
from scipy import sparse

from covey._core.limits import LARGEST
from covey._state import ABSENT, Record, Sizes, StateError, Stored, Told, stored_fields
from covey.persistence._archive import Contents
from covey.persistence._refusals import damaged, out_of_range
from covey.persistence._writer import OF_THE_MACHINE

Choice = TypeVar("Choice", bound=str)

_MOST = 1 << 40
_LONGEST_TEXT = 1 << 16
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,60}")
_LABEL_TYPES = {
    **{f"int{bits}": "whole" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": "unsigned" for bits in (8, 16, 32, 64)},
    **{f"float{bits}": "float" for bits in (16, 32, 64)},
    "bool": "flag",
}


def _asks(field: tuple[str, Stored]) -> bool:
    """Return whether a field asks the model for facts after all else of it is read."""
    kind: Any = field[1]
    while hasattr(kind, "kind"):
        kind = kind.kind
    parts = stored_fields(kind.cls).values() if isinstance(kind, Record) else ()
    return any(isinstance(part, Told) for part in parts)


@dataclass
class Source:
    """The arrays of a document, and the reader of models of all kinds."""

    contents: Contents
    read_model: Callable[[Node], Any]
    by_hand: Callable[[type], Any]


class Node:
    """One object of the document: each of its names is read once, and none is left over.

    >>> with node.child("basis") as basis:  # doctest: +SKIP
    ...     n_features = basis.whole("n_features", 1)
    """

    def __init__(self, value: Any, source: Source, where: str) -> None:
        self.where = where
        if type(value) is not dict:
            damaged(where, "is not an object.")
        self._left = dict(value)
        self._source = source

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *error: Any) -> None:
        if kind is None:
            self.close()

    def close(self) -> None:
        """Refuse names that nobody has read."""
        if self._left:
            damaged(self.where, f"has an unknown part {next(iter(self._left))[:40]!r}.")

    def check(self, condition: Any, name: str, what: str) -> None:
        """Refuse the file if a condition on one of its parts does not hold."""
        if not condition:
            damaged(f"{self.where}.{name}", what)

    def check_range(self, condition: Any, name: str, what: str) -> None:
        """Refuse the file if one of its numbers is too large or too small."""
        if not condition:
            out_of_range(f"{self.where}.{name}", what)

    def _take(self, name: str) -> Any:
        if name not in self._left:
            damaged(self.where, f"lacks {name!r}.")
        return self._left.pop(name)

    def has(self, name: str) -> bool:
        """Return whether there is a part of this name."""
        return name in self._left

    def none(self, name: str) -> bool:
        """Return whether a part is None; it then counts as read."""
        if name in self._left and self._left[name] is None:
            del self._left[name]
            return True
        return False

    # -- single values -------------------------------------------------------------------------

    def flag(self, name: str) -> bool:
        """Return true or false."""
        value = self._take(name)
        self.check(type(value) is bool, name, "is neither true nor false.")
        return value

    def whole(self, name: str, low: int = 0, high: int = _MOST) -> int:
        """Return a whole number within bounds."""
        value = self._take(name)
        self.check(type(value) is int, name, "is not a whole number.")
        self.check(low <= value <= high, name, f"is not between {low} and {high}.")
        return value

    def number(self, name: str, low: float = -LARGEST, high: float = LARGEST) -> float:
        """Return a finite number within bounds."""
        value = self._take(name)
        self.check(type(value) in (int, float), name, "is not a number.")
        value = float(value) if abs(value) <= LARGEST else math.inf
        self.check_range(low <= value <= high, name, f"is not between {low} and {high}.")
        return value

    def text(self, name: str, choices: Collection[str] | None = None) -> str:
        """Return a string, or one of a few."""
        value = self._take(name)
        self.check(type(value) is str and len(value) <= _LONGEST_TEXT, name, "is not text.")
        self.check(choices is None or value in choices, name, "is none of what it may be.")
        return value

    # -- arrays --------------------------------------------------------------------------------

    def array(
        self,
        name: str,
        shape: Sequence[int | None],
        kind: str = "float",
        *,
        low: float | None = None,
        high: float | None = None,
        nan: bool = False,
        infinite: bool = False,
    ) -> np.ndarray:
        """Return an array of a kind and shape; its numbers are finite and within bounds."""
        number = self.whole(name, 0)
        values = self._source.contents.array(number, kind, shape, f"{self.where}.{name}")
        if not values.size or kind == "flag":
            return values
        if kind in ("float", "single"):
            counted = values[~np.isnan(values)] if nan else values
            if infinite:
                counted = counted[~np.isinf(counted)]
            # NaN is not lower than anything.
            self.check_range(
                float(np.abs(counted).max(initial=0.0)) <= LARGEST,
                name,
                f"holds NaN, or a number beyond {LARGEST:g}.",
            )
        else:
            counted = values
        if counted.size and low is not None:
            self.check_range(counted.min() >= low, name, f"holds a number below {low}.")
        if counted.size and high is not None:
            self.check_range(counted.max() <= high, name, f"holds a number above {high}.")
        return values

    def matrix(
        self, name: str, shape: Sequence[int | None], largest: float = LARGEST
    ) -> np.ndarray | sparse.csr_matrix:
        """Return a matrix of this shape, in which None is any length; its numbers are bounded."""
        n_rows, n_columns = shape
        with self.child(name) as node:
            if node.has("dense"):
                return node.array("dense", shape, low=-largest, high=largest)
            width = node.whole("n_columns", 1, 1 << 31)
            node.check(n_columns in (None, width), "n_columns", "is another number.")
            starts = node.array("starts", (None if n_rows is None else n_rows + 1,), "whole")
            proper = len(starts) > 0 and starts[0] == 0 and (np.diff(starts) >= 0).all()
            node.check(proper, "starts", "is not in ascending order.")
            n_values = int(starts[-1])
            columns = node.array("columns", (n_values,), "whole", low=0, high=width - 1)
            values = node.array("values", (n_values,), low=-largest, high=largest)
            rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            ascends = (np.diff(columns) > 0) | (np.diff(rows) > 0)
            node.check(ascends.all(), "columns", "is not in ascending order.")
            return sparse.csr_matrix((values, (rows, columns)), shape=(len(starts) - 1, width))

    def texts(self, name: str, length: int | None = None) -> list[str]:
        """Return a list of strings, of a length if one is given."""
        value = self._take(name)
        two = type(value) is list and [type(part) for part in value] == [int, int]
        self.check(two, name, "is not a list of text.")
        contents, where = self._source.contents, f"{self.where}.{name}"
        lengths = contents.array(value[0], "whole", (length,), where)
        data = contents.array(value[1], "byte", (None,), where)
        fits = not lengths.size or (lengths.min() >= 0 and lengths.max() <= _LONGEST_TEXT)
        self.check(fits and lengths.sum() == data.size, name, "is not a list of text.")
        ends = np.cumsum(lengths).tolist()
        data = data.tobytes()
        try:
            return [
                data[start:end].decode("utf-8", "surrogatepass")
                for start, end in itertools.pairwise([0, *ends])
            ]
        except UnicodeDecodeError:
            damaged(where, "holds text that is not UTF-8.")

    def labels(self, name: str, length: int | None = None) -> np.ndarray:
        """Return classes in ascending order, of a length if one is given."""
        with self.child(name) as node:
            kind = node.text("type", {"text", "object", *_LABEL_TYPES})
            if kind in ("text", "object"):
                words = node.texts("values", length)
                labels = np.array(words, dtype=object)
                labels = labels.astype(str) if kind == "text" and words else labels
                # NumPy drops the last characters of text that end in NUL.
                node.check(labels.tolist() == words, "values", "holds text with a NUL.")
                ascends = all(one < other for one, other in itertools.pairwise(words))
            else:
                stored = node.array("values", (length,), _LABEL_TYPES[kind])
                with np.errstate(over="ignore"):
                    labels = stored.astype(kind)
                same = np.array_equal(labels.astype(stored.dtype), stored)
                node.check(same, "values", f"is not of the type {kind}.")
                ascends = bool((labels[1:] > labels[:-1]).all())
            node.check(len(labels) and ascends, "values", "is not in ascending order.")
        return labels

    def columns(self, name: str) -> dict[str, np.ndarray]:
        """Return columns of numbers or text by name, all of one length."""
        columns: dict[str, np.ndarray] = {}
        table, length = self.child(name), None
        for column in list(table._left):
            table.check(_NAME.fullmatch(column), "names", "has a column without a proper name.")
            with table.child(column) as one:
                (kind,) = one._left if len(one._left) == 1 else ("",)
                one.check(kind in ("text", "float", "whole", "flag"), "kind", "is not known.")
                if kind == "text":
                    found = np.array(one.texts(kind, length), dtype=str)
                else:
                    found = one.array(kind, (length,), kind, nan=True, infinite=True)
            columns[column], length = found, len(found)
        return columns

    def names(
        self, name: str, choices: Collection[Choice], length: int | None = None
    ) -> list[Choice]:
        """Return a list of strings, each one of a few."""
        value = self._list(name, length)
        fits = all(type(part) is str and part in choices for part in value)
        self.check(fits, name, "is not a list of what it may be.")
        return value

    def member_names(self, name: str) -> list[str]:
        """Return names of members or steps: different, and none that an object has for itself."""
        names = self.texts(name)
        plain = all(one and not one.startswith("_") and "__" not in one for one in names)
        self.check(plain and len(set(names)) == len(names), name, "are not names of members.")
        return names

    # -- parts ---------------------------------------------------------------------------------

    def child(self, name: str) -> Node:
        """Return an object within this one."""
        return Node(self._take(name), self._source, f"{self.where}.{name}")

    def children(self, name: str, length: int | None = None) -> list[Node]:
        """Return a list of objects."""
        return [self._nth(name, k, part) for k, part in enumerate(self._list(name, length))]

    def _nth(self, name: str, place: int, part: Any) -> Node:
        return Node(part, self._source, f"{self.where}.{name}.{place}")

    def _list(self, name: str, length: int | None) -> list[Any]:
        value = self._take(name)
        fits = type(value) is list and length in (None, len(value))
        self.check(fits, name, "is not a list, or one of another length.")
        return value

    def model(self, name: str) -> Any:
        """Return a model within this one."""
        return self.child(name).whole_model()

    def whole_model(self) -> Any:
        """Return the model that this object is."""
        return self._source.read_model(self)

    def models(
        self, name: str, length: int | None = None, missing: bool = False, read: Any = None
    ) -> list[Any]:
        """Return a list of models, None in the place of one that may be missing."""
        read = read or Node.whole_model
        return [
            None if missing and part is None else read(self._nth(name, place, part))
            for place, part in enumerate(self._list(name, length))
        ]

    def lists(self, name: str, length: int | None = None) -> list[Node]:
        """Return a list of anything, each as the only part of an object with the same name."""
        return [Node({name: part}, self._source, self.where) for part in self._list(name, length)]

    # -- fields that classes declare -----------------------------------------------------------

    def fields(self, cls: type, sizes: Sizes) -> None:
        """Set the declared fields of a class on the owner of the sizes."""
        try:
            for name, kind in sorted(stored_fields(cls).items(), key=_asks):
                own = kind.for_(sizes.owner)
                if own is not None:
                    value = own.read(self, name.strip("_"), sizes)
                    if value is not ABSENT:
                        setattr(sizes.owner, name, value)
        except StateError as error:
            self.refuse(error)

    def state(self, model: Any, cls: type) -> None:
        """Set the declared fields of an estimator's class, and attributes derived from them."""
        self.fields(cls, Sizes(model))
        self._restore(model, cls)

    def record(
        self, name: str, cls: type, owner: Any, known: dict[str, int]
    ) -> tuple[Any, dict[str, int]]:
        """Return an object made of a class's declared fields, and the lengths of its arrays."""
        with self.child(name) as node:
            home = self._source.by_hand(cls)
            if home is not None:
                return home.read(node, owner, known)
            return node.made(cls, known, around=owner)

    def made(
        self,
        cls: type,
        known: dict[str, int] | None = None,
        *,
        make: type | None = None,
        around: Any = None,
    ) -> tuple[Any, dict[str, int]]:
        """Return the object that this describes, and the lengths of its arrays.

        ``make`` is its class, if another one has the declarations.
        """
        sizes = Sizes(
            SimpleNamespace(), {**getattr(cls, "_sizes", {}), **(known or {})}, around=around
        )
        self.fields(cls, sizes)
        arguments = inspect.signature(make or cls).parameters
        given = {name: x for name, x in vars(sizes.owner).items() if name in arguments}
        made = (make or cls)(**given)
        for name in vars(sizes.owner).keys() - given.keys():
            setattr(made, name, getattr(sizes.owner, name))
        self._restore(made, cls)
        return made, sizes.known

    def _restore(self, made: Any, cls: type) -> None:
        try:
            getattr(cls, "_restored", lambda made: None)(made)
        except StateError as error:
            self.refuse(error)

    def refuse(self, error: StateError) -> NoReturn:
        """Refuse the file for an error about one of its fields."""
        (out_of_range if error.too_large else damaged)(f"{self.where}.{error.part}", error.what)

    def members(self, name: str) -> list[Any]:
        """Return a list of members as users give them; see `Writer.members`."""
        listed: list[Any] = []
        for part in self.children(name):
            with part:
                if part.has("layer"):
                    listed.append(part.members("layer"))
                    continue
                called = None if part.none("name") else part.text("name")
                member = part.text("word") if part.has("word") else part.model("model")
                listed.append(member if called is None else (called, member))
        return listed

    def parameters(
        self,
        kind: type,
        models: Collection[str] = (),
        lists: Collection[str] = (),
    ) -> dict[str, Any]:
        """Return the parameters of a class, by the names that the class itself gives them."""
        given: dict[str, Any] = {}
        known = set(inspect.signature(kind).parameters) - set(OF_THE_MACHINE)
        with self.child("parameters") as node:
            for parameter in sorted(known.intersection(node._left)):
                value = node._left[parameter]
                if parameter in models and type(value) is dict and set(value) == {"model"}:
                    with node.child(parameter) as one:
                        given[parameter] = one.model("model")
                elif parameter in lists and type(value) is dict and set(value) == {"members"}:
                    with node.child(parameter) as one:
                        given[parameter] = one.members("members")
                else:
                    given[parameter] = node.plain(parameter)
        return given

    def plain_lists(self, name: str, length: int) -> list[list[Any]]:
        """Return a list of lists of plain values."""
        found = [self._plain(part, name) for part in self._list(name, length)]
        self.check(all(type(part) is list for part in found), name, "is not a list of lists.")
        return found

    def plain(self, name: str) -> Any:
        """Return a plain value: None, a flag, a number, text, or lists and dicts of those."""
        return self._plain(self._take(name), name)

    def _plain(self, value: Any, name: str) -> Any:
        if type(value) is dict:
            self.check(len(value) == 1, name, "is not a plain value.")
            ((kind, part),) = value.items()
            if kind == "float":
                self.check(part in ("inf", "-inf", "nan"), name, "is not a number.")
                return float(part)
            fits = kind in ("list", "tuple", "array", "dict") and type(part) is list
            self.check(fits, name, "is not a plain value.")
            if kind == "dict":
                return self._dict(part, name)
            parts = [self._plain(one, name) for one in part]
            if kind == "array":
                one = {type(each) for each in parts} <= {bool, int, float} or all(
                    type(each) is str for each in parts
                )
                self.check(one and parts, name, "is not a plain array.")
                return np.array(parts)
            return tuple(parts) if kind == "tuple" else parts
        self.check(
            value is None or type(value) in (bool, int, float, str), name, "is not a value."
        )
        if type(value) is int:
            self.check(abs(value) < 2**63, name, "is too large.")
        if type(value) is float:
            self.check(math.isfinite(value), name, "is not finite.")
        return value

    def _dict(self, pairs: list[Any], name: str) -> dict[Any, Any]:
        proper = all(type(pair) is list and len(pair) == 2 for pair in pairs)
        self.check(proper, name, "is not a plain value.")
        found = {}
        for key, value in pairs:
            key = self._plain(key, name)
            hashable = key is None or isinstance(key, bool | int | float | str | tuple)
            self.check(hashable, name, "is not a plain value.")
            try:
                found[key] = self._plain(value, name)
            except TypeError:
                damaged(f"{self.where}.{name}", "is not a plain value.")
        return found
