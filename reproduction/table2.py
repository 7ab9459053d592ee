"""Table 2: real data, 80/10/10 splits, K tuned on the development rows."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np

from reproduction.data import TITLES, Table, generator, load, split_rows, thinned, whole_number
from reproduction.ensembles import (
    K_RULES,
    N_MEMBERS,
    Constants,
    Rows,
    grow_on_splits,
    scores,
    under,
)
from reproduction.jobs import Options, Task, in_chunks
from reproduction.page import COLORS, GREY, Section, filled, panels
from reproduction.results import Interval, Results, Row, interval, overlap

EXPERIMENT = "table2"
# The experiment that tries settings of (thr, eta), of which the closest is looked for.
GRID = "sensitivity"
# The columns of relative improvements, and what the page calls them.
GAINS = {
    "oracle_theta": "g_orc {Θ}",
    "oracle_both": "g_orc {Θ, Λ}",
    "equal_theta": "g_EW {Θ}",
    "equal_both": "g_EW {Θ, Λ}",
}
COLUMNS = ("baseline", *GAINS)
# The row of each data set as the paper prints it, in the order of COLUMNS.
PRINTED = {
    "abalone": (54.2, 36.5, 35.2, 0.9, 1.5),
    "segment": (91.3, 3.9, 5.4, 1.0, 1.4),
    "iemocap": (54.9, 43.2, 50.3, 2.9, 5.1),
}
# Splits in one stack. Larger ones do not fit the cache, and are no faster.
AT_ONCE = 5


def condition(by: str, constants: Constants) -> str:
    """What results of one way to split and one setting are filed under."""
    return f"{by}, {constants.text}"


def split_tasks(
    source: str,
    by: str,
    constants: Constants,
    n_runs: int,
    options: Options,
    *,
    experiment: str = EXPERIMENT,
    **more: Any,
) -> list[Task]:
    """Parts that run both ensembles over splits of one table."""
    table = load(source)
    case = condition(by, constants)
    if more:
        case = f"{more['rows_per_feature']:g} rows per feature"
    setting = {"thr": constants.thr, "eta": constants.eta, "purpose": experiment}
    return in_chunks(
        *(experiment, table.name, case, "table2:work"),
        runs=n_runs,
        at_once=AT_ONCE,
        cost=0.2 + table.X.size * len(table.classes) * 2.5e-6,
        arguments={"source": source, "by": by, "seed": options.seed, **setting, **more},
        data=table.digest,
    )


def tasks(options: Options) -> list[Task]:
    """Both ensembles at the common constants, and what stands beside them."""
    found = []
    for source, by in options.splits():
        table = load(source)
        found += split_tasks(source, by, Constants(), options.runs, options)
        for who, n_runs, at_once, cost in (
            ("logistic", options.runs, 10, 0.1),
            ("covey", options.default_runs, 1, 5.0),
        ):
            found += in_chunks(
                *(EXPERIMENT, table.name, by, "table2:rival"),
                runs=n_runs,
                at_once=at_once,
                cost=cost,
                arguments={"source": source, "by": by, "who": who, "seed": options.seed},
                data=table.digest,
            )
    return found


def work(
    source: str,
    by: str,
    thr: float,
    eta: float,
    purpose: str,
    seed: int,
    runs: list[int],
    rows_per_feature: float | None = None,
) -> Iterator[Row]:
    """Accuracies of both ensembles on some splits; perhaps with fewer training rows."""
    table = load(source)
    splits = [split_rows(table, by, seed, purpose, run) for run in runs]
    if rows_per_feature is not None:
        count = round(rows_per_feature * table.X.shape[1])
        for number, (run, (training, *others)) in enumerate(zip(runs, splits, strict=True)):
            draw = generator(seed, purpose, "thinned", count, run)
            splits[number] = (thinned(training, table.codes, count, draw), *others)
    number = whole_number(seed, purpose, table.name, by)
    grown = grow_on_splits(table, splits, Constants(thr, eta), seed=number, runs=runs)
    for run, tuned_on, tested_on, ensembles in grown:
        for quantity, value in scores(ensembles, tuned_on, tested_on).items():
            yield run, quantity, value


def rival(source: str, by: str, who: str, seed: int, runs: list[int]) -> Iterator[Row]:
    """Accuracies of a model that the paper lacks, on the same splits."""
    table = load(source)
    for run in runs:
        training, _, test = split_rows(table, by, seed, EXPERIMENT, run)
        speakers = None if by == "random" else table.speakers[training]
        accuracy = rival_accuracy(
            who,
            (table.X[training], table.codes[training]),
            (table.X[test], table.codes[test]),
            whole_number(seed, EXPERIMENT, who, run),
            groups=speakers,
        )
        yield run, who, accuracy


def rival_accuracy(
    who: str, training: Rows, test: Rows, number: int, groups: np.ndarray | None = None
) -> float:
    """Accuracy of ``"logistic"`` regression or of ``"covey"``'s default."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from covey import FlockClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if who == "logistic":
            model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=5000))
            model.fit(*training)
        else:
            n_groups = 0 if groups is None else len(np.unique(groups))
            more = {"cv": min(5, n_groups)} if n_groups > 1 else {}
            model = FlockClassifier(random_state=number, **more)
            model.fit(*training, **({"groups": groups} if n_groups > 1 else {}))
    return float(np.mean(model.predict(test[0]) == test[1]))


