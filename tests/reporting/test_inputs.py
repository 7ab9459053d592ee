import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from covey import Gate, SubsetEnsembleClassifier, SubsetEnsembleRegressor
from covey.reporting import build_report


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


def test_a_model_that_is_not_fitted_is_refused(wine):
    _, X, _, y = wine
    with pytest.raises(NotFittedError, match="SubsetEnsembleClassifier instance is not fitted"):
        build_report(SubsetEnsembleClassifier(), X, y)
    with pytest.raises(NotFittedError, match="Pipeline instance is not fitted"):
        build_report(make_pipeline(StandardScaler(), SubsetEnsembleClassifier()), X, y)


def test_what_is_no_model_is_refused(wine):
    X, _, y, _ = wine
    with pytest.raises(TypeError, match="got dict; wrap what"):
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
    with pytest.raises(ValueError, match="X lacks the columns 'alcohol', .*, 1 more that"):
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
    with pytest.raises(ValueError, match="y must hold one label for each of the 60 rows"):
        build_report(product, X, y[:5])


def test_values_that_are_no_numbers_are_refused(diabetes, mean_values):
    _, X, _, y = diabetes
    with pytest.raises(ValueError, match="y must hold finite numbers"):
        build_report(mean_values, X, np.full(len(y), "a"))
    with pytest.raises(ValueError, match="y must hold finite numbers"):
        build_report(mean_values, X, np.where(y > 200, np.inf, y))
    with pytest.raises(ValueError, match="y holds missing values; leave out"):
        build_report(mean_values, X, np.where(y > 200, np.nan, y))
    with pytest.raises(ValueError, match="y must hold one value for each of the"):
        build_report(mean_values, X, y[:5])


def test_a_table_regressor_is_reported_in_its_own_columns(diabetes):

    X, X_new, y, y_new = diabetes
    X, X_new = (
        frame.assign(ward=np.where(np.arange(len(frame)) % 2, "east <1>", "west"))
        for frame in (X, X_new)
    )
    flock = SubsetEnsembleRegressor(3, fuser="mean", max_iter=20, random_state=0)
    html = build_report(flock.fit(X, y), X_new, y_new).html
    assert "ward" in html
    assert "<1>" not in html
