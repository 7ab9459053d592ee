from covey.reporting import build_report


def test_baselines_are_shown_as_given(wine, product):
    _, X, _, y = wine
    baseline = {"name": "tuned SVC", "accuracy": 0.5, "low": 0.4, "high": 0.6, "seconds": 12345}
    html = build_report(product, X, y, baselines=[baseline]).html
    for shown in ("tuned SVC", "40 to 60\u00a0%", "12,300", "above the best"):
        assert shown in html