def settings(results: Results, dataset: str) -> list[tuple[Constants, str]]:
    """The settings that were tried on a data set, as pairs of `Constants` and condition."""
    found = []
    for condition in results.conditions(GRID, dataset):
        thr, eta = (float(part.split("=")[1]) for part in condition.split(", ")[1].split())
        found.append((Constants(thr, eta), condition))
    return found


def row(
    results: Results, experiment: str, dataset: str, condition: str, rule: str = ""
) -> np.ndarray:
    """Means of what Table 2 prints: the baseline and four relative improvements, in %."""
    baseline = 100 * results.get(experiment, dataset, condition, "baseline").mean()
    gains = [
        np.nanmean(results.gain(experiment, dataset, condition, under(rule, name)))
        for name in GAINS
    ]
    return np.array([baseline, *gains])


def distance(ours: np.ndarray, printed: tuple[float, ...]) -> float:
    """Root mean square of the five differences, in points."""
    return float(np.sqrt(np.mean((np.asarray(ours) - np.asarray(printed)) ** 2)))


class Closest(NamedTuple):
    """A setting and a rule for K, and how far their row is from the printed one."""

    constants: Constants
    rule: str
    distance: float

    @property
    def text(self) -> str:
        """The setting and the rule, for people to read."""
        return f"`{self.constants.text}`, {K_RULES[self.rule]}"


def closest(results: Results, dataset: str, rules: Collection[str] = tuple(K_RULES)) -> Closest:
    """The setting, and of some rules the one, whose row is closest to the printed one.

    Of equals the first rule is taken.
    """
    printed = PRINTED[dataset]
    found = [
        Closest(
            constants,
            rule,
            distance(row(results, GRID, dataset, condition, rule), printed),
        )
        for rule in rules
        for constants, condition in settings(results, dataset)
    ]
    return min(found, key=lambda one: one.distance)


def closest_by_table(results: Results, options: Options) -> list[tuple[str, Closest]]:
    """Of each table with a printed row the source and the setting: Table 2 is made with it."""
    return [(source, closest(results, load(source).name)) for source in _printed_sources(options)]


def closest_by_rule(results: Results, options: Options) -> list[tuple[str, Closest]]:
    """The same for each rule for K on its own."""
    return [
        (source, closest(results, load(source).name, (rule,)))
        for source in _printed_sources(options)
        for rule in K_RULES
    ]


def _printed_sources(options: Options) -> list[str]:
    return [source for source in options.sources if load(source).name in PRINTED]


# Of each table with a printed row its source, and the setting and rule for K that come closest.
Calibrated = list[tuple[str, Closest]]

_COMMON = Closest(Constants(), "", 0.0)


def _intervals(
    results: Results, source: str, by: str, setting: Closest = _COMMON
) -> list[Interval]:
    """Of the baseline accuracy and the four relative improvements, in %."""
    table = load(source)
    case = EXPERIMENT, table.name, condition(by, setting.constants)
    shared = overlap(table, by)
    found = [interval(100 * results.get(*case, "baseline"), shared)]
    found += [interval(results.gain(*case, under(setting.rule, name)), shared) for name in GAINS]
    return found


