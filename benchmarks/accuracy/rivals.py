"""The rivals, each as a careful user would run it: scaled, and tuned where that is normal.

One small adapter each: a function of the seed that gives an unfitted classifier.
"""

from functools import partial

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
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
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


def tuned_lightgbm(seed):
    space = {
        "learning_rate": loguniform(0.01, 0.3),
        "n_estimators": randint(50, 400),
        "num_leaves": randint(4, 64),
        "min_child_samples": randint(2, 40),
        "reg_lambda": loguniform(1e-3, 10),
    }
    return RandomizedSearchCV(
        lightgbm(seed), space, n_iter=15, cv=3, scoring="neg_log_loss", random_state=seed
    )


def catboost(seed):
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        random_seed=seed, verbose=False, allow_writing_files=False, thread_count=1
    )


def explainable_boosting(seed):
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(random_state=seed, n_jobs=1)


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
    return partial(RIVALS[name], seed)()
