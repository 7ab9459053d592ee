"""Corrections of a fitted flock: exact where they say so, kept in files, always of a copy."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes

import covey
from covey import FlockClassifier, FlockRegressor
from covey.inspection import column_effect
from covey.reporting import build_card

NAMES = ["age", "income", "job", "town", "sex"]


def people(n_rows=500, seed=0):
    """Numbers with gaps, few categories with gaps, many categories, two; the score of each row."""
    rng = np.random.default_rng(seed)
    towns = [f"t{number:02d}" for number in range(30)]
    table = pd.DataFrame(
        {
            "age": rng.normal(45, 14, n_rows).clip(18, 90).round(),
            "income": np.exp(rng.normal(10, 1, n_rows)).round(),
            "job": rng.choice(["maid", "cook", "smith", "clerk"], n_rows),
            "town": rng.choice(towns, n_rows),
            "sex": rng.choice(["f", "m"], n_rows),
        }
    )
    age, income = (table["age"] - 45) / 14, np.log(table["income"]) - 10
    score = 0.8 * age - 1.5 * (age > 1) + 0.4 * income + 0.5 * age * income
    score += table["job"].map({"maid": 1.2, "cook": -0.8, "smith": 0.0, "clerk": 0.3})
    score += table["town"].str[1:].astype(int) / 15 + 0.5 * (table["sex"] == "f")
    table.loc[rng.random(n_rows) < 0.08, "age"] = np.nan
    table.loc[rng.random(n_rows) < 0.05, "job"] = None
    return table, score.to_numpy()


TABLE, SCORE = people()
SHOWN = np.random.default_rng(1).random(500) < 1 / (1 + np.exp(1 - SCORE))
TARGETS = {
    "numbers": SCORE,
    "two": np.where(SHOWN, "yes", "no"),
    "three": np.where(SCORE > 2, "high", np.where(SCORE < 0, "low", "mid")),
}
HALF = slice(0, 300), slice(300, 500)


@pytest.fixture(scope="module", params=list(TARGETS))
def case(request):
    """A flock, the method that predicts, and rows held out with their true values."""
    y, kind = TARGETS[request.param], FlockRegressor
    if request.param != "numbers":
        kind = FlockClassifier
    flock = kind(cv=3, n_estimators=3, random_state=0).fit(TABLE[HALF[0]], y[HALF[0]])
    ask = "predict" if kind is FlockRegressor else "predict_proba"
    return flock, ask, (TABLE[HALF[1]], y[HALF[1]])


def predicted(flock, ask, X):
    return getattr(flock, ask)(X)


# -- without --------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", NAMES)
def test_without_predicts_as_if_the_column_had_its_typical_value(case, column):
    flock, ask, (X, _) = case
    before = predicted(flock, ask, X)
    typical = flock._seen_columns.columns[NAMES.index(column)].typical
    corrected = flock.without(column)
    wanted = predicted(flock, ask, X.assign(**{column: typical}))
    assert_allclose(predicted(corrected, ask, X.drop(columns=column)), wanted, atol=1e-11)
    assert corrected.feature_names_in_.tolist() == [one for one in NAMES if one != column]
    assert len(corrected._columns_looked_at()) == 4
    named = column not in corrected.summary().replace(f"corrected: {column}", "")
    assert named or column in "mean"
    assert_array_equal(predicted(flock, ask, X), before, err_msg="the original is untouched")
    assert flock.corrections_ == ()


def test_several_columns_leave_one_after_another_until_one_is_left(case):
    flock, ask, (X, _) = case
    for column in NAMES[1:]:
        flock = flock.without(column)
    assert [one.column for one in flock.corrections_] == NAMES[1:]
    assert len(np.unique(predicted(flock, ask, X[["age"]]), axis=0)) > 5
    with pytest.raises(ValueError, match="age is the only column that the model looks at"):
        flock.without("age")


def test_without_and_rows_fits_again_as_a_new_flock_would_be_fitted(case):
    flock, ask, (X, y) = case
    corrected = flock.without("town", X, y)
    own = type(flock)(**flock.get_params()).fit(X.drop(columns="town"), y)
    rest = TABLE.drop(columns="town")
    assert_array_equal(predicted(corrected, ask, rest), predicted(own, ask, rest))
    assert corrected.corrections_[0].refitted
    assert hasattr(corrected, "calibration_"), "what the refit measured is true of it"


def test_arrays_lose_the_column_at_its_place():
    X, y = load_diabetes(return_X_y=True)
    flock = FlockRegressor(effort="fast", random_state=0).fit(X, y)
    moved = X.copy()
    moved[:, 2] = flock._seen_columns.columns[2].typical
    corrected = flock.without(2)
    assert_allclose(corrected.predict(np.delete(X, 2, axis=1)), flock.predict(moved), atol=1e-9)
    assert corrected.n_features_in_ == 9


def test_parameters_that_name_the_column_name_it_no_more():
    how = {"always_keep": ["age", "sex"], "feature_groups": [["age"], ["job", "sex"]]}
    flock = FlockRegressor(effort="fast", random_state=0, gaps={"age": [96]}, **how)
    corrected = flock.fit(TABLE, SCORE).without("age", held_out=(TABLE, SCORE))
    assert corrected.always_keep == ["sex"]
    assert corrected.feature_groups == [["job", "sex"]]
    assert corrected.gaps == {}
    assert flock.always_keep == ["age", "sex"]
    assert set(corrected.importance_.columns) == set(NAMES[1:])


def test_constraints_that_name_the_column_name_it_no_more():
    how = {"monotone": {"age": 1, "income": -1}, "interactions": [("job", "sex"), ("sex", "town")]}
    flock = FlockRegressor(effort="fast", random_state=0, **how).fit(TABLE, SCORE)
    for rows in ((), (TABLE, SCORE)):
        corrected = flock.without("age", *rows)
        assert corrected.monotone == {"income": -1}
        assert "never rises with income" in corrected.summary()
        assert flock.without("job", *rows).interactions == [("sex", "town")]
    plain = FlockRegressor(effort="fast", random_state=0, interactions="none").fit(TABLE, SCORE)
    assert plain.without("age").interactions == "none"


def test_places_of_columns_in_parameters_are_refused():
    X, y = load_diabetes(return_X_y=True)
    of_places = {"always_keep": [3]}, {"feature_groups": [[0, 1]]}, {"gaps": {2: [96]}}
    for how in (*of_places, {"monotone": {2: 1}}, {"interactions": [(2, 3)]}):
        flock = FlockRegressor(effort="fast", random_state=0, **how).fit(X, y)
        with pytest.raises(ValueError, match="has places of columns, which change"):
            flock.without(0)


# -- with_effect ----------------------------------------------------------------------------------


def effects(flock, column, X, output, **how):
    found = column_effect(flock, X, column, bins=20, categories=200, **how)
    return {point.value: point.effect[output] for point in found.points}


@pytest.mark.parametrize(
    ("column", "points"),
    [
        ("age", {30: -0.1, 50: 0.05, 60: 0.1}),
        ("income", [(50_000, 0.1), (10_000, -0.05)]),
        ("job", {"maid": -0.05}),
        ("job", {"maid": 0.1, "cook": -0.1, "smith": 0.0}),
        ("town", {"t04": 0.05, "t24": -0.02}),
        ("sex", {"m": 0.05, "f": -0.05}),
    ],
)
def test_the_effect_goes_through_the_points(case, column, points):
    flock, ask, (X, _) = case
    how = {"label": "mid"} if len(getattr(flock, "classes_", ())) == 3 else {}
    corrected = flock.with_effect(column, points, X, **how)
    output = {"numbers": 0}.get("numbers" if ask == "predict" else "", 0)
    if ask == "predict_proba":
        output = flock.classes_.tolist().index(how.get("label", flock.classes_[-1]))
    old, new = (effects(one, column, X, output) for one in (flock, corrected))
    off = corrected.corrections_[0].arguments["off"]
    points = dict(points)
    if column in ("age", "income"):
        at, by = (np.array(part) for part in zip(*sorted(points.items()), strict=True))
        inside = {value: by_ for value, by_ in new.items() if at[0] <= value <= at[-1]}
        gaps = [by_ - np.interp(value, at, by) for value, by_ in inside.items()]
    else:
        level = np.average([old[one] for one in old if one not in points] or [0.0])
        now = np.average([new[one] for one in old if one not in points] or [0.0])
        if len(points) == len(old):
            level, now = np.mean(list(points.values())), np.mean([new[one] for one in points])
        gaps = [(new[one] - now) - (points[one] - level) for one in points]
    scale = 1e-6 if ask == "predict" else 2e-3
    assert np.ptp([*gaps, gaps[0]]) <= max(2.5 * off, scale)
    assert off < 0.02
    # Gaps keep what they had, and so does the mean prediction.
    if column in ("age", "job"):
        gap = TABLE[TABLE[column].isna()]
        assert_allclose(predicted(corrected, ask, gap), predicted(flock, ask, gap), atol=1e-9)
    moved = predicted(corrected, ask, X) - predicted(flock, ask, X)
    moved = moved if ask == "predict" else moved[:, output]
    assert abs(moved.mean()) < max(0.5 * off, scale)


def test_numbers_between_two_points_rise_by_the_difference_for_every_row():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    flock = FlockRegressor(effort="fast", random_state=0).fit(X, y)
    flat = flock.with_effect("age", {20: 0, 70: 0}, X)
    steep = flat.with_effect("age", {20: 0, 45: 10, 70: 10}, X)
    rows = X[(X["age"] > 20) & (X["age"] < 67)]
    gap = steep.predict(rows) - flat.predict(rows)
    # All rows are shifted by the same function, but for one constant.
    wanted = np.interp(rows["age"], [20, 45, 70], [0, 10, 10])
    assert np.ptp(gap - wanted) < 1e-5  # less than a millionth of the curve's length counts as met


def test_beyond_the_points_the_curve_keeps_its_shape():
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    flock = FlockRegressor(effort="fast", random_state=0).fit(X, y)
    old = effects(flock, "bmi", X, 0)
    new = effects(flock.with_effect("bmi", {22: 0, 30: 0}, X), "bmi", X, 0)
    high = [value for value in old if value >= 30]
    gaps = [new[value] - old[value] for value in high]
    assert np.ptp(gaps) < 1e-6


def test_categories_that_are_one_have_one_effect(case):
    flock, ask, (X, _) = case
    label = {"label": flock.classes_[0]} if ask == "predict_proba" else {}
    merged = flock.merge_categories("job", ["maid"], "cook")
    corrected = merged.with_effect("job", {"cook": 0.05}, X, **label)
    one = corrected.corrections_[-1]
    assert one.arguments["points"] == [["cook", 0.05], ["maid", 0.05]]
    # Their rows differ in the other columns, so that the two effects are measured apart.
    assert one.arguments["off"] < 0.02
    with pytest.raises(ValueError, match="does not tell 'cook' and 'maid' of job apart"):
        merged.with_effect("job", {"maid": 0.1, "cook": 0.0}, X, **label)


def test_an_effect_that_cannot_be_met_is_said_to_be_off(case):
    flock, _, (X, _) = case
    if len(getattr(flock, "classes_", ())) < 3:
        pytest.skip("the chance of a rare class cannot fall far")
    label = {"label": flock.classes_[0]}
    with pytest.warns(UserWarning, match="cannot go through these points"):
        corrected = flock.with_effect("job", {"maid": 0.9, "cook": 0.9}, X, **label)
    assert corrected.corrections_[0].arguments["off"] > 0.05
    assert f"off, on {len(X)} rows" in str(corrected.corrections_[0])


def test_remembered_rows_measure_an_effect_where_none_are_given(case):
    flock, _, _ = case
    label = {"label": flock.classes_[0]} if hasattr(flock, "classes_") else {}
    one = flock.with_effect("age", {30: 0, 60: 0}, **label).corrections_[0]
    assert "on 100 rows" in str(one)


# -- merge_categories -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "words", "into"),
    [("job", ["maid", "cook"], "cook"), ("town", ["t03", "t04"], "t17")],
)
def test_merged_categories_are_read_as_one(case, column, words, into):
    flock, ask, (X, _) = case
    merged = flock.merge_categories(column, words, into)
    wanted = predicted(flock, ask, X.assign(**{column: into}))
    for word in (*words, into):
        assert_array_equal(predicted(merged, ask, X.assign(**{column: word})), wanted)
    others = X[~X[column].isin([*words, into])]
    assert_array_equal(predicted(merged, ask, others), predicted(flock, ask, others))


def test_a_refit_knows_the_merged_words():
    flock = FlockRegressor(effort="fast", random_state=0).fit(TABLE, SCORE)
    merged = flock.merge_categories("job", ["maid"], "smith", TABLE, SCORE)
    own = TABLE.assign(job=TABLE["job"].replace("maid", "smith"))
    assert_array_equal(merged.predict(TABLE), merged.predict(own))
    assert merged.corrections_[0].refitted
    plain = FlockRegressor(effort="fast", random_state=0).fit(own, SCORE)
    assert np.corrcoef(plain.predict(own), merged.predict(TABLE))[0, 1] > 0.99


def test_a_mixed_flock_merges_categories_and_refits_and_says_what_it_cannot():
    how = {"members": ["linear", "neighbors"], "effort": "fast", "random_state": 0}
    flock = FlockRegressor(**how).fit(TABLE, SCORE)
    merged = flock.merge_categories("job", ["maid"], "smith")
    assert_array_equal(
        merged.predict(TABLE.assign(job="maid")), flock.predict(TABLE.assign(job="smith"))
    )
    assert "corrected: job" in merged.summary()
    with pytest.raises(ValueError, match="linear members alone; this flock has other kinds"):
        flock.without("job")
    with pytest.raises(ValueError, match="with_effect takes linear members alone"):
        flock.with_effect("age", {20: 0, 30: 1})
    assert flock.without("job", TABLE, SCORE).n_features_in_ == 4


# -- the record -----------------------------------------------------------------------------------


def test_the_price_is_measured_on_rows_held_out(case):
    flock, ask, (X, y) = case
    corrected = flock.without("town", held_out=(X, y))
    (one,) = corrected.corrections_
    assert one.n_rows == len(y)
    main = "r2" if ask == "predict" else "accuracy"
    before, after, change, low, high = one.price[main]
    assert_allclose(before, flock.score(X, y))
    assert_allclose(after, corrected.score(X.drop(columns="town"), y))
    assert_allclose(change, after - before)
    assert low <= change <= high
    assert f"{len(y)} given rows" in str(one)
    assert corrected.calibration_.source == "given rows"
    assert corrected.importance_.rows == f"{len(y)} given rows"


def test_what_was_measured_of_the_original_is_not_told_of_the_copy(case):
    flock, _, _ = case
    flock = flock.without("sex")
    for name in ("calibration_", "out_of_fold_", "evaluation_"):
        assert not hasattr(flock, name), name
    assert flock.importance_ is None
    assert "cost of that is not known" in str(flock.corrections_[0])


def test_a_decision_stays_and_its_counts_go(case):
    flock, ask, (X, y) = case
    if ask == "predict":
        pytest.skip("numbers have no decision")
    decided = FlockClassifier(effort="fast", random_state=0).fit(X, y)
    decided.decide(X, y, threshold={flock.classes_[0]: 0.3})
    corrected = decided.without("town")
    assert corrected.threshold_ == 0.3
    assert corrected.decision_.alarms is None


def test_corrections_go_through_files_and_are_shown(case, tmp_path):
    flock, ask, (X, y) = case
    label = {"label": flock.classes_[0]} if ask == "predict_proba" else {}
    made = flock.merge_categories("job", ["maid"], "cook").without("town", held_out=(X, y))
    held_out = X.drop(columns="town"), y
    made = made.with_effect("age", {30: 0.0, 50: 0.1, 60: 0.0}, held_out=held_out, **label)
    covey.save(made, tmp_path / "made.covey")
    again = covey.load(tmp_path / "made.covey")
    assert_array_equal(predicted(again, ask, held_out[0]), predicted(made, ask, held_out[0]))
    assert again.corrections_ == made.corrections_
    assert [one.what for one in again.corrections_] == [
        *("merge_categories", "without", "with_effect")
    ]
    assert again.summary() == made.summary()
    assert all(len(line) <= 100 for line in again.summary().splitlines())
    card = build_card(again, *held_out)
    assert card.count("in every row. On 200 given rows") == 1
    assert "## History" in card
    remarks = covey.evaluate(again, *held_out).remarks
    assert [one.column for one in remarks if one.about == "correction"] == ["job", "town", "age"]
    pytest.importorskip("fastapi")
    from covey.serving._columns import columns_of, facts_of

    (told,) = facts_of(again, columns_of(again))["answers"]
    assert told["said"][1].startswith("town is not looked at")
    further = again.without("sex", held_out=held_out)
    assert len(further.corrections_) == 4


def test_files_without_corrections_are_as_they_were(case, tmp_path):
    from tests.persistence._helpers import changed

    flock, _, _ = case
    covey.save(flock, tmp_path / "flock.covey")

    def look(document):
        (model,) = document["model"]["fitted"]["model"].values()
        assert "corrections" not in model

    changed(tmp_path / "flock.covey", look)


def test_explanations_of_a_corrected_flock_add_up(case):
    flock, ask, (X, _) = case
    label = {"label": flock.classes_[0]} if ask == "predict_proba" else {}
    made = flock.without("town").with_effect("age", {30: 0.1, 60: 0.0}, **label)
    rows = X.drop(columns="town").head(5)
    found = made.contributions(rows)
    said = predicted(made, ask, rows)
    total = np.asarray(found.baseline) + found.values.sum(axis=1)
    assert_allclose(np.ravel(total), np.ravel(said), atol=1e-8)
    assert made.explain(rows)[0]["members"]


# -- bad input ------------------------------------------------------------------------------------

WRONG_POINTS = [
    ("nobody", {20: 0, 30: 1}, "nobody.*which X does not have"),
    (1.5, {20: 0, 30: 1}, "column must name columns by str or int"),
    ("age", {20: 0}, "2 to 100 values of age, got 1"),
    ("age", [(20, 0), (20, 1)], "two effects for one value of age"),
    ("age", {}, "2 to 100 values of age, got 0"),
    ("age", {20: np.nan, 30: 1}, "points must be finite"),
    ("age", {np.inf: 0, 30: 1}, "points must be finite"),
    ("age", dict.fromkeys(range(10**6), 0.0), "got 1,000,000"),
    ("age", {20: 0, 5000: 0.1}, "values of age from"),
    ("age", {"old": 0, "young": 1}, "points must map values of age"),
    ("age", 7, "points must map values of age"),
    ("age", [1, 2], "points must map values of age"),
    ("job", {"king": 0}, "job has no category 'king'"),
    ("job", {}, "1 to 200 values of job, got 0"),
]


@pytest.mark.parametrize(("column", "points", "said"), WRONG_POINTS)
def test_wrong_points_are_one_sentence(case, column, points, said):
    flock, _, (X, _) = case
    label = {"label": flock.classes_[0]} if hasattr(flock, "classes_") else {}
    with pytest.raises((TypeError, ValueError), match=said) as error:
        flock.with_effect(column, points, X, **label)
    assert "\n" not in str(error.value)


def test_order_of_points_does_not_matter(case):
    flock, ask, (X, _) = case
    label = {"label": flock.classes_[0]} if hasattr(flock, "classes_") else {}
    one = flock.with_effect("age", [(30, 0.0), (50, 0.1), (60, 0.0)], X, **label)
    other = flock.with_effect("age", [(60, 0.0), (30, 0.0), (50, 0.1)], X, **label)
    assert_array_equal(predicted(one, ask, X), predicted(other, ask, X))


def test_other_wrong_arguments_are_one_sentence(case):
    flock, ask, (X, y) = case
    with pytest.raises(ValueError, match="label"):
        flock.with_effect("age", {20: 0, 30: 0.1}, X, label="nobody")
    if len(getattr(flock, "classes_", ())) == 3:
        with pytest.raises(ValueError, match="label: name one of 3 classes"):
            flock.with_effect("age", {20: 0, 30: 0.1}, X)
    if ask == "predict_proba":
        with pytest.raises(ValueError, match="points are parts of a probability"):
            flock.with_effect("age", {20: 0, 30: 1.5}, X, label=flock.classes_[0])
    for words, into, said in (
        (["maid", "king"], "cook", "job has no category 'king'"),
        (["maid"], "king", "job has no category 'king'"),
        (["maid"], "maid", "names nothing to merge"),
        ([], "maid", "names nothing to merge"),
        ("maid", "cook", "must be a list of categories"),
        (["maid", "cook", "smith"], "clerk", "would tell nothing; use without"),
    ):
        with pytest.raises(ValueError, match=said):
            flock.merge_categories("job", words, into)
    with pytest.raises(ValueError, match="age is not a column of categories"):
        flock.merge_categories("age", [1], 2)
    with pytest.raises(ValueError, match=r"held_out must be a pair"):
        flock.without("age", held_out=X)
    with pytest.raises(ValueError, match="column is|lacks"):
        flock.without("age", held_out=(X.drop(columns="sex"), y))
    label = {"label": flock.classes_[0]} if ask == "predict_proba" else {}
    others = X[X["job"] != "maid"]
    with pytest.raises(ValueError, match=r"No row has .'maid'. as job"):
        flock.with_effect("job", {"maid": 0.1}, others, **label)


def test_an_unfitted_flock_and_dates_are_refused():
    with pytest.raises(ValueError, match="not fitted"):
        FlockRegressor().without("age")
    days = pd.date_range("2020-01-01", periods=80)
    X = pd.DataFrame({"when": days, "age": np.sin(np.arange(80)).round(2)})
    flock = FlockRegressor(effort="fast", random_state=0).fit(X, np.arange(80.0))
    with pytest.raises(ValueError, match="with_effect changes numbers and categories; when"):
        flock.with_effect("when", {1: 0, 2: 1}, X)
    assert flock.without("when").feature_names_in_.tolist() == ["age"]


@pytest.mark.parametrize("kind", [FlockRegressor, FlockClassifier])
def test_additive_predictions_go_through_all_points_also_far_out_and_at_codes(kind):
    rng = np.random.default_rng(0)
    kids = rng.choice([0.0, 1, 2, 3, 96], 600, p=[0.3, 0.3, 0.2, 0.15, 0.05])
    X = pd.DataFrame({"kids": kids, "age": rng.gamma(2.0, 10.0, 600), "z": rng.normal(size=600)})
    y = kids.clip(0, 3) + np.sin(X["age"] / 9) + X["z"]
    y = y if kind is FlockRegressor else np.where(y > 1.5, "b", "a")
    flock = kind(effort="fast", interactions="none", random_state=0).fit(X, y)
    oldest = float(X["age"].max())
    for column, points in (
        ("age", {5.3: 0.0, 7.1: 0.05, 33.0: -0.05, oldest: 0.1}),
        ("kids", {0: 0.0, 2: 0.1, 96: 0.05}),
    ):
        made = flock.with_effect(column, points, X)
        tried = [X.assign(**{column: at}) for at in points]
        found = [
            (one.predict(rows) if kind is FlockRegressor else one.predict_proba(rows)[:, 1]).mean()
            for one, rows in ((made, rows) for rows in tried)
        ]
        wanted = np.array(list(points.values()))
        # The effect on a probability is that of rows near by.
        exact = 1e-6 if kind is FlockRegressor else 0.012
        assert_allclose(np.subtract(found, found[0]), wanted - wanted[0], atol=exact)


def test_mergers_go_together_and_need_not_be_repeated():
    flock = FlockRegressor(effort="fast", random_state=0).fit(TABLE, SCORE)
    twice = flock.merge_categories("job", ["maid"], "cook").merge_categories(
        "job", ["cook"], "smith"
    )
    for word in ("maid", "cook"):
        wanted = twice.predict(TABLE.assign(job="smith"))
        assert_array_equal(twice.predict(TABLE.assign(job=word)), wanted)
    assert "'smith' stands for 'cook' and 'maid', too" in str(twice.corrections_[-1])


def test_constraints_do_not_name_a_column_that_left():
    how = {"effort": "fast", "random_state": 0}
    flock = FlockRegressor(**how, monotone={"age": 1, "income": 1}).fit(TABLE, SCORE)
    left = flock.without("age")
    assert left.monotone == {"income": 1}
    assert "never falls with income" in left.summary()
    pairs = FlockRegressor(**how, interactions=[("age", "income"), ("job", "sex")])
    left = pairs.fit(TABLE, SCORE).without("age")
    assert left.interactions == [("job", "sex")]
    assert "only job x sex meet" in left.summary()
    named = FlockRegressor(**how, feature_groups={"a": ["age"], "b": ["job", "sex"]})
    assert named.fit(TABLE, SCORE).without("age", TABLE, SCORE).feature_groups == {
        "b": ["job", "sex"]
    }


def test_a_refit_with_a_direction_is_a_fit_with_it(case):
    flock, ask, (X, y) = case
    if len(getattr(flock, "classes_", ())) == 3:
        with pytest.raises(ValueError, match="for two classes"):
            flock.with_monotone("age", 1, X, y)
        return
    made = flock.without("sex").with_monotone("age", -1, X, y, held_out=(X, y))
    own = type(flock)(**{**flock.get_params(), "monotone": {"age": -1}})
    own.fit(X.drop(columns="sex"), y)
    assert_array_equal(predicted(made, ask, X), predicted(own, ask, X.drop(columns="sex")))
    assert [one.what for one in made.corrections_] == ["without", "with_monotone"]
    assert made.corrections_[-1].n_rows == len(y)
    assert [one.what for one in made.without("town", X, y).corrections_][1] == "with_monotone"
    for wrong in (0, 2, np.nan, "up", None, True):
        with pytest.raises(ValueError, match="monotone has"):
            flock.with_monotone("age", wrong, X, y)


def test_costs_are_in_the_price():
    y = TARGETS["two"]
    flock = FlockClassifier(effort="fast", random_state=0, costs={"yes": 10}).fit(
        TABLE[:300], y[:300]
    )
    X, y = TABLE[300:], y[300:]
    made = flock.without("town", held_out=(X, y))
    price = made.corrections_[0].price
    for at, (one, rows) in enumerate(((flock, X), (made, X.drop(columns="town")))):
        said = one.predict(rows)
        cost = np.where(said == y, 0, np.where(y == "yes", 10, 1)).mean()
        assert_allclose(price["cost"][at], cost)
    assert "accuracy" not in price


def test_one_row_measures_no_price():
    flock = FlockRegressor(effort="fast", random_state=0).fit(TABLE, SCORE)
    with pytest.raises(ValueError, match="two rows at least"):
        flock.without("age", held_out=(TABLE[:1], SCORE[:1]))


def test_a_curve_that_is_corrected_again_needs_no_more_ramps():
    flock = FlockRegressor(effort="fast", random_state=0).fit(TABLE, SCORE)
    once = flock.with_effect("age", {30: 0.0, 50: 1.0, 60: 0.0}, TABLE)
    again = once.with_effect("age", {30: 0.0, 50: -1.0, 60: 0.5}, TABLE)
    assert again.basis_.n_columns == once.basis_.n_columns
    assert again.corrections_[-1].arguments["off"] == 0


def test_corrected_models_predict_the_same_in_onnx():
    onnxruntime = pytest.importorskip("onnxruntime")
    from covey.onnx import to_onnx

    X, y = TABLE[["age", "income"]].fillna(40.0), TARGETS["two"]
    X = X.assign(third=np.random.default_rng(0).normal(size=len(X)))
    flock = FlockClassifier(effort="fast", random_state=0).fit(X, y)
    made = flock.without("third").with_effect("age", {30: -0.1, 60: 0.1}, X[::-1])
    rows = X[["age", "income"]]
    session = onnxruntime.InferenceSession(to_onnx(made, dtype="float64").SerializeToString())
    fed = {session.get_inputs()[0].name: rows.to_numpy(np.float64)}
    found = session.run(None, fed)[1]
    assert_allclose(np.asarray(found), made.predict_proba(rows), atol=1e-9)
