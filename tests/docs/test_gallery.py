"""The gallery's scripts, run quickly: each bears out what its docstring claims."""

import re
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run a script into a folder of its own; returns its numbers."""
    monkeypatch.syspath_prepend(str(GALLERY))
    before = set(sys.modules)

    def run(name):
        numbers = import_module(name).main(out=tmp_path, quick=True)
        picture = tmp_path / f"{name}.png"
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size < 150_000
        return numbers

    yield run
    # Plain names such as "out_of_bag" should not stay importable for other tests.
    for name in set(sys.modules) - before:
        if str(GALLERY) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_and_of_two_lines_beats_the_best_line(run):
    found = run("and_of_lines")
    best = found["the best line of all"]
    assert found["1 AND 2"].low > best.high + 0.03
    for weaker in ("classifier 1", "classifier 2", "one logistic regression"):
        assert found[weaker].mean < best.mean


def test_variance_of_the_mean_follows_the_correlation(run):
    found = run("averaged_regressors")
    own, same = found["rows of their own"], found["the same rows"]
    assert own["ratio"].mean == pytest.approx(0.5, abs=0.06)
    assert same["ratio"].mean == pytest.approx(1)
    for terms in found.values():
        correlation, ratio = terms["correlation"].mean, terms["ratio"].mean
        assert ratio == pytest.approx((1 + correlation) / 2, abs=0.03)
        assert abs(terms["squared_bias_of_mean"].mean) < 0.1 * terms["variance_of_mean"].mean
    (resampled,) = (terms for name, terms in found.items() if "bootstrap" in name)
    assert resampled["variance_of_one"].mean > 1.7 * own["variance_of_one"].mean


def test_the_share_left_out_is_the_formula(run):
    found = run("left_out_of_bootstrap")
    for name, sizes in (("simulated", slice(None)), ("bagging", [3, 5, 7, 8, 9])):
        error = np.abs(found[name].mean - found["exact"][sizes])
        assert (error <= 3 * found[name].half + 1e-12).all()
    assert found["exact"][-1] == pytest.approx(1 / np.e, abs=2e-4)


def test_out_of_bag_is_too_low_and_more_trees_mend_it(run):
    found = run("out_of_bag")
    gap, mended = (
        np.mean([values[f"gap, out of bag{more}"].mean for values in found.values()], axis=0)
        for more in ("", ", 2.72 B")
    )
    assert gap[:3].max() < -0.03  # few trees: too low
    assert abs(mended[1:].mean()) < abs(gap[1:].mean()) / 2
    assert abs(gap[-1]) < abs(gap[0]) / 2
    for values in found.values():
        assert values["judges"].mean == pytest.approx(1 / np.e, abs=0.01)


def test_forests_do_not_get_worse_with_trees_and_boosting_does(run):
    found = run("forests_do_not_overfit")
    assert found["boosting"]["rise"].mean > 0.01
    for name in ("random forest", "extra trees", "random forest, leaves of 10 rows"):
        assert found[name]["rise"].mean < 0
        assert found[name]["end"] < found["boosting"]["end"]


def test_a_forest_of_stumps_has_the_bias_of_a_stump(run):
    found = run("shallow_trees")
    tree, forest = found["tree"].mean, found["forest"].mean
    assert forest[0, 0] > 0.85 * tree[0, 0]
    assert forest[-1, 1] < 0.4 * tree[-1, 1]
    assert (np.diff(forest[:4, 0]) < 0).all()
    assert forest.sum(axis=1).argmin() >= 4


def test_extra_trees_as_their_script_says(run):
    found = run("extra_trees")
    bias, training_set, dice = (
        {key: values.mean[term] for key, values in found["terms"].items()} for term in range(3)
    )
    assert bias["extra trees", 5] > bias["random forest", 5]
    assert bias["extra trees", 1] < bias["random forest", 1]
    for leaf in (1, 5):
        assert training_set["extra trees", leaf] < training_set["random forest", leaf]
    assert dice["extra trees", 1] > dice["random forest", 1]
    for ratio in found["speed"].values():
        assert ratio.mean > 1


def test_bagging_helps_deep_trees_and_not_what_is_stable(run):
    found = run("bagging_and_variance")
    gains = {name: values["gain"].mean for name, values in found.items()}
    assert gains["full tree"] > 0.01
    for name in ("1 neighbour", "25 neighbours", "logistic regression", "naive Bayes"):
        assert gains[name] < gains["full tree"] / 2
    variances = {name: values["variance"].mean for name, values in found.items()}
    assert variances["1 neighbour"] > variances["full tree"] > variances["logistic regression"]


def test_weights_fitted_on_training_rows_fall_for_the_deep_tree(run):
    found = run("naive_weights")
    naive, held_out = found["weights"].values()
    assert naive.mean[2] > 0.99  # the deep tree
    assert held_out.mean[2] < 0.3
    naive, held_out, *_ = found["errors"].values()
    assert held_out.high < naive.low


def test_more_bits_correct_more_errors(run):
    found = run("output_codes")
    assert found[4].low > found[12].high
    assert found[12].mean > found[20].mean
    assert found["one_vs_all"].low > found[20].high


def test_bordas_count_does_not_know_units_and_is_better_than_a_vote(run):
    found = run("borda_count")
    borda, scores = found["rules"]["Borda's count"].mean, found["rules"]["mean of scores"].mean
    assert np.ptp(borda) < 1e-12
    assert np.ptp(scores) > 0.15
    assert found["better"].low > 0.03


def test_the_mean_over_starts_beats_one_start_unless_the_loss_is_convex(run):
    found = run("local_optima")
    networks, convex = found["networks"], found["convex"]
    assert networks["mean of all starts"].mean > networks["one start"].mean + 0.03
    assert convex["deviation between starts"].mean < 0.01
    assert abs(convex["mean of all starts"].mean - convex["one start"].mean) < 0.01


def test_views_lose_less_than_one_model_where_sources_are_absent(run):
    found = run("absent_views")
    for case in ("no fingerprint", "typing only"):
        fused, one = (
            found[case, name].mean for name in ("views, fused", "one model, gaps filled")
        )
        assert fused[0] > one[0]


def test_windows_that_contain_each_other_are_no_independent_members(run):
    found = run("time_scales")
    assert found["product"].mean[1] > found["month"].mean[1] + 0.1
    assert found["linear_stacking"].mean[1] < found["mean"].mean[1]
    assert found["weights"].mean.argmax() == 3


def test_labels_of_rows_on_which_views_disagree_teach_more(run):
    found = run("co_testing")
    assert found["gain"].mean > 0
    assert found["conservative"].mean[-1] > found["conservative"].mean[0] + 0.1


def test_a_third_of_the_cost_is_enough(run):
    found = run("frugal_views")
    assert found["cost"].mean[0] == 1
    assert found["cost"].mean[5] < 14 / 2
    assert found["gain"].mean[5] > -0.005
    assert found["gain"].mean[0] < -0.01


def test_darts_of_averaged_trees_lie_together(run):
    found = run("darts")
    stump, deep, many = found.values()
    assert many.variance < 0.3 * deep.variance
    assert stump.bias_and_noise > many.bias_and_noise


def test_the_teachers_page_asks_about_every_script():
    page = (GALLERY.parent / "teaching.md").read_text()
    scripts = {path.stem for path in GALLERY.glob("*.py") if not path.name.startswith("_")}
    assert set(re.findall(r"\]\(gallery/(\w+)\.py\)", page)) == scripts - {"run_all"}


def test_index_names_every_script_and_picture():
    index = (GALLERY / "README.md").read_text()
    scripts = {
        path.stem
        for path in GALLERY.glob("*.py")
        if not path.name.startswith("_") and path.stem != "run_all"
    }
    assert scripts == set(re.findall(r"\]\((\w+)\.py\)", index))
    assert scripts == set(re.findall(r"\]\((\w+)\.png\)", index))
    for name in scripts:
        assert (GALLERY / f"{name}.png").stat().st_size < 150_000
