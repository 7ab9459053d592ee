"""The rivals of the benchmark of noise, all of which end on 1,281 columns."""

from sklearn.linear_model import LogisticRegressionCV

from benchmarks.accuracy import rivals


def l1_logistic(seed):
    """As in the accuracy benchmark, with fewer strengths to try and fewer rounds for each."""
    model = LogisticRegressionCV(
        Cs=(0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
        cv=3,
        l1_ratios=(1.0,),
        solver="saga",
        max_iter=100,
        tol=3e-3,
        scoring="neg_log_loss",
        random_state=seed,
    )
    return rivals.scaled(model)


RIVALS = {
    "covey": rivals.covey_default,
    "L1 logistic, tuned": l1_logistic,
    "random forest": rivals.forest,
    "LightGBM": rivals.lightgbm,
    "explainable boosting": rivals.explainable_boosting,
}
