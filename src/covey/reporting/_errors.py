"""Sections about errors: which classes are confused, and whether it knows when it errs."""

import numpy as np

from covey.reporting._charts import Bin, heat_map, reliability
from covey.reporting._facts import limits
from covey.reporting._markup import fill, joined, tag
from covey.reporting._parts import Cell, Section, beside, figure, lead, note, table
from covey.reporting._svg import described
from covey.reporting._words import (
    count,
    counted,
    name,
    number,
    one_line,
    percent,
    strong,
    width_of,
)

# More classes than this have no room in a matrix.
_MOST_CLASSES = 20
_MOST_LISTED = 40


# -- confusion -------------------------------------------------------------------------------


def confusion(facts):
    """Which classes are taken for which."""
    matrix = facts.confusion
    wrong = matrix - np.diag(np.diag(matrix))
    support, called = matrix.sum(axis=1), matrix.sum(axis=0)
    parts = [lead(_confused_said(facts, wrong))]
    kept = np.arange(facts.n_classes)
    if facts.n_classes > _MOST_CLASSES:
        trouble = wrong.sum(axis=0) + wrong.sum(axis=1)
        kept = np.sort(np.argsort(-trouble, kind="stable")[:_MOST_CLASSES])
        parts.append(
            note(
                f"The map shows the {_MOST_CLASSES} classes with the most errors, of "
                f"{count(facts.n_classes)}."
            )
        )
    names = [facts.classes[code] for code in kept]
    shares = matrix / np.maximum(support, 1)[:, None]
    across = 26
    if len(kept) <= 12:
        widest = max(width_of(count(v)) for v in matrix[np.ix_(kept, kept)].ravel())
        across = max(34, widest + 12)
    if len(kept) <= 6:
        # There is room for names that stand upright.
        across = max(across, min(84, max(width_of(label) for label in names) + 12))

    def tip(row, column):
        true, said = kept[row], kept[column]
        return (
            f"true {facts.classes[true]}, called {facts.classes[said]}: "
            f"{counted(matrix[true, said], 'row')}, {percent(shares[true, said])} of the class"
        )

    cells = iter(matrix[np.ix_(kept, kept)].ravel())
    drawing = heat_map(
        "confusion-map",
        shares[np.ix_(kept, kept)],
        names,
        names,
        cell=(across, 34 if len(kept) <= 12 else 24),
        shown=lambda _: count(value) if (value := next(cells)) else "",
        tip=tip,
        highest=1.0,
        legend=("0 %", "100 % of the class"),
        longest=90,
        title="Confusion matrix",
        description=described(
            (f"{facts.classes[c]} called {facts.classes[d]}", counted(matrix[c, d], "row"))
            for c, d in np.argwhere(matrix)[:200]
        ),
    )
    rows = [
        [
            Cell(name(facts.classes[code], 26), one_line(facts.classes[code])),
            Cell(count(support[code]), support[code]),
            _share_cell(matrix[code, code], support[code]),
            _share_cell(matrix[code, code], called[code]),
        ]
        for code in range(facts.n_classes)
    ]
    numbers = table(
        "classes-table",
        "Found: of the rows of a class, those called so. Trusted: of those called so, the true.",
        ["Class", "Rows", "Found (recall)", "Trusted (precision)"],
        rows,
        numeric={1, 2, 3},
        most=_MOST_LISTED,
        what="classes",
    )
    caption = "Rows are true classes, columns what the model says."
    parts.append(beside(figure(drawing, caption, wide=len(kept) > 8), tag("div", numbers)))
    return Section("confusion", "Confusions", "Which classes are confused", joined(parts))


def _share_cell(part, whole):
    share = part / whole if whole else float("nan")
    return Cell(percent(share), -1 if whole == 0 else share)


def _confused_said(facts, wrong):
    if not wrong.any():
        return fill("{} on these rows.", strong("No class is taken for another"))
    true, said = np.unravel_index(int(wrong.argmax()), wrong.shape)
    return fill(
        "{} on {}. The most frequent: {} called {}, {}.",
        strong(counted(int(wrong.sum()), "error")),
        counted(facts.n_rows, "row"),
        name(facts.classes[true]),
        name(facts.classes[said]),
        f"{count(wrong.max())} times" if wrong.max() > 1 else "once",
    )


# -- calibration -----------------------------------------------------------------------------


def calibration(facts):
    """Whether its probabilities can be believed."""
    bins = binned(facts)
    confidence = facts.probabilities.max(axis=1)
    expected = float(confidence.mean())
    gap = sum(b.count * abs(b.accuracy - b.confidence) for b in bins) / facts.n_rows
    drawing = reliability(
        "calibration-bins",
        bins,
        start=_least_confidence(facts),
        title="How often the model is right, against how sure it is",
        description=described(
            (f"sure {percent(b.confidence)}", f"right {percent(b.accuracy)} of {count(b.count)}")
            for b in bins
        ),
    )
    low, high = facts.accuracy_limits
    if low <= expected <= high:
        verdict = "no more of a gap than chance explains"
    else:
        verdict = "so it is too sure of itself" if expected > high else "so it is too modest"
    said = lead(
        fill(
            "On average it is {} sure and {} right, {}.",
            strong(percent(expected)),
            strong(percent(facts.accuracy)),
            verdict,
        )
    )
    rows = [
        [
            "Log-loss",
            number(facts.log_loss),
            "mean negative logarithm of the probability of the truth",
        ],
        ["Brier score", number(facts.brier), "mean squared distance from the truth, 0 to 2"],
        ["Calibration error", percent(gap), "mean gap between the dots and the line"],
        ["Mean confidence", percent(expected), "the probability of the class it names"],
    ]
    numbers = table(
        "calibration-table",
        "Lower is better for the first three.",
        ["Measure", "Value", "Meaning"],
        rows,
    )
    remarks = note(
        "Dots on the dotted line: rows that it is 80 % sure of are right 80 % of the time. Bars "
        "show how many rows each dot stands for, and lines how far chance may have moved it."
    )
    body = joined([said, beside(figure(drawing), tag("div", numbers, remarks))])
    return Section("calibration", "Calibration", "Can its probabilities be believed?", body)


def _least_confidence(facts):
    """Of the class that is named; with many classes as good as none."""
    return {2: 0.5, 3: 0.3, 4: 0.2, 5: 0.2}.get(facts.n_classes, 0.0)


def binned(facts):
    """Rows by the probability of the class that is named, in bins of even width."""
    confidence = facts.probabilities.max(axis=1)
    start = _least_confidence(facts)
    n_bins = 10 if start == 0.5 else round(10 * (1.0 - start))
    edges = np.round(np.linspace(start, 1.0, n_bins + 1), 12)
    of = np.clip(np.searchsorted(edges, confidence, side="right") - 1, 0, n_bins - 1)
    bins = []
    for place in range(n_bins):
        rows = of == place
        if rows.any():
            n_right, n = int(facts.right[rows].sum()), int(rows.sum())
            bins.append(
                Bin(
                    float(confidence[rows].mean()),
                    n_right / n,
                    *limits(n_right, n),
                    n,
                    float(edges[place]),
                    float(edges[place + 1]),
                )
            )
    return bins