def _row(
    title: str,
    results: Results,
    source: str,
    by: str,
    setting: Closest = _COMMON,
) -> list[str]:
    table = load(source)
    shared = overlap(table, by)
    cells = _intervals(results, source, by, setting)
    texts = [cells[0].text()] + [cell.text(signed=True) for cell in cells[1:]]
    case = EXPERIMENT, table.name, by
    logistic = interval(100 * results.get(*case, "logistic"), shared)
    runs = results.runs(*case, "covey")
    default = results.get(*case, "covey")
    # Compared where both were run: means over other splits would mislead.
    apart = interval(100 * (default - results.get(*case, "logistic", runs)), shared)
    covey = f"{100 * default.mean():.1f}; {apart.text(signed=True)}"
    return [title, *texts, logistic.text(), covey]


def _printed(dataset: str) -> list[str]:
    baseline, *gains = PRINTED[dataset]
    return ["as printed", f"{baseline:.1f}", *(f"+{gain:.1f}" for gain in gains), "", ""]


def _title(table: Table) -> str:
    return TITLES.get(table.name, table.name)


def _name(source: str, by: str) -> str:
    name = _title(load(source))
    if source in ("abalone", "segment"):
        return name
    return f"{name}, {'random splits' if by == 'random' else 'by speaker'}"


def _shape(source: str) -> str:
    table = load(source)
    return f"{table.X.shape[1]}, {len(table.classes)}, {len(table.X)}"


def _rows(results: Results, options: Options) -> list[list[str]]:
    """The table at the common constants."""
    rows = []
    for source, by in options.splits():
        name = f"**{_name(source, by)}** ({_shape(source)})"
        rows.append(_row(name, results, source, by))
        if load(source).name in PRINTED and by == "random":
            rows.append(_printed(load(source).name))
    if options.iemocap is None:
        rows.append(["**IEMOCAP** (200, 4, 5498; licensed, not run)", *[""] * 7])
        rows.append(_printed("iemocap"))
    return rows


def _calibrated_rows(results: Results, calibrated: Calibrated) -> list[list[str]]:
    """The rows that the paper prints, each at a setting of its own."""
    rows = []
    for source, setting in calibrated:
        name = f"**{_name(source, 'random')}** ({_shape(source)})"
        rows.append(_row(name, results, source, "random", setting))
        rows.append(_printed(load(source).name))
    return rows


def differences(results: Results, options: Options, calibrated: Calibrated) -> list[str]:
    """Sentences on where our numbers and the printed ones differ."""
    sentences = []
    for source, own in calibrated:
        dataset = load(source).name
        printed = PRINTED[dataset]
        for label, setting in (("paper()", _COMMON), ("its own setting", own)):
            if label != "paper()" and setting[:2] == _COMMON[:2]:
                continue
            cells = _intervals(results, source, "random", setting)
            apart = cells[0].mean - printed[0]
            text = (
                f"{TITLES[dataset]} at {label} ({setting.text}): the baseline is "
                f"{abs(apart):.1f} points {'above' if apart > 0 else 'below'} the printed one"
            )
            if not all(cell.known for cell in cells):
                sentences.append(text + "; there are too few splits for intervals.")
                continue
            gains = list(zip(GAINS.values(), cells[1:], printed[1:], strict=True))
            flat = [name for name, cell, _ in gains if cell.sign == 0]
            against = [name for name, cell, _ in gains if cell.sign < 0]
            far = [
                f"{name} ({cell.text(signed=True)} against +{value:.1f})"
                for name, cell, value in gains
                if not cell.low <= value <= cell.high
            ]
            text += "; the printed value lies outside our interval for "
            text += ", ".join(far) if far else "none of the four gains"
            if against:
                text += f"; the sign is the other one for {', '.join(against)}"
            if flat:
                text += f"; zero is inside our interval for {', '.join(flat)}"
            sentences.append(text + ".")
    return sentences


