"""A plugin of pytest that runs the tests of a peer on our equivalents of its classes.

Names are replaced where the peer's tests import them from, before they do. What errors and
warnings say is ignored; their types are not. A test counts if one of our classes takes part.
"""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.peers.standing_in import TOUCHED
from tests.peers.suites import SUITES


def _without_match(expecting: Any) -> Any:
    def expect(*args: Any, match: Any = None, **how: Any) -> Any:
        return expecting(*args, **how)

    return expect


def pytest_configure(config: pytest.Config) -> None:
    """Put our classes in the place of the peer's."""
    for module, names in SUITES[os.environ["PEER_SUITE"]].replaced().items():
        for name, ours in names.items():
            setattr(import_module(module), name, ours)
    pytest.raises, pytest.warns = _without_match(pytest.raises), _without_match(pytest.warns)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """Note which tests ours take part in."""
    TOUCHED.clear()
    try:
        return (yield)
    finally:
        item.user_properties.append(("ours", bool(TOUCHED)))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write a line for each test: what it is, whether it passed, and the error."""
    if report.when != "call":
        return
    error = ""
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        error = str(crash.message if crash else report.longrepr).partition("\n")[0]
    line = {
        "test": report.nodeid.partition("::")[2],
        "outcome": report.outcome,
        "ours": dict(report.user_properties).get("ours", False),
        "error": error,
    }
    with Path(os.environ["PEER_RESULTS"]).open("a") as file:
        file.write(json.dumps(line) + "\n")
