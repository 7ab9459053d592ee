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
# Rules that need a truth, a number or the rows besides predictions.
_NEED_MORE = ("oracle", "k_of_n", "and", "or", "gate")

EXAMPLE = (
    *options.FITTED,
    "covey predict flock.covey wine.csv --proba --out one.csv",
    "covey predict flock.covey wine.csv --out two.csv",
    "covey fuse one.csv two.csv --truth wine.csv --target cultivar --out fused.csv",
)


_RULE = options.option(
    "mean, product, median, trimmed_mean, max, min, majority or borda; with --truth "
    "also linear_stacking, greedy_selection and single_best, which learn. Numbers are "
    "fused by mean, median or trimmed_mean, or with --truth by linear_stacking."
)
_IDENTIFIER = options.option(
    "Align rows by this column, not by position.", "--id", metavar="COLUMN"
)
_TRUTH = options.option("A table with the true values.", metavar="FILE")
_TARGET = options.option("The column of the true values.", metavar="COLUMN")


def fuse(
    predictions: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE FILE ...",
            help="Predictions: one column per class, or a column 'prediction' of labels or "
            "numbers.",
        ),
    ],
    rule: Annotated[str, _RULE] = "mean",
    identifier: Annotated[str | None, _IDENTIFIER] = None,
    truth: Annotated[str | None, _TRUTH] = None,
    target: Annotated[str | None, _TARGET] = None,
    task: options.Task = "auto",
    out: options.Out = None,
    raw: options.Raw = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Fuse predictions that were saved in files into one decision per row.

    Files from `covey predict --proba` are understood; so are files with one column per class, and
    files with a column of labels, or of numbers: then numbers are fused.
    """
    import numpy as np
    import pandas as pd

    from covey.cli._problem import check_column
    from covey.cli._writing import TABLE_ENDINGS, check_writable, table_writer

    console = Console(quiet, as_json)
    paths = [*predictions, *filter(None, [truth])]
    check_writable(out, TABLE_ENDINGS, inputs=paths)
    if len(predictions) < 2:
        raise CommandError("give two files of predictions at least.")
    if (truth is None) != (target is None):
        raise CommandError(
            "give --truth and --target together: a file, and its column of true values."
        )
    labels = [*_LABEL_COLUMNS, *([] if target is None else [target])]
    frames = _aligned(paths, identifier, labels)
    made = {} if identifier is None else {identifier: _whole(frames[0].index)}
    found = [_predicted(*one) for one in zip(frames, predictions, strict=False)]
    numbers, known = _are_numbers(found, task), None
    if truth is not None and target is not None:
        check_column(frames[-1], target, "--target")
        known = (_known_numbers if numbers else _labels)(frames[-1][target], truth)
    if numbers:
        classes, values = None, np.column_stack(found)[:, :, None]
    else:
        classes, values = _as_probabilities(found, predictions, known)
    fused, judged, learned = _fused(rule, values, classes, known)
    made["prediction"] = fused[:, 0] if classes is None else classes[fused.argmax(axis=1)]
    for code, label in enumerate(() if classes is None else classes):
        made[f"{_PROBABILITY}{label}"] = fused[:, code]
    frame = pd.DataFrame(made)
    if out or not as_json:
        with table_writer(out, raw) as write:
            write(frame)
    result = {"rows": len(frame), "rule": rule, "out": out}
    if known is not None:
        names = [*predictions, f"fused ({rule}{learned})"]
        scored = [_judged(one, classes, known) for one in (*values.swapaxes(0, 1), judged)]
        for name, (sentence, _) in zip(names, scored, strict=True):
            console.note(f"{name}: {sentence}")
        *own, fused_scores = [scores for _, scores in scored]
        main = "rmse" if numbers else "accuracy"
        result[main] = [scores[main] for scores in own]
        result |= {f"fused_{measure}": score for measure, score in fused_scores.items()}
    if out:
        console.note(f"Wrote {len(frame):,} rows to {out}.")
    else:
        result["predictions"] = frame.to_dict("records")
    console.emit(**result)


# -- files ----------------------------------------------------------------------------------------


def _aligned(
    paths: list[str], identifier: str | None, labels: Collection[str]
) -> list[pd.DataFrame]:
    """Return the files as frames of the same rows in the same order, indexed by their ids."""
    first, *rest = [_read(path, identifier, labels) for path in paths]
    frames = [first]
    for frame, path in zip(rest, paths[1:], strict=True):
        if identifier is not None:
            absent = first.index.difference(frame.index, sort=False)
            if len(absent):
                raise CommandError(
                    f"{path} has no row with {identifier} {absent[0]}, which {paths[0]} has "
                    f"({len(absent)} such rows)."
                )
            frame = frame.loc[first.index]
        elif len(frame) != len(first):
            raise CommandError(
                f"{path} has {len(frame)} rows and {paths[0]} has {len(first)}; align them by a "
                "column with --id."
            )
        frames.append(frame)
    return frames


def _read(path: str, identifier: str | None, labels: Collection[str]) -> pd.DataFrame:
    """Read a file, with its ids as index if rows are aligned by them."""
    from covey.cli._problem import check_column
    from covey.cli._reading import read_table

    if identifier is None:
        return read_table(path, labels=labels)
    frame = read_table(path, labels=labels, text=[identifier])
    check_column(frame, identifier, f"--id, {path}")
    # Ids are text, digit by digit; 7 and 7.0 are the same.
    ids = frame[identifier].str.strip().str.replace(r"^([+-]?\d+)\.0+$", r"\1", regex=True)
    twice = ids[ids.duplicated()]
    if len(twice):
        raise CommandError(
            f"{path}: {identifier!r} holds {twice.iloc[0]} twice; rows must have ids of their own "
            "to be aligned."
        )
    return frame.set_index(ids).drop(columns=identifier)


def _whole(ids: pd.Index) -> Any:
    """Return ids that are whole numbers as such, for readers that keep types."""
    import numpy as np

    whole = ids.astype(str).str.fullmatch(r"0|-?[1-9]\d{0,17}").all()
    return ids.to_numpy(np.int64 if whole else object)


def _predicted(frame: pd.DataFrame, path: str) -> pd.Series | pd.DataFrame:
    """Return a column of labels or numbers, or one column per class."""
    made = [name for name in frame.columns if name.startswith(_PROBABILITY)]
    if made:
        return frame[made].rename(columns=lambda name: name.removeprefix(_PROBABILITY))
    labels = [name for name in frame.columns if name.lower() in _LABEL_COLUMNS]
    if labels or frame.shape[1] == 1:
        column = frame[labels[0]] if labels else frame.iloc[:, 0]
        if column.isna().any():
            raise CommandError(f"{path}: column {column.name!r} has gaps.")
        return column
    if all(kind.kind in "fi" for kind in frame.dtypes):
        return frame
    raise CommandError(
        f"{path}: it is not clear which columns are predictions; give one column a class, or a "
        "column named 'prediction' (and --id for a column of ids)."
    )


def _are_numbers(found: list[Any], task: str) -> bool:
    """Return whether files hold a number for each row, and no classes."""
    from covey.cli._problem import MOST_FRACTION_CLASSES, MOST_NUMBERED_CLASSES

    if task == "classes" or any(one.ndim == 2 or one.dtype.kind not in "fi" for one in found):
        return False
    many = False
    for values in found:
        whole = bool((values % 1 == 0).all())
        most = MOST_NUMBERED_CLASSES if whole else MOST_FRACTION_CLASSES
        many |= values.nunique() > most or (not whole and len(values) <= most)
    return task == "numbers" or many


def _known_numbers(values: pd.Series, path: str) -> np.ndarray:
    import numpy as np
    import pandas as pd

    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise CommandError(
            f"{path}: {values.name!r} holds gaps or other things than numbers; every row needs "
            "its true number."
        )
    return numbers


def _labels(values: pd.Series, path: str) -> np.ndarray:
    """Return labels as text, whole numbers without a point."""
    import numpy as np

    if values.isna().any():
        raise CommandError(f"{path}: {values.name!r} has gaps; every row needs its true class.")
    numeric = values.dtype.kind in "fiu"
    return np.array([f"{one:.15g}" if numeric else str(one) for one in values])


def _as_probabilities(
    found: list[Any], paths: list[str], truth: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes of all files, and probabilities of (n_rows, n_files, n_classes)."""
    import numpy as np
    import pandas as pd

    # Labels are probabilities of one and zero.
    tables = [
        one if one.ndim == 2 else pd.get_dummies(_labels(one, path), dtype=np.float64)
        for one, path in zip(found, paths, strict=True)
    ]
    known = {str(label) for one in tables for label in one.columns}
    known = sorted(known.union([] if truth is None else truth.tolist()))
    classes = np.array(sorted(known, key=_by_number))
    if len(classes) < 2:
        raise CommandError("all predictions are the same class; there is nothing to fuse.")
    saved = []
    for one, path in zip(tables, paths, strict=True):
        values = one.reindex(columns=classes, fill_value=0.0)
        values = values.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=np.float64)
        if np.isnan(values).any() or (values < 0).any() or (values.sum(axis=1) <= 0).any():
            raise CommandError(
                f"{path}: probabilities must be numbers of at least 0, some above 0 in each row."
            )
        saved.append(values / values.sum(axis=1, keepdims=True))
    return classes, np.stack(saved, axis=1)