def draw(results: Results, options: Options, calibrated: Calibrated) -> Any:
    """Printed numbers as lines, ours as points with intervals."""
    datasets = [load(source).name for source, _ in calibrated]
    figure, axes = panels(1, len(datasets) + 1, size=(11, 3.4))
    for ax, (source, own) in zip(axes, calibrated, strict=False):
        dataset = load(source).name
        cases = [("paper()", _COMMON, COLORS["both"]), ("own setting", own, COLORS["theta"])]
        for offset, (label, setting, color) in zip((-0.12, 0.12), cases, strict=True):
            cells = _intervals(results, source, "random", setting)[1:]
            _marks(ax, cells, offset, fmt="o", color=color, label=f"ours, {label}")
        _printed_marks(ax, dataset)
        ax.set_title(f"{TITLES[dataset]}: gains, %", loc="left")
    ax = axes[-1]
    _printed_marks(ax, "iemocap")
    speech = [pair for pair in options.splits() if pair[0].startswith("speech:")]
    shades = list(COLORS.values())[1:]
    for number, (source, by) in enumerate(speech):
        cells = _intervals(results, source, by)[1:]
        _marks(
            ax,
            cells,
            0.13 * (number - (len(speech) - 1) / 2),
            fmt="o" if by == "random" else "s",
            color=shades[(number // 2) % len(shades)],
            mfc=None if by == "random" else "white",
            label=f"{load(source).name}, {by}",
        )
    ax.set_title("IEMOCAP as printed, and stand-ins", loc="left")
    for ax in axes:
        ax.set_xticks(range(4), [name.replace(" ", "\n", 1) for name in GAINS.values()])
        ax.axhline(0, color=GREY, lw=0.8)
        ax.legend(frameon=False, fontsize=7.5)
    return figure


def _marks(ax: Any, cells: list[Interval], offset: float, **how: Any) -> None:
    """Means with their intervals, one for each gain."""
    means, halves = [cell.mean for cell in cells], [cell.half for cell in cells]
    ax.errorbar(np.arange(4) + offset, means, halves, ms=4, capsize=3, **how)


def _printed_marks(ax: Any, dataset: str) -> None:
    ends, color = np.arange(4) - 0.35, COLORS["baseline"]
    ax.hlines(PRINTED[dataset][1:], ends, ends + 0.7, color=color, lw=1.4, label="as printed")


def section(results: Results, options: Options) -> Section:
    """Table 2, twice: at the common constants, and at each set's own."""
    calibrated = closest_by_table(results, options)
    return filled(
        "Table 2: real data",
        "table2",
        options=options,
        n_members=N_MEMBERS,
        max_iter=Constants.max_iter,
        common=Constants().text,
        own="; ".join(f"{TITLES[load(s).name]} {found.text}" for s, found in calibrated),
        iemocap=options.iemocap and options.iemocap.rpartition("/")[2],
        **_about_rows(options),
        without_gains=_without_gains(results, options),
        gains=list(GAINS.values()),
        rows=_rows(results, options),
        calibrated_rows=_calibrated_rows(results, calibrated),
        sizes=_sizes(results, options),
        differences=differences(results, options, calibrated),
    )


def _sizes(results: Results, options: Options) -> list[list[str]]:
    """The numbers of members that were tuned."""
    rows = []
    for source, by in options.splits():
        row = [_name(source, by)]
        case = EXPERIMENT, load(source).name, condition(by, Constants())
        for name in GAINS:
            sizes = results.get(*case, f"k_{name}")
            most = 100 * np.mean(sizes >= N_MEMBERS - 1)
            row.append(f"{sizes.mean():.1f} ({most:.0f} %)")
        rows.append(row)
    return rows


def _about_rows(options: Options) -> dict[str, list[str]]:
    """Which tables have rows that repeat, and columns that are not used."""
    repeated, dropped = [], []
    for source in options.sources:
        table = load(source)
        n_repeated = len(table.X) - len(np.unique(table.X, axis=0))
        if n_repeated:
            repeated.append(f"{n_repeated} of {len(table.X)} in {_title(table)}")
        if table.dropped:
            names = ", ".join(f"`{name}`" for name in table.dropped)
            dropped.append(f"{_title(table)} {names}")
    return {"repeated": repeated, "dropped": dropped}


def _without_gains(results: Results, options: Options) -> list[str]:
    """How many splits have no relative improvement, where there are any."""
    found = []
    for source, by in options.splits():
        case = EXPERIMENT, load(source).name, condition(by, Constants())
        n_zeros = int(np.sum(results.get(*case, "baseline") == 0))
        if n_zeros:
            found.append(f"{n_zeros} of {_name(source, by)}")
    return found
