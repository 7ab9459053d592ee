"""``covey fuse``."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covey.cli import _options as options
from covey.cli._console import CommandError, Console

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

_LABEL_COLUMNS = ("prediction", "label", "class", "predicted")
_PROBABILITY = "probability_"

EXAMPLE = (
    "covey demo --table wine.csv",
    "covey fit wine.csv --target cultivar --effort fast",
    "covey predict flock.covey wine.csv --proba --out one.csv",
    "covey predict flock.covey wine.csv --out two.csv",
    "covey fuse one.csv two.csv --truth wine.csv --target cultivar --out fused.csv",
)


def fuse(
    predictions: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE FILE ...",
            help="Predictions: one column a class, or a column 'prediction' of labels or numbers.",
        ),
    ],
    rule: Annotated[
        str,
        typer.Option(
            help="mean, product, median, trimmed_mean, max, min, majority or borda; with --truth "
            "also linear_stacking, greedy_selection and single_best, which learn. Numbers are "
            "fused by mean, median or trimmed_mean, or with --truth by linear_stacking."
        ),
    ] = "mean",
    identifier: Annotated[
        str | None,
        typer.Option("--id", metavar="COLUMN", help="Align rows by this column, not by position."),
    ] = None,
    truth: Annotated[
        str | None, typer.Option(metavar="FILE", help="A table with the true values.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column of the true values.")
    ] = None,
    task: options.Task = "auto",
    out: options.Out = None,
    raw: options.Raw = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Fuse predictions that were saved in files into one decision a row.

    What `covey predict --proba` writes is understood; so is a file with one column a class, and
    one with a column of labels, or of numbers: then numbers are fused.
    """
    import numpy as np
    import pandas as pd

    from covey._intervals import accuracy_interval
    from covey.cli._evaluate import percent
    from covey.cli._writing import TABLE_ENDINGS, check_writable, table_writer

    console = Console(quiet, as_json)
    check_writable(out, TABLE_ENDINGS, inputs=(*predictions, *([truth] if truth else [])))
    if len(predictions) < 2:
        raise CommandError("give two files of predictions at least.")
    if (truth is None) != (target is None):
        raise CommandError(
            "give --truth and --target together: a file, and its column of true values."
        )
    paths = [*predictions, *filter(None, [truth])]
    frames, ids = _aligned(paths, identifier, [*_LABEL_COLUMNS, target])
    if _are_numbers(frames[: len(predictions)], task):
        from covey.cli._fuse_numbers import fuse_numbers

        aligned = {} if ids is None else {identifier: _whole(ids)}
        columns = [
            _label_column(one, path)
            for one, path in zip(frames[: len(predictions)], predictions, strict=True)
        ]
        known = None if truth is None else _known_numbers(frames[-1], target, truth)
        fuse_numbers(console, columns, predictions, rule, known, aligned, out, raw)
        return
    labels = None if truth is None else _true_labels(frames.pop(), target, truth)
    saved, classes = _as_probabilities(frames, predictions, labels)
    fused, scores, learned = _fused(saved, classes, rule, labels)
    made = {} if ids is None else {identifier: _whole(ids)}
    made["prediction"] = np.array(classes)[fused.argmax(axis=1)]
    for code, label in enumerate(classes):
        made[f"{_PROBABILITY}{label}"] = fused[:, code]
    frame = pd.DataFrame(made)
    if out or not as_json:
        with table_writer(out, raw) as write:
            write(frame)
    if scores is not None:
        for name, correct in zip([*predictions, f"fused ({rule}{learned})"], scores, strict=True):
            console.note(f"{name}: {percent(*accuracy_interval(correct))}")
    if out:
        console.note(f"Wrote {len(frame):,} rows to {out}.")
    result = {"rows": len(frame), "rule": rule, "out": out}
    if scores is not None:
        result["accuracy"] = [float(correct.mean()) for correct in scores[:-1]]
        result["fused_accuracy"] = float(scores[-1].mean())
    if not out:
        result["predictions"] = frame.to_dict("records")
    console.emit(**result)


def _are_numbers(frames: list[pd.DataFrame], task: str) -> bool:
    """Whether files hold a number for each row, and no classes."""
    from covey.cli._problem import MOST_FRACTION_CLASSES, MOST_NUMBERED_CLASSES

    many = False
    for frame in frames:
        labels = [name for name in frame.columns if name.lower() in _LABEL_COLUMNS]
        made = any(str(name).startswith(_PROBABILITY) for name in frame.columns)
        if made or not (labels or frame.shape[1] == 1):
            return False
        values = frame[labels[0]] if labels else frame.iloc[:, 0]
        if values.dtype.kind not in "fi":
            return False
        whole = bool((values.dropna() % 1 == 0).all())
        most = MOST_NUMBERED_CLASSES if whole else MOST_FRACTION_CLASSES
        many |= values.nunique() > most or (not whole and len(values) <= most)
    return task == "numbers" or (task == "auto" and many)


