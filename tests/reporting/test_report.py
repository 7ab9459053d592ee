import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from covey import Evaluation, SubsetEnsembleClassifier, evaluate
from covey.evaluation._members import MOST_ROWS
from covey.reporting import Report, build_report
from tests.reporting.conftest import KINDS, Outline

FOR_PEOPLE = ["answers", "looks", "errors", "wrong"]
FOR_PEOPLE_WITH_VALUES = ["answers", "looks", "off", "wrong"]
FOR_EXPERTS = ["asked", "health", "scores", "members"]
ALL_SECTIONS = [*FOR_PEOPLE, *FOR_EXPERTS, "confusion", "calibration", "use"]
VALUE_SECTIONS = [*FOR_PEOPLE_WITH_VALUES, *FOR_EXPERTS, "use"]


def test_every_section_is_there_in_order(outlines, wine, gated, product):
    _, X, _, y = wine
    for name, model in (("gated", gated), ("product", product)):
        errs = model.score(X, y) < 1
        assert outlines[name].sections == [s for s in ALL_SECTIONS if errs or s != "wrong"]
    assert outlines["gated values"].sections == VALUE_SECTIONS
    assert outlines["mean values"].sections == VALUE_SECTIONS


@pytest.mark.parametrize("name", KINDS)
def test_a_page_is_well_formed_and_accessible(name, outlines):
    page = outlines[name]
    assert max(Counter(page.ids).values()) == 1
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(page.headings, page.headings[1:], strict=False))
    assert len(page.svgs) > 10
    for drawing in page.svgs:
        assert drawing["title"].strip()
        assert drawing["desc"].strip()
        assert drawing["attrs"]["role"] == "img"
        assert drawing["attrs"]["aria-labelledby"] in page.ids
        assert drawing["attrs"]["aria-describedby"] in page.ids
    named = [value for key, value in page.attributes if key == "aria-labelledby"]
    assert set(named) <= set(page.ids)


@pytest.mark.parametrize("name", KINDS)
def test_what_is_for_people_has_no_experts_word(name, reports):
    html = re.sub(r"<(style|script)[^>]*>.*?</\1>", " ", reports[name].html, flags=re.DOTALL)
    people, fold, experts = html.partition('id="experts"')
    people = re.sub(r"<[^>]*>", " ", people)
    assert fold
    words = ("log-loss", "brier", "softmax", "coefficient", "calibration", "logit", "likelihood")
    assert [word for word in words if word in people.lower()] == []
    assert name.endswith("values") or "brier" in experts.lower()


@pytest.mark.parametrize("name", KINDS)
def test_a_page_names_nothing_outside_itself(name, reports, outlines):
    html = reports[name].html
    assert "http:" not in html
    assert "https:" not in html
    assert "url(" not in html
    assert "@import" not in html
    keys = {key for key, _ in outlines[name].attributes}
    assert not keys & {"src", "srcset", "action", "onclick", "onerror"}
    links = [value for key, value in outlines[name].attributes if key == "href"]
    assert all(link == "data:," or link.startswith("#") for link in links)
    assert all(link == "data:," or link[1:] in outlines[name].ids for link in links)


def test_a_page_is_small(reports):
    assert all(len(report.html.encode()) < 400_000 for report in reports.values())


def test_the_same_input_gives_the_same_bytes(wine, gated, fused, reports):
    _, X, _, y = wine
    assert build_report(fused, X, y).html == reports["fused"].html
    assert build_report(gated, X, y).html == build_report(gated, X, y).html


