import re
import warnings
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from covey import FusionClassifier, Gate, SubsetEnsembleClassifier
from covey.reporting import Report, build_report
from covey.reporting._calibration import binned
from covey.reporting._class_facts import ClassFacts
from covey.reporting._facts import MOST_ROWS
from covey.reporting._inputs import check_inputs
from covey.rivals import DiverseMaxEntClassifier
from tests.reporting.conftest import NASTY_NAME

ALL_SECTIONS = [
    "asked",
    "health",
    "accuracy",
    "size",
    "features",
    "members",
    "decides",
    "confusion",
    "calibration",
    "diversity",
    "bounds",
    "rows",
    "use",
]
EMPTY = {"meta", "link", "br"}


class Outline(HTMLParser):
    """The elements of a page: those that are open, their text, and the order of headings."""

    def __init__(self, html):
        super().__init__()
        self.open, self.ids, self.headings, self.sections = [], [], [], []
        self.counts, self.svgs, self.text, self.attributes = Counter(), [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.counts[tag] += 1
        self.attributes += attrs.items()
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "section":
            self.sections.append(attrs["id"])
        if tag == "svg":
            self.svgs.append({"attrs": attrs, "title": "", "desc": ""})
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("title", "desc") and self.open[-2] == "svg":
            self.svgs[-1][self.open[-1]] += data
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)


@pytest.fixture(scope="module")
def outlines(reports):
    return {name: Outline(report.html) for name, report in reports.items()}


# -- what a page is --------------------------------------------------------------------------


def test_every_section_is_there_in_order(outlines):
    assert outlines["gated"].sections == ALL_SECTIONS
    assert outlines["product"].sections == ALL_SECTIONS


def test_sections_that_a_model_has_nothing_to_say_about_are_left_out(wine):
    X, X_new, y, y_new = wine
    single = SubsetEnsembleClassifier(1, fuser="product", random_state=0).fit(X, y)
    left = set(ALL_SECTIONS) - set(Outline(build_report(single, X_new, y_new).html).sections)
    assert left == {"size", "decides", "diversity"}


@pytest.mark.parametrize("name", ["gated", "product", "fused"])
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


@pytest.mark.parametrize("name", ["gated", "product", "fused"])
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


def test_the_same_input_gives_the_same_bytes(wine, gated, fused):
    _, X, _, y = wine
    for model in (gated, fused):
        assert build_report(model, X, y).html == build_report(model, X, y).html


def test_what_users_wrote_is_text_and_nothing_else(reports, outlines):
    page = outlines["gated"]
    # One script of our own, and nothing that a name or a title brought along.
    assert page.counts["script"] == 1
    assert page.counts["b"] == page.counts["i"] == 0
    words = "".join(page.text)
    for written in (NASTY_NAME, "third & last", "forest <i>", "cultivar <b>", "'a & b.csv'"):
        assert written in words
    assert "</title><script>" in words
    assert "broken = true</script>" not in reports["gated"].html


def test_signs_that_no_page_may_hold_are_replaced(wine):
    X, X_new, y, y_new = wine
    odd = {"alcohol": "al\x00co\ud800hol", "hue": "$style", "proline": "x" * 400}
    flock = SubsetEnsembleClassifier(2, fuser="product", random_state=0)
    flock.fit(X.rename(columns=odd), y)
    html = build_report(flock, X_new.rename(columns=odd), y_new, title="$script").html
    html.encode()
    assert "\x00" not in html
    assert "$style" in html
    assert "<h1>$script</h1>" in html


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


# -- what a page says ------------------------------------------------------------------------


def test_accuracy_and_oracle_are_those_of_the_model(wine, product, reports):
    _, X, _, y = wine
    facts = ClassFacts(check_inputs(product, X, y))
    assert facts.accuracy.value == product.score(X, y)
    assert facts.oracle_accuracy == pytest.approx(product.oracle_score(X, y))
    right = round(product.score(X, y) * len(y))
    assert f"{right} of {len(y)} rows are predicted rightly" in reports["product"].html


