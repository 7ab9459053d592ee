"""Table 2 as a reader sees it: our numbers beside each printed one."""

import numpy as np

from covey.reproduce import _sensitivity
from covey.reproduce._data import load
from covey.reproduce._ensembles import N_MEMBERS, Constants
from covey.reproduce._page import Figure, Points, Section, Table, Text
from covey.reproduce._results import interval, overlap
from covey.reproduce._style import COLOURS, GREY, panels
from covey.reproduce._table2 import COLUMNS, EXPERIMENT, PRINTED, condition

TITLES = {"abalone": "Abalone", "segment": "Image Segmentation", "iemocap": "IEMOCAP"}
_GAINS = ("g_orc {Θ}", "g_orc {Θ, Λ}", "g_EW {Θ}", "g_EW {Θ, Λ}")


def _intervals(results, source, by, constants):
    """Of the baseline accuracy and the four relative improvements, in %."""
    table = load(source)
    case = EXPERIMENT, table.name, condition(by, constants)
    shared = overlap(table, by)
    found = [interval(100 * results.get(*case, "baseline"), shared)]
    found += [interval(results.gain(*case, name), shared) for name in COLUMNS[1:]]
    return found


def _row(title, results, source, by, constants):
    table = load(source)
    shared = overlap(table, by)
    cells = _intervals(results, source, by, constants)
    texts = [cells[0].text()] + [cell.text(signed=True) for cell in cells[1:]]
    case = EXPERIMENT, table.name, by
    logistic = interval(100 * results.get(*case, "logistic"), shared)
    runs = results.runs(*case, "covey")
    default = results.get(*case, "covey")
    # Compared where both were run: means over other splits would mislead.
    apart = interval(100 * (default - results.get(*case, "logistic", runs)), shared)
    covey = f"{100 * default.mean():.1f}; {apart.text(signed=True)}"
    return [title, *texts, logistic.text(), covey]


def _printed(dataset):
    baseline, *gains = PRINTED[dataset]
    return ["as printed", f"{baseline:.1f}", *(f"+{gain:.1f}" for gain in gains), "", ""]


def _title(table):
    return TITLES.get(table.name, table.name)


def _name(source, by):
    name = _title(load(source))
    if source in ("abalone", "segment"):
        return name
    return f"{name}, {'random splits' if by == 'random' else 'by speaker'}"


def _shape(source):
    table = load(source)
    return f"{table.X.shape[1]}, {len(table.classes)}, {len(table.X)}"


def _rows(results, options):
    """The table at the common constants."""
    rows = []
    for source, by in options.splits():
        name = f"**{_name(source, by)}** ({_shape(source)})"
        rows.append(_row(name, results, source, by, Constants()))
        if load(source).name in PRINTED and by == "random":
            rows.append(_printed(load(source).name))
    if options.iemocap is None:
        rows.append(["**IEMOCAP** (200, 4, 5498; licensed, not run)", *[""] * 7])
        rows.append(_printed("iemocap"))
    return rows


def _calibrated_rows(results, calibrated):
    """The rows that the paper prints, each at a setting of its own."""
    rows = []
    for source, constants in calibrated:
        name = f"**{_name(source, 'random')}** ({_shape(source)})"
        rows.append(_row(name, results, source, "random", constants))
        rows.append(_printed(load(source).name))
    return rows


