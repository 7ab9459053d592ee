"""Who may import whom. `lint-imports` (pyproject.toml) checks the layers; this file the rest."""

import ast
from pathlib import Path

import grimp
import pytest

import covey


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
    found = [
        name
        for path in files
        for name in unannotated(ast.parse(path.read_text()), path.relative_to(home))
    ]
    assert not found, "\n".join(map(str, found))
