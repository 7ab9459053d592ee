import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covey import SubsetEnsembleClassifier
from covey.reporting._columns import UserColumns
from covey.reporting._inputs import check_inputs


@pytest.fixture(scope="module")
def columns(loans, loan_model):
    return UserColumns(check_inputs(loan_model, *loans))


def literal_effect(model, table, column, value, rows):
    """The mean prediction of rows that all have one value of a column."""
    changed = table.iloc[rows].copy()
    changed[column] = value
    return model.predict_proba(changed).mean(axis=0)


@pytest.mark.parametrize("column", ["debt", "work", "rooms"])
def test_an_effect_is_the_mean_prediction_with_the_column_set(column, columns, loans, loan_model):
    table, _ = loans
    effect = columns.effect(columns.names.index(column))
    rows = columns._sample()
    for value, mean in zip(effect.values[::3], effect.means[::3], strict=True):
        wanted = literal_effect(loan_model, table, column, value, rows)
        np.testing.assert_allclose(mean, wanted, atol=1e-9)


def test_a_gap_has_an_effect_of_its_own(columns, loans, loan_model):
    table, _ = loans
    effect = columns.effect(0)
    wanted = literal_effect(loan_model, table, "debt", np.nan, columns._sample())
    np.testing.assert_allclose(effect.missing, wanted, atol=1e-9)
    assert columns.effect(columns.names.index("rooms")).missing is None


def test_numbers_are_a_line_and_few_values_are_categories(columns):
    kinds = [columns.effect(p).kind for p in range(len(columns.names))]
    assert kinds == ["number", "category", "date", "category", "number"]
    dates = columns.effect(2)
    assert dates.labels[0].startswith("2021-01")
    assert np.all(np.diff(dates.values) > 0)


def test_shares_are_those_of_all_rows(columns, loans):
    table, _ = loans
    effect = columns.effect(1)
    for label, share in zip(effect.labels, effect.shares, strict=True):
        assert share == pytest.approx((table["work"] == label).mean())


def test_a_column_that_nothing_depends_on_changes_no_answer(wine):
    X, X_new, y, y_new = wine
    X, X_new = X.iloc[:, :4].assign(idle=0.0), X_new.iloc[:, :4].assign(idle=np.arange(60) % 9)
    flock = SubsetEnsembleClassifier(2, fuser="product", max_iter=10, random_state=0).fit(X, y)
    columns = UserColumns(check_inputs(flock, X_new, y_new))
    effect = columns.effect(4)
    assert effect.changes == 0
    np.testing.assert_allclose(effect.spread, 0, atol=1e-12)


def test_importance_of_a_pipeline_is_found_in_the_columns_that_were_given(wine):
    X, X_new, y, y_new = wine
    X, X_new = X.iloc[:, :3].assign(idle=1.0), X_new.iloc[:, :3].assign(idle=1.0)
    flock = SubsetEnsembleClassifier(2, fuser="product", max_iter=20, random_state=0)
    model = make_pipeline(StandardScaler(), flock).fit(X, y)
    columns = UserColumns(check_inputs(model, X_new, y_new))
    assert columns.importance.sum() == pytest.approx(1)
    assert columns.importance[3] == 0
    assert columns.importance[0] > 0


def test_importance_is_what_the_model_says(columns, loan_model):
    assert columns.names == loan_model.feature_names_in_.tolist()
    np.testing.assert_allclose(columns.importance, loan_model.feature_importances_)


def test_free_text_has_no_values_to_set(loans, loan_model):
    table, y = loans
    rng = np.random.default_rng(0)
    prose = [" ".join(rng.choice(list("abcdefgh"), 6)) for _ in range(len(table))]
    columns = UserColumns(check_inputs(loan_model, table.assign(prose=prose), y))
    assert columns.effect(columns.names.index("prose")) is None


def test_arrays_and_sparse_rows_have_columns_too(wine):
    from scipy import sparse

    X, X_new, y, y_new = wine
    flock = SubsetEnsembleClassifier(2, fuser="product", max_iter=10, random_state=0)
    flock.fit(X.to_numpy(), y)
    plain = UserColumns(check_inputs(flock, X_new.to_numpy(), y_new))
    assert plain.names[0] == "x0"
    assert plain.effect(int(plain.order[0])).spread.max() > 0
    thin = UserColumns(check_inputs(flock, sparse.csr_matrix(X_new.to_numpy()), y_new))
    assert thin.effect(0) is None
    np.testing.assert_allclose(thin.importance, plain.importance)
