"""What the paper says in sections 3 and 3.3, claim by claim, with a test and a verdict."""

import numpy as np

from covey.reproduce import _figure1, _figure2, _sensitivity, _table2
from covey.reproduce._data import load
from covey.reproduce._ensembles import Constants
from covey.reproduce._results import OVERLAP, Interval, interval
from covey.reproduce._verdicts import Case, Claim, paired, unpaired

_FUSIONS = {"oracle": "g_orc", "equal": "g_EW"}
_MOST = "largest K of equals"
_KINDS = {"theta": "{Θ}", "both": "{Θ, Λ}"}


def _circle_cases(results, quantity, over):
    """Paired differences on the synthetic set, one case a size."""
    return [
        paired(
            f"{size} per class",
            _figure1.gains(results, size, quantity) - _figure1.gains(results, size, over)
            if over
            else _figure1.gains(results, size, quantity),
        )
        for size in _figure1.sizes_of(results)
    ]


def _real_differences(results, experiment, dataset, case, quantity, over):
    reached = results.gain(experiment, dataset, case, quantity)
    return reached - results.gain(experiment, dataset, case, over) if over else reached


def _real_cases(results, options, quantity, over, flipped=()):
    """Paired differences on real tables, random splits, at the common constants."""
    cases = []
    for source in options.sources:
        dataset = load(source).name
        differences = _real_differences(
            results,
            _table2.EXPERIMENT,
            dataset,
            _table2.condition("random", Constants()),
            quantity,
            over,
        )
        if dataset in flipped:
            differences = -differences
        cases.append(paired(dataset, differences, OVERLAP))
    return cases


def _grid(results, datasets, quantity, over, flipped=()):
    """Signs of the same differences at every setting that was tried."""
    signs = []
    for dataset in datasets:
        label, overlap = dataset, OVERLAP
        if dataset.startswith(_figure1.DATASET):
            label, overlap = f"{dataset.rpartition('_')[2]} per class", 0.0
        for _, case in _sensitivity.settings(results, dataset):
            differences = _real_differences(
                results, _sensitivity.EXPERIMENT, dataset, case, quantity, over
            )
            sign = interval(differences, overlap).sign
            signs.append((label, -sign if dataset in flipped else sign))
    return signs


def claims(results, options):
    """All claims."""
    circles = [f"{_figure1.DATASET}_{size}" for size in _sensitivity.CIRCLE_SIZES]
    real = [load(source).name for source in options.sources]
    found = []
    for fusion, g in _FUSIONS.items():
        for kind, k in _KINDS.items():
            found.append(
                Claim(
                    f"The ensemble beats the single classifier: {g} {k}, synthetic set",
                    "3.1.1",
                    _circle_cases(results, f"{fusion}_{kind}", None),
                    _grid(results, circles, f"{fusion}_{kind}", None),
                )
            )
            found.append(
                Claim(
                    f"The ensemble beats the single classifier: {g} {k}, real data",
                    "3.3",
                    _real_cases(results, options, f"{fusion}_{kind}", None),
                    _grid(results, real, f"{fusion}_{kind}", None),
                )
            )
        found.append(
            Claim(
                f"The ensemble beats the single classifier: {g} {{Θ, Λ}}, synthetic set, {_MOST}",
                "3.1.1",
                _circle_cases(results, f"{fusion}_both_most", None),
                _grid(results, circles, f"{fusion}_both_most", None),
            )
        )
    for where, make_cases, datasets, name in (
        ("3.1.1", _circle_cases, circles, "synthetic set"),
        ("3.3", lambda *a: _real_cases(a[0], options, *a[1:]), real, "real data"),
    ):
        found.append(
            Claim(
                f"g_orc is substantially better than g_EW ({{Θ, Λ}}), {name}",
                where,
                make_cases(results, "oracle_both", "equal_both"),
                _grid(results, datasets, "oracle_both", "equal_both"),
            )
        )
    for fusion in _FUSIONS:
        found += [_sparse_claim(results, fusion, ""), _sparse_claim(results, fusion, "_most")]
    for fusion, g in _FUSIONS.items():
        quantity, over = f"{fusion}_both", f"{fusion}_theta"
        found.append(
            Claim(
                f"{{Θ, Λ}} is better than {{Θ}}: {g}, synthetic set",
                "3.1.1",
                _circle_cases(results, quantity, over),
                _grid(results, circles, quantity, over),
            )
        )
        exception = ("abalone",) if fusion == "oracle" else ()
        found.append(
            Claim(
                f"{{Θ, Λ}} is better than {{Θ}}: {g}, real data"
                + (" (the other way round on Abalone, as printed)" if exception else ""),
                "3.3",
                _real_cases(results, options, quantity, over, exception),
                _grid(results, real, quantity, over, exception),
            )
        )
    found.append(_selection_claim(results))
    found += _width_claims(results, options)
    found.append(_theorem(results))
    return found