def test_members_are_judged_as_a_loop_would(wine, gated):
    _, X, _, y = wine
    facts = ClassFacts(check_inputs(gated, X, y))
    said = gated.member_probabilities(X)
    for k in range(gated.n_estimators_):
        labels = gated.classes_[said[:, k].argmax(axis=1)]
        assert facts.member_score[k] == pytest.approx(np.mean(labels == y))
        for code, label in enumerate(gated.classes_):
            assert facts.member_parts[k, code] == pytest.approx(
                np.mean(labels[y == label] == label)
            )
        assert facts.mean_importance[k] == pytest.approx(gated.explain_fusion(X)[:, k].mean())


def test_strength_is_what_one_deviation_does_to_the_logits(wine, product):
    X, X_new, _, y_new = wine
    facts = ClassFacts(check_inputs(product, X_new, y_new))
    for k, j in ((0, 0), (3, 12)):
        coef = product.coef_[k, :, j] * X.iloc[:, j].std(ddof=0)
        centred = coef - coef.mean()
        assert facts.strength.size[k, j] == pytest.approx(np.abs(centred).mean())
        if coef.any():
            assert facts.strength.towards[k, j] == centred.argmax()


def test_calibration_counts_as_a_loop_would(wine, fused):
    _, X, _, y = wine
    facts = ClassFacts(check_inputs(fused, X, y))
    sure = fused.predict_proba(X).max(axis=1)
    right = fused.predict(X) == y
    seen = 0
    for found in binned(facts):
        inside = [
            i
            for i in range(len(y))
            if found.start <= sure[i] < found.end or (found.end == 1 and sure[i] == 1)
        ]
        assert found.count == len(inside)
        assert found.accuracy == pytest.approx(np.mean([right[i] for i in inside]))
        assert found.confidence == pytest.approx(np.mean([sure[i] for i in inside]))
        seen += len(inside)
    assert seen == len(y)


def test_features_that_meet_most_often_are_named(wine, product, reports):
    together = np.zeros((13, 13))
    for support in product.support_:
        for i in np.flatnonzero(support):
            for j in np.flatnonzero(support):
                together[i, j] += 1 / len(product.support_)
    names = product.feature_names_in_
    i, j = 0, 12
    share = f"{100 * together[i, j]:.3g}"
    assert f"{names[i]} and {names[j]}: {share}\u00a0% keep both" in reports["product"].html


def test_equal_weights_are_said_in_one_sentence(reports):
    assert "Everyone, everywhere, with a say of 20\u00a0%" in reports["product"].html
    assert "decides-class-map" not in reports["product"].html
    assert "decides-class-map" in reports["gated"].html


def test_a_row_that_is_wrong_is_explained(wine, fused, reports):
    _, X, _, y = wine
    assert fused.score(X, y) < 1
    wrong = np.flatnonzero(fused.predict(X) != y)
    sure = fused.predict_proba(X).max(axis=1)
    worst = wrong[np.argmax(sure[wrong])]
    card = reports["fused"].html.split(f"<h3>Row {worst}<")[1].split("</article>")[0]
    assert "surest and wrong" in card
    assert "but it is" in card


def test_bounds_of_votes_are_for_votes(wine, reports):
    X, X_new, y, y_new = wine
    vote = SubsetEnsembleClassifier(3, fuser="majority", max_iter=20, random_state=0).fit(X, y)
    assert "Vote, tandem" in build_report(vote, X_new, y_new).html
    assert "Vote, tandem" not in reports["product"].html


def test_baselines_and_health_are_shown_as_given(wine, product):
    _, X, _, y = wine
    html = build_report(
        product,
        X,
        y,
        baselines=[
            {"name": "tuned SVC", "accuracy": 0.5, "low": 0.4, "high": 0.6, "seconds": 12345}
        ],
        data_health=[{"column": "hue", "kind": "number", "missing": 0.25, "note": "odd"}],
    ).html
    for shown in ("tuned SVC", "40 to 60\u00a0%", "12,300", "25\u00a0%", "odd", "above the best"):
        assert shown in html


