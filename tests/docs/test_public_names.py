"""Every public name has documentation, an example and a page."""

import doctest
import inspect

import pytest
from _site.public_names import (
    EXTEND,
    VERBS,
    methods,
    packages,
    public_names,
    without_documentation,
    without_example,
)
from _site.reference import page, write_reference

import covey

NAMES = public_names()


def test_no_public_name_is_without_documentation():
    assert without_documentation() == []


def test_no_public_name_is_without_example():
    assert without_example() == []


def test_every_exported_name_is_there_once():
    paths = {public.path for public in NAMES}
    assert len(paths) == len(NAMES)
    values = [public.value for public in NAMES]
    for name in covey.__all__:
        assert name == "__version__" or f"covey.{name}" in paths
    for package in packages():
        for name in getattr(getattr(covey, package), "__all__", ()):
            value = getattr(getattr(covey, package), name)
            assert any(value is other for other in values), f"covey.{package}.{name}"


@pytest.mark.parametrize("public", [p for p in NAMES if p.kind == "class"], ids=lambda p: p.name)
def test_parameters_of_public_classes_are_documented(public):
    if public.verb == EXTEND[0] or issubclass(public.value, BaseException):
        return
    documented = public.docstring
    for name, parameter in inspect.signature(public.value).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        assert name in documented, f"{public.path} does not say what {name} is"


def test_examples_can_be_parsed():
    parser = doctest.DocTestParser()
    for public in NAMES:
        if public.kind != "data":
            assert parser.get_examples(public.docstring), public.path


def test_the_reference_has_a_page_for_every_name_and_groups_them_by_verb(tmp_path):
    written = {}
    write_reference(tmp_path, lambda path, text: written.update({path.name: text}))
    assert set(written) == {"index.md", *(f"{public.path}.rst" for public in NAMES)}
    index = written["index.md"]
    places = [index.index(f"## {verb}\n") for verb in (*VERBS, EXTEND[0])]
    assert places == sorted(places)
    for public in NAMES:
        assert f"[`{public.path}`]({public.path}.rst)" in index


def test_a_class_page_has_its_own_methods_and_not_those_of_scikit_learn():
    (flock,) = [public for public in NAMES if public.path == "covey.FlockClassifier"]
    text = page(flock)
    for method in ("fit", "explain", "predict_set", "report", "summary"):
        assert f"automethod:: covey.FlockClassifier.{method}\n" in text
    assert "get_metadata_routing" not in text
    assert "set_fit_request" not in methods(covey.FlockClassifier)
