import numpy as np

from covey.reporting._maps import heat_map


def test_a_map_leaves_out_what_is_not_known():
    values = np.array([[0.5, np.nan], [1.0, 0.0]])
    drawn = heat_map("m", values, ["a", "b"], ["c", "d"], title="t", description="d")
    assert drawn.count('class="cell"') == 3