def _label_column(frame: pd.DataFrame, path: str) -> np.ndarray:
    """The column of a file that holds its predictions."""
    import numpy as np

    labels = [name for name in frame.columns if name.lower() in _LABEL_COLUMNS]
    values = frame[labels[0]] if labels else frame.iloc[:, 0]
    if values.isna().any():
        raise CommandError(f"{path}: column {values.name!r} has gaps.")
    return values.to_numpy(dtype=np.float64)


def _known_numbers(frame: pd.DataFrame, target: str | None, path: str) -> np.ndarray:
    import numpy as np
    import pandas as pd

    from covey.cli._problem import check_column

    check_column(frame, str(target), "--target")
    values = pd.to_numeric(frame[target], errors="coerce")
    if not np.isfinite(values).all():
        raise CommandError(
            f"{path}: {target!r} holds gaps or other things than numbers; every row needs its "
            "true number."
        )
    return values.to_numpy(dtype=np.float64)


def _aligned(
    paths: list[str], identifier: str | None, labels: Collection[str]
) -> tuple[list[pd.DataFrame], np.ndarray | None]:
    """The files as frames of the same rows in the same order, and their ids."""
    first, *rest = [_read(path, identifier, labels) for path in paths]
    rest = [
        _rows_of(one, path, first, paths[0]) for one, path in zip(rest, paths[1:], strict=True)
    ]
    frames = [frame.reset_index(drop=True) for frame in (first, *rest)]
    return frames, None if identifier is None else first.index.to_numpy()


def _read(path: str, identifier: str | None, labels: Collection[str]) -> pd.DataFrame:
    """A file, with its ids as index where rows are aligned by them."""
    from covey.cli._problem import check_column
    from covey.cli._reading import read_table

    if identifier is None:
        return read_table(path, labels=labels)
    frame = read_table(path, labels=labels, text=[identifier])
    check_column(frame, identifier, f"--id, {path}")
    # Ids are text, digit by digit; 7 and 7.0 are the same.
    ids = frame[identifier].str.strip().str.replace(r"^([+-]?\d+)\.0+$", r"\1", regex=True)
    frame = frame.set_index(ids).drop(columns=identifier)
    if frame.index.has_duplicates:
        raise CommandError(
            f"{path}: {identifier!r} holds {frame.index[frame.index.duplicated()][0]} twice; rows "
            "must have ids of their own to be aligned."
        )
    return frame


def _rows_of(frame: pd.DataFrame, path: str, first: pd.DataFrame, first_path: str) -> pd.DataFrame:
    """The rows of a file in the order of another one's, by ids or by position."""
    if first.index.name is None:
        if len(frame) != len(first):
            raise CommandError(
                f"{path} has {len(frame)} rows and {first_path} has {len(first)}; align them by a "
                "column with --id."
            )
        return frame
    absent = first.index.difference(frame.index, sort=False)
    if len(absent):
        raise CommandError(
            f"{path} has no row with {first.index.name} {absent[0]}, which {first_path} has "
            f"({len(absent)} such rows)."
        )
    return frame.loc[first.index]


def _whole(ids: np.ndarray) -> np.ndarray:
    """Ids that are whole numbers as such, for readers that keep types."""
    import re

    import numpy as np

    if all(re.fullmatch(r"0|-?[1-9]\d{0,17}", value) for value in ids):
        return np.array([int(value) for value in ids], dtype=np.int64)
    return ids


def _true_labels(frame: pd.DataFrame, target: str, path: str) -> list[str]:
    from covey.cli._problem import check_column

    check_column(frame, target, "--target")
    if frame[target].isna().any():
        raise CommandError(f"{path}: {target!r} has gaps; every row needs its true class.")
    return _labels(frame[target])


def _labels(values: pd.Series) -> list[str]:
    """Labels as text, whole numbers without a point."""
    from pandas.api import types

    if types.is_numeric_dtype(values.dtype):
        return [f"{value:.15g}" for value in values]
    return [str(value) for value in values]


