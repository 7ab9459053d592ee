"""A claim, the cases that it is about, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from reproduction import figure1, figure2, limits, sensitivity, table2
from reproduction.data import load
from reproduction.ensembles import K_RULES, Constants, under
from reproduction.jobs import Options
from reproduction.page import Section, filled
from reproduction.results import OVERLAP, Interval, Results, interval, known_values, wilcoxon

# One setting in twenty disagrees by chance: fewer than this share of them decide nothing.
LEAST_SHARE = 0.2
# With fewer runs than this a claim gets no verdict: those of ten runs and of a hundred differ.
ENOUGH_RUNS = 50
TOO_FEW, RULE, STAND_INS = "not enough runs", "depends on the rule for K", "depends on stand-ins"
# What may become of a claim, in the order of a summary.
VERDICTS = (
    "holds",
    "depends on (thr, η)",
    RULE,
    STAND_INS,
    "not shown",
    "does not hold",
    TOO_FEW,
)


@dataclass(frozen=True)
class Case:
    """One comparison that a claim is about."""

    label: str
    # What should be positive, in points of relative improvement.
    difference: Interval
    # Of Wilcoxon's signed-rank test, or of Welch's for runs that are not paired; where runs are
    # splits that share rows, of Student's or Welch's test corrected for that.
    p: float
    # Whether it is about a table that stands in for one of the paper's.
    stand_in: bool = False

    @property
    def verdict(self) -> str:
        return {1: "holds", 0: "not shown", -1: "does not hold"}[self.difference.sign]


@dataclass(frozen=True)
class Evidence:
    """What speaks for a claim and against it, under one rule for K."""

    cases: list[Case]  # at the common constants
    # For each setting of (thr, eta) that was tried and each data set: its name, and 1 where the
    # claim holds beyond its interval, -1 where its opposite does, else 0.
    grid: list[tuple[str, int]] = field(default_factory=list)

    def _elsewhere(self, sign: int) -> set[str]:
        """The cases that have this sign at no less than a fifth of the settings tried."""
        labels = {label for label, _ in self.grid}
        return {
            label
            for label in labels
            if np.mean([found == sign for name, found in self.grid if name == label])
            >= LEAST_SHARE
        }

    @property
    def verdict(self) -> str:
        """Holds, not shown, does not hold, or depends on (thr, eta)."""
        if not self.cases:
            return "not shown"
        failing = {case.label for case in self.cases if case.difference.sign <= 0}
        if failing & self._elsewhere(1) or (not failing and self._elsewhere(-1)):
            return "depends on (thr, η)"
        if not failing:
            return "holds"
        against = any(case.difference.sign < 0 for case in self.cases)
        return "does not hold" if against else "not shown"

    @property
    def on_own_tables(self) -> Evidence:
        """The same without tables that stand in for others."""
        left_out = {case.label for case in self.cases if case.stand_in}
        return Evidence(
            [case for case in self.cases if not case.stand_in],
            [one for one in self.grid if one[0] not in left_out],
        )

    @property
    def text(self) -> str:
        """The verdict, and what stand-ins have to do with it."""
        own = self.on_own_tables
        if len(own.cases) == len(self.cases):
            return self.verdict
        if not own.cases:
            return f"{self.verdict}, by stand-ins alone"
        if own.verdict == self.verdict:
            return self.verdict
        return f"{own.verdict} on the paper's own tables, {self.verdict} with stand-ins"


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and what became of it."""

    text: str
    where: str
    by_rule: dict[str, Evidence]  # by the name of a rule for K; the first is that of the page
    enough_runs: bool = True

    @property
    def evidence(self) -> Evidence:
        """What there is under the rule of the page."""
        return next(iter(self.by_rule.values()))

    @property
    def kind(self) -> str:
        """The verdict, one of `VERDICTS`."""
        if not self.enough_runs:
            return TOO_FEW
        texts = {evidence.text for evidence in self.by_rule.values()}
        if len(texts) > 1:
            return RULE
        own = self.evidence.on_own_tables
        if own.cases and own.verdict != self.evidence.verdict:
            return STAND_INS
        return self.evidence.verdict

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if self.kind != RULE:
            return TOO_FEW if self.kind == TOO_FEW else self.evidence.text
        rules: dict[str, list[str]] = {}
        for rule, evidence in self.by_rule.items():
            rules.setdefault(evidence.text, []).append(rule)
        found = "; ".join(f"{text} ({', or '.join(named)})" for text, named in rules.items())
        return f"{RULE}: {found}"


