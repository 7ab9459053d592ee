"""What `make test` leaves to `make test-slow` by rule; the rest is marked where it stands."""

import pytest
from hypothesis import settings

from covey.fusers import Fuser

# On a busy machine anything may take its time.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what needs a browser, a server, a cluster or a study, and checks of a class again.

    A test that is given a ``check`` runs in `make test` for the first estimator of each class
    that its module names; fusers of one class are each a method of their own.
    """
    first = {}
    for item in items:
        if {"browser", "server", "cluster", "clusters", "study"} & set(
            getattr(item, "fixturenames", ())
        ):
            item.add_marker("slow")
        given = dict(item.callspec.params) if hasattr(item, "callspec") else {}
        if given.pop("check", None) is None or isinstance(given.get("fuser"), Fuser):
            continue
        kind = item.path, item.originalname, *map(type, given.values())
        which = [id(value) for value in given.values()]
        if first.setdefault(kind, which) != which:
            item.add_marker("slow")
