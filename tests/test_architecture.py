"""Who may import whom. `lint-imports` (pyproject.toml) checks the layers; this file the rest."""

import ast
import pkgutil
import tomllib
from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path

import grimp
import pytest
from sklearn.datasets import load_wine

import covey
from benchmarks.walk import Walk, code_lines, sizes
from covey.fusers._base import FUSERS

# Different names in all `__all__` together.
MOST_PUBLIC_NAMES = 108


@cache
def tree_of(path):
    return ast.parse(path.read_text())


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("covey", exclude_type_checking_imports=True)


def package_of(module):
    return ".".join(module.split(".")[:2])


def test_no_module_imports_itself_by_a_detour(graph):
    """No cycles, imports inside functions included."""
    found = []
    for module in sorted(graph.modules):
        for imported in graph.find_modules_directly_imported_by(module):
            chain = graph.find_shortest_chain(imported, module)
            if chain is not None and module == min(chain):
                found.append(" -> ".join((module, *chain)))
    assert not found, "\n".join(found)


def unannotated(node, where, in_class=False):
    """Public functions, and methods of public classes, whose arguments or results have no type."""
    for child in ast.iter_child_nodes(node):
        name = getattr(child, "name", "")
        if name.startswith("_") and name != "__init__":
            continue
        if isinstance(child, ast.ClassDef):
            yield from unannotated(child, f"{where}.{name}", in_class=True)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            given = child.args
            arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs]
            if in_class and arguments and arguments[0].arg in ("self", "cls"):
                del arguments[0]
            typed = all(argument.annotation is not None for argument in arguments)
            if not typed or (child.returns is None and name != "__init__"):
                yield f"{where}.{name}"


def test_public_signatures_are_annotated():
    """`py.typed` promises it to those who check their own code."""
    home = Path(covey.__file__).parent
    files = [path for path in home.rglob("*.py") if path.stem != "cuda_kernels"]
    found = [name for path in files for name in unannotated(tree_of(path), path.relative_to(home))]
    assert not found, "\n".join(map(str, found))


# Modules whose classes are made at run time, which no type checker sees.
MADE_AT_RUN_TIME = {"covey.serving._app", "covey.serving._requests"}


def test_type_checkers_skip_no_module():
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert options["packages"] == ["covey"]
    skips = {"ignore_errors", "disable_error_code", "follow_imports", "exclude"}
    skipped = {
        name
        for one in options["overrides"]
        if skips & set(one)
        for name in ([one["module"]] if isinstance(one["module"], str) else one["module"])
        if name.startswith("covey")
    }
    assert skipped == MADE_AT_RUN_TIME
    assert not skips & set(options)


# -- what may only shrink ------------------------------------------------------------------------

HOME = Path(covey.__file__).parent
ROOT = Path(__file__).parent.parent


def budgets():
    """The code lines that docs/architecture.md allows each package."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = text[text.index("| package | code lines at most |") :].split("\n\n")[0]
    rows = [row.strip("| ").split(" | ") for row in table.splitlines()[2:]]
    return {name.strip("`"): int(most.replace(",", "")) for name, most in rows}


def test_no_package_exceeds_its_budget_of_code_lines():
    """A code line has a token in it that is neither a comment nor part of a docstring."""
    found, allowed = sizes(HOME), budgets()
    assert set(found) == set(allowed)
    over = [
        f"{name}: {lines:,} code lines, {allowed[name]:,} are allowed"
        for name, (_, lines) in found.items()
        if lines > allowed[name]
    ]
    assert not over, "\n".join(over)


def test_a_code_line_is_neither_blank_nor_comment_nor_docstring():
    text = (
        '"""Two\nlines."""\n\n# why\nx = (\n    1\n)\n\ndef f():\n    """Doc."""\n    return x\n'
    )
    assert code_lines(text) == 5


@pytest.mark.parametrize("what", ["fit", "predict"])
def test_no_two_files_call_each_other_in_both_directions(what):
    """Above the engine of the search, a reader who goes down comes back to no file."""
    X, y = load_wine(return_X_y=True)
    for flock in (covey.FlockClassifier(random_state=0), covey.FlockRegressor(random_state=0)):
        flock.fit(X, y)
        predict = getattr(flock, "predict_proba", flock.predict)
        with Walk() as walk:
            flock.fit(X, y) if what == "fit" else predict(X)
        assert not walk.mutual()


# Names that several classes have; one leaves this list when each of its classes has its own.
SHARED_CLASSES = """
    Answers Column Effect Member Predictions SmallestChange Table Text