def paired(
    label: str, differences: ArrayLike, overlap: float = 0.0, *, stand_in: bool = False
) -> Case:
    """A case of differences run by run.

    ``overlap`` is test rows / training rows where runs are splits of the same rows.
    """
    difference = interval(differences, overlap)
    if not overlap:
        return Case(label, difference, wilcoxon(differences), stand_in)
    # A rank test takes runs for independent, which these are not.
    values = known_values(differences)
    if len(values) < 2:
        return Case(label, difference, 1.0, stand_in)
    error = values.std(ddof=1) * np.sqrt(1 / len(values) + overlap)
    return Case(label, difference, _p(float(values.mean()), error, len(values) - 1), stand_in)


def unpaired(
    label: str,
    more: ArrayLike,
    less: ArrayLike,
    overlap: float = 0.0,
    *,
    stand_in: bool = False,
) -> Case:
    """A case of the difference of two means over different runs, by Welch's test."""
    more, less = known_values(more), known_values(less)
    if min(len(more), len(less)) < 3:
        return Case(label, Interval(np.nan, np.nan), 1.0, stand_in)
    apart = float(more.mean() - less.mean())
    shares, plain = (
        np.array([values.var(ddof=1) * (1 / len(values) + extra) for values in (more, less)])
        for extra in (overlap, 0.0)
    )
    if not shares.any():  # no run differs from another: nothing is left to chance
        return Case(label, Interval(apart, 0.0), float(apart == 0), stand_in)
    half, uncorrected = (
        float(stats.t.ppf(0.975, _freedom(part, more, less)) * np.sqrt(part.sum()))
        for part in (shares, plain)
    )
    p = _p(apart, np.sqrt(shares.sum()), _freedom(shares, more, less))
    return Case(label, Interval(apart, half, uncorrected if overlap else None), p, stand_in)


def _freedom(shares: np.ndarray, more: np.ndarray, less: np.ndarray) -> float:
    return shares.sum() ** 2 / (shares**2 / [len(more) - 1, len(less) - 1]).sum()


def _p(apart: float, error: float, freedom: float) -> float:
    if not error:
        return float(apart == 0)
    return float(2 * stats.t.sf(abs(apart) / error, freedom))


_FUSIONS = {"oracle": "g_orc", "equal": "g_EW"}
_KINDS = {"theta": "{Θ}", "both": "{Θ, Λ}"}


