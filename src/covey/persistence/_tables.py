"""Models of tables, and what they make numbers of columns by."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor

from covey._table_models import TableClassifier, TableRegressor
from covey.evaluation import Evaluation
from covey.persistence._encoders import read_encoder, write_encoder
from covey.persistence._formats import estimator_format
from covey.persistence._preparations import read as read_one
from covey.persistence._preparations import write as write_one
from covey.persistence._reading import Node
from covey.persistence._seen import read as read_seen
from covey.persistence._seen import write as write_seen
from covey.persistence._writing import Writer
from covey.tables import Number, TablePreparation
from covey.tables._kinds import KINDS

# -- preparation ----------------------------------------------------------------------------------


def _write_preparation(table: TablePreparation, out: Writer) -> dict[str, Any]:
    names, seen = list(table.kinds_), getattr(table, "_seen_columns", None)
    forms = [table.number_formats_.get(name) for name in names]
    return {
        "columns": out.texts(names),
        "kinds": [table.kinds_[name] for name in names],
        "width": table._width,
        "formats": [
            None if form is None else write_encoder(Number(True, form), out) for form in forms
        ],
        "preparation": write_one(table.preparation_, out),
        "seen": None if seen is None else write_seen(seen, out),
    }


def _read_preparation(table: TablePreparation, node: Node) -> None:
    names = node.texts("columns")
    node.check(names and len(set(names)) == len(names), "columns", "are not different.")
    table.kinds_ = dict(zip(names, node.names("kinds", KINDS, len(names)), strict=True))
    table.feature_names_in_ = np.array(names, dtype=object)
    table.n_features_in_ = len(names)
    table._width = None if node.none("width") else node.whole("width", 1)
    table.number_formats_ = {}
    for name, part in zip(names, node.children("formats", len(names)), strict=True):
        if part is not None:
            encoder = read_encoder(part)
            proper = isinstance(encoder, Number) and table.kinds_[name] == "number"
            node.check(proper and encoder.form is not None, "formats", "are not of numbers.")
            table.number_formats_[name] = encoder.form
    with node.child("preparation") as inner:
        table.preparation_, _ = read_one(inner, table, {"F": len(names)})
        inner.check(table.preparation_.reading is not None, "reading", "is missing.")
    if not node.none("seen"):
        with node.child("seen") as inner:
            table._seen_columns, _ = read_seen(inner, table, {})


# -- models ---------------------------------------------------------------------------------------


def _write_model(model: Any, out: Writer) -> dict[str, Any]:
    return {
        "preparation": out.model(model.preparation_),
        "estimator": out.model(model.estimator_),
        # What the command line keeps with a model: how good it is, and hashes of its rows.
        "evaluation": model.evaluation_.to_json() if hasattr(model, "evaluation_") else None,
        "seen": out.array(getattr(model, "seen_", None), "unsigned"),
    }


def _read_model(model: Any, node: Node) -> None:
    preparation, estimator = node.model("preparation"), node.model("estimator")
    fitted = isinstance(preparation, TablePreparation) and hasattr(preparation, "preparation_")
    node.check(fitted, "preparation", "is not fitted.")
    fits = is_classifier if isinstance(model, TableClassifier) else is_regressor
    width = getattr(estimator, "n_features_in_", None)
    proper = fits(estimator) and width == len(preparation.column_of_)
    node.check(proper, "estimator", "does not fit the preparation.")
    names = getattr(estimator, "feature_names_in_", None)
    proper = names is None or names.tolist() == preparation.get_feature_names_out().tolist()
    node.check(proper, "estimator", "has other columns.")
    known = node.plain("evaluation")
    if known is not None:
        node.check(isinstance(known, str), "evaluation", "is no text.")
        try:
            model.evaluation_ = Evaluation.from_json(known)
        except (ValueError, RecursionError):
            node.check(False, "evaluation", "is none.")
    if not node.none("seen"):
        model.seen_ = node.array("seen", (None,), "unsigned")
    model._set_fitted(preparation, estimator)


FORMATS = {
    "TablePreparation": estimator_format(
        TablePreparation, "preparation_", _write_preparation, _read_preparation
    ),
    **{
        cls.__name__: estimator_format(
            cls, "estimator_", _write_model, _read_model, models={"estimator": BaseEstimator}
        )
        for cls in (TableClassifier, TableRegressor)
    },
}
