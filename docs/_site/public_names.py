"""What is public, and the verb that it serves.

Public is every name in ``covey.__all__`` and in the ``__all__`` of covey's packages. Nothing is
listed here by hand but the verb of each package: a new name has a page as soon as it is exported,
and a test asks for its docstring and its example.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

from sklearn.base import ClassifierMixin, RegressorMixin

import covey
from covey.members import _ensemble

# The verbs in the order of the guide, what each is about, and the packages that serve it.
VERBS = {
    "Grow": ("Ensembles that are trained here.", ("members",)),
    "Grow beyond two classes": (
        "Many classes from binary learners, models over models, clusterings.",
        ("stacking", "multiclass", "clustering"),
    ),
    "Select": ("Which features matter, and which few suffice.", ("selection",)),
    "Fuse": ("One decision out of many; every rule says who decided.", ("fusers",)),
    "Explain": ("Measures, bounds and pictures of what members do.", ("inspection",)),
    "Decide": (
        "Whole tables in the user's own columns, and pages to decide by.",
        ("tables", "reporting", "explaining", "serve", "serving"),
    ),
    "Hand on": ("Model files and graphs for other runtimes.", ("persistence", "onnx")),
    "Compare": (
        "What the paper argues against, and its data.",
        ("rivals", "datasets"),
    ),
}
OTHER = ("More", "What serves several verbs.")
EXTEND = (
    "Extend",
    "Base classes and helpers for those who write a fuser, a kind of member or an ensemble of "
    "their own. Users of covey do not need them.",
)
# Packages whose names are all for users, beside those of ``covey.__all__``.
FOR_USERS = {"inspection", "rivals", "persistence", "onnx", "datasets", "reporting"}
# Programs, which have pages of their own.
PROGRAMS = {"cli", "__main__"}

# The methods of one base class that only classifiers, or only regressors, have.
TASKS = {_ensemble.classifies: ClassifierMixin, _ensemble.regresses: RegressorMixin}


class PublicName(NamedTuple):
    """A public name: where it is imported from, what it is, and the verb of its package."""

    path: str
    value: Any
    verb: str

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def kind(self) -> str:
        """ "class", "function" or "data"."""
        if inspect.isclass(self.value):
            return "class"
        return "function" if inspect.isroutine(self.value) else "data"

    @property
    def result(self) -> str | None:
        """The path of the class that a function returns, if that has no page of its own."""
        if self.kind != "function":
            return None
        returned = str(inspect.signature(self.value).return_annotation)
        found = getattr(import_module(self.value.__module__), returned, None)
        if not inspect.isclass(found) or not found.__module__.startswith("covey."):
            return None
        public = any(value is found for _, _, value in _exported())
        return None if public else f"{found.__module__}.{returned}"

    @property
    def docstring(self) -> str:
        """Its own docstring; that of a base class does not count."""
        if self.kind == "data":
            return ""
        text = self.value.__doc__
        if inspect.isclass(self.value) and "__doc__" not in vars(self.value):
            return ""
        return inspect.cleandoc(text or "")

    @property
    def sentence(self) -> str:
        """The first line of its docstring."""
        return self.docstring.partition("\n")[0]


def packages() -> list[str]:
    """Public packages and modules of covey, by name."""
    found = [module.name for module in pkgutil.iter_modules(covey.__path__)]
    return [name for name in found if not name.startswith("_") and name not in PROGRAMS]


def public_names() -> list[PublicName]:
    """Every public name once, at the shortest path; in the order of verbs, then as exported."""
    verbs = {package: verb for verb, (_, served) in VERBS.items() for package in served}
    rules = {getattr(make, "func", make) for make in covey.fusers._base.FUSERS.values()}
    names, seen = [], set()
    for path, package, value in _exported():
        key = id(value) if inspect.isclass(value) or inspect.isroutine(value) else path
        if key in seen:
            continue
        seen.add(key)
        for_users = (
            path.count(".") == 1
            or package in FOR_USERS
            or (inspect.isclass(value) and value in rules)
        )
        verb = verbs.get(package, OTHER[0]) if for_users else EXTEND[0]
        names.append(PublicName(path, value, verb))
    order = [*VERBS, OTHER[0], EXTEND[0]]
    return sorted(names, key=lambda public: order.index(public.verb))


def _exported() -> Iterator[tuple[str, str, Any]]:
    for name in covey.__all__:
        if not name.startswith("__"):
            value = getattr(covey, name)
            package = getattr(value, "__module__", "covey.").split(".")[1]
            yield f"covey.{name}", package, value
    for package in packages():
        module = import_module(f"covey.{package}")
        for name in getattr(module, "__all__", ()):
            yield f"covey.{package}.{name}", package, getattr(module, name)
        for inner in pkgutil.iter_modules(getattr(module, "__path__", ())):
            if package == "utils" and not inner.name.startswith("_"):
                path = f"covey.{package}.{inner.name}"
                for name in import_module(path).__all__:
                    yield f"{path}.{name}", package, getattr(import_module(path), name)


def methods(cls: type) -> list[str]:
    """Public methods and properties of a class that covey wrote, in the order of their names."""
    found = []
    for name in dir(cls):
        owner = next((base for base in cls.__mro__ if name in vars(base)), None)
        if name.startswith("_") or owner is None or not owner.__module__.startswith("covey"):
            continue
        member = inspect.getattr_static(cls, name)
        if hasattr(member, "check"):  # of `available_if`
            task = TASKS.get(member.check)
            if task is not None and not issubclass(cls, task):
                continue
            member = member.fn
        written = isinstance(member, (staticmethod, classmethod, property)) or callable(member)
        if written and (inspect.getdoc(getattr(cls, name)) or "").strip():
            found.append(name)
    return found


def attributes_are_methods(cls: type, name: str) -> bool:
    """Whether a public member of a class is called rather than read."""
    return not isinstance(inspect.getattr_static(cls, name), property)


def without_documentation() -> list[str]:
    """Paths of classes and functions that have no docstring of their own."""
    return [name.path for name in public_names() if name.kind != "data" and not name.docstring]


def without_example() -> list[str]:
    """Paths of classes and functions whose docstring shows no example that runs."""
    return [
        name.path
        for name in public_names()
        if name.kind != "data" and ">>> " not in name.docstring
    ]


if __name__ == "__main__":
    print(f"{len(public_names())} public names")
    print("without documentation:", ", ".join(without_documentation()) or "none")
    print("without example:", ", ".join(without_example()) or "none")
