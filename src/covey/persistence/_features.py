"""What fitted estimators of all kinds keep of their table: how many columns, and which."""

from __future__ import annotations

from typing import Any

import numpy as np

from covey.persistence._reading import Node
from covey.persistence._writing import Writer

_MOST_FEATURES = 1 << 31


def write_features(estimator: Any, out: Writer) -> dict[str, Any]:
    """The number of columns, and their names where they have some."""
    return {
        "n_features": int(estimator.n_features_in_),
        "feature_names": out.texts(getattr(estimator, "feature_names_in_", None)),
    }


def read_features(estimator: Any, node: Node) -> int:
    """Set both; how many columns there are."""
    n_features = node.whole("n_features", 1, _MOST_FEATURES)
    estimator.n_features_in_ = n_features
    if not node.none("feature_names"):
        names = node.texts("feature_names", n_features)
        node.check(len(set(names)) == len(names), "feature_names", "holds one name twice.")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    return n_features


def read_y_range(estimator: Any, node: Node) -> None:
    """Set the range that predicted numbers keep to; files of before have none."""
    if node.has("y_range"):
        low, high = node.array("y_range", (2,)).tolist()
        node.check(low <= high, "y_range", "is no range.")
        estimator.y_range_ = np.array([low, high])
