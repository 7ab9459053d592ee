"""Declarations of the fields that objects keep in files, written beside the fields.

    class Gate(Fuser):
        coef_: Annotated[np.ndarray, Array("K P")]  # finite numbers, one row for each member
        alpha_: Annotated[float | None, Number(low=0)]

is all that is written about ``coef_`` and ``alpha_``. Type checkers read the type; from the rest
`covey.persistence` writes and reads the field and checks it: its type, its shape, that its numbers
are finite and in range. A type with ``| None`` allows None (but `Where` declares by itself whether
its kinds do). A letter of a shape stands for one length within one object; the field that is read
first binds it, and all others must agree. ``+1`` and ``-1`` may follow a letter, ``*`` is any
length, and a number is itself. Fields of base classes come first.

A class that has derived attributes, or conditions on several fields, has a method ``_restored``,
which is called when its fields are read, and calls `refuse` if they do not fit each other.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, is_dataclass, replace
from functools import cache, partial
from types import NoneType
from typing import Any, get_args

import numpy as np

_LENGTH = re.compile(r"(?P<letter>[A-Za-z]\w*)(?P<more>[+-]\d+)?")
# The value of an optional field that an object does not have.
ABSENT: Any = object()


class StateError(ValueError):
    """A field whose value cannot be right."""

    def __init__(self, part: str, what: str, *, too_large: bool = False) -> None:
        super().__init__(f"{part} {what}")
        self.part, self.what, self.too_large = part, what, too_large


def refuse(part: str, what: str, unless: Any = False, *, too_large: bool = False) -> None:
    """Raise StateError, unless a condition holds."""
    if not unless:
        raise StateError(part, what, too_large=too_large)


class Sizes:
    """The lengths that letters stand for while one object is read; ``owner`` is that object.

    ``around`` is the object that it belongs to, if any.
    """

    def __init__(
        self, owner: Any, known: dict[str, int] | None = None, *, around: Any = None
    ) -> None:
        self.owner, self.around = owner, around
        self.known = {**getattr(owner, "_sizes", {}), **(known or {})}

    def length(self, said: str) -> int | None:
        """Return the length that a word of a shape stands for; None if it is not known yet."""
        if said == "*":
            return None
        found = _LENGTH.fullmatch(said)
        if found is None:
            return int(said)
        known = self.known.get(found["letter"])
        return None if known is None else known + int(found["more"] or 0)

    def shape(self, words: str) -> tuple[int | None, ...]:
        """Return the lengths that a shape such as "K C P" stands for."""
        return tuple(self.length(word) for word in words.split())

    def bind(self, words: str, lengths: Iterable[int], name: str) -> None:
        """Keep the lengths of an array that has been read."""
        for word, length in zip(words.split(), lengths, strict=True):
            found = _LENGTH.fullmatch(word)
            if found is not None:
                own = length - int(found["more"] or 0)
                refuse(name, "has another length.", self.known.setdefault(found[1], own) == own)
                refuse(name, "is empty.", own >= 0)


@dataclass(frozen=True)
class Stored:
    """A way to write and read one field; each kind of field is a subclass.

    ``out`` is a `covey.persistence._writer.Writer` and ``node`` the
    `covey.persistence._nodes.Node` that holds the field under a name.
    """

    def write(self, value: Any, out: Any) -> Any:
        """Return the value as an object of the document."""
        raise NotImplementedError

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the value, checked."""
        raise NotImplementedError

    def stacked(self, letter: str) -> Stored:
        """Return the kind of a list of such values, one for each of a number of objects."""
        return ListOf(self, letter)

    def of(self, owner: Any, name: str) -> Any:
        """Return the object's value, which may be ABSENT."""
        return getattr(owner, name)

    def for_(self, owner: Any) -> Stored | None:
        """Return the kind of the field for this object, or None if it has none."""
        return self

    def found(self, owner: Any, name: str) -> bool:
        """Return whether an object has the field as far as a fitted one needs it."""
        return hasattr(owner, name)

    # Whether a file has a part for it.
    is_written = True


