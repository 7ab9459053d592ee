import numpy as np

from covey.reporting._charts import Curve, apart, line_chart


def test_labels_are_moved_apart_and_keep_their_order():
    moved = apart([10.0, 11.0, 90.0, 10.5], least=15)
    assert moved[0] < moved[3] < moved[1] < moved[2]
    assert min(np.diff(sorted(moved))) >= 15 - 1e-5
    assert apart([0.0, 100.0]) == [0.0, 100.0]


def test_flat_curves_can_be_drawn():
    for values in ([1.0], [0.5, 0.5], [0.0, 0.0]):
        drawn = line_chart(
            "l", [Curve("c", values, "own")], x_name="K", title="t", description="d"
        )
        assert "nan" not in drawn
