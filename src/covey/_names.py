"""Names that are imported when they are first used, so that a package is light to import."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package.

    ``homes`` are its modules, each with the names that are public of it.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}
    public = [home for home in homes if not home.startswith("_")]

    def get(name: str) -> Any:
        if name in home_of:
            return getattr(import_module(f"{package}.{home_of[name]}"), name)
        if name in public:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return list(home_of), get, lambda: sorted({*vars(sys.modules[package]), *home_of, *public})