# -- arrays ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Array(Stored):
    """Finite numbers of a shape, within bounds; ``nan`` and ``infinite`` allow those, too."""

    shape: str
    low: float | None = None
    high: float | None = None
    nan: bool = False
    infinite: bool = False
    positive: bool = False
    fewest: int = 0  # entries
    most: int | None = None
    kind: str = "float"  # of the stored numbers
    dtype: str | None = None  # of the attribute, if it is another one
    of_rows: bool = False  # whether it holds rows of the training, which a file need not have

    def write(self, value: Any, out: Any) -> Any:
        """Return the number of an array of the file."""
        return out.array(value[:0] if self.of_rows and not out.keeps_rows else value, self.kind)

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the array."""
        low, high = self._bounds(sizes)
        how = {"low": low, "high": high, "nan": self.nan, "infinite": self.infinite}
        values = node.array(name, sizes.shape(self.shape), self.kind, **how)
        count = len(values)
        fits = count >= self.fewest and (self.most is None or count <= self.most)
        node.check(fits, name, f"has {count:,} entries, which are too few or too many.")
        sizes.bind(self.shape, values.shape, name)
        if self.positive:
            node.check_range((values > 0).all(), name, "holds a number that is not above 0.")
        self._check(values, node, name)
        return values if self.dtype is None else values.astype(self.dtype)

    def _bounds(self, sizes: Sizes) -> tuple[float | None, float | None]:
        return self.low, self.high

    def _check(self, values: Any, node: Any, name: str) -> None:
        pass

    def stacked(self, letter: str) -> Stored:
        """Return the kind of one array for all of them."""
        return replace(self, shape=f"{letter} {self.shape}")

    def __str__(self) -> str:
        return f"{_NAMES[self.kind]} ({', '.join(self.shape.split())}){self._said()}"

    def _said(self) -> str:
        said = [
            *([] if self.low is None else [f"at least {self.low:g}"]),
            *([] if self.high is None else [f"at most {self.high:g}"]),
            *(["above 0"] if self.positive else []),
            *(["NaN allowed"] if self.nan else []),
            *(["infinity allowed"] if self.infinite else []),
        ]
        return "".join(f", {one}" for one in said)


_NAMES = {
    "float": "numbers",
    "single": "single numbers",
    "whole": "whole numbers",
    "unsigned": "hashes",
    "flag": "flags",
    "byte": "bytes",
}


@dataclass(frozen=True)
class Flags(Array):
    """True or false, of a shape."""

    kind: str = "flag"


@dataclass(frozen=True)
class Wholes(Array):
    """Whole numbers of a shape, within bounds."""

    kind: str = "whole"


@dataclass(frozen=True)
class Index(Wholes):
    """Positions among this many things; ``none`` allows -1. A shape of "" is a single one."""

    among: str = ""
    none: bool = False

    def __init__(self, shape: str, among: str, *, none: bool = False) -> None:
        super().__init__(shape, low=-1 if none else 0)
        object.__setattr__(self, "among", among)
        object.__setattr__(self, "none", none)

    def _bounds(self, sizes: Sizes) -> tuple[float | None, float | None]:
        count = sizes.length(self.among)
        if count is None:
            raise StateError(self.among, "is not known where it is needed.")
        return self.low, count - 1

    def write(self, value: Any, out: Any) -> Any:
        """Return a number of an array, or a whole number."""
        return super().write(value, out) if self.shape else int(value)

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the positions, or the single one."""
        if self.shape:
            return super().read(node, name, sizes)
        return node.whole(name, *self._bounds(sizes))

    def stacked(self, letter: str) -> Stored:
        """Return the kind of all positions in one array."""
        return Index(f"{letter} {self.shape}", self.among, none=self.none)

    def __str__(self) -> str:
        shape = f" ({', '.join(self.shape.split())})" if self.shape else ""
        return f"index{shape} among {self.among}{', or -1' if self.none else ''}"


@dataclass(frozen=True)
class Share(Array):
    """Weights that are not negative and sum to one."""

    low: float | None = 0.0

    def _check(self, values: Any, node: Any, name: str) -> None:
        node.check(abs(values.sum() - 1.0) < 1e-6, name, "does not sum to one.")

    def _said(self) -> str:
        return ", not negative, sum to one"


