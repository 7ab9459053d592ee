"""Saved models come back and predict the same, to the bit."""

import dataclasses
import inspect

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import covey
from covey.members import LinearRegressionMember
from covey.members._base_flock import Flock
from covey.persistence._registry import HOMES, format_of
from covey.persistence._writer import OF_THE_MACHINE
from covey.tables import TablePreparation
from covey.tables._known_columns import formats_of
from tests.persistence._helpers import (
    CLASSIFIERS,
    FRAME,
    REGRESSORS,
    X_NUMBERS,
    Y_NUMBERS,
    X,
    assert_predicts_the_same,
    flock,
    round_trip,
    table_of_all_kinds,
    y,
)

# Plain data of no estimator's own, kept in objects whose identity matters to nobody.
ATTRIBUTES = (StandardScaler, LogisticRegression, GaussianNB)
LEAVES = (type(None), bool, int, float, str, np.generic, np.dtype)


def assert_same_state(one, other, where="model"):
    """Whether two objects hold the same, attribute by attribute."""
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, where
        np.testing.assert_array_equal(one, other, err_msg=where)
    elif sparse.issparse(one):
        assert (one != other).nnz == 0, where
    elif isinstance(one, dict):
        assert list(one) == list(other), where
        for name in one:
            assert_same_state(one[name], other[name], f"{where}.{name}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for place, (first, second) in enumerate(zip(one, other, strict=True)):
            assert_same_state(first, second, f"{where}.{place}")
    elif isinstance(one, LEAVES):
        assert isinstance(one, np.generic) or type(one) is type(other), where
        assert one == other or (one != one and other != other), where
    elif type(one).__module__.startswith("sklearn.") and not isinstance(one, ATTRIBUTES):
        # Their private parts differ in what only a fit reads.
        assert repr(one) == repr(other), where
    else:
        assert type(one) is type(other), where
        if dataclasses.is_dataclass(one):
            names = [field.name for field in dataclasses.fields(one)]
            state = [{name: getattr(each, name) for name in names} for each in (one, other)]
        else:
            state = [vars(each) for each in (one, other)]
        # What a fit alone reads, and what was predicted of the training rows.
        left_out = {*OF_THE_MACHINE, "random_state", "cv", "out_of_fold_", "readable_"}
        left_out |= {name for name in state[0] if "callback" in name}
        if "_grown" not in state[0]:
            left_out.add("_grown")
        assert set(state[0]) - left_out == set(state[1]) - left_out, where
        for name in sorted(set(state[0]) - left_out):
            assert_same_state(state[0][name], state[1][name], f"{where}.{name}")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * name.startswith("by "))
        for name in CLASSIFIERS
    ],
)
def test_classifiers_come_back_equal_to_the_bit(name, tmp_path):
    rows = X if name == "grouped" else FRAME
    model = CLASSIFIERS[name].fit(rows, y)
    again = round_trip(model, tmp_path)
    assert type(again) is type(model)
    assert_predicts_the_same(model, again, rows)
    for attribute in ("feature_importances_", "feature_names_in_", "classes_"):
        if hasattr(model, attribute):
            np.testing.assert_array_equal(getattr(model, attribute), getattr(again, attribute))
    assert_same_state(model, again)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_come_back_equal_to_the_bit(name, tmp_path):
    model = REGRESSORS[name].fit(X_NUMBERS, Y_NUMBERS)
    again = round_trip(model, tmp_path)
    assert_predicts_the_same(model, again, X_NUMBERS)
    assert_same_state(model, again)


