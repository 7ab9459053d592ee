"""Ways to fuse kinds: what they are learnt from, and what the report makes of them."""

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

from benchmarks.mixed import report, ways
from covey import FlockClassifier, Predictions

X, Y = load_iris(return_X_y=True)


def test_every_kind_is_kept_and_fixed_weights_are_those_of_a_flock():
    how = {"members": ["linear", "extra_trees", "neighbors"], "effort": "fast", "random_state": 0}
    folds = [(np.flatnonzero(np.arange(150) % 3), np.arange(0, 150, 3))]
    every = ways.EveryKind(**how, cv=folds).fit(X, Y)
    assert list(every.named_estimators_) == how["members"]
    flock = FlockClassifier(**how, cv=folds).fit(X, Y)
    known = every.out_of_fold_
    fixed = ways.Greedy().fit(Predictions(known.members, every.classes_), Y[known.rows], None)
    new = Predictions(every.member_probabilities(X), every.classes_)
    np.testing.assert_allclose(fixed.fuse(new, X), flock.predict_proba(X))


def test_differences_are_to_fixed_weights_and_named_beyond_their_interval():
    lines = [
        {"problem": table, "way": way, "accuracy": 0.5, "log_loss": loss + less, "seconds": 0.0}
        for table, loss in (("a", 0.2), ("b", 0.4))
        for way, less in zip(ways.WAYS, (0.0, -0.1, -0.2, 0.3, 0.0, 0.0), strict=True)
    ]
    lines[1]["log_loss"] += 0.001
    found = report.differences(pd.DataFrame(lines))
    np.testing.assert_allclose([line["more"][0] for line in found][2:4], [-0.2, 0.3])
    assert [line["better"] for line in found] == [0, 2, 2, 0, 0, 0]
    assert "lower for equal weights, a gate; " in report.conclusion(found)
    assert "higher for a gate that sees squares." in report.conclusion(found)
