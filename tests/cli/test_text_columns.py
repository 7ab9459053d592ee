"""Names that help are learned from; names that only name rows are not."""

import numpy as np
import pandas as pd

from .conftest import problem_of

FIRST = ["Nord", "West", "Alt", "Neu", "Ober", "Unter", "Klein", "Gross", "Sankt", "Bad"]
MIDDLE = ["Lind", "Eich", "Birk", "Wald", "Stein", "Fisch", "Kirch", "Königs"]


def named(informs, n_rows=240):
    """Names of places, the end of which goes with the class, or does not."""
    rng = np.random.default_rng(0)
    y = rng.choice(["lake", "hill"], n_rows)
    ends = np.where(y == "lake", "see", "berg")
    if not informs:
        ends = rng.permutation(ends)
    names = [
        f"{FIRST[k % 10]} {MIDDLE[k // 10 % 8]}{k // 80 * 'er'}{end}" for k, end in enumerate(ends)
    ]
    return pd.DataFrame({"x": rng.normal(size=n_rows), "name": names, "y": y})


def test_names_that_tell_the_target_are_used():
    assert problem_of(named(True)).kinds == {"x": "number", "name": "text"}


def test_names_that_do_not_are_left_out_unless_they_are_to_be_kept():
    problem = problem_of(named(False))
    assert problem.kinds == {"x": "number"}
    (left_out,) = (column for column in problem.columns if column.drop)
    assert left_out.drop == "its words do not help to predict y (on rows held out)"
    assert "name" in problem_of(named(False), keep=["name"]).kinds