@dataclass(frozen=True)
class Matrix(Stored):
    """Finite numbers, (rows, columns), dense or sparse."""

    shape: str
    largest: float = 1e200

    def write(self, value: Any, out: Any) -> Any:
        """Return the arrays of the matrix."""
        return out.matrix(value)

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the matrix."""
        values = node.matrix(name, sizes.shape(self.shape), self.largest)
        sizes.bind(self.shape, values.shape, name)
        return values

    def __str__(self) -> str:
        return f"numbers ({', '.join(self.shape.split())}), dense or sparse"


# -- single values --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Number(Stored):
    """A finite number within bounds."""

    low: float | None = None
    high: float | None = None

    def write(self, value: Any, out: Any) -> Any:
        """Return the number."""
        return float(value)

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the number."""
        bounds = {"low": self.low, "high": self.high}
        return node.number(name, **{at: is_ for at, is_ in bounds.items() if is_ is not None})

    def __str__(self) -> str:
        return f"number{Array('', self.low, self.high)._said()}"


@dataclass(frozen=True)
class Whole(Stored):
    """A whole number within bounds, which may be lengths of arrays; a letter gets its value."""

    low: int = 0
    high: int | str | None = None
    letter: str | None = None

    def write(self, value: Any, out: Any) -> Any:
        """Return the number."""
        return int(value)

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the number."""
        high = sizes.length(self.high) if isinstance(self.high, str) else self.high
        value = node.whole(name, self.low, *([] if high is None else [high]))
        if self.letter is not None:
            sizes.bind(self.letter, [value], name)
        return value

    def __str__(self) -> str:
        high = "" if self.high is None else f", at most {self.high}"
        is_ = "whole number" if self.letter is None else f"{self.letter}, a whole number"
        return f"{is_}, at least {self.low}{high}"


@dataclass(frozen=True)
class Flag(Stored):
    """True or false."""

    def write(self, value: Any, out: Any) -> Any:
        """Return the flag."""
        return bool(value)

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the flag."""
        return node.flag(name)

    def stacked(self, letter: str) -> Stored:
        """Return the kind of all flags in one array."""
        return Flags(letter)

    def __str__(self) -> str:
        return "flag"


@dataclass(frozen=True)
class Text(Stored):
    """Text, of a length at most."""

    longest: int = 1 << 16

    def write(self, value: Any, out: Any) -> Any:
        """Return the text."""
        return str(value)

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the text."""
        value = node.text(name)
        node.check(len(value) <= self.longest, name, "is too long.")
        return value

    def __str__(self) -> str:
        return "text"


@dataclass(frozen=True)
class OneOf(Stored):
    """One of a few words."""

    words: tuple[str, ...]

    def __init__(self, *words: str) -> None:
        object.__setattr__(self, "words", words)

    def write(self, value: Any, out: Any) -> Any:
        """Return the word."""
        return str(value)

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the word."""
        return node.text(name, self.words)

    def __str__(self) -> str:
        return " or ".join(f'"{word}"' for word in self.words)


@dataclass(frozen=True)
class Plain(Stored):
    """None, flags, numbers, text, and lists and dicts of those, of a type if one is given."""

    type: type | None = None

    def write(self, value: Any, out: Any) -> Any:
        """Return the value as JSON has it."""
        return out.plain(value)

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the value."""
        value = node.plain(name)
        fits = self.type is None or isinstance(value, self.type)
        node.check(fits, name, f"is no {getattr(self.type, '__name__', '')}.")
        return value

    def __str__(self) -> str:
        return "plain values" if self.type is None else f"{self.type.__name__} of plain values"


# -- text and columns -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Texts(Stored):
    """A list of text, each different if so declared; made a tuple or an array of objects."""

    letter: str = "*"
    different: bool = False
    make: Callable[[list[str]], Any] = list
    fewest: int = 0

    def write(self, value: Any, out: Any) -> Any:
        """Return the numbers of two arrays."""
        return out.texts(value)

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the list."""
        value = node.texts(name, sizes.length(self.letter))
        node.check(len(value) >= self.fewest, name, "are missing.")
        sizes.bind(self.letter, [len(value)], name)
        once = not self.different or len(set(value)) == len(value)
        node.check(once, name, "holds one name twice.")
        return self.make(value)

    def __str__(self) -> str:
        return f"text ({self.letter}){', all different' if self.different else ''}"


