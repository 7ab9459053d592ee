"""Models that a person can read, each at several sizes.

A method gives its settings for some training rows, an unfitted model for a setting, and the number
of terms of a fitted model (terms.py).
"""

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from benchmarks.accuracy.rivals import scaled
from benchmarks.readable import terms
from benchmarks.readable.front import BUDGETS, CONSTANT
from covey import FlockClassifier


class Method:
    """One setting, which every number of terms fits: the class frequencies."""

    budgeted = False  # whether a setting is a number of terms that the model keeps to

    def settings(self, X, y):
        return [None]

    def make(self, setting, seed, n_classes):
        return DummyClassifier(strategy="prior")

    def terms(self, model):
        return 0


class Covey(Method):
    """covey at most so many terms; it chooses among its own candidates by rows held out."""

    budgeted = True

    def settings(self, X, y):
        return [*BUDGETS, None]

    def make(self, setting, seed, n_classes):
        return FlockClassifier(max_terms=setting, random_state=seed)

    def terms(self, model):
        return model.n_terms_


class L1Logistic(Method):
    """The lasso's path: the fewer terms, the smaller C."""

    def settings(self, X, y):
        return list(np.round(np.geomspace(3e-3, 10, 24), 5))

    def make(self, setting, seed, n_classes):
        # saga leaves the intercept alone; liblinear shrinks it, which costs the small models.
        model = LogisticRegression(
            C=setting, l1_ratio=1.0, solver="saga", tol=1e-3, max_iter=300, random_state=seed
        )
        return scaled(model)

    def terms(self, model):
        return terms.of_coefficients(model[-1].coef_)


class LaplaceTree(ClassifierMixin, BaseEstimator):
    """A tree whose leaves say (n_class + 1) / (n + n_classes), so that none is certain."""

    def __init__(self, ccp_alpha=0.0, min_samples_leaf=5, random_state=None):
        self.ccp_alpha = ccp_alpha
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    def fit(self, X, y):
        self.tree_ = DecisionTreeClassifier(**self.get_params()).fit(X, y)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X):
        return self.tree_.predict(X)

    def predict_proba(self, X):
        leaf = self.tree_.apply(X)
        weight = self.tree_.tree_.n_node_samples[leaf, None]
        return (self.tree_.predict_proba(X) * weight + 1) / (weight + len(self.classes_))


class Tree(Method):
    """Cost-complexity pruning: fifteen of the path's trees, evenly by their place on it."""

    def settings(self, X, y):
        path = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)
        alphas = np.maximum(path.cost_complexity_pruning_path(X, y).ccp_alphas, 0)
        places = np.linspace(0, len(alphas) - 1, 15).round().astype(int)
        return list(np.unique(alphas[places]))

    def make(self, setting, seed, n_classes):
        return LaplaceTree(setting, random_state=seed)

    def terms(self, model):
        return terms.of_leaves(model.tree_.get_n_leaves())


class TopFeatures(ClassifierMixin, BaseEstimator):
    """Explainable boosting on the features that matter most to one fit of it on all."""

    def __init__(self, n_features, max_bins, random_state=None):
        self.n_features = n_features
        self.max_bins = max_bins
        self.random_state = random_state

    def fit(self, X, y):
        from interpret.glassbox import ExplainableBoostingClassifier

        # Few bags, a larger rate and no interactions: seconds instead of minutes, and nothing
        # that cannot be drawn.
        model = ExplainableBoostingClassifier(
            max_bins=self.max_bins,
            interactions=0,
            outer_bags=2,
            learning_rate=0.05,
            smoothing_rounds=20,
            early_stopping_rounds=50,
            max_rounds=2000,
            n_jobs=1,
            random_state=self.random_state,
        )
        self.columns_ = np.arange(X.shape[1])
        if self.n_features is not None:
            whole = clone(model).set_params(outer_bags=1).fit(X, y)
            order = np.argsort(-np.asarray(whole.term_importances()), kind="stable")
            features = [whole.term_features_[place][0] for place in order]
            self.columns_ = np.sort(features[: self.n_features])
        self.model_ = model.fit(X[:, self.columns_], y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X[:, self.columns_])

    def predict_proba(self, X):
        return self.model_.predict_proba(X[:, self.columns_])