def _by_number(label: str) -> tuple[int, float, str]:
    try:
        return (0, float(label), label)
    except ValueError:
        return (1, 0.0, label)


# -- fusion ---------------------------------------------------------------------------------------


def _fused(
    rule: str, values: np.ndarray, classes: np.ndarray | None, truth: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, str]:
    """Return fused values of (n, n_classes or 1), values to judge the rule, and how it learned.

    A rule that learns is judged on rows that it did not learn from.
    """
    from sklearn.base import clone
    from sklearn.model_selection import KFold

    from covey.cli._fitting import named_fuser
    from covey.fusers import Predictions
    from covey.fusers._base import FUSERS

    what, kind = ("numbers", "value") if classes is None else ("classes", "probability")
    fuser = named_fuser(rule, "--rule")
    made = {name: FUSERS[name]() for name in sorted(FUSERS) if name not in _NEED_MORE}
    usable = [
        name
        for name, one in made.items()
        if kind in one.kinds and not getattr(one, "needs_X", False)
    ]
    if rule not in usable:
        raise CommandError(
            f"--rule: {rule!r} does not fuse {what} that were saved; use one of "
            f"{', '.join(usable)}"
            f"{'' if classes is not None else ', or --task classes if these are classes'}."
        )

    def predictions(rows: Any = slice(None)) -> Predictions:
        return Predictions(values[rows], classes, kind=kind)

    def answer(fitted: Any, rows: Any = slice(None)) -> np.ndarray:
        fused = fitted.fuse(predictions(rows))
        return fused.reshape(len(fused), -1)

    if not fuser.learns:
        fused = answer(fuser)
        return fused, fused, ""
    if truth is None:
        raise CommandError(f"--rule: {rule!r} learns from true {what}; give --truth and --target.")
    fused = answer(clone(fuser).fit(predictions(), truth))
    held_out = fused.copy()
    for train, test in KFold(min(5, len(truth)), shuffle=True, random_state=0).split(values):
        held_out[test] = answer(clone(fuser).fit(predictions(train), truth[train]), test)
    return fused, held_out, ", cross-fitted"


def _judged(
    values: np.ndarray, classes: np.ndarray | None, truth: np.ndarray
) -> tuple[str, dict[str, float]]:
    """Say how often predictions are right, or how far off they are."""
    from covey._intervals import accuracy_interval, r2_interval
    from covey._number_words import number, percent

    if classes is not None:
        accuracy, low, high = accuracy_interval(classes[values.argmax(axis=1)] == truth)
        said = f"{percent(accuracy)} ({100 * low:.1f} to {100 * high:.1f})"
        return said, {"accuracy": accuracy}
    squared = (values[:, 0] - truth) ** 2
    r2, low, high = r2_interval(truth, squared)
    rmse = float(squared.mean() ** 0.5)
    said = f"R2 {r2:.3f} ({low:.3f} to {high:.3f}), RMSE {number(rmse, 4)}"
    return said, {"rmse": rmse, "r2": r2}