def _as_probabilities(
    frames: list[pd.DataFrame],
    paths: list[str],
    truth: list[str] | None,
) -> tuple[list[np.ndarray], list[str]]:
    """An array (n_rows, n_classes) a file, over the classes of all of them."""
    import numpy as np
    import pandas as pd

    found = []
    for frame, path in zip(frames, paths, strict=True):
        made = [name for name in frame.columns if name.startswith(_PROBABILITY)]
        labels = [name for name in frame.columns if name.lower() in _LABEL_COLUMNS]
        numeric = [name for name in frame.columns if frame[name].dtype.kind in "fi"]
        if made:
            columns = {name.removeprefix(_PROBABILITY): frame[name] for name in made}
        elif labels:
            columns = frame[labels[0]]
        elif len(numeric) == frame.shape[1] and len(numeric) > 1:
            columns = {str(name): frame[name] for name in numeric}
        elif frame.shape[1] == 1:
            columns = frame.iloc[:, 0]
        else:
            raise CommandError(
                f"{path}: it is not clear which columns are predictions; give one column a class, "
                "or a column named 'prediction' (and --id for a column of ids)."
            )
        if not isinstance(columns, dict) and columns.isna().any():
            raise CommandError(f"{path}: column {columns.name!r} has gaps.")
        found.append(columns if isinstance(columns, dict) else _labels(columns))
    known = set(truth or [])
    for columns in found:
        known |= set(columns)
    classes = sorted(known, key=_by_number)
    if len(classes) < 2:
        raise CommandError("all predictions are the same class; there is nothing to fuse.")
    saved = []
    for columns, path in zip(found, paths, strict=True):
        if not isinstance(columns, dict):
            code = {label: k for k, label in enumerate(classes)}
            saved.append(np.eye(len(classes))[[code[label] for label in columns]])
            continue
        values = np.zeros((len(frames[0]), len(classes)))
        for code, label in enumerate(classes):
            if label in columns:
                values[:, code] = pd.to_numeric(columns[label], errors="coerce")
        if np.isnan(values).any() or (values < 0).any() or (values.sum(axis=1) <= 0).any():
            raise CommandError(
                f"{path}: probabilities must be numbers of at least 0, some above 0 in each row."
            )
        saved.append(values / values.sum(axis=1, keepdims=True))
    return saved, classes


def _by_number(label: str) -> tuple[int, float, str]:
    try:
        return (0, float(label), label)
    except ValueError:
        return (1, 0.0, label)


def _fused(
    saved: list[np.ndarray], classes: list[str], rule: str, truth: list[str] | None
) -> tuple[np.ndarray, list[np.ndarray] | None, str]:
    """Fused probabilities, with the truth also which rows are correct, and how it was learned.

    A rule that learns is judged by cross-fitting.
    """
    import numpy as np

    import covey
    from covey.fusers import make_fuser

    try:
        fuser = make_fuser(rule, "--rule")
    except ValueError as error:
        raise CommandError(str(error).replace(", a Fuser or a function", "")) from None
    if getattr(fuser, "needs_X", False) or rule in ("oracle", "k_of_n", "and", "or", "gate"):
        raise CommandError(
            f"--rule: {rule!r} needs more than predictions; use it in Python, or choose mean, "
            "product, median, majority or linear_stacking."
        )
    P, labels = np.stack(saved, axis=1), np.array(classes)
    if not fuser.learns:
        fused = judged = covey.fuse(P, fuser, classes=labels)
    elif truth is None:
        raise CommandError(
            f"--rule: {rule!r} learns from true classes; give --truth and --target."
        )
    else:
        fused, judged = _cross_fitted(fuser, P, labels, np.array(truth))
    learned = ", cross-fitted" if fuser.learns else ""
    if truth is None:
        return fused, None, learned
    correct = [labels[one.argmax(axis=1)] == np.array(truth) for one in (*saved, judged)]
    return fused, correct, learned


def _cross_fitted(
    fuser: Any, P: np.ndarray, labels: np.ndarray, truth: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What a fuser of all rows fuses, and what others fuse of rows they did not learn from."""
    import numpy as np
    from sklearn.base import clone
    from sklearn.model_selection import KFold

    from covey.fusers import Predictions

    held_out = np.zeros((len(P), len(labels)))
    for train, test in KFold(min(5, len(P)), shuffle=True, random_state=0).split(P):
        fitted = clone(fuser).fit(Predictions(P[train], labels), truth[train])
        held_out[test] = fitted.fuse(Predictions(P[test], labels))
    fitted = clone(fuser).fit(Predictions(P, labels), truth)
    return fitted.fuse(Predictions(P, labels)), held_out