class ExplainableBoosting(Method):
    """Main effects of few bins, on all features or on those that matter most."""

    def settings(self, X, y):
        settings = [(1, 4), (2, 4), (4, 4), (8, 4), (16, 4), (2, 16), (8, 16)]
        return [pair for pair in settings if pair[0] < X.shape[1]] + [(None, 4), (None, 16)]

    def make(self, setting, seed, n_classes):
        return TopFeatures(*setting, random_state=seed)

    def terms(self, model):
        return terms.of_shapes(model.model_.term_scores_)


class BestSubset(ClassifierMixin, BaseEstimator):
    """abess: logistic regression on the best so many features, all classes on the same ones."""

    def __init__(self, support_size, alpha=0.01):
        self.support_size = support_size
        self.alpha = alpha

    def fit(self, X, y):
        from abess import LogisticRegression, MultinomialRegression

        self.classes_ = np.unique(y)
        kind = LogisticRegression if len(self.classes_) == 2 else MultinomialRegression
        # A little ridge: without it coefficients diverge where few columns separate the classes.
        # abess refuses columns that never change, which tell nothing anyway.
        varies = np.flatnonzero(np.ptp(X, axis=0) > 0)
        model = kind(support_size=min(self.support_size, len(varies)), alpha=self.alpha)
        model.fit(X[:, varies], np.searchsorted(self.classes_, y))
        own = np.asarray(model.coef_).reshape(len(varies), -1).T
        coef = np.zeros((len(own), X.shape[1]))
        coef[:, varies] = own
        intercept = np.asarray(model.intercept_).reshape(-1)
        self.coef_, self.intercept_ = coef, intercept
        return self

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X):
        scores = X @ self.coef_.T + self.intercept_
        if scores.shape[1] == 1:
            scores = np.hstack([np.zeros_like(scores), scores])
        return softmax(scores, axis=1)


class Abess(Method):
    """Best subsets of 1 to 100 features."""

    def settings(self, X, y):
        sizes = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100)
        return sorted({min(size, X.shape[1]) for size in sizes})

    def make(self, setting, seed, n_classes):
        return scaled(BestSubset(setting))

    def terms(self, model):
        return terms.of_coefficients(model[-1].coef_)


class ClippedFIGS(ClassifierMixin, BaseEstimator):
    """FIGS with its sums of trees as shares, none below one in a hundred.

    Its own `predict_proba` takes a softmax of these shares, which gives no class of two more than
    0.73.
    """

    def __init__(self, max_rules, random_state=None):
        self.max_rules = max_rules
        self.random_state = random_state

    def fit(self, X, y):
        from imodels import FIGSClassifier

        self.model_ = FIGSClassifier(max_rules=self.max_rules, random_state=self.random_state)
        self.model_.fit(X, y)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X):
        shares = self.model_.predict_proba(X, use_clipped_prediction=True)
        shares = np.clip(shares, 0.01, 0.99)
        return shares / shares.sum(axis=1, keepdims=True)


class FIGS(Method):
    """Sums of trees with 1 to 64 splits in all; more take minutes."""

    def settings(self, X, y):
        return [1, 2, 4, 8, 16, 32, 64]

    def make(self, setting, seed, n_classes):
        return ClippedFIGS(setting, random_state=seed)

    def terms(self, model):
        n_leaves = model.model_.complexity_ + len(model.model_.trees_)
        return terms.of_leaves(n_leaves)


METHODS = {
    CONSTANT: Method,
    "covey": Covey,
    "L1 logistic": L1Logistic,
    "abess": Abess,
    "decision tree": Tree,
    "explainable boosting": ExplainableBoosting,
    "FIGS": FIGS,
}
