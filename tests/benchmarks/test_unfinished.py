"""What reports say of fits that are missing or failed."""

import pandas as pd

from benchmarks.unfinished import failures, not_run

RESULTS = pd.DataFrame({"rival": ["trees", "trees"], "problem": ["a", "b"]})


def test_rivals_and_tables_without_results_are_named():
    assert not_run("rival", ["trees", "lines", "rules"], "abdc", RESULTS) == [
        "",
        "Rivals that were not run yet: lines, rules.",
        "",
        "Not yet run by every rival, and left out: c, d.",
    ]


def test_nothing_is_said_where_everything_was_run():
    assert not_run("rival", ["trees"], "ab", RESULTS) == []
    assert failures(RESULTS[:0], str) == []


def test_every_failure_has_a_line():
    failed = RESULTS.assign(error=["ValueError: no", "OSError: full"])
    assert failures(failed, lambda line: f"{line['rival']} on {line['problem']}") == [
        "",
        "## Failures",
        "",
        "- trees on a: ValueError: no",
        "- trees on b: OSError: full",
    ]