def _sparse_claim(results, fusion, suffix):
    """Higher relative improvement for smaller data."""
    sizes = _figure1.sizes_of(results)
    quantity = f"{fusion}_both{suffix}"

    def label(pair):
        return f"{pair[0]} against {pair[1]} per class"

    # The ends of the figure, and the two sizes for which the grid was tried.
    cases = [
        unpaired(label(pair), *(_figure1.gains(results, size, quantity) for size in pair))
        for pair in dict.fromkeys([(sizes[0], sizes[-1]), _sensitivity.CIRCLE_SIZES])
        if set(pair) <= set(sizes)
    ]
    small, large = (f"{_figure1.DATASET}_{size}" for size in _sensitivity.CIRCLE_SIZES)
    signs = []
    for _, case in _sensitivity.settings(results, small):
        one = unpaired(
            label(_sensitivity.CIRCLE_SIZES),
            results.gain(_sensitivity.EXPERIMENT, small, case, quantity),
            results.gain(_sensitivity.EXPERIMENT, large, case, quantity),
        )
        signs.append((one.label, one.difference.sign))
    return Claim(
        f"The relative improvement is higher for smaller data: {_FUSIONS[fusion]} {{Θ, Λ}}"
        + (f", {_MOST}" if suffix else ""),
        "3.1.1",
        cases,
        signs,
    )


def _selection_claim(results):
    """x1 and x2 are selected more often than any dummy, alone and together."""
    F = _figure2.matrices(results)
    dummies = [
        F[:, p, q] for p in range(_figure2.N_FEATURES) for q in range(max(2, p + 1), F.shape[2])
    ]
    single = np.minimum(F[:, 0, 0], F[:, 1, 1])
    highest_dummy = np.stack([F[:, p, p] for p in range(2, F.shape[2])])
    # The mean matrix names the rival; runs then say how sure the difference is.
    rival = dummies[int(np.argmax([one.mean() for one in dummies]))]
    alone = highest_dummy[int(np.argmax(highest_dummy.mean(axis=1)))]
    return Claim(
        "Co-selection finds x1 and x2: the pair, and each alone, is selected most often",
        "3.1.2",
        [
            paired("pair", 100 * (F[:, 0, 1] - rival)),
            paired("alone", 100 * (single - alone)),
        ],
    )


def _width_claims(results, options):
    """The wide speech set gains most; stand-ins are asked where IEMOCAP is not there."""
    names = [load(source).name for source in options.sources]
    speech = [name for name in names if name not in ("abalone", "segment")]
    stand_ins = "" if "iemocap" in speech else " (stand-ins for IEMOCAP)"
    found = []
    for fusion, g in _FUSIONS.items():
        quantity, cases, signs = f"{fusion}_both", [], []
        for wide in speech:
            for other in ("abalone", "segment"):
                label = f"{wide} against {other}"
                pairs = [
                    (_table2.EXPERIMENT, _table2.condition("random", Constants()), cases),
                    *(
                        (_sensitivity.EXPERIMENT, case, signs)
                        for _, case in _sensitivity.settings(results, wide)
                    ),
                ]
                for experiment, case, into in pairs:
                    gains = [
                        results.gain(experiment, dataset, case, quantity)
                        for dataset in (wide, other)
                    ]
                    one = unpaired(label, *gains, overlap=OVERLAP)
                    into.append(one if into is cases else (label, one.difference.sign))
        if cases:
            found.append(
                Claim(
                    f"The wide speech set gains most: {g} {{Θ, Λ}}{stand_ins}", "3.3", cases, signs
                )
            )
    return found


def _theorem(results):
    """Theorem 1: the oracle is never worse than any of its members."""
    margins = []
    for experiment, dataset, condition in results.cases():
        for kind in _KINDS:
            best = results.get(experiment, dataset, condition, f"best_{kind}")
            if len(best):
                margins.append(
                    results.get(experiment, dataset, condition, f"oracle_{kind}") - best
                )
    margins = 100 * np.concatenate(margins)
    # A theorem needs no test: one counter-example would refute it.
    worst = float(margins.min())
    sign = 1.0 if worst >= 0 else worst
    return Claim(
        f"Theorem 1: g_orc errs no more than any member (all {len(margins):,} ensembles of this "
        f"page; smallest margin over the best member {worst:.2f} points)",
        "3.3",
        [Case("every ensemble", Interval(sign, 0.0), np.nan)],
    )