def names_array(texts: list[str]) -> Any:
    """Return names as scikit-learn keeps those of columns."""
    return np.array(texts, dtype=object)


@dataclass(frozen=True)
class Labels(Stored):
    """Classes in ascending order: text, numbers or flags."""

    letter: str = "C"
    fewest: int = 1

    def write(self, value: Any, out: Any) -> Any:
        """Return the classes with their type."""
        return out.labels(value)

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the classes."""
        labels = node.labels(name, sizes.length(self.letter))
        node.check(len(labels) >= self.fewest, name, "are too few.")
        sizes.bind(self.letter, [len(labels)], name)
        return labels

    def __str__(self) -> str:
        return f"classes ({self.letter}), ascending"


@dataclass(frozen=True)
class Columns(Stored):
    """Columns of numbers or text by name, all of one length, such as what a search compared."""

    def write(self, value: Any, out: Any) -> Any:
        """Return the columns."""
        return out.columns(value)

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the columns."""
        return node.columns(name)

    def __str__(self) -> str:
        return "columns by name"


# -- what is made of other things -----------------------------------------------------------------


@dataclass(frozen=True)
class ListOf(Stored):
    """A list of values of one kind, as many as a letter says."""

    kind: Stored
    letter: str = "*"
    make: Callable[[list[Any]], Any] = list

    def write(self, value: Any, out: Any) -> Any:
        """Return a list."""
        return [self.kind.write(one, out) for one in value]

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the list; letters that are first met in a value stand for its own lengths."""
        parts = node.lists(name, sizes.length(self.letter))
        sizes.bind(self.letter, [len(parts)], name)
        found = (
            self.kind.read(one, name, Sizes(sizes.owner, sizes.known, around=sizes.around))
            for one in parts
        )
        return self.make(list(found))

    def __str__(self) -> str:
        return f"list ({self.letter}) of {self.kind}"


@dataclass(frozen=True)
class OrNone(Stored):
    """A value of a kind, or None."""

    kind: Stored

    def write(self, value: Any, out: Any) -> Any:
        """Return the value, or None."""
        return None if value is None else self.kind.write(value, out)

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the value, or None."""
        return None if node.none(name) else self.kind.read(node, name, sizes)

    def __str__(self) -> str:
        return f"{self.kind}; or none"


@dataclass(frozen=True)
class OrAbsent(OrNone):
    """A value of a kind in an attribute that an object need not have."""

    def of(self, owner: Any, name: str) -> Any:
        """Return the value, or None where there is none."""
        return getattr(owner, name, None)

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the value, or ABSENT."""
        return ABSENT if node.none(name) else self.kind.read(node, name, sizes)

    def found(self, owner: Any, name: str) -> bool:
        """Return True: an object may lack it."""
        return True


@dataclass(frozen=True)
class OrMissing(OrNone):
    """A value of a kind that files lack where it is empty, as files of before do."""

    def of(self, owner: Any, name: str) -> Any:
        """Return the value, or ABSENT, which is not written."""
        value = getattr(owner, name, None)
        return ABSENT if value is None or (isinstance(value, tuple) and not value) else value

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the value, or ABSENT."""
        return self.kind.read(node, name, sizes) if node.has(name) else ABSENT


# The names of a table's columns, which an array does not have.
FEATURE_NAMES = OrAbsent(Texts("F", different=True, make=names_array))


@dataclass(frozen=True)
class Where(Stored):
    """A field of the objects for which another attribute is true.

    That attribute may be a property of parameters and of the fields that come before. Other
    objects have a field of the other kind, if there is one.
    """

    attribute: str
    kind: Stored
    otherwise: Stored | None = None

    def for_(self, owner: Any) -> Stored | None:
        """Return the kind of the field that this object has."""
        kind = self.kind if getattr(owner, self.attribute) else self.otherwise
        return None if kind is None else kind.for_(owner)

    def found(self, owner: Any, name: str) -> bool:
        """Return True: only fitted objects show whether there is one."""
        return True

    def __str__(self) -> str:
        said = "" if self.otherwise is None else f", in others {self.otherwise}"
        return f"in some {self.kind}{said}"


