"""The page that says how many tests of peers pass, and why others do not."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.peers.reasons import reason_for

_INTRODUCTION = """# Peers' tests on covey

`make test-peers` runs the tests of other libraries with our classes in the place of theirs
(`tests/peers/`): a `VotingClassifier` is a `FusionClassifier` with the fuser "majority" or
"mean", a `StackingClassifier` a `GeneralStackingClassifier`, and so on. What errors and warnings
say is ignored, their types are not. A test counts if one of our classes takes part in it. The
page is written by that command. Of DESlib's tests of single methods, those that set what a method
has learnt and ask for its competences are answered by ours (`tests/peers/of_deslib.py`); those of
its base classes and helpers have no equivalent, and pytest of today cannot collect those of
METADES. mlxtend's packages since 0.23.2 hold no tests; in these of 0.23.1 LogisticRegression
has a parameter that scikit-learn has dropped since (`multi_class`), which is taken and ignored.
"""


def summary_of(name: str, tests: list[dict[str, Any]]) -> str:
    """One line, and one for each failure without a reason."""
    failed = [one for one in tests if one["outcome"] != "passed"]
    lines = [f"{name}: {len(tests) - len(failed)} of {len(tests)}"]
    lines += [
        f"  {one['test']}: {one['error'][:200]}"
        for one in failed
        if reason_for(name, one["test"]) is None
    ]
    return "\n".join(lines)


def page_of(found: dict[str, dict[str, Any]]) -> tuple[str, int]:
    """The page as Markdown, and how many failures have no reason."""
    lines = [
        _INTRODUCTION,
        "| tests of | version | passed | failed |",
        "| --- | --- | --: | --: |",
    ]
    sections, unexplained = [], 0
    for name, result in found.items():
        tests = result["tests"]
        failed = [one["test"] for one in tests if one["outcome"] != "passed"]
        passed = len(tests) - len(failed)
        lines.append(f"| {name} | {result['peer']} | {passed} of {len(tests)} | {len(failed)} |")
        if not failed:
            continue
        reasons = Counter(reason_for(name, test) for test in failed)
        unexplained += reasons.get(None, 0)
        sections += ["", f"## {name}", "", "| failed | which | why |", "| --: | --- | --- |"]
        for reason, count in reasons.most_common():
            which = {_short(test) for test in failed if reason_for(name, test) == reason}
            listed = ", ".join(f"`{test}`" for test in sorted(which))
            sections.append(f"| {count} | {listed} | {reason or 'Not known yet.'} |")
    return "\n".join([*lines, *sections, ""]), unexplained


def _short(test: str) -> str:
    """The name of the function."""
    return test.rpartition("::")[2].partition("[")[0]
