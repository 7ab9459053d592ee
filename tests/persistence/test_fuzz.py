"""Files that are changed at random are refused, or predict finite numbers.

``make fuzz-files`` tries a hundred thousand.
"""

from collections import Counter

import pytest

from tests.persistence import fuzz


@pytest.mark.slow
@pytest.mark.parametrize("path", fuzz.GOLDEN, ids=lambda path: path.stem)
def test_changed_files_are_refused_or_predict(path, tmp_path):
    found = Counter(fuzz.attempt(path, seed, tmp_path) for seed in range(30))
    assert found["refused"] > 10
    assert sum(found.values()) == 30


def test_some_changes_are_not_noticed_and_still_predict(tmp_path):
    found = {fuzz.attempt(fuzz.GOLDEN[0], seed, tmp_path) for seed in range(40)}
    assert found == {"refused", "predicts"}
