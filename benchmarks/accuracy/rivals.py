"""The rivals, each as a careful user would run it: scaled, and tuned where that is normal.

One small adapter each: a function of the seed that gives an unfitted classifier. Two rivals would
take minutes a fit and are limited, so that they end on every table: tuned LightGBM by seconds, and
explainable boosting by its settings.
"""

import time
from operator import itemgetter

from scipy.stats import loguniform, randint
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, ParameterSampler, cross_val_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from covey import FlockClassifier, SubsetEnsembleClassifier


def scaled(estimator):
    return make_pipeline(StandardScaler(), estimator)


def covey_default(seed):
    return FlockClassifier(random_state=seed)


def covey_fast(seed):
    return FlockClassifier(effort="fast", random_state=seed)


def covey_mixed(seed):
    return FlockClassifier(members="mixed", random_state=seed)


def covey_product(seed):
    return SubsetEnsembleClassifier(8, random_state=seed)


def logistic(seed):
    return scaled(LogisticRegressionCV(Cs=10, cv=5, max_iter=2000, scoring="neg_log_loss"))


def l1_logistic(seed):
    model = LogisticRegressionCV(
        Cs=8,
        cv=3,
        l1_ratios=(1.0,),
        solver="saga",
        max_iter=300,
        tol=1e-3,
        scoring="neg_log_loss",
        random_state=seed,
    )
    return scaled(model)


class TunedSVC(ClassifierMixin, BaseEstimator):
    """An RBF SVC tuned by a grid; probabilities from the best one, calibrated on three folds.

    The grid is searched once and not in every fold of the calibration, and decisions are the
    SVC's own: faster, and at least as accurate, as one grid search inside a calibration.
    """

    def fit(self, X, y):
        grid = {"svc__C": [0.1, 1, 10, 100], "svc__gamma": ["scale", 0.01, 0.1]}
        self.search_ = GridSearchCV(scaled(SVC()), grid, cv=3).fit(X, y)
        best = clone(self.search_.best_estimator_)
        self.calibrated_ = CalibratedClassifierCV(best, cv=3, ensemble=False).fit(X, y)
        self.classes_ = self.search_.classes_
        return self

    def predict(self, X):
        return self.search_.predict(X)

    def predict_proba(self, X):
        return self.calibrated_.predict_proba(X)


def rbf_svc(seed):
    return TunedSVC()


def mlp(seed):
    grid = {"mlpclassifier__alpha": [1e-4, 1e-2, 1]}
    model = MLPClassifier((100,), max_iter=500, random_state=seed)
    return GridSearchCV(scaled(model), grid, cv=3, scoring="neg_log_loss")


def forest(seed):
    return RandomForestClassifier(300, random_state=seed)


def extra_trees(seed):
    return ExtraTreesClassifier(300, random_state=seed)


def lightgbm(seed):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=seed, verbosity=-1, n_jobs=1)


class TimedSearch(BaseEstimator):
    """A random search by three folds that starts no candidate after so many seconds.

    A search that was cut short compares its best with the estimator as it is. Seconds are the
    processor's, not the clock's, so that a busy machine takes no candidate away.
    """

    def __init__(
        self, estimator, space, n_iter=15, seconds=10, scoring="neg_log_loss", random_state=None
    ):
        self.estimator = estimator
        self.scoring = scoring
        self.space = space
        self.n_iter = n_iter
        self.seconds = seconds
        self.random_state = random_state

    def fit(self, X, y):
        started = time.process_time()
        tried = []
        for values in ParameterSampler(self.space, self.n_iter, random_state=self.random_state):
            if time.process_time() - started > self.seconds:
                values = {}
            model = clone(self.estimator).set_params(**values)
            score = cross_val_score(model, X, y, cv=3, scoring=self.scoring).mean()
            tried.append((score, model))
            if not values:
                break
        self.best_estimator_ = max(tried, key=itemgetter(0))[1].fit(X, y)
        return self

    def predict(self, X):
        return self.best_estimator_.predict(X)

    def predict_proba(self, X):
        return self.best_estimator_.predict_proba(X)


# What boosting is tuned over.
BOOSTED = {
    "learning_rate": loguniform(0.01, 0.3),
    "n_estimators": randint(50, 400),
    "num_leaves": randint(4, 64),
    "min_child_samples": randint(2, 40),
    "reg_lambda": loguniform(1e-3, 10),
}


def tuned_lightgbm(seed):
    return TimedSearch(lightgbm(seed), BOOSTED, random_state=seed)


def catboost(seed):
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        random_seed=seed, verbose=False, allow_writing_files=False, thread_count=1
    )


def explainable(kind, n_features, seed):
    """Explainable boosting that ends in seconds where its defaults take minutes.

    4 bags instead of 14, a rate of 0.04 instead of 0.015, stopped after 30 rounds without gain
    instead of 100 and after 1,000 at most, fewer smoothing rounds, at most 256 bins (16 in pairs),
    and half as many pairs as features instead of three times as many. Above 100 features there are
    no pairs: to rank them all takes minutes.
    """
    return kind(
        outer_bags=4,
        learning_rate=0.04,
        early_stopping_rounds=30,
        max_rounds=1000,
        smoothing_rounds=30,
        interaction_smoothing_rounds=10,
        max_bins=256,
        max_interaction_bins=16,
        interactions=n_features // 2 if n_features <= 100 else 0,
        n_jobs=1,
        random_state=seed,
    )


class ExplainableBoosting(ClassifierMixin, BaseEstimator):
    """Explainable boosting; see `explainable`."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        from interpret.glassbox import ExplainableBoostingClassifier

        model = explainable(ExplainableBoostingClassifier, X.shape[1], self.random_state)
        self.model_ = model.fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


def explainable_boosting(seed):
    return ExplainableBoosting(seed)


def subspace_logistic(seed):
    return scaled(
        BaggingClassifier(
            LogisticRegression(max_iter=1000), 20, max_features=0.5, random_state=seed
        )
    )


def stacking(seed):
    members = [
        ("logistic", scaled(LogisticRegression(max_iter=2000))),
        ("forest", forest(seed)),
        ("svc", scaled(CalibratedClassifierCV(SVC(C=10), ensemble=False))),
    ]
    return StackingClassifier(members, LogisticRegression(max_iter=2000), cv=3)


RIVALS = {
    "covey": covey_default,
    "covey, mixed": covey_mixed,
    "covey, fast": covey_fast,
    "covey, equal weights": covey_product,
    "logistic regression CV": logistic,
    "L1 logistic regression CV": l1_logistic,
    "RBF SVC, tuned": rbf_svc,
    "MLP, tuned": mlp,
    "random forest": forest,
    "extra trees": extra_trees,
    "LightGBM": lightgbm,
    "LightGBM, tuned": tuned_lightgbm,
    "CatBoost": catboost,
    "explainable boosting": explainable_boosting,
    "logistic on random subspaces": subspace_logistic,
    "stacking (logistic, forest, SVC)": stacking,
}


def make(name, seed):
    return RIVALS[name](seed)
