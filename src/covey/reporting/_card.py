"""A fitted ensemble as a model card: Markdown with a header, as Hugging Face's hub reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from covey import __version__
from covey._intervals import (
    Interval,
    accuracy_interval,
    mean_interval,
    mean_interval_from_sums,
    proportion_interval,
    r2_interval,
)
from covey.reporting._words import one_line

# The smallest probability whose logarithm counts.
_SMALLEST = float(np.finfo(np.float64).eps)
# How many features or classes are named, and how many parameters a table has.
_MOST_NAMED, _LONGEST_VALUE = 40, 80


class Metric(NamedTuple):
    """A measure with its 95 % interval; ``kind`` is its name on the hub."""

    kind: str
    name: str
    found: Interval


def build_card(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    title: str | None = None,
    about: str | None = None,
    data: str | None = None,
    license: str | None = None,
) -> str:
    """A model card: what a fitted ensemble is, how good it is and who its members are.

    Parameters
    ----------
    model : estimator
        A fitted ensemble of covey, or a model of a table around one.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features), optional
        Rows that the model was not fitted on, to measure it by. Without them a flock is measured
        by the training rows that its folds held out (or those that it was calibrated with), and
        others are not measured.
    y : array-like of shape (n_samples,), optional
        What is true of these rows.
    title : str, optional
        The name of the model; by default that of its class.
    about : str, optional
        What it is for, and what it must not be used for.
    data : str, optional
        What it was fitted on: where the rows come from, and whom they leave out.
    license : str, optional
        The license, as Hugging Face's hub names it, such as "bsd-3-clause".

    Returns
    -------
    card : str
        Markdown behind a header of YAML; the file is by custom named README.md.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from covey import FlockClassifier
    >>> from covey.reporting import build_card
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> flock = FlockClassifier(effort="fast", random_state=0).fit(X[::2], y[::2])
    >>> card = build_card(flock, X[1::2], y[1::2], title="Irises")
    >>> card.splitlines()[:3]
    ['---', 'library_name: covey', 'pipeline_tag: tabular-classification']
    """
    check_is_fitted(model)
    if (X is None) != (y is None):
        raise ValueError("A model card takes X and y, rows to measure the model by, or neither.")
    title = one_line(type(model).__name__ if title is None else title)
    metrics, rows = _measured(model, X, y)
    parts = [
        _header(model, title, license, metrics, rows),
        f"# {_plain(title)}",
        about or "What it is for, and what it must not be used for, is not stated.",
        "## Data",
        *filter(None, [data, _columns(model)]),
        "## How good it is",
        _table(metrics, rows),
        "## Members",
        _members(model),
        "## Parameters",
        _parameters(model),
        "## How to use it",
        _use(model, title),
    ]
    return "\n\n".join(parts) + "\n"


# -- measures -------------------------------------------------------------------------------------


def _measured(model: Any, X: Any, y: Any) -> tuple[list[Metric], str]:
    """The measures, and by which rows."""
    if X is not None:
        y = column_or_1d(y)
        check_consistent_length(X, y)
        if len(y) < 2:
            raise ValueError("A model card needs at least two rows to measure a model by.")
        of = _of_classes if is_classifier(model) else _of_values
        return of(model, X, y), f"{len(y):,} rows that the model was not fitted on"
    known = getattr(_decider(model), "calibration_", None)
    if known is None:
        return [], "no rows"
    n_rows = known.weight.sum()
    told = (
        f"{n_rows:,.0f} rows that the model was not fitted on"
        if known.source == "given rows"
        else f"{n_rows:,.0f} training rows, each by models that were fitted without it. The same "
        "rows chose the members, so that this is slightly on the bright side"
    )
    if "error" in known:
        return [Metric("mae", "Mean absolute error", _mean(np.abs(known.error), known))], told
    n_right = known.weight[known.right].sum()
    right = proportion_interval(min(round(n_right), round(n_rows)), round(n_rows))
    losses = -np.log(np.clip(known.probability, _SMALLEST, 1.0))
    return [
        Metric("accuracy", "Accuracy", right._replace(value=float(n_right / n_rows))),
        Metric("log_loss", "Log-loss", _mean(losses, known)),
    ], told


def _mean(values: np.ndarray, known: Any) -> Interval:
    n_rows = known.weight.sum()
    mean = float(values @ known.weight / n_rows)
    squares = float(np.square(values - mean) @ known.weight)
    return mean_interval_from_sums(mean, squares, round(n_rows), round(n_rows))


def _of_classes(model: Any, X: Any, y: np.ndarray) -> list[Metric]:
    probabilities = np.asarray(model.predict_proba(X))
    codes = {label: code for code, label in enumerate(model.classes_.tolist())}
    truth = np.array([codes.get(label, -1) for label in y.tolist()])
    # A class that the model does not know is never predicted.
    of_truth = np.where(truth < 0, 0.0, probabilities[np.arange(len(y)), truth])
    return [
        Metric("accuracy", "Accuracy", accuracy_interval(probabilities.argmax(axis=1) == truth)),
        Metric("log_loss", "Log-loss", mean_interval(-np.log(np.clip(of_truth, _SMALLEST, 1.0)))),
    ]


def _of_values(model: Any, X: Any, y: np.ndarray) -> list[Metric]:
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    errors = y - np.asarray(model.predict(X))
    absolute = Metric("mae", "Mean absolute error", mean_interval(np.abs(errors)))
    if np.ptp(y) == 0:  # there is no spread to explain a share of
        return [absolute]
    return [Metric("r_squared", "R²", r2_interval(y, np.square(errors))), absolute]


# -- words ----------------------------------------------------------------------------------------


def _header(
    model: Any, title: str, license: str | None, metrics: Sequence[Metric], rows: str
) -> str:
    """The header in YAML, of which JSON's strings, numbers and lists are a part."""
    task = "tabular-classification" if is_classifier(model) else "tabular-regression"
    lines = ["---", "library_name: covey", f"pipeline_tag: {task}"]
    if license is not None:
        lines.append(f"license: {json.dumps(one_line(license))}")
    lines.append('tags: ["covey", "sklearn", "ensemble"]')
    known = [metric for metric in metrics if np.isfinite(metric.found.value)]
    if known:
        lines += [
            "model-index:",
            f"- name: {json.dumps(title)}",
            "  results:",
            "  - task:",
            f"      type: {task}",
            "    dataset:",
            "      type: tabular",
            f"      name: {json.dumps(rows.split('.')[0])}",
            "    metrics:",
        ]
    for metric in known:
        lines += [
            f"    - type: {metric.kind}",
            f"      name: {json.dumps(metric.name)}",
            f"      value: {json.dumps(round(metric.found.value, 6))}",
        ]
    return "\n".join([*lines, "---"])