@pytest.mark.parametrize(
    "labels",
    [
        y,
        y.astype(object),
        np.arange(len(y)) % 3 == 1,
        np.arange(len(y), dtype=np.int8) % 3 - 1,
        np.arange(len(y), dtype=np.uint16) % 3,
        (np.arange(len(y)) % 2).astype(np.float32),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_classes_of_every_type_come_back(labels, tmp_path):
    model = flock(fuser="mean").fit(X, labels)
    assert_predicts_the_same(model, round_trip(model, tmp_path), X)


@pytest.mark.parametrize("rule", ["ola", "gate", "mean"])
def test_models_of_sparse_rows_come_back(rule, tmp_path):
    rows = sparse.csr_matrix(X * (X > 1))
    model = flock(fuser=covey.Gate(features="quadratic") if rule == "gate" else rule).fit(rows, y)
    again = round_trip(model, tmp_path)
    assert_predicts_the_same(model, again, rows)
    assert_same_state(model, again)


def test_a_fusion_of_scores_comes_back_whose_members_give_them_in_two_ways(tmp_path):
    """One has a decision function alone, another one probabilities, which are scores, too."""
    model = covey.FusionClassifier([SVC(), GaussianNB()], fuser="borda").fit(X, y)
    assert model.kind_ == "score"
    assert_predicts_the_same(model, round_trip(model, tmp_path), X)


def test_a_collapsed_member_a_fuser_and_an_unfitted_model_come_back(tmp_path):
    member = flock(fuser="product").fit(FRAME, y).collapse()
    again = round_trip(member, tmp_path)
    assert_predicts_the_same(member, again, FRAME)
    assert again.formula() == member.formula()
    searched = CLASSIFIERS["fast"].fit(FRAME, y).estimators_[0]
    assert_predicts_the_same(searched, round_trip(searched, tmp_path), FRAME)
    number = REGRESSORS["search"].fit(X_NUMBERS, Y_NUMBERS).estimators_[0]
    assert isinstance(number, LinearRegressionMember)
    assert_predicts_the_same(number, round_trip(number, tmp_path), X_NUMBERS)
    assert repr(round_trip(covey.fusers.Mean([1.0, 2.0]), tmp_path)) == repr(
        covey.fusers.Mean([1.0, 2.0])
    )
    assert repr(round_trip(flock(), tmp_path)) == repr(flock())


def test_names_explanations_summaries_and_histories_come_back(tmp_path):
    model = flock(effort="fast").fit(FRAME, y)
    again = round_trip(model, tmp_path)
    assert list(again.feature_names_in_) == list(FRAME.columns)
    assert again.explain(FRAME[:3]) == model.explain(FRAME[:3])
    assert str(again.summary()) == str(model.summary())
    np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)


def test_a_warm_start_goes_on_after_loading(tmp_path):
    short = flock(fuser="product", n_estimators=1, warm_start=True).fit(X, y)
    again = round_trip(short, tmp_path).set_params(n_estimators=3).fit(X, y)
    whole = flock(fuser="product", n_estimators=3).fit(X, y)
    np.testing.assert_array_equal(again.member_coef_, whole.member_coef_)


def test_a_table_of_every_kind_of_column_comes_back(tmp_path):
    table = table_of_all_kinds()
    model = flock(effort="fast").fit(table, ["a", "b"] * 30)
    again = round_trip(model, tmp_path)
    assert_predicts_the_same(model, again, table)
    assert_same_state(model, again)
    new = table.assign(town="Lima", told="2031-05-05T05:05:05+09:00", note=None)
    assert_predicts_the_same(model, again, new)
    preparation = TablePreparation().fit(table)
    assert_predicts_the_same(preparation, round_trip(preparation, tmp_path), new)


def test_how_numbers_are_written_and_what_was_seen_of_them_come_back(tmp_path):
    table = pd.DataFrame(
        {
            "price": ["$1,200.50", "$7", "$41,000", "(3)"] * 10,
            "mass": ["1.200,5 kg", "3,25 kg", None, "7 kg"] * 10,
            "when": pd.date_range("2022-01-01", periods=40, freq="13D", tz="Europe/Rome"),
        }
    )
    kinds = {"price": "number", "mass": "number", "when": "season"}
    model = flock(effort="fast").set_params(categorical_features=kinds).fit(table, ["a", "b"] * 20)
    again = round_trip(model, tmp_path)
    assert formats_of(again) == formats_of(model)
    assert len(formats_of(again)) == 2
    assert again.categorical_features == kinds
    assert_predicts_the_same(model, again, table)
    assert_predicts_the_same(model, again, table.head(1).assign(price="3,040", mass="1.234"))


def test_parameters_of_the_machine_and_those_without_a_plain_value_are_left_out(tmp_path):
    from sklearn.model_selection import StratifiedKFold

    model = flock(
        effort="fast",
        n_jobs=2,
        checkpoint=tmp_path / "journal",
        cv=StratifiedKFold(3),
        random_state=np.random.RandomState(0),
    )
    again = round_trip(model.fit(X, y), tmp_path)
    assert again.n_jobs is None
    assert again.checkpoint is None
    assert again.random_state is None
    assert again.cv == 5
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_every_class_that_a_file_may_hold_is_what_its_name_says():
    for name in HOMES:
        kind = format_of(name).cls
        assert kind.__name__ == name
        assert kind.__module__.split(".")[0] in ("covey", "sklearn")


def test_every_fuser_and_every_flock_of_covey_is_held_by_files():
    public = [getattr(covey, name) for name in covey.__all__]
    public = {
        kind.__name__
        for kind in public
        if inspect.isclass(kind) and issubclass(kind, (covey.Fuser, Flock))
    }
    assert public - {"Fuser", "GatedGroups", "Flock"} <= set(HOMES)


def test_what_becomes_of_gaps_and_categories_comes_back(tmp_path):
    rows = FRAME.assign(
        town=pd.Categorical(np.array(["Rome", "Oslo", None])[np.arange(len(FRAME)) % 3]),
        code=[f"c{place % 24}" for place in range(len(FRAME))],
        a=FRAME["a"].where(FRAME["a"] > 5),
    )
    mixed = flock(members=["linear", LogisticRegression(max_iter=1000)], effort="fast")
    for model in (flock(effort="fast"), flock(fuser="product"), mixed):
        again = round_trip(model.fit(rows, y), tmp_path)
        assert_predicts_the_same(model, again, rows)
        assert_same_state(model, again)
        assert_predicts_the_same(
            model.estimators_[0], round_trip(model.estimators_[0], tmp_path), rows
        )