@dataclass(frozen=True)
class Model(Stored):
    """A model that files hold, of a class if one is given."""

    type: type | None = None

    def write(self, value: Any, out: Any) -> Any:
        """Return the model as an object."""
        return out.model(value)

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the model."""
        model = node.model(name)
        if self.type is not None:
            node.check(isinstance(model, self.type), name, f"is no {self.type.__name__}.")
        return model

    def __str__(self) -> str:
        return "model" if self.type is None else self.type.__name__


@dataclass(frozen=True)
class Record(Stored):
    """An object with declared fields of its own.

    The letters that are named are those of the object around it, too.
    """

    cls: type
    letters: str = ""

    def write(self, value: Any, out: Any) -> Any:
        """Return the fields."""
        return out.record(value)

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the object."""
        shared = {one: sizes.known[one] for one in self.letters.split() if one in sizes.known}
        value, known = node.record(name, self.cls, sizes.owner, shared)
        for letter in self.letters.split():
            if letter in known:
                sizes.bind(letter, [known[letter]], name)
        return value

    def __str__(self) -> str:
        return self.cls.__name__


@dataclass(frozen=True)
class AnyOf(Stored):
    """An object of one of several classes with declared fields; the file has the class's name."""

    classes: tuple[type, ...]
    letters: str = ""

    def __init__(self, *classes: type, letters: str = "") -> None:
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "letters", letters)

    def write(self, value: Any, out: Any) -> Any:
        """Return the fields under the name of the class."""
        return {type(value).__name__: out.record(value)}

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the object."""
        with node.child(name) as inner:
            found = [cls for cls in self.classes if inner.has(cls.__name__)]
            inner.check(bool(found), "kind", "is not known.")
            return Record(found[0], self.letters).read(inner, found[0].__name__, sizes)

    def __str__(self) -> str:
        return " or ".join(cls.__name__ for cls in self.classes)


@dataclass(frozen=True)
class Named(Stored):
    """Models by name, in an order; ``dropped`` is the word for one that is left out, if any is.

    Some may be objects that ``data`` declares, beside models that files hold by themselves.
    """

    letter: str = "K"
    make: Callable[..., Any] = dict
    dropped: str | None = None
    data: AnyOf = AnyOf()

    def write(self, value: Any, out: Any) -> Any:
        """Return names and models."""
        models = [self._written(one, out) for one in value.values()]
        return {"names": out.texts(list(value)), "models": models}

    def _written(self, model: Any, out: Any) -> Any:
        if isinstance(model, self.data.classes):
            return {"data": self.data.write(model, out)}
        return None if isinstance(model, str) else out.model(model)

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the models by name."""
        with node.child(name) as inner:
            names = inner.member_names("names")
            sizes.bind(self.letter, [len(names)], name)
            how = {"missing": self.dropped is not None, "read": partial(self._read, sizes)}
            models = inner.models("models", len(names), **how)
            inner.check(any(one is not None for one in models), "models", "are missing.")
        found = self.make()
        for called, model in zip(names, models, strict=True):
            found[called] = self.dropped if model is None else model
        return found

    def _read(self, sizes: Sizes, node: Any) -> Any:
        if not node.has("data"):
            return node.whole_model()
        with node:
            return self.data.read(node, "data", sizes)

    def __str__(self) -> str:
        return f"models ({self.letter}) by name"


