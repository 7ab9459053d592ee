"""Who may import whom. `lint-imports` (pyproject.toml) checks the layers; this file the rest."""

import grimp
import pytest


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("covey", exclude_type_checking_imports=True)


def package_of(module):
    return ".".join(module.split(".")[:2])


def is_private(module):
    """Whether it is a private module of a public package: `covey.fusers._gate`."""
    _, package, *rest = module.split(".")
    return not package.startswith("_") and any(name.startswith("_") for name in rest)


def test_packages_meet_by_public_names(graph):
    found = [
        f"{importer} imports {imported}"
        for importer in graph.modules
        for imported in graph.find_modules_directly_imported_by(importer)
        if package_of(importer) != package_of(imported)
        and imported.count(".") > 1
        and is_private(imported)
    ]
    assert not found, "\n".join(sorted(found))


def test_no_module_imports_itself_by_a_detour(graph):
    """No cycles, imports inside functions included."""
    found = []
    for module in sorted(graph.modules):
        for imported in graph.find_modules_directly_imported_by(module):
            chain = graph.find_shortest_chain(imported, module)
            if chain is not None and module == min(chain):
                found.append(" -> ".join((module, *chain)))
    assert not found, "\n".join(found)