class _Claims:
    """Claims about relative improvements, each under every rule for K."""

    def __init__(self, results: Results, options: Options):
        self.results = results
        self.tables = [load(source).name for source in options.sources]
        self.enough = options.runs >= ENOUGH_RUNS

    def on_circles(self, text: str, quantity: str, over: str = "baseline") -> Claim:
        """On the synthetic set: paired differences, one case a size."""
        datasets = [f"{figure1.DATASET}_{size}" for size in sensitivity.CIRCLE_SIZES]

        def evidence(rule: str) -> Evidence:
            cases = [
                paired(
                    f"{size} per class",
                    self._differences(
                        (figure1.EXPERIMENT, figure1.DATASET, f"{size} per class"),
                        quantity,
                        over,
                        rule,
                    ),
                )
                for size in figure1.sizes_of(self.results)
            ]
            return Evidence(cases, self._grid(datasets, quantity, over, rule))

        return self._claim(f"{text}, synthetic set", "3.1.1", evidence)

    def on_tables(
        self, text: str, quantity: str, over: str = "baseline", flipped: Collection[str] = ()
    ) -> Claim:
        """On real tables: random splits, at the common constants."""
        condition = table2.condition("random", Constants())

        def evidence(rule: str) -> Evidence:
            cases = []
            for dataset in self.tables:
                case = table2.EXPERIMENT, dataset, condition
                sign = -1 if dataset in flipped else 1
                differences = sign * self._differences(case, quantity, over, rule)
                stands_in = dataset not in table2.PRINTED
                cases.append(paired(dataset, differences, OVERLAP, stand_in=stands_in))
            return Evidence(cases, self._grid(self.tables, quantity, over, rule, flipped))

        more = " (the other way round on Abalone, as printed)" if flipped else ""
        return self._claim(f"{text}, real data{more}", "3.3", evidence)

    def for_smaller_data(self, fusion: str) -> Claim:
        """Higher relative improvement for smaller data, on the synthetic set."""
        results, sizes = self.results, figure1.sizes_of(self.results)
        small, large = (f"{figure1.DATASET}_{size}" for size in sensitivity.CIRCLE_SIZES)

        def label(pair: tuple[int, int]) -> str:
            return f"{pair[0]} against {pair[1]} per class"

        def evidence(rule: str) -> Evidence:
            quantity = under(rule, f"{fusion}_both")
            # The ends of the figure, and the two sizes for which the grid was tried.
            cases = [
                unpaired(label(pair), *(figure1.gains(results, size, quantity) for size in pair))
                for pair in dict.fromkeys([(sizes[0], sizes[-1]), sensitivity.CIRCLE_SIZES])
                if set(pair) <= set(sizes)
            ]
            signs = []
            for _, case in table2.settings(results, small):
                one = unpaired(
                    label(sensitivity.CIRCLE_SIZES),
                    results.gain(table2.GRID, small, case, quantity),
                    results.gain(table2.GRID, large, case, quantity),
                )
                signs.append((one.label, one.difference.sign))
            return Evidence(cases, signs)

        text = f"The relative improvement is higher for smaller data: {_FUSIONS[fusion]} {{Θ, Λ}}"
        return self._claim(text, "3.1.1", evidence)

    def for_wide_speech(self, fusion: str) -> Claim | None:
        """The wide speech set gains most; stand-ins are compared where IEMOCAP is not given."""
        speech = [name for name in self.tables if name not in ("abalone", "segment")]
        if not speech:
            return None

        def evidence(rule: str) -> Evidence:
            cases, signs = [], []
            for wide in speech:
                for other in ("abalone", "segment"):
                    pairs = [
                        (table2.EXPERIMENT, table2.condition("random", Constants()), cases),
                        *(
                            (table2.GRID, case, signs)
                            for _, case in table2.settings(self.results, wide)
                        ),
                    ]
                    for experiment, case, into in pairs:
                        gains = [
                            self.results.gain(
                                experiment, dataset, case, under(rule, f"{fusion}_both")
                            )
                            for dataset in (wide, other)
                        ]
                        one = unpaired(
                            f"{wide} against {other}",
                            *gains,
                            overlap=OVERLAP,
                            stand_in=wide not in table2.PRINTED,
                        )
                        into.append(one if into is cases else (one.label, one.difference.sign))
            return Evidence(cases, signs)

        stand_ins = "" if "iemocap" in speech else " (stand-ins for IEMOCAP)"
        text = f"The wide speech set gains most: {_FUSIONS[fusion]} {{Θ, Λ}}{stand_ins}"
        return self._claim(text, "3.3", evidence)

    def _claim(self, text: str, where: str, evidence: Callable[[str], Evidence]) -> Claim:
        by_rule = {name: evidence(rule) for rule, name in K_RULES.items()}
        return Claim(text, where, by_rule, self.enough)

    def _differences(
        self, case: tuple[str, str, str], quantity: str, over: str, rule: str
    ) -> np.ndarray:
        """Differences of relative improvements, run by run."""
        reached = self.results.gain(*case, under(rule, quantity))
        if over == "baseline":
            return reached
        return reached - self.results.gain(*case, under(rule, over))

    def _grid(
        self,
        datasets: list[str],
        quantity: str,
        over: str,
        rule: str,
        flipped: Collection[str] = (),
    ) -> list[tuple[str, int]]:
        """Signs of the same differences at every setting that was tried."""
        signs = []
        for dataset in datasets:
            label, overlap = dataset, OVERLAP
            if dataset.startswith(figure1.DATASET):
                label, overlap = f"{dataset.rpartition('_')[2]} per class", 0.0
            for _, condition in table2.settings(self.results, dataset):
                case = table2.GRID, dataset, condition
                sign = interval(self._differences(case, quantity, over, rule), overlap).sign
                signs.append((label, -sign if dataset in flipped else sign))
        return signs


