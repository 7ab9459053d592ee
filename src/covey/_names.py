"""Names that are imported when they are first used, which saves time, and packages of extras.

The stub of the package, ``__init__.pyi``, says where each is from; type checkers read it, too.
"""

from __future__ import annotations

import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any


@contextmanager
def extra(needs: str, name: str) -> Iterator[None]:
    """Say which extra of covey to install if an import in this block finds no package."""
    try:
        yield
    except ImportError as error:
        missing, how = error.name or error, f'pip install "covey[{name}]"'
        raise ImportError(f"{needs} {missing}; install what is missing with: {how}.") from None


def lazy_names(package: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package, by its stub."""
    stub = (pkgutil.get_data(package, "__init__.pyi") or b"").decode()
    home_of = {name: home for home, name in re.findall(r"^from (\S+) import (\w+)", stub, re.M)}

    def get(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home_of[name] == package:
            return import_module(f"{package}.{name}")
        return getattr(import_module(home_of[name]), name)

    names = [name for name, home in home_of.items() if home != package]
    return names, get, lambda: sorted({*vars(sys.modules[package]), *home_of})
