"""The tables of categories, and what the report counts."""

import pandas as pd
import pytest

from benchmarks.categories import report
from benchmarks.categories.run import BOOSTING, COVEY

tables = pytest.importorskip("benchmarks.categories.tables")


def test_files_of_keel_are_read_with_their_types():
    X, y = tables.load("automobile")
    assert X.shape == (156, 25)
    assert X.dtypes.astype(str).tolist()[:3] == ["float64", "category", "category"]
    assert len(set(y)) == 5


def test_a_log_loss_counts_as_good_up_to_two_per_cent_above():
    lines = [(0.5, 0.6), (0.102, 0.1), (0.2, 0.1)]
    loss = pd.DataFrame(lines, columns=[COVEY, BOOSTING], index=list("abc"))
    assert "on 2 of 3 tables; it is higher on c." in report.counted(loss)
