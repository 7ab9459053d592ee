from covey.reporting import build_report
from covey.reporting._words import number


def test_baselines_are_shown_as_given(wine, product):
    _, X, _, y = wine
    baseline = {"name": "tuned SVC", "accuracy": 0.5, "low": 0.4, "high": 0.6, "seconds": 12345}
    html = build_report(product, X, y, baselines=[baseline]).html
    for shown in ("tuned SVC", "40 to 60\u00a0%", "12,300", "above the best"):
        assert shown in html


def test_a_regressor_stands_beside_the_mean_and_a_ridge(reports, diabetes, mean_values):
    _, X, _, y = diabetes
    html = reports["mean values"].html
    assert "always the mean" in html
    assert "tuned ridge, cross-fitted" in html
    assert f"always predicting the mean gives {number(y.std())}" in html
    assert number(mean_values.score(X, y)) in html


def test_given_baselines_take_the_place_of_the_ridge(diabetes, mean_values):
    _, X, _, y = diabetes
    baseline = {"name": "forest", "r2": 0.25, "low": 0.1, "high": 0.5, "rmse": 70.0, "seconds": 2}
    html = build_report(mean_values, X, y, baselines=[baseline]).html
    assert "tuned ridge" not in html
    for shown in ("forest", "0.1 to 0.5", "has an RMSE of 70", "Seconds"):
        assert shown in html


def test_every_row_is_a_dot(reports, diabetes):
    _, X, _, _ = diabetes
    assert reports["mean values"].html.count('class="point"') == 2 * len(X)
