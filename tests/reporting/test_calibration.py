import numpy as np
import pytest

from covey.reporting._calibration import binned
from covey.reporting._class_facts import ClassFacts
from covey.reporting._inputs import check_inputs


def test_calibration_counts_as_a_loop_would(wine, fused):
    _, X, _, y = wine
    facts = ClassFacts(check_inputs(fused, X, y))
    sure = fused.predict_proba(X).max(axis=1)
    right = fused.predict(X) == y
    seen = 0
    for found in binned(facts):
        inside = [
            i
            for i in range(len(y))
            if found.start <= sure[i] < found.end or (found.end == 1 and sure[i] == 1)
        ]
        assert found.count == len(inside)
        assert found.accuracy == pytest.approx(np.mean([right[i] for i in inside]))
        assert found.confidence == pytest.approx(np.mean([sure[i] for i in inside]))
        seen += len(inside)
    assert seen == len(y)