def _columns(model: Any) -> str:
    n_features = int(getattr(model, "n_features_in_", 0))
    names = getattr(model, "feature_names_in_", None)
    told = [f"The model reads {n_features:,} columns" + ("." if names is None else ": ")]
    if names is not None:
        told.append(_named(names) + ".")
    if is_classifier(model):
        told.append(f" It predicts one of {len(model.classes_):,} classes: ")
        told.append(_named(model.classes_.tolist()) + ".")
    else:
        told.append(" It predicts a number.")
    return "".join(told)


def _named(names: Sequence[Any]) -> str:
    """The first of some names, and how many more there are."""
    shown = [_plain(one_line(str(name))) for name in names[:_MOST_NAMED]]
    if len(names) > _MOST_NAMED:
        shown.append(f"{len(names) - _MOST_NAMED:,} more")
    return ", ".join(shown)


def _table(metrics: Sequence[Metric], rows: str) -> str:
    if not metrics:
        return "It is not measured: there were no rows that it was not fitted on."
    lines = ["| measure | value | 95 % interval |", "| --- | --- | --- |"]
    for _, name, (value, low, high) in metrics:
        lines.append(f"| {name} | {value:.4g} | {low:.4g} to {high:.4g} |")
    return "\n".join(lines) + f"\n\nBy {rows}."


def _decider(model: Any) -> Any:
    """What decides in a model of a table, or the model itself."""
    return getattr(model, "estimator_", model)


def _members(model: Any) -> str:
    model = _decider(model)
    if hasattr(model, "summary"):
        return _fenced(model.summary(), "text")
    if not hasattr(model, "fuser_"):
        return f"None: it is one `{type(model).__name__}`."
    names = getattr(model, "named_estimators_", None) or dict(enumerate(model.estimators_, 1))
    lines = [
        f"- {_plain(one_line(str(name)))}: `{type(member).__name__}`"
        for name, member in names.items()
        if not isinstance(member, str)
    ]
    return "\n".join([f"Fused by `{model.fuser_.title}`:", "", *lines])


def _parameters(model: Any) -> str:
    lines = ["| parameter | value |", "| --- | --- |"]
    for name, value in model.get_params(deep=False).items():
        shown = one_line(repr(value))
        if len(shown) > _LONGEST_VALUE:
            shown = shown[:_LONGEST_VALUE] + "…"
        lines.append(f"| {name} | {_plain(shown)} |")
    return "\n".join(lines)


def _use(model: Any, title: str) -> str:
    path = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "model"
    lines = [
        "import covey",
        "",
        f'model = covey.load("{path}.covey")  # written by covey.save; runs nothing of the file',
        "model.predict(X)",
    ]
    lines += ["model.explain(X)  # who decided, and why"] if hasattr(model, "explain") else []
    return _fenced("\n".join(lines), "python") + f"\n\nMade by covey {__version__}."


def _fenced(text: str, language: str) -> str:
    # A name in the text may hold a fence of its own.
    longest = max((len(found) for found in _runs(str(text))), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _runs(text: str) -> Iterator[str]:
    """Runs of back quotes."""
    return (found.group() for found in re.finditer("`+", text))


def _plain(text: str) -> str:
    """Text as Markdown shows it, in tables too."""
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", text)