@dataclass(frozen=True)
class Stacked(Stored):
    """A list of objects with declared fields, each field of all of them in one array."""

    cls: type
    letter: str
    most: int = 100_000

    def write(self, value: Any, out: Any) -> Any:
        """Return one part for each field."""
        return {
            name.strip("_"): kind.stacked(self.letter).write(
                [kind.of(one, name) for one in value], out
            )
            for name, kind in stored_fields(self.cls).items()
        }

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the list."""
        columns = {}
        with node.child(name) as inner:
            for part, kind in stored_fields(self.cls).items():
                stacked = kind.stacked(self.letter)
                column = stacked.read(inner, part.strip("_"), sizes)
                count = sizes.length(self.letter) or 0
                node.check(0 < count <= self.most, part, "has no members, or too many.")
                single = isinstance(column, np.ndarray) and column.ndim == 1
                columns[part] = column.tolist() if single else column
        rows = zip(*columns.values(), strict=True)
        return [self.cls(**dict(zip(columns, row, strict=True))) for row in rows]

    def __str__(self) -> str:
        return f"list ({self.letter}) of {self.cls.__name__}"


@dataclass(frozen=True)
class Parts(Stored):
    """A dict with these names, each of its own kind."""

    kinds: dict[str, Stored]
    make: Callable[..., Any] = dict

    def write(self, value: Any, out: Any) -> Any:
        """Return the parts by name."""
        return {name: kind.write(value[name], out) for name, kind in self.kinds.items()}

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the dict."""
        with node.child(name) as inner:
            found = {part: kind.read(inner, part, sizes) for part, kind in self.kinds.items()}
        return self.make(**found)

    def __str__(self) -> str:
        return "; ".join(f"{name}: {kind}" for name, kind in self.kinds.items())


@dataclass(frozen=True)
class Told(Stored):
    """A list that the object around this one knows, and that files do not hold twice."""

    tell: Callable[[Any], Any]
    letter: str
    is_written = False

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the list that the other object knows."""
        value = self.tell(sizes.around)
        sizes.bind(self.letter, [len(value)], name)
        return value

    def __str__(self) -> str:
        return f"({self.letter}) told by the object around"


@dataclass(frozen=True)
class As(Stored):
    """A value that files hold in another form, which ``take`` makes and ``make`` undoes."""

    kind: Stored
    take: Callable[[Any], Any]
    make: Callable[[Any], Any]

    def write(self, value: Any, out: Any) -> Any:
        """Return the form of files."""
        return self.kind.write(self.take(value), out)

    def read(self, node: Any, name: str, sizes: Sizes) -> Any:
        """Return the form of objects."""
        return self.make(self.kind.read(node, name, sizes))

    def __str__(self) -> str:
        return str(self.kind)


# -- parameters -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """A parameter that may be a model of a class, or a list of members, beside plain values."""

    model: type | None = None
    members: bool = False


# -- the declarations of a class
# -------------------------------------------------------------------


@cache
def declared(cls: type) -> dict[str, Any]:
    """Return all declarations of a class, those of its base classes first.

    A declaration of a base class is left out if this class computes the attribute.
    """
    found: dict[str, Any] = {}
    for one in reversed(cls.__mro__):
        for name, value in vars(one).items():
            if hasattr(value, "__set__"):
                found.pop(name, None)
        names = vars(sys.modules[one.__module__])
        for name, said in inspect.get_annotations(one).items():
            # Other annotations may name what is imported for type checkers only.
            type_ = eval(said, names) if str(said).startswith("Annotated[") else said
            none = NoneType in get_args(getattr(type_, "__origin__", None))
            for kind in getattr(type_, "__metadata__", ()):
                if none and isinstance(kind, Stored) and not isinstance(kind, OrNone | Where):
                    kind = OrNone(kind)
                if isinstance(kind, Stored | Parameter):
                    found[name] = kind
    return found


def stored_fields(cls: type) -> dict[str, Stored]:
    """Return the fields of a class that files hold, by the names of the attributes."""
    return {name: kind for name, kind in declared(cls).items() if isinstance(kind, Stored)}


def stored_parameters(cls: type) -> dict[str, Parameter]:
    """Return the parameters of a class that may be more than plain values."""
    return {name: kind for name, kind in declared(cls).items() if isinstance(kind, Parameter)}


def has_state(model: Any, cls: type) -> bool:
    """Return whether an object has all fields that it must have, as a class declares them."""
    return all(kind.found(model, name) for name, kind in stored_fields(cls).items())


def equal(one: Any, other: Any) -> bool:
    """Return whether two values, or the declared fields of two objects, are equal to the bit."""
    if isinstance(one, np.ndarray):
        same = isinstance(other, np.ndarray) and one.dtype == other.dtype
        return same and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(equal(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    names = stored_fields(type(one))
    if not names and is_dataclass(one):
        return equal(vars(one), vars(other))
    if not names:
        return bool(one == other or (one != one and other != other))
    return all(equal(getattr(one, name, None), getattr(other, name, None)) for name in names)
