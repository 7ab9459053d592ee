"""The claims as a reader sees them: a table, and what to know in short."""

from __future__ import annotations

import numpy as np

from covey.reproduce import _caps_section, _sensitivity, _table2
from covey.reproduce._claims import claims
from covey.reproduce._data import load
from covey.reproduce._options import Options
from covey.reproduce._page import Section
from covey.reproduce._page import section as filled
from covey.reproduce._results import OVERLAP, Interval, Results, interval
from covey.reproduce._verdicts import LEAST_SHARE, Case


def _cell(cases: list[Case]) -> str:
    """The cases of a claim in one cell: the mean difference of each."""
    if len(cases) == 1 and np.isnan(cases[0].p):
        return "true in each" if cases[0].difference.sign > 0 else "violated"
    return "; ".join(
        f"{case.label}: {case.difference.text(signed=True)}"
        + ("" if case.difference.sign > 0 else f" ({case.verdict})")
        for case in cases
    )


def _short(values: np.ndarray) -> Interval:
    """A corrected interval without its width before the correction."""
    return interval(values, OVERLAP)._replace(uncorrected=None)


def summary(results: Results, options: Options) -> Section:
    """What a reader who stops early should know; made from the numbers."""
    items = []
    for source, constants in _sensitivity.calibrated(results, options):
        dataset = load(source).name
        case = _table2.EXPERIMENT, dataset, _table2.condition("random", constants)
        ours = _short(100 * results.get(*case, "baseline"))
        gains = [_short(results.gain(*case, name)).text(signed=True) for name in _table2.GAINS]
        baseline, *printed = _table2.PRINTED[dataset]
        items.append(
            f"**{dataset}** at `{constants.text}`, the setting found for it: baseline "
            f"{ours.text()} % (printed {baseline}), gains {', '.join(gains)} % (printed "
            f"{', '.join(f'+{gain}' for gain in printed)})."
        )
    items += _caps_section.short(results, options)
    by_verdict = {}
    for claim in claims(results, options):
        by_verdict.setdefault(claim.verdict, []).append(claim.text.partition(" (all ")[0])
    for verdict in ("holds", "depends on (thr, η)", "not shown", "does not hold"):
        if verdict in by_verdict:
            items.append(f"**{verdict}**: {'; '.join(by_verdict[verdict])}.")
    return filled("In short", "short", items=items)


def section(results: Results, options: Options) -> Section:
    """One row a claim."""
    rows = []
    for claim in claims(results, options):
        signs = [sign for _, sign in claim.grid]
        held = sum(case.difference.sign > 0 for case in claim.cases)
        largest = max((case.p for case in claim.cases), default=np.nan)
        rows.append(
            [
                claim.where,
                claim.text,
                f"**{claim.verdict}** ({held} of {len(claim.cases)})",
                _cell(claim.cases),
                "" if np.isnan(largest) else ("< 0.001" if largest < 0.001 else f"{largest:.3f}"),
                f"{signs.count(1)} / {signs.count(0)} / {signs.count(-1)}" if signs else "",
            ]
        )
    return filled(
        "Claims, one by one",
        "claims",
        least=f"{100 * LEAST_SHARE:.0f}",
        sizes=" and ".join(map(str, _sensitivity.CIRCLE_SIZES)),
        rows=rows,
    )