def test_health_is_found_in_the_rows_where_none_is_given(wine, product):
    pd = pytest.importorskip("pandas")
    X, X_new, y, y_new = wine
    odd = X_new.copy()
    odd["words"] = [f"word {row}" for row in range(len(odd))]
    odd["nothing"] = pd.array([pd.NA] * len(odd), dtype="Int64")
    odd["some"] = np.where(np.arange(len(odd)) < 3, np.nan, 1.0)
    odd["twin"] = np.where(np.arange(len(odd)) % 2, "a", "b")
    model = make_pipeline(
        make_column_transformer(("passthrough", list(X.columns))),
        SubsetEnsembleClassifier(2, fuser="product", random_state=0),
    ).fit(X, y)
    html = build_report(model, odd, y_new).html
    section = html[html.index('id="health"') : html.index('id="accuracy"')]
    rows = {
        row[0]: row[1:]
        for row in (
            re.findall(r"<t[hd][^>]*>(?:<span[^>]*>)?([^<]*)", part)
            for part in section.split("<tr>")[2:]
        )
    }
    assert rows["words"] == ["text", "0", "word 0", "nearly every row has a value of its own"]
    assert rows["nothing"] == ["number", str(len(odd)), "\u2013", "nothing but missing values"]
    assert rows["some"] == ["number", "3", "always 1", "the same everywhere"]
    assert rows["twin"][:2] == ["one of two", "0"]
    assert rows["alcohol"][:2] == ["number", "0"]


# -- models of other makes -------------------------------------------------------------------


def test_a_pipeline_is_told_in_the_columns_that_readers_know(wine):
    X, X_new, y, y_new = wine
    X, X_new = X.iloc[:, :4].copy(), X_new.iloc[:, :4].copy()
    for frame in (X, X_new):
        frame["colour"] = np.where(np.arange(len(frame)) % 2, "dark <red>", "pale")
    model = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(sparse_output=False), ["colour"]), remainder=StandardScaler()
        ),
        SubsetEnsembleClassifier(3, fuser=Gate(), feature_groups=[[0, 1]], random_state=0),
    ).fit(X, y)
    html = build_report(model, X_new, y_new).html
    assert "colour_dark &lt;red&gt;" in html
    assert "onehotencoder__" not in html
    assert ">x0" not in html
    assert "ColumnTransformer" in html
    wrapped = type("Trained", (), {"pipeline_": model})()
    assert build_report(wrapped, X_new, y_new).html == html


def test_labels_are_those_of_the_outermost_model(wine, product):
    _, X, _, y = wine
    renamed = {"first": "un", "second": "deux", "third & last": "trois"}
    classes = np.array(list(renamed.values()))
    outer = type("Trained", (), {"pipeline_": make_pipeline(product), "classes_": classes})()
    html = build_report(outer, X, [renamed[label] for label in y]).html
    assert "deux" in html
    assert "third &amp; last" not in html


def test_linear_members_without_subsets(wine):
    X, X_new, y, y_new = wine
    flock = DiverseMaxEntClassifier(3, random_state=0).fit(X, y)
    page = Outline(build_report(flock, X_new, y_new).html)
    assert "looks-at-map-t" in page.ids
    assert "co-selection-map-t" not in page.ids


def test_sparse_rows(wine):
    from scipy import sparse

    X, X_new, y, y_new = wine
    flock = SubsetEnsembleClassifier(2, fuser="product", random_state=0)
    flock.fit(sparse.csr_matrix(X.to_numpy()), y)
    dense = build_report(flock, X_new.to_numpy(), y_new)
    thin = build_report(flock, sparse.csr_matrix(X_new.to_numpy()), y_new)
    assert "number, sparse" in thin.html
    cut = slice(thin.html.index('id="accuracy"'), thin.html.index('id="features"'))
    assert thin.html[cut] in dense.html


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
    assert "2 more members." in html
    assert "14 more members, asked no more" in html
    assert f"measured on {MOST_ROWS:,} of them" in html


def test_one_row_is_enough(wine, gated):
    _, X, _, y = wine
    assert Outline(build_report(gated, X[:1], y[:1]).html).sections == ALL_SECTIONS


# -- saving and showing ----------------------------------------------------------------------


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