"""
# Names that several files have.
SHARED_FILES = """
    _blocks.py _columns.py _evaluate.py _held_out.py _importance.py _models.py _report.py
    rows.py selection.py
"""


def repeated(names):
    return {name for name, count in Counter(names).items() if count > 1}


def test_classes_and_files_have_names_of_their_own():
    paths = [path for path in HOME.rglob("*.py") if not path.name.startswith("__")]
    trees = [tree_of(path) for path in paths]
    classes = [
        node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    ]
    assert repeated(classes) <= set(SHARED_CLASSES.split())
    assert repeated(path.name for path in paths) <= set(SHARED_FILES.split())


# Files that say by themselves what is too large; the others take it from `_core/limits.py`, and
# `_state.py`, which it is read with, lies below.
SAY_THEMSELVES = """
    members/_ensemble.py members/_growing.py members/_member_kinds.py
    members/_mixed_model.py members/_targets.py reporting/_sections.py reporting/_words.py
"""


def test_what_is_too_large_is_said_in_one_module():
    found = set()
    for path in HOME.rglob("*.py"):
        numbers = {
            node.value
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Constant) and isinstance(node.value, float)
        }
        if numbers & {1e100, 1e150, 1e200, 1e300, 1e-300}:
            found.add(path.relative_to(HOME).as_posix())
    assert found <= {"_core/limits.py", "_state.py", *SAY_THEMSELVES.split()}


# How many classes of ours are in the method resolution order of an estimator or a fuser.
MOST_CLASSES = {
    "CodeBookClassifier": 1,
    "DecorateClassifier": 3,
    "DiverseMaxEntClassifier": 3,
    "FlockClassifier": 3,
    "FlockRegressor": 3,
    "FusionClassifier": 3,
    "FusionRegressor": 3,
    "GeneralStackingClassifier": 3,
    "GeneralStackingRegressor": 3,
    "MultiviewClassifier": 2,
    "SubsetEnsembleClassifier": 3,
    "SubsetEnsembleRegressor": 3,
    "SubsetSearchClassifier": 3,
}
MOST_CLASSES_OF_A_FUSER = 3


def test_estimators_and_fusers_stand_on_few_classes():
    estimators = {
        public: getattr(covey.rivals, public, None) or getattr(covey, public)
        for public in MOST_CLASSES
    }
    allowed = {cls: MOST_CLASSES[name] for name, cls in estimators.items()}
    allowed |= {type(make()): MOST_CLASSES_OF_A_FUSER for make in FUSERS.values()}
    found = {
        cls.__name__: (sum(one.__module__.startswith("covey.") for one in cls.__mro__), most)
        for cls, most in allowed.items()
    }
    assert not {name: both for name, both in found.items() if both[0] > both[1]}


def test_public_names_are_those_that_users_call():
    """How many different names all ``__all__`` hold together; it may only fall."""
    public = set()
    for found in pkgutil.walk_packages(covey.__path__, "covey."):
        if not any(part.startswith("_") for part in found.name.split(".")[1:]):
            public |= set(getattr(import_module(found.name), "__all__", ()))
    public |= set(covey.__all__)
    assert len(public) <= MOST_PUBLIC_NAMES


# -- words ---------------------------------------------------------------------------------------

# First words after which a reader waits for the verb, or looks for what is meant.
FRAGMENTS = ("What ", "How ", "Where ", "Which ", "The same", "Return the same", "So many", "See ")
# Classes are described on a page of a screen or two; more is on pages of the guide.
MOST_LINES = 120


def documented():
    for path in sorted(HOME.rglob("*.py")):
        for node in ast.walk(tree_of(path)):
            if isinstance(
                node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            ):
                name = getattr(node, "name", "module")
                yield f"{path.relative_to(HOME)}: {name}", node, ast.get_docstring(node) or ""


def test_docstrings_begin_with_a_verb_or_a_whole_phrase():
    found = [where for where, _, text in documented() if text.startswith(FRAGMENTS)]
    assert not found, "\n".join(found)


def test_docstrings_of_classes_have_at_most_120_lines():
    found = [
        where
        for where, node, text in documented()
        if isinstance(node, ast.ClassDef) and len(text.splitlines()) > MOST_LINES
    ]
    assert not found, "\n".join(found)
