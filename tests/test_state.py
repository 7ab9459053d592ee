"""Declared fields: written, read and checked by what they say of themselves."""

import subprocess
import sys
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import pytest

from covey._core.basis import Basis
from covey._state import (
    Array,
    Flag,
    Index,
    Labels,
    ListOf,
    Number,
    OneOf,
    Plain,
    Record,
    Share,
    Stacked,
    Texts,
    Where,
    Whole,
    equal,
    refuse,
    stored_fields,
)
from covey.persistence import ModelFileError
from covey.persistence._archive import Contents, archive_of, write_archive
from covey.persistence._nodes import Node, Source
from covey.persistence._writer import Writer


@dataclass(frozen=True)
class Step:
    """One of a list of objects that is stored as one array a field."""

    place: Annotated[np.ndarray, Array("D")]
    taken: Annotated[bool, Flag()]


@dataclass(frozen=True)
class Everything:
    """An object with a field of most kinds."""

    weights: Annotated[np.ndarray, Share("G")]
    table: Annotated[np.ndarray, Array("G D", low=-1.0)]
    feature: Annotated[np.ndarray, Index("P", "D")]
    partner: Annotated[np.ndarray, Index("P", "D", none=True)]
    chosen: Annotated[int, Index("", "P")]
    pools: Annotated[list[str], ListOf(OneOf("linear", "log"), "G")]
    steps: Annotated[list[Step], Stacked(Step, "S")]
    names: Annotated[list[str], Texts("D", different=True)]
    alpha: Annotated[float | None, Number(low=0)]
    depth: Annotated[int, Whole(1, "P")]
    about: Annotated[dict, Plain(dict)]
    first: Annotated[int | np.ndarray, Where("alpha", Whole(), Array("G"))] = 0

    def _restored(self):
        refuse("depth", "is odd.", self.depth % 2 == 0)


@dataclass(frozen=True)
class Outer:
    """An object around another, which shares a length."""

    inner: Annotated[Everything, Record(Everything, "G")]
    more: Annotated[np.ndarray, Array("G+1")]


@dataclass(frozen=True)
class Edges:
    """Arrays whose lengths are bound, and classes."""

    edges: Annotated[np.ndarray, Array("E", fewest=2, most=4)]
    widths: Annotated[np.ndarray, Array("E-1", positive=True)]
    sizes: Annotated[np.ndarray, Array("F+1")]
    classes: Annotated[np.ndarray, Labels("C", fewest=2)]


def edges(**changed):
    fields = {
        "edges": np.array([0.0, 1.0, 3.0]),
        "widths": np.array([1.0, 2.0]),
        "sizes": np.zeros(1),
        "classes": np.array(["no", "yes"]),
    }
    return Edges(**{**fields, **changed})


def everything(**changed):
    fields = {
        "weights": np.array([0.25, 0.75]),
        "table": np.arange(6.0).reshape(2, 3),
        "feature": np.array([0, 2]),
        "partner": np.array([2, -1]),
        "chosen": 1,
        "pools": ["log", "linear"],
        "steps": [Step(np.ones(3), True), Step(np.zeros(3), False)],
        "names": ["a", "b", "c"],
        "alpha": 0.5,
        "depth": 2,
        "about": {"rows": 3},
        "first": 7,
    }
    return Everything(**{**fields, **changed})


def written(one):
    out = Writer(None, lambda cls: None)
    return bytes(write_archive(out.fields(one, type(one)), out.arrays))


def read(data, cls):
    import io

    with archive_of(io.BytesIO(data), len(data), None) as archive:
        contents = Contents(archive, None)
        source = Source(contents, None, lambda cls: None)
        with Node(contents.document(), source, "it") as node:
            made, _ = node.made(cls)
        contents.close()
    return made


