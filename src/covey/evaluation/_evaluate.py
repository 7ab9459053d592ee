"""One evaluation of a model, which all reports about it render."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from covey._decisions import decided
from covey._intervals import Interval, proportion_interval
from covey.evaluation import _errors
from covey.evaluation._by_group import by_groups, groups_of
from covey.evaluation._columns import Table, columns, worst_parts
from covey.evaluation._held_out import HeldOut, Predicted, plain_label, verdict
from covey.evaluation._inputs import check_inputs, checked_row_names
from covey.evaluation._members import members
from covey.evaluation._record import Evaluation, Readable, Remark, Score
from covey.inspection._ranking import _mean_cost

SIMPLEST = {"classes": "commonest class", "numbers": "the mean"}


def evaluate(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    held_out: HeldOut | None = None,
    rivals: Mapping[str, Any] | None = None,
    groups: ArrayLike | None = None,
    by: Any = None,
    target: str = "",
    row_names: Any = None,
    n_rows: int = 0,
    remarks: Sequence[Remark] = (),
    health: Sequence[Mapping[str, Any]] | None = None,
    caution: str | None = None,
) -> Evaluation:
    """Find out how right a model is, how sure, which columns it uses, and when it is wrong.

    Parameters
    ----------
    model : fitted classifier with ``predict_proba``, or regressor
        A flock, another ensemble of covey, a pipeline, or any model with scikit-learn's methods.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows that the model was **not** trained on, or those of ``held_out``.
    y : array-like of shape (n_samples,), optional
        Their labels, or their values for a regressor. Without them only the columns that the model
        uses are described.
    held_out : HeldOut, optional
        Predictions of these rows by models that were fitted without them. The model itself may
        then have been fitted on them: its measures come from these predictions alone.
    rivals : dict, optional
        Models to compare with, by name: a fitted model, its predictions of these rows
        (probabilities of all classes, or numbers), or its measures, such as
        ``{"accuracy": 0.9, "log_loss": 0.3}``, if only those are known.
    groups : array-like of shape (n_samples,), optional
        Rows that belong together, which are not independent of each other.
    by : str, list of str, dict of columns, data frame or series, optional
        Columns of X, or values that the model need not know: for each group of rows with the same
        value (of numbers, for quarters) the errors are measured, with intervals that hold for all
        groups together.
    target : str, default=""
        The name of the predicted quantity.
    row_names : array-like of shape (n_samples,), optional
        Names of the rows. By default the index of a data frame, else their positions.
    n_rows : int, default=0
        How many rows the model was fitted on, if that is known.
    remarks : sequence of Remark, optional
        Notes on the data that may mislead.
    health : sequence of dict, optional
        Facts about the columns before they were prepared: ``column``, ``kind``, ``missing`` and
        ``note``. By default what ``X`` shows.
    caution : str, optional
        A caution that a reader must know before all numbers, such as that some rows were trained
        on.

    Returns
    -------
    evaluation : Evaluation

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from covey import FlockClassifier, evaluate
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> flock = FlockClassifier(effort="fast", random_state=0).fit(X[::2], y[::2])
    >>> evaluation = evaluate(flock, X[1::2], y[1::2], target="species")
    >>> evaluation.verdict, evaluation.n_held_out
    ('better', 75)
    """
    if held_out is not None:
        y = held_out.y
    inputs = check_inputs(model, X, y)
    parts = {} if by is None or inputs.y is None else groups_of(by, X, len(inputs.y))
    table = Table(inputs.X, inputs.columns)
    task = "numbers" if inputs.classes is None else "classes"
    known: list[Score] = []
    own_rows = held_out is None
    if own_rows and inputs.y is not None:
        predicted = _predicted(inputs, rivals or {}, known)
        held_out = HeldOut(
            inputs.y,
            predicted,
            inputs.classes,
            names=checked_row_names(row_names, inputs.X, len(inputs.y)),
            how="rows that the model was not fitted on",
            split="new rows",
            groups=None if groups is None else np.asarray(groups),
        )
    if held_out is not None and inputs.classes is not None:
        held_out = replace(held_out, decision=getattr(model, "decision_", None))
    loss = getattr(getattr(getattr(model, "model_", None), "target", None), "loss", None)
    if held_out is not None and loss is not None and loss.is_log:
        held_out = replace(held_out, power=loss.power, _cache={})
    known_columns, found_remarks = columns(model, table, held_out, target, health)
    size = model if inputs.flock is None else inputs.flock
    corrected: list[Remark] = getattr(getattr(size, "model_", None), "remarks", list)()
    short = getattr(size, "readable_", None)  # a version with few terms, if the search measured it
    found = Evaluation(
        task,
        target,
        [] if inputs.classes is None else [plain_label(one) for one in inputs.classes],
        type(inputs.flock or model).__name__,
        n_rows,
        columns=known_columns,
        n_members=getattr(size, "n_estimators_", None),
        n_terms=getattr(size, "n_terms_", None),
        readable=short
        and Readable(int(short.n_terms), float(short.score), float(short.score_of_all)),
        members=members(inputs, inputs.y, not own_rows),
        remarks=[*corrected, *remarks, *found_remarks],
        caution=caution,
    )
    if held_out is None:
        return found
    order = [table.names.index(one.name) for one in found.columns if one.share is not None]
    found = judged(found, held_out, known)
    return replace(
        found,
        by_group=by_groups(parts, held_out, found.called),
        parts=worst_parts(table, order, held_out.errors),
        wrong=_errors.wrong_rows(model, table, held_out),
        n_wrong=int((held_out.errors > 0).sum()),
    )


def judged(found: Evaluation, held_out: HeldOut, known: Sequence[Score] = ()) -> Evaluation:
    """Return an evaluation with all that rows held out show: how right, sure and wrong it is."""
    own, *others = held_out.models
    scores = [held_out.score(one) for one in held_out.models]
    differences = [held_out.difference(own, one) for one in others]
    line, constant = (
        next((o for o in others if o.kind == kind), None) for kind in ("linear", "simplest")
    )
    linear = False
    if line is not None and constant is not None:
        over = held_out.difference(line, constant)
        main = "accuracy" if found.task == "classes" else "r2"
        linear = over.get(main).low > 0 or over.get("log_loss").high < 0
    more: dict[str, Any] = {}
    if held_out.classes is None:
        more["dots"], more["ranges"] = _errors.dots(held_out), _errors.by_true_value(held_out)
    else:
        more = {
            "classes": held_out.labels,
            "by_class": held_out.by_class(),
            "confusion": held_out.confusion.tolist(),
            "calibration": _errors.calibration(held_out),
            "thresholds": _errors.thresholds(held_out),
            "costs": [] if held_out.costs is None else held_out.costs.tolist(),
            "rule": "" if held_out.decision is None else held_out.decision.rule(),
            "rare": None if held_out.rare is None else held_out.labels[held_out.rare],
        }
    return replace(
        found,
        n_held_out=len(held_out.y),
        how=held_out.how,
        split=held_out.split,
        scores=[*scores, *known],
        differences=differences,
        pretended=held_out.pretended,
        verdict=verdict(differences, scores[0], linear, held_out.rare is not None),
        sureness=_errors.sureness(held_out),
        **more,
    )


def _predicted(inputs: Any, rivals: Mapping[str, Any], known: list[Score]) -> list[Predicted]:
    """Return predictions of the model and its rivals; measures of rivals without predictions."""
    classes, y, made = inputs.classes, inputs.y, []
    method = "predict" if classes is None else "predict_proba"
    simplest = SIMPLEST["numbers" if classes is None else "classes"]
    for place, (name, given) in enumerate([("this model", inputs.model), *rivals.items()]):
        kind = "own" if not place else "simplest" if name == simplest else "other"
        if isinstance(given, Mapping):
            promised = "held out when fitted" in name
            known.append(score_of(name, given, "promised" if promised else kind))
        else:
            said = getattr(given, method)(inputs.X) if hasattr(given, "predict") else given
            made.append(Predicted(name, np.asarray(said, dtype=np.float64), kind))
    if "simplest" not in [one.kind for one in made] + [one.kind for one in known]:
        if classes is None:
            constant = np.full(len(y), y.mean())
        else:
            shares = (y[:, None] == classes).mean(axis=0)
            constant = np.tile(shares, (len(y), 1))
        made.append(Predicted(simplest, constant, "simplest"))
    return made


def score_of(name: str, given: Mapping[str, Any], kind: str = "other") -> Score:
    """Return a score of measures that are known from elsewhere: numbers, or intervals."""
    measures = {}
    for measure, value in given.items():
        if measure in ("accuracy", "log_loss", "auc", "brier", "r2", "rmse", "mae", "deviance"):
            limits = (value, np.nan, np.nan) if np.isscalar(value) else tuple(value)
            if len(limits) != 3 or not all(isinstance(one, int | float) for one in limits):
                raise ValueError(
                    f"rivals must have numbers as measures, or (value, low, high); {measure!r} "
                    f"of {name!r} is {value!r}."
                )
            measures[measure] = Interval(*map(float, limits))
    if not {"accuracy", "r2"} & set(measures):
        raise ValueError(f"rivals must have 'accuracy' or 'r2', which {name!r} lacks.")
    seconds = given.get("seconds")
    return Score(name, kind, measures, None if seconds is None else float(seconds))


def by_own_rows(model: Any) -> Evaluation:
    """Evaluate a flock on the training rows that its folds held out, if it kept any."""
    known = getattr(model, "calibration_", None)
    classes = getattr(model, "classes_", None)
    found = Evaluation(
        "numbers" if classes is None else "classes",
        classes=[] if classes is None else [plain_label(one) for one in classes],
        model=type(model).__name__,
        n_members=getattr(model, "n_estimators_", None),
        n_terms=getattr(model, "n_terms_", None),
    )
    if known is None:
        return found
    n = round(float(known.weight.sum()))
    if classes is None:
        measures = {"mae": _mean_cost(np.abs(known.error), known.weight, None)}
    else:
        codes = decided(model, known.probabilities)
        n_right = float(known.weight[codes == known.label].sum())
        right = proportion_interval(min(round(n_right), n), n)._replace(value=n_right / n)
        of_truth = known.probabilities[np.arange(len(codes)), known.label]
        losses = -np.log(np.clip(of_truth, np.finfo(np.float64).eps, 1.0))
        measures = {"accuracy": right, "log_loss": _mean_cost(losses, known.weight, None)}
    given = known.source == "given rows"
    how = "rows that the model was not fitted on"
    if not given:
        how = (
            "training rows, each by models that were fitted without it. The same rows chose the "
            "members, so that this is slightly on the bright side"
        )
    return replace(
        found,
        scores=[Score("this model", "own", measures)],
        n_held_out=n,
        how=how,
        split="new rows" if given else "search",
    )
