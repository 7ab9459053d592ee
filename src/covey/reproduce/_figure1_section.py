"""Figure 1 as a reader sees it."""

from covey.reproduce._ensembles import N_MEMBERS, Constants
from covey.reproduce._figure1 import (
    DATASET,
    EXPERIMENT,
    TEST_ROWS_PER_CLASS,
    gains,
    sizes_of,
)
from covey.reproduce._page import Figure, Section, Table, Text
from covey.reproduce._results import interval
from covey.reproduce._style import COLOURS, band, panels


def draw(results):
    """Baseline accuracy, and relative improvements under g_orc and g_EW."""
    sizes = sizes_of(results)
    figure, axes = panels(1, 3, size=(10.5, 3.5))
    baseline = [
        interval(100 * results.get(EXPERIMENT, DATASET, f"{size} per class", "baseline"))
        for size in sizes
    ]
    band(axes[0], sizes, baseline, COLOURS["baseline"], "single classifier")
    axes[0].set_title("Baseline accuracy, %", loc="left")
    for ax, fusion, name in ((axes[1], "oracle", "g_orc"), (axes[2], "equal", "g_EW")):
        for kind, label in (("theta", "{Θ}"), ("both", "{Θ, Λ}")):
            values = [interval(gains(results, size, f"{fusion}_{kind}")) for size in sizes]
            band(ax, sizes, values, COLOURS[kind], label)
            most = [interval(gains(results, size, f"{fusion}_{kind}_most")) for size in sizes]
            band(
                ax,
                sizes,
                most,
                COLOURS[kind],
                f"{label}, largest K",
                shade=0.07,
                ls="--",
                marker="s",
            )
        ax.set_title(f"Relative improvement, {name}, %", loc="left")
        ax.axhline(0, color="#7a8490", lw=0.8)
        ax.legend(frameon=False, fontsize=9)
    for ax in axes:
        ax.set_xscale("log")
        ax.set_xticks(sizes, [str(size) for size in sizes])
        ax.minorticks_off()
        ax.set_xlabel("training rows of each class")
    return figure


def section(results, options):
    """Figure 1 with its numbers."""
    rows = []
    for size in sizes_of(results):
        case = EXPERIMENT, DATASET, f"{size} per class"
        row = [str(size), interval(100 * results.get(*case, "baseline")).text()]
        for fusion in ("oracle", "equal"):
            for name in ("theta", "both", "both_most"):
                row.append(interval(results.gain(*case, f"{fusion}_{name}")).text(2, signed=True))
        for name in ("k_oracle_both", "k_equal_both"):
            row.append(f"{results.get(*case, name).mean():.1f}")
        rows.append(row)
    header = ["rows of each class", "baseline, %"]
    for name in ("g_orc", "g_EW"):
        header += [f"{name} {{Θ}}", f"{name} {{Θ, Λ}}", f"{name} {{Θ, Λ}}, largest K"]
    header += ["mean K, g_orc {Θ, Λ}", "mean K, g_EW {Θ, Λ}"]
    return Section(
        "Figure 1: the synthetic set",
        "figure1",
        [
            Text(
                "The quarter circle of eq. (11), equally many rows of both classes, "
                f"{TEST_ROWS_PER_CLASS:,} test rows of each class, {options.runs} training sets "
                "a size. K is tuned on the training rows, for each fusion scheme on its own; "
                f"it is at most {N_MEMBERS}, and a member takes at most "
                f"{Constants().ascent().max_iter} steps. "
                "The constants are those of `SubsetEnsembleClassifier.paper()`. The paper prints "
                "its Figure 1 without numbers, so there are none to stand beside these."
            ),
            Figure(
                "figure1",
                "Baseline accuracy, and relative improvement over it under the oracle and under "
                "equal weights: means over training sets, with 95 % bands.",
            ),
            Text(
                "**A choice that the paper does not mention.** On few rows one member is already "
                "right on all training rows, so that many K are equally good. Solid lines keep "
                "the fewest members of equals, as covey does, dashed ones the most. "
                + _tie_sentence(results)
            ),
            Table(header, rows, "Relative improvements in %, means and 95 % intervals."),
        ],
    )


def _tie_sentence(results):
    """What the two rules say of the oracle, from the fewest rows to the most."""
    sizes = sizes_of(results)
    texts = []
    for suffix, rule in (("", "the fewest"), ("_most", "the most")):
        ends = [
            interval(gains(results, size, f"oracle_both{suffix}"))
            for size in (sizes[0], sizes[-1])
        ]
        texts.append(
            f"with {rule}, the gain of g_orc {{Θ, Λ}} goes from {ends[0].text(signed=True)} % at "
            f"{sizes[0]} rows of each class to {ends[1].text(signed=True)} % at {sizes[-1]}"
        )
    text = "; ".join(texts) + "."
    return text[0].upper() + text[1:]