def test_what_is_declared_comes_back_equal_and_its_bytes_are_the_same_again():
    for one in (everything(), everything(alpha=None, first=np.ones(2))):
        again = read(written(one), Everything)
        assert equal(again, one)
        assert written(again) == written(one)
    outer = Outer(everything(), np.arange(3.0))
    assert equal(read(written(outer), Outer), outer)
    assert not equal(outer, Outer(everything(depth=4), np.arange(3.0)))


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"weights": np.array([0.5, 0.6])}, "weights does not sum to one"),
        ({"weights": np.array([0.5, 0.50001])}, "weights does not sum to one"),
        ({"weights": np.array([-0.5, 1.5])}, "weights holds a number below 0"),
        ({"weights": np.ones(1)}, r"table has the shape \(2, 3\) instead of \(1, any\)"),
        ({"table": np.full((2, 3), -2.0)}, "table holds a number below -1"),
        ({"table": np.full((2, 3), np.nan)}, "table holds NaN"),
        ({"feature": np.array([0, 3])}, "feature holds a number above 2"),
        ({"feature": np.array([-1, 0])}, "feature holds a number below 0"),
        ({"partner": np.array([3, -1])}, "partner holds a number above 2"),
        ({"partner": np.array([2, -2])}, "partner holds a number below -1"),
        ({"chosen": 2}, "chosen is not between 0 and 1"),
        ({"pools": ["log", "other"]}, "pools is none of what it may be"),
        ({"pools": ["log"]}, "pools is not a list, or one of another length"),
        ({"steps": [Step(np.ones(2), True)]}, "place has the shape"),
        ({"names": ["a", "b", "a"]}, "names holds one name twice"),
        ({"names": ["a", "b"]}, "names has the shape"),
        ({"alpha": -1.0}, "alpha is not between 0"),
        ({"depth": 3}, "depth is not between 1 and 2"),
        ({"depth": 1}, "depth is odd"),
        ({"about": [1]}, "about is no dict"),
    ],
)
def test_what_is_not_as_declared_is_refused(changed, match):
    with pytest.raises(ModelFileError, match=match):
        read(written(everything(**changed)), Everything)


@pytest.mark.parametrize(
    ("part", "value", "match"),
    [
        ("partner", 3, "holds a number above 2"),  # else an IndexError of ``predict``
        ("partner", -2, "holds a number below -1"),
        ("feature", 3, "holds a number above 2"),
        ("feature", -1, "holds a number below 0"),
    ],
)
def test_columns_of_a_file_are_made_of_features_that_there_are(part, value, match):
    basis = Basis.products(np.array([False, True, False]), np.zeros(3))
    assert equal(read(written(basis), Basis), basis)
    positions = getattr(basis, part).copy()
    positions[-1] = value
    with pytest.raises(ModelFileError, match=f"{part} {match}"):
        read(written(replace(basis, **{part: positions})), Basis)


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"edges": np.zeros(1), "widths": np.zeros(0)}, "edges has 1 entries, which are too few"),
        ({"edges": np.arange(5.0), "widths": np.ones(4)}, "edges has 5 entries, which are too f"),
        ({"widths": np.array([1.0, 0.0])}, "widths holds a number that is not above 0"),
        ({"widths": np.ones(3)}, r"widths has the shape \(3,\) instead of \(2\)"),
        ({"sizes": np.zeros(0)}, "sizes is empty"),
        ({"classes": np.array(["yes"])}, "classes are too few"),
    ],
)
def test_lengths_and_order_are_as_declared(changed, match):
    assert equal(read(written(edges()), Edges), edges())
    with pytest.raises(ModelFileError, match=match):
        read(written(edges(**changed)), Edges)


def test_a_shared_letter_is_one_length_inside_and_outside():
    with pytest.raises(ModelFileError, match=r"more has the shape \(2,\) instead of \(3\)"):
        read(written(Outer(everything(), np.zeros(2))), Outer)


def test_every_declaration_says_what_it_is():
    said = {name: str(kind) for name, kind in stored_fields(Everything).items()}
    assert said["table"] == "numbers (G, D), at least -1"
    assert said["feature"] == "index (P) among D"
    assert said["partner"] == "index (P) among D, or -1"
    assert said["pools"] == 'list (G) of "linear" or "log"'
    assert said["first"] == "in some whole number, at least 0, in others numbers (G)"


@pytest.mark.slow
def test_files_need_no_docstrings_and_no_assertions():
    """Under ``python -OO`` there are none."""
    code = """
import tempfile, covey
from pathlib import Path
from covey import fusers
X, y = covey.make_quarter_circle(60, random_state=0)
for rule in ("static_selection", "linear_stacking", "greedy_selection", "accuracy"):
    fuser = fusers.Mean("accuracy") if rule == "accuracy" else rule
    model = covey.SubsetEnsembleClassifier(2, fuser=fuser, max_iter=5, random_state=0).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        covey.save(model, Path(folder) / "model.covey")
        again = covey.load(Path(folder) / "model.covey")
    if (again.predict_proba(X) != model.predict_proba(X)).any():
        raise SystemExit(rule)
"""
    run = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
