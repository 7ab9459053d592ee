"""Transformers of scikit-learn that are a few numbers for each column."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from covey.persistence._features import read_features, write_features
from covey.persistence._formats import estimator_format
from covey.persistence._reading import Node
from covey.persistence._writing import Writer


def _write_scaler(scaler: StandardScaler, out: Writer) -> dict[str, Any]:
    seen = np.asarray(scaler.n_samples_seen_)
    return {
        **write_features(scaler, out),
        "mean": out.array(scaler.mean_),
        "variance": out.array(scaler.var_),
        "scale": out.array(scaler.scale_),
        "n_seen": float(seen) if seen.ndim == 0 else None,
        "n_seen_by_column": out.array(seen.astype(np.float64)) if seen.ndim else None,
        "whole": seen.dtype.kind == "i",
    }


def _read_scaler(scaler: StandardScaler, node: Node) -> None:
    n_features = read_features(scaler, node)
    scaler.mean_ = None if node.none("mean") else node.array("mean", (n_features,))
    scaler.var_ = None if node.none("variance") else node.array("variance", (n_features,), low=0.0)
    scaler.scale_ = None if node.none("scale") else node.array("scale", (n_features,), low=1e-200)
    for name, wanted in (("with_mean", scaler.mean_), ("with_std", scaler.scale_)):
        used = getattr(scaler, name)
        node.check(type(used) is bool and (wanted is not None or not used), name, "does not fit.")
    whole = node.flag("whole")
    if node.none("n_seen"):
        seen = node.array("n_seen_by_column", (n_features,), low=0.0, high=1e15)
        scaler.n_samples_seen_ = seen.astype(np.int64) if whole else seen
    else:
        node.check(node.none("n_seen_by_column"), "n_seen_by_column", "belongs to nothing.")
        count = node.number("n_seen", 0.0, 1e15)
        scaler.n_samples_seen_ = np.int64(count) if whole else np.float64(count)


FORMATS = {
    "StandardScaler": estimator_format(StandardScaler, "scale_", _write_scaler, _read_scaler)
}