# -- what is refused -------------------------------------------------------------------------


def test_a_model_that_is_not_fitted_is_refused(wine):
    _, X, _, y = wine
    with pytest.raises(NotFittedError, match="This SubsetEnsembleClassifier is not fitted"):
        build_report(SubsetEnsembleClassifier(), X, y)
    with pytest.raises(NotFittedError, match="This Pipeline is not fitted"):
        build_report(make_pipeline(StandardScaler(), SubsetEnsembleClassifier()), X, y)


def test_a_model_of_another_make_is_refused(wine):
    X, _, y, _ = wine
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    with pytest.raises(TypeError, match="got Pipeline with LogisticRegression; wrap other"):
        build_report(model, X, y)
    with pytest.raises(TypeError, match="got dict; wrap other"):
        build_report({}, X, y)


def test_the_oracle_is_refused(wine):
    X, _, y, _ = wine
    model = SubsetEnsembleClassifier(2, fuser="oracle", max_iter=5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="The oracle reads the true labels and predicts nothing"):
        build_report(model, X, y)


def test_rows_that_cannot_be_judged_on_are_refused(wine, product):
    _, X, _, y = wine
    with pytest.raises(ValueError, match="X has no rows; give rows that the model was not"):
        build_report(product, X[:0], y[:0])
    with pytest.raises(ValueError, match="X lacks the column 'hue' that the model was fitted on"):
        build_report(product, X.drop(columns="hue"), y)
    with pytest.raises(ValueError, match="X lacks the columns 'alcohol', .* and 1 more that"):
        build_report(product, X.iloc[:, 4:], y)
    with pytest.raises(ValueError, match="X has 12 columns, but the model was fitted on 13"):
        build_report(product, X.to_numpy()[:, 1:], y)
    with pytest.raises(ValueError, match="X must be a table, .* got an array of shape"):
        build_report(product, X["hue"], y)


def test_labels_that_the_model_does_not_know_are_refused(wine, product):
    _, X, _, y = wine
    strange = y.astype(object)
    strange[3] = "fourth"
    with pytest.raises(ValueError, match="y holds 'fourth', which the model was not trained on; "):
        build_report(product, X, strange)
    strange[3] = None
    with pytest.raises(ValueError, match="y holds missing labels; leave out the rows"):
        build_report(product, X, strange)
    with pytest.raises(ValueError, match="y has 5 labels, but X has 60 rows"):
        build_report(product, X, y[:5])


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"title": 3}, TypeError, "title must be text, got int"),
        ({"baselines": {"name": "a"}}, TypeError, "baselines must be a list of dictionaries, got"),
        ({"baselines": [3]}, TypeError, "baselines must be .* but entry 0 is int"),
        ({"baselines": [{"name": "a"}]}, ValueError, "baselines must have 'accuracy' in every"),
        (
            {"baselines": [{"name": "a", "accuracy": 93}]},
            ValueError,
            "'accuracy' between 0 and 1, but entry 0 has 93",
        ),
        (
            {"baselines": [{"name": "a", "accuracy": 0.9, "low": 0.8}]},
            ValueError,
            "both 'low' and 'high' or neither",
        ),
        ({"data_health": [{"kind": "number"}]}, ValueError, "data_health must have 'column' in"),
    ],
)
def test_what_else_is_asked_is_checked(asked, error, message, wine, product):
    _, X, _, y = wine
    with pytest.raises(error, match=message):
        build_report(product, X, y, **asked)


def test_members_of_a_fusion_that_are_pipelines_show_their_weights(wine):
    X, X_new, y, y_new = wine
    members = [
        ("scaled", make_pipeline(StandardScaler(), LogisticRegression())),
        ("bare", LogisticRegression(max_iter=5)),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        flock = FusionClassifier(members).fit(X, y)
    facts = ClassFacts(check_inputs(flock, X_new, y_new))
    steps = flock.estimators_[0]
    moved = steps[1].coef_ * steps[0].transform(X_new).std(axis=0)
    expected = np.abs(moved - moved.mean(axis=0)).mean(axis=0)
    np.testing.assert_allclose(facts.strength.size[0], expected)
