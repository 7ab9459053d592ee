"""Table 2 as a reader sees it: our numbers beside each printed one."""

from covey.reproduce import _sensitivity
from covey.reproduce._data import load
from covey.reproduce._ensembles import Constants
from covey.reproduce._page import Figure, Points, Section, Table, Text
from covey.reproduce._results import interval
from covey.reproduce._style import COLOURS, GREY, panels
from covey.reproduce._table2 import COLUMNS, EXPERIMENT, PRINTED, condition

TITLES = {"abalone": "Abalone", "segment": "Image Segmentation", "iemocap": "IEMOCAP"}
_GAINS = ("g_orc {Θ}", "g_orc {Θ, Λ}", "g_EW {Θ}", "g_EW {Θ, Λ}")


def _intervals(results, dataset, case):
    """Of the baseline accuracy and the four relative improvements, in %."""
    found = [interval(100 * results.get(EXPERIMENT, dataset, case, "baseline"))]
    found += [interval(results.gain(EXPERIMENT, dataset, case, name)) for name in COLUMNS[1:]]
    return found


def _row(title, results, dataset, by, constants):
    cells = _intervals(results, dataset, condition(by, constants))
    texts = [cells[0].text()] + [cell.text(signed=True) for cell in cells[1:]]
    case = EXPERIMENT, dataset, by
    logistic = interval(100 * results.get(*case, "logistic"))
    runs = results.runs(*case, "covey")
    default = results.get(*case, "covey")
    # Compared where both were run: means over other splits would mislead.
    apart = interval(100 * (default - results.get(*case, "logistic", runs)))
    covey = f"{100 * default.mean():.1f} ({apart.text(signed=True)})"
    return [title, *texts, logistic.text(), covey]


def _printed(dataset):
    baseline, *gains = PRINTED[dataset]
    return ["as printed", f"{baseline:.1f}", *(f"+{gain:.1f}" for gain in gains), "", ""]


def _name(source, by):
    table = load(source)
    name = TITLES.get(table.name, table.name)
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
        rows.append(_row(name, results, load(source).name, by, Constants()))
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
        rows.append(_row(name, results, load(source).name, "random", constants))
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
            cells = _intervals(results, dataset, condition("random", constants))
            apart = cells[0].mean - printed[0]
            text = (
                f"{TITLES[dataset]} at {label} (`{constants.text}`): the baseline is "
                f"{abs(apart):.1f} points {'above' if apart > 0 else 'below'} the printed one"
            )
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
            cells = _intervals(results, dataset, condition("random", constants))[1:]
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
        cells = _intervals(results, load(source).name, condition(by, Constants()))[1:]
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
        *("logistic regression, %", "covey's default, % (less logistic regression)"),
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
            "to convergence), and `SubsetEnsembleClassifier()` as it is, on the first "
            f"{options.default_runs} splits only, since a fit takes seconds (in brackets: the "
            "difference from logistic regression on those splits, in points).",
            "**Abalone** is to predict the sex (3 classes) from the eight numeric columns.",
            _about_iemocap(options),
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
                f"(`{Constants().text}`): means and 95 % intervals over splits.",
            ),
            Table(
                header,
                _calibrated_rows(results, calibrated),
                "At the setting of each data set that came closest on other splits: "
                + "; ".join(f"{TITLES[load(s).name]} `{c.text}`" for s, c in calibrated)
                + ".",
            ),
            Figure("table2", "Relative improvements: as printed, and ours with 95 % intervals."),
            Text("**Where ours differ.**"),
            Points(differences(results, options, calibrated)),
        ],
    )


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
