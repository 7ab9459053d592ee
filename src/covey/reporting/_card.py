"""A fitted model as a model card: Markdown with a header, as Hugging Face's hub reads it."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from covey import __version__
from covey._number_words import named
from covey._plain_words import one_line
from covey.evaluation import Evaluation, evaluate
from covey.evaluation import _sentences as sentences
from covey.evaluation._evaluate import by_own_rows
from covey.evaluation._sentences import answers

# How many features or classes are named, and how many parameters a table has.
_MOST_NAMED, _LONGEST_VALUE = 40, 80
# The names of measures on the hub.
_KINDS = {
    "accuracy": ("accuracy", "Accuracy"),
    "cost": ("cost", "Mean cost of a row"),
    "log_loss": ("log_loss", "Log-loss"),
    "auc": ("roc_auc", "Area under the curve"),
    "average_precision": ("average_precision", "Average precision"),
    "r2": ("r_squared", "R²"),
    "deviance": ("deviance", "Mean deviance"),
    "mae": ("mae", "Mean absolute error"),
}


def build_card(
    model: Any,
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    title: str | None = None,
    about: str | None = None,
    data: str | None = None,
    license: str | None = None,
) -> str:
    """Write a model card: what a fitted model is, how good it is and who its members are.

    Parameters
    ----------
    model : estimator
        A fitted ensemble of covey, or a model of a table around one.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features), optional
        Rows that the model was not fitted on, to measure it. Without them, the evaluation that was
        kept with a model is used, or else the training rows that its folds held out.
    y : array-like of shape (n_samples,), optional
        The true labels, or numbers, of these rows.
    title : str, optional
        The name of the model; by default that of its class.
    about : str, optional
        Its purpose, and uses that it is not meant for.
    data : str, optional
        Its training data: where the rows come from, and whom they leave out.
    license : str, optional
        The license, as Hugging Face's hub names it, such as "bsd-3-clause".

    Returns
    -------
    card : str
        Markdown behind a header of YAML; the file is usually named README.md.

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
    known = getattr(model, "evaluation_", None)
    if X is not None and y is not None:
        if len(np.ravel(y)) < 2:
            raise ValueError("A model card needs at least two rows to measure a model by.")
        known = evaluate(model, X, y)
    elif known is None:
        known = by_own_rows(model)
    title = one_line(type(model).__name__ if title is None else title)
    parts = [
        _header(model, title, license, known),
        f"# {_plain(title)}",
        about or "What it is for, and what it must not be used for, is not stated.",
        "## Data",
        *filter(None, [data, _columns(model)]),
        *_how_good(known),
        "## Members",
        *filter(None, [sentences.size(known)]),
        _members(model),
        *_history(model),
        "## Parameters",
        _parameters(model),
        "## How to use it",
        _use(model, title),
    ]
    return "\n\n".join(parts) + "\n"


def _how_good(known: Evaluation) -> list[str]:
    """Return the answers to a reader's first questions, and the measures."""
    parts = ["## How good it is"]
    own = known.own
    if own is None:
        return [*parts, "It is not measured: there were no rows that it was not fitted on."]
    if known.sureness is not None:
        for question, said in answers(known):
            shown = "\n".join(f"- {_plain(one)}" for one in said)
            parts.append(f"**{question}**\n\n{shown if len(said) > 1 else _plain(said[0])}")
        told = [one for one in known.remarks if one.about != "correction"]
        parts += [_plain(one.sentence) for one in told]
    lines = ["| measure | value and 95 % interval |", "| --- | --- |"]
    for name, (_, shown) in _KINDS.items():
        if np.isfinite(own.get(name).value):
            lines.append(f"| {shown} | {sentences.score_text(own, name)} |")
    parts += ["\n".join(lines), f"By {known.n_held_out:,} {_rows(known)}."]
    for column in known.by_group:
        heads, cells = sentences.group_table(known, column)
        table = [heads, ["---"] * len(heads), *([text for text, _ in row] for row in cells)]
        lines = [f"| {' | '.join(map(_plain, row))} |" for row in table[:_MOST_NAMED]]
        parts += ["\n".join(lines), _plain(" ".join(sentences.group_sentences(known, column)))]
    return parts


def _rows(known: Evaluation) -> str:
    if known.split in ("new rows", "search"):
        return known.how
    return f"rows, each by a model that was fitted without it ({known.how})"


# -- words ----------------------------------------------------------------------------------------


def _header(model: Any, title: str, license: str | None, known: Evaluation) -> str:
    """Return the header in YAML, which includes JSON's strings, numbers and lists."""
    task = "tabular-classification" if known.task == "classes" else "tabular-regression"
    lines = ["library_name: covey", f"pipeline_tag: {task}"]
    if license is not None:
        lines.append(f"license: {json.dumps(one_line(license))}")
    lines.append('tags: ["covey", "sklearn", "ensemble"]')
    measures = {} if known.own is None else known.own.measures
    metrics = [
        {"type": kind, "name": shown, "value": round(measures[name].value, 6)}
        for name, (kind, shown) in _KINDS.items()
        if name in measures and np.isfinite(measures[name].value)
    ]
    if metrics:
        rows = f"{known.n_held_out:,} {_rows(known)}".split(".")[0]
        data = {"type": "tabular", "name": rows}
        results = [{"task": {"type": task}, "dataset": data, "metrics": metrics}]
        lines.append(f"model-index: {json.dumps([{'name': title, 'results': results}])}")
    return "\n".join(["---", *lines, "---"])


def _columns(model: Any) -> str:
    n_features = int(getattr(model, "n_features_in_", 0))
    names = getattr(model, "feature_names_in_", None)
    told = [f"The model reads {n_features:,} columns" + ("." if names is None else ": ")]
    if names is not None:
        told.append(_plain(named([*map(one_line, names)], _MOST_NAMED)) + ".")
    if is_classifier(model):
        told.append(f" It predicts one of {len(model.classes_):,} classes: ")
        told.append(_plain(named([*map(one_line, model.classes_.tolist())], _MOST_NAMED)) + ".")
    else:
        told.append(" It predicts a number.")
    return "".join(told)


def _members(model: Any) -> str:
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


def _history(model: Any) -> list[str]:
    """Return what was done with the model, as its file tells."""
    corrections = getattr(model, "corrections_", ())
    events = getattr(getattr(model, "life_", None), "events", ())
    lines = [f"- {_plain(one_line(str(one)))}" for one in (*events, *corrections)]
    return ["## History", "\n".join(lines)] if lines else []


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
    longest = max(map(len, re.findall("`+", str(text))), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _plain(text: str) -> str:
    """Return text as Markdown shows it, in tables too."""
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", text)
