"""The two limits as a reader sees them."""

import numpy as np

from covey.reproduce._caps import EXPERIMENT, MEMBERS, SOURCES, STEPS, condition, n_runs, quantity
from covey.reproduce._data import load
from covey.reproduce._page import Points, Section, Table, Text
from covey.reproduce._results import OVERLAP, Interval, interval
from covey.reproduce._table2 import COLUMNS
from covey.reproduce._table2_section import TITLES

_GAINS = dict(
    zip(COLUMNS[1:], ("g_orc {Θ}", "g_orc {Θ, Λ}", "g_EW {Θ}", "g_EW {Θ, Λ}"), strict=True)
)


def _get(results, dataset, steps, members, name):
    """The baseline in %, a gain over it, a mean K or a share of members in %, over splits."""
    case = EXPERIMENT, dataset, condition(steps)
    if name in _GAINS:
        return results.gain(*case, quantity(name, members), quantity("baseline", members))
    scale = 1 if name.startswith("k_") else 100
    return scale * results.get(*case, quantity(name, members))


def _rows(results):
    rows = []
    for source in SOURCES:
        dataset = load(source).name
        for steps in STEPS:
            for members in MEMBERS:
                place = results, dataset, steps, members
                row = [TITLES[dataset], str(steps), str(members)]
                row.append(f"{_get(*place, 'baseline').mean():.1f}")
                for name in _GAINS:
                    gain = _mean(_get(*place, name)).text(signed=True)
                    row.append(f"{gain} (K {_get(*place, f'k_{name}').mean():.0f})")
                shares = [f"{_get(*place, f'at_limit_{k}').mean():.0f}" for k in ("theta", "both")]
                rows.append([*row, " / ".join(shares)])
    return rows


def _mean(values):
    """The mean, to be shown without an interval."""
    return Interval(interval(values).mean, np.nan)


def _change(results, dataset, name, first, second):
    """What a gain or the baseline does from one pair of limits to another, as text."""
    values = [_get(results, dataset, *limits, name) for limits in (first, second)]
    return (
        f"from {_mean(values[0]).text()} to {_mean(values[1]).text()} %, by "
        f"{interval(values[1] - values[0], OVERLAP).text(signed=True)}"
    )


def sentences(results):
    """What each limit does, made from the numbers."""
    found = []
    few, many = MEMBERS
    for source in SOURCES:
        dataset = load(source).name
        shares = [
            f"{_get(results, dataset, STEPS[0], few, f'at_limit_{kind}').mean():.0f} % of {label}"
            for kind, label in (("theta", "{Θ}"), ("both", "{Θ, Λ}"))
        ]
        short, long = (STEPS[0], few), (STEPS[1], few)
        found.append(
            f"**{TITLES[dataset]}, steps.** {' and '.join(shares)} end at the limit of "
            f"{STEPS[0]} steps and not by thr. With {STEPS[1]}, the baseline goes "
            f"{_change(results, dataset, 'baseline', short, long)}; the gain of "
            f"g_orc {{Θ, Λ}} {_change(results, dataset, 'oracle_both', short, long)}; that of "
            f"g_EW {{Θ, Λ}} {_change(results, dataset, 'equal_both', short, long)}."
        )
        wide = STEPS[0], many
        found.append(
            f"**{TITLES[dataset]}, members.** With K at most {many} and not {few}, the gain of "
            f"g_orc {{Θ}} goes {_change(results, dataset, 'oracle_theta', short, wide)}; of "
            f"g_orc {{Θ, Λ}} {_change(results, dataset, 'oracle_both', short, wide)}; of "
            f"g_EW {{Θ, Λ}} {_change(results, dataset, 'equal_both', short, wide)}."
        )
    return found


def short(results, options):
    """What both limits do, for a reader who stops early."""
    found = []
    for source in SOURCES:
        dataset = load(source).name
        usual, long, wide = (
            " and ".join(
                _mean(_get(results, dataset, *limits, name)).text(signed=True)
                for name in ("oracle_both", "equal_both")
            )
            for limits in ((STEPS[0], MEMBERS[0]), (STEPS[1], MEMBERS[0]), (STEPS[0], MEMBERS[1]))
        )
        found.append(
            f"**{dataset}, two limits of our own** ({n_runs(options)} splits): g_orc "
            f"and g_EW {{Θ, Λ}} gain {usual} % with at most {STEPS[0]} steps a member and "
            f"{MEMBERS[0]} members, as everywhere on this page; {long} % with "
            f"{STEPS[1]} steps; {wide} % with {MEMBERS[1]} members."
        )
    return found


def section(results, options):
    """Both limits, each at two values."""
    header = [
        *("data", "most steps", "most members", "baseline, %", *_GAINS.values()),
        "members at the limit of steps, %: {Θ} / {Θ, Λ}",
    ]
    return Section(
        "Limits: steps of a member, and members",
        "limits",
        [
            Text(
                "Two more constants are not in the paper: how many steps a member may take at "
                f"most, and up to which K is tuned. `paper()` has {STEPS[0]} and {MEMBERS[0]}. "
                f"Here both are varied, on {n_runs(options)} of the splits of the sensitivity "
                "study, at the same draws. Differences are paired; ± is half of a 95 % interval "
                "corrected for rows that splits share (in brackets: not corrected)."
            ),
            Points(sentences(results)),
            Table(
                header,
                _rows(results),
                "Mean relative improvements in %, with the mean tuned K in brackets.",
            ),
        ],
    )
