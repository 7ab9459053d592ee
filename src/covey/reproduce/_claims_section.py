"""The claims as a reader sees them: a table, and what to know in short."""

import numpy as np

from covey.reproduce import _caps_section, _sensitivity, _table2
from covey.reproduce._claims import claims
from covey.reproduce._data import load
from covey.reproduce._page import Points, Section, Table, Text
from covey.reproduce._results import OVERLAP, interval
from covey.reproduce._verdicts import LEAST_SHARE


def _cell(cases):
    """The cases of a claim in one cell: the mean difference of each."""
    if len(cases) == 1 and np.isnan(cases[0].p):
        return "true in each" if cases[0].difference.sign > 0 else "violated"
    return "; ".join(
        f"{case.label}: {case.difference.text(signed=True)}"
        + ("" if case.difference.sign > 0 else f" ({case.verdict})")
        for case in cases
    )


def _short(found):
    """An interval without what it would be if it were not corrected."""
    return found._replace(uncorrected=None)


def summary(results, options):
    """What a reader who stops early should know; made from the numbers."""
    items = []
    for source, constants in _sensitivity.calibrated(results, options):
        dataset = load(source).name
        case = _table2.condition("random", constants)
        ours = interval(100 * results.get(_table2.EXPERIMENT, dataset, case, "baseline"), OVERLAP)
        gains = [
            _short(interval(results.gain(_table2.EXPERIMENT, dataset, case, name), OVERLAP)).text(
                signed=True
            )
            for name in _table2.COLUMNS[1:]
        ]
        baseline, *printed = _table2.PRINTED[dataset]
        items.append(
            f"**{dataset}** at `{constants.text}`, the setting found for it: baseline "
            f"{_short(ours).text()} % (printed {baseline}), gains {', '.join(gains)} % (printed "
            f"{', '.join(f'+{gain}' for gain in printed)})."
        )
    items += _caps_section.short(results, options)
    by_verdict = {}
    for claim in claims(results, options):
        by_verdict.setdefault(claim.verdict, []).append(claim.text.partition(" (all ")[0])
    for verdict in ("holds", "depends on (thr, η)", "not shown", "does not hold"):
        if verdict in by_verdict:
            items.append(f"**{verdict}**: {'; '.join(by_verdict[verdict])}.")
    return Section("In short", "short", [Points(items)])


def section(results, options):
    """One row a claim."""
    rows = []
    for claim in claims(results, options):
        signs = [sign for _, sign in claim.grid]
        grid = f"{signs.count(1)} / {signs.count(0)} / {signs.count(-1)}" if signs else ""
        held = sum(case.difference.sign > 0 for case in claim.cases)
        largest = max((case.p for case in claim.cases), default=np.nan)
        rows.append(
            [
                claim.where,
                claim.text,
                f"**{claim.verdict}** ({held} of {len(claim.cases)})",
                _cell(claim.cases),
                "" if np.isnan(largest) else ("< 0.001" if largest < 0.001 else f"{largest:.3f}"),
                grid,
            ]
        )
    header = ["§", "claim", "verdict", "differences, points", "largest p", "grid: yes / open / no"]
    return Section(
        "Claims, one by one",
        "claims",
        [
            Text(
                "Differences are paired: both sides see the same splits and start from the same "
                "draws; means with 95 % intervals, in points of relative improvement (co-selection"
                ": of selection rates), at the constants of `paper()`. On the synthetic set every "
                "run has rows of its own; splits of a real table share rows, so that intervals "
                "are corrected for it there (in brackets: not; see Table 2). p is Wilcoxon's "
                "(real data: Student's, corrected; comparisons between data sets or sizes: "
                "Welch's, corrected for real data). A claim *holds* if every one "
                "of its cases is above zero beyond its 95 % interval, *does not hold* if one is "
                "below it, and is *not shown* if intervals include zero. It *depends on (thr, η)* "
                f"if at least {100 * LEAST_SHARE:.0f} % of the settings of the sensitivity study "
                "contradict a claim that holds here, or confirm a case that fails here. The last "
                "column counts those settings, over data sets (synthetic: "
                f"{' and '.join(map(str, _sensitivity.CIRCLE_SIZES))} rows of each class): "
                "confirmed, open, contradicted. Many tests are made, so that a few in a hundred "
                "of the smallest differences are chance."
            ),
            Table(
                header,
                rows,
                "Claims of sections 3 and 3.3. Speech tables stand in for IEMOCAP where it is "
                "not given.",
                text_columns=(0, 1, 2, 3),
            ),
        ],
    )