def differences(results, options, calibrated):
    """Sentences on where our numbers and the printed ones differ."""
    sentences = []
    for source, own in calibrated:
        dataset = load(source).name
        printed = PRINTED[dataset]
        for label, constants in (("paper()", Constants()), ("its own setting", own)):
            if label != "paper()" and constants == Constants():
                continue
            cells = _intervals(results, source, "random", constants)
            apart = cells[0].mean - printed[0]
            text = (
                f"{TITLES[dataset]} at {label} (`{constants.text}`): the baseline is "
                f"{abs(apart):.1f} points {'above' if apart > 0 else 'below'} the printed one"
            )
            if not all(cell.known for cell in cells):
                sentences.append(text + "; there are too few splits for intervals.")
                continue
            flat = [name for name, cell in zip(_GAINS, cells[1:], strict=True) if cell.sign == 0]
            against = [name for name, cell in zip(_GAINS, cells[1:], strict=True) if cell.sign < 0]
            far = [
                f"{name} ({cell.text(signed=True)} against +{value:.1f})"
                for name, cell, value in zip(_GAINS, cells[1:], printed[1:], strict=True)
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


def draw(results, options, calibrated):
    """Printed numbers as lines, ours as points with intervals."""
    datasets = [load(source).name for source, _ in calibrated]
    figure, axes = panels(1, len(datasets) + 1, size=(11, 3.4))
    for ax, (source, own) in zip(axes, calibrated, strict=False):
        dataset = load(source).name
        cases = [("paper()", Constants(), COLOURS["both"]), ("own setting", own, COLOURS["theta"])]
        for offset, (label, constants, colour) in zip((-0.12, 0.12), cases, strict=True):
            cells = _intervals(results, source, "random", constants)[1:]
            ax.errorbar(
                [place + offset for place in range(4)],
                [cell.mean for cell in cells],
                [cell.half for cell in cells],
                fmt="o",
                ms=4,
                color=colour,
                capsize=3,
                label=f"ours, {label}",
            )
        _printed_marks(ax, dataset)
        ax.set_title(f"{TITLES[dataset]}: gains, %", loc="left")
    ax = axes[-1]
    _printed_marks(ax, "iemocap")
    speech = [pair for pair in options.splits() if pair[0].startswith("speech:")]
    shades = list(COLOURS.values())[1:]
    for number, (source, by) in enumerate(speech):
        cells = _intervals(results, source, by, Constants())[1:]
        ax.errorbar(
            [place + 0.13 * (number - (len(speech) - 1) / 2) for place in range(4)],
            [cell.mean for cell in cells],
            [cell.half for cell in cells],
            fmt="o" if by == "random" else "s",
            ms=4,
            color=shades[(number // 2) % len(shades)],
            mfc=None if by == "random" else "white",
            capsize=3,
            label=f"{load(source).name}, {by}",
        )
    ax.set_title("IEMOCAP as printed, and stand-ins", loc="left")
    for ax in axes:
        ax.set_xticks(range(4), ["g_orc\n{Θ}", "g_orc\n{Θ, Λ}", "g_EW\n{Θ}", "g_EW\n{Θ, Λ}"])
        ax.axhline(0, color=GREY, lw=0.8)
        ax.legend(frameon=False, fontsize=7.5)
    return figure


def _printed_marks(ax, dataset):
    ax.hlines(
        PRINTED[dataset][1:],
        [place - 0.35 for place in range(4)],
        [place + 0.35 for place in range(4)],
        color=COLOURS["baseline"],
        lw=1.4,
        label="as printed",
    )


def section(results, options):
    """Table 2, twice: at the common constants, and at each set's own."""
    calibrated = _sensitivity.calibrated(results, options)
    header = [
        *("data (D, J, M)", "baseline, %", *_GAINS),
        *("logistic regression, %", "covey's default, %; less logistic regression"),
    ]
    about = Points(
        [
            "**Splits.** 80 % of the rows train, 10 % tune K (for each fusion scheme on its own), "
            f"10 % test; {options.runs} random splits, the same for every column. Speech is also "
            "split by speaker: whole speakers are held out, as one should where speakers repeat.",
            "**Columns.** Baseline: one softmax-linear classifier on all features, the first "
            "member of {Θ}. Gains are relative improvements over it in %, taken split by split "
            "and then averaged. The last two columns are accuracies of models that the paper "
            "lacks, trained on the same training rows: logistic regression (C = 1, not tuned, run "
            "to convergence), and `FlockClassifier()` as it is, on the first "
            f"{options.default_runs} splits only, since a fit takes seconds (after it: the "
            "difference from logistic regression on those splits, in points).",
            "**Intervals.** Splits of one table share rows, so that they are not independent, and "
            "more of them do not make a table larger. What follows ± is half of a 95 % interval "
            "corrected for that (Nadeau and Bengio 2003: the variance over splits times (1 / "
            "splits + test rows / training rows), the latter 1/8 here; by speaker, speakers are "
            "counted); in brackets stands what it would be without: how well the mean over all "
            "splits of these very rows is known. Signs, tests and verdicts go by the first.",
            f"**Limits.** K is at most {N_MEMBERS}, the fewest members of equals, and a member "
            f"takes at most {Constants().ascent().max_iter} steps. The oracle cannot lose by "
            "another member, so that its gain is in part the first limit. The third table has "
            "the K that were tuned, and what other limits give stands under *Limits* below.",
            "**Abalone** is to predict the sex (3 classes) from the eight numeric columns.",
            *_about_rows(options),
            _about_iemocap(options),
            *_about_zeros(results, options),
        ]
    )
    return Section(
        "Table 2: real data",
        "table2",
        [
            about,
            Table(
                header,
                _rows(results, options),
                "At the common constants of `paper()` "
                f"(`{Constants().text}`): means over splits ± half their 95 % intervals, "
                "corrected for rows that splits share (in brackets: not corrected).",
            ),
            Table(
                header,
                _calibrated_rows(results, calibrated),
                "At the setting of each data set that came closest on other splits: "
                + "; ".join(f"{TITLES[load(s).name]} `{c.text}`" for s, c in calibrated)
                + ".",
            ),
            Table(
                ["data", *_GAINS],
                _sizes(results, options),
                "The tuned K at the common constants: means over splits, and the share of splits "
                f"that took {N_MEMBERS - 1} or {N_MEMBERS} members of the {N_MEMBERS} there were.",
            ),
            Figure(
                "table2",
                "Relative improvements: as printed, and ours with 95 % intervals, corrected for "
                "rows that splits share.",
            ),
            Text("**Where ours differ.**"),
            Points(differences(results, options, calibrated)),
        ],
    )


def _sizes(results, options):
    """The numbers of members that were tuned."""
    rows = []
    for source, by in options.splits():
        row = [_name(source, by)]
        for name in COLUMNS[1:]:
            sizes = results.get(
                EXPERIMENT, load(source).name, condition(by, Constants()), f"k_{name}"
            )
            most = 100 * np.mean(sizes >= N_MEMBERS - 1)
            row.append(f"{sizes.mean():.1f} ({most:.0f} %)")
        rows.append(row)
    return rows


def _about_rows(options):
    """What to know of the rows and columns of the tables."""
    repeated, dropped = [], []
    for source in options.sources:
        table = load(source)
        n_repeated = len(table.X) - len(np.unique(table.X, axis=0))
        if n_repeated:
            repeated.append(f"{n_repeated} of {len(table.X)} in {_title(table)}")
        if table.dropped:
            names = ", ".join(f"`{name}`" for name in table.dropped)
            dropped.append(f"{_title(table)} {names}")
    items = []
    if repeated:
        items.append(
            "**Rows that repeat the features of another** can fall into the training and the "
            f"test part of a random split: {', '.join(repeated)}. Nothing was done about them."
        )
    if dropped:
        items.append(
            "**Columns that are not used as features** (classes, speakers, descriptions of a "
            f"recording, row numbers): {'; '.join(dropped)}."
        )
    return items


def _about_zeros(results, options):
    """How many splits have no relative improvement, if any."""
    found = []
    for source, by in options.splits():
        case = EXPERIMENT, load(source).name, condition(by, Constants())
        n_zeros = int(np.sum(results.get(*case, "baseline") == 0))
        if n_zeros:
            found.append(f"{n_zeros} of {_name(source, by)}")
    if not found:
        return []
    return [
        "**Splits without gains.** Where the baseline has no test row right nothing can be said "
        f"relative to it; these splits are left out of gains: {', '.join(found)}."
    ]


def _about_iemocap(options):
    if options.iemocap is not None:
        return f"**IEMOCAP** is the table `{options.iemocap.rpartition('/')[2]}` that was given."
    text = (
        "**IEMOCAP** is licensed and cannot be shipped; `--iemocap FILE` runs it on a table of "
        "features (CSV: a label column `target`, if possible `speaker`, and numbers). "
    )
    if options.speech:
        return text + (
            "The speech tables given by `--speech` stand in for it, cut down to the paper's four "
            "emotions where they have more: other recordings, other features, so that no number "
            "of theirs can confirm or refute the printed row."
        )
    return text + "No `--speech FILE` was given to stand in for it."