def test_the_policy_allows_just_the_script_that_is_there(reports):
    import base64
    import hashlib

    html = reports["product"].html
    script = re.search(r"<script>(.*)</script>", html, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html


def contrast(first, second):
    """WCAG's ratio of two colours in hexadecimal."""

    def luminance(colour):
        shares = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted([luminance(first), luminance(second)])
    return (light + 0.05) / (dark + 0.05)


def test_colours_of_both_themes_can_be_read(reports):
    style = re.search(r"<style>(.*)</style>", reports["product"].html, re.DOTALL)[1]
    themes = [dict(re.findall(r"--(\w+): (#\w{6})", block)) for block in style.split(":root")[1:3]]
    assert len(themes) == 2
    for theme in themes:
        for ink in ("ink", "muted", "accent"):
            for paper in ("paper", "wash"):
                assert contrast(theme[ink], theme[paper]) >= 4.5
        assert contrast(theme["over"], theme["accent"]) >= 4.5


@pytest.mark.slow
def test_many_rows_features_classes_and_members_stay_small():
    rng = np.random.default_rng(0)
    y = np.tile(np.arange(25), MOST_ROWS // 25 + 4)
    X = rng.normal(size=(len(y), 220)) + (np.arange(220) % 25 == y[:, None])
    flock = SubsetEnsembleClassifier(
        26, fuser="product", flip_probability=0.3, max_iter=1, random_state=0
    )
    flock.fit(X[:50], y[:50])
    html = build_report(flock, X, y).html
    assert len(html.encode()) < 1_000_000
    assert "180 more columns" in html
    assert "2 more members, which decide no more" in html


def test_one_row_is_enough(wine, gated, diabetes, gated_values):
    _, X, _, y = wine
    assert set(ALL_SECTIONS) - set(Outline(build_report(gated, X[:1], y[:1]).html).sections) == {
        "wrong"
    }
    _, X, _, y = diabetes
    assert Outline(build_report(gated_values, X[:1], y[:1]).html).sections == VALUE_SECTIONS


def test_saving_replaces_the_file_and_leaves_nothing_else(tmp_path, reports):
    path = tmp_path / "page.html"
    path.write_text("old")
    assert reports["product"].save(path) == path
    assert path.read_text(encoding="utf-8") == reports["product"].html
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        Report("new").save(path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


def test_saving_says_where_it_cannot(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; name a file"):
        Report("page").save(tmp_path)
    with pytest.raises(FileNotFoundError, match="There is no folder .*nowhere"):
        Report("page").save(tmp_path / "nowhere" / "page.html")


def test_notebooks_show_the_page_in_a_frame_of_its_own(reports):
    framed = reports["product"]._repr_html_()
    attributes = dict(Outline(framed).attributes)
    assert attributes["srcdoc"] == reports["product"].html
    assert attributes["sandbox"] == "allow-scripts"
    assert repr(reports["product"]).startswith("Report(")


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"title": 3}, TypeError, "title must be text, got int"),
        ({"rivals": {"a": {"log_loss": 1.0}}}, ValueError, "'accuracy' or 'r2', which 'a' lacks"),
        ({"rivals": {"a": np.zeros(3)}}, ValueError, "predictions of shape"),
        ({"baselines": []}, TypeError, "unexpected keyword"),
    ],
)
def test_what_else_is_asked_is_checked(asked, error, message, wine, product):
    _, X, _, y = wine
    with pytest.raises(error, match=message):
        build_report(product, X, y, **asked)


def test_an_evaluation_is_shown_as_it_is(wine, product):
    _, X, _, y = wine
    one = evaluate(product, X, y, target="wine")
    assert build_report(one).html == build_report(product, X, y, target="wine").html
    # What the file keeps has no single rows, and is a page all the same.
    kept = Outline(build_report(Evaluation.from_json(one.without_rows().to_json())).html)
    assert "wrong" not in kept.sections
    assert "looks" in kept.sections
    with pytest.raises(TypeError, match="An evaluation is shown as it is"):
        build_report(one, X, y)
    with pytest.raises(TypeError, match="takes X and y"):
        build_report(product, X)


def test_every_ensemble_reports_on_itself(wine, product, diabetes, mean_values):
    for model, (_, X, _, y) in ((product, wine), (mean_values, diabetes)):
        assert model.report(X, y).html == build_report(model, X, y).html


def test_columns_that_cost_nothing_are_not_called_unread(wine, product):
    _, X, _, y = wine
    found = evaluate(product, X, y)
    columns = [replace(one, share=float(not k)) for k, one in enumerate(found.columns)]
    page = build_report(replace(found, columns=columns)).html
    assert (
        f"{len(columns) - 1} columns are not missed: without one of them it does as well" in page
    )