def claims(results: Results, options: Options) -> list[Claim]:
    """All claims."""
    make, found = _Claims(results, options), []
    for fusion, g in _FUSIONS.items():
        for kind, k in _KINDS.items():
            text = f"The ensemble beats the single classifier: {g} {k}"
            found.append(make.on_circles(text, f"{fusion}_{kind}"))
            found.append(make.on_tables(text, f"{fusion}_{kind}"))
    text = "g_orc is substantially better than g_EW ({Θ, Λ})"
    found.append(make.on_circles(text, "oracle_both", "equal_both"))
    found.append(make.on_tables(text, "oracle_both", "equal_both"))
    found += [make.for_smaller_data(fusion) for fusion in _FUSIONS]
    for fusion, g in _FUSIONS.items():
        text, pair = f"{{Θ, Λ}} is better than {{Θ}}: {g}", (f"{fusion}_both", f"{fusion}_theta")
        exception = ("abalone",) if fusion == "oracle" else ()
        found.append(make.on_circles(text, *pair))
        found.append(make.on_tables(text, *pair, exception))
    found.append(_selection_claim(results, make.enough))
    found += [claim for fusion in _FUSIONS if (claim := make.for_wide_speech(fusion))]
    return [*found, _theorem(results)]


def _selection_claim(results: Results, enough_runs: bool) -> Claim:
    """x1 and x2 are selected more often than any dummy, alone and together."""
    F = figure2.matrices(results)
    dummies = [
        F[:, p, q] for p in range(figure2.N_FEATURES) for q in range(max(2, p + 1), F.shape[2])
    ]
    single = np.minimum(F[:, 0, 0], F[:, 1, 1])
    highest_dummy = np.stack([F[:, p, p] for p in range(2, F.shape[2])])
    # The mean matrix names the rival; runs then show how certain the difference is.
    rival = dummies[int(np.argmax([one.mean() for one in dummies]))]
    alone = highest_dummy[int(np.argmax(highest_dummy.mean(axis=1)))]
    return Claim(
        "Co-selection finds x1 and x2: the pair, and each alone, is selected most often",
        "3.1.2",
        {
            "": Evidence(
                [
                    paired("pair", 100 * (F[:, 0, 1] - rival)),
                    paired("alone", 100 * (single - alone)),
                ]
            )
        },
        enough_runs,
    )


def _theorem(results: Results) -> Claim:
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
        {"": Evidence([Case("every ensemble", Interval(sign, 0.0), np.nan)])},
    )


# -- the page --------------------------------------------------------------------------------


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
    for source, setting in table2.closest_by_table(results, options):
        dataset = load(source).name
        case = table2.EXPERIMENT, dataset, table2.condition("random", setting.constants)
        ours = _short(100 * results.get(*case, "baseline"))
        gains = [
            _short(results.gain(*case, under(setting.rule, name))).text(signed=True)
            for name in table2.GAINS
        ]
        baseline, *printed = table2.PRINTED[dataset]
        items.append(
            f"**{dataset}** at {setting.text}, what was found for it: baseline "
            f"{ours.text()} % (printed {baseline}), gains {', '.join(gains)} % (printed "
            f"{', '.join(f'+{gain}' for gain in printed)})."
        )
    items += limits.short(results, options)
    by_verdict = {}
    for claim in claims(results, options):
        by_verdict.setdefault(claim.kind, []).append(claim.text.partition(" (all ")[0])
    for verdict in VERDICTS:
        if verdict in by_verdict:
            items.append(f"**{verdict}**: {'; '.join(by_verdict[verdict])}.")
    return filled("In short", "short", items=items)


def section(results: Results, options: Options) -> Section:
    """One row a claim."""
    rows = []
    for claim in claims(results, options):
        cases = claim.evidence.cases
        signs = [sign for _, sign in claim.evidence.grid]
        held = sum(case.difference.sign > 0 for case in cases)
        largest = max((case.p for case in cases), default=np.nan)
        rows.append(
            [
                claim.where,
                claim.text,
                f"**{claim.verdict}** ({held} of {len(cases)})",
                _cell(cases),
                "" if np.isnan(largest) else ("< 0.001" if largest < 0.001 else f"{largest:.3f}"),
                f"{signs.count(1)} / {signs.count(0)} / {signs.count(-1)}" if signs else "",
            ]
        )
    return filled(
        "Claims, one by one",
        "claims",
        least=f"{100 * LEAST_SHARE:.0f}",
        enough=ENOUGH_RUNS,
        rule=K_RULES[""],
        sizes=" and ".join(map(str, sensitivity.CIRCLE_SIZES)),
        rows=rows,
    )
