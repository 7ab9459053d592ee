"""A saved model to change."""

import pytest

from tests.persistence._helpers import X, flock, saved, y


@pytest.fixture
def path(tmp_path):
    return saved(flock(fuser="mean").fit(X, y), tmp_path / "model.covey")
