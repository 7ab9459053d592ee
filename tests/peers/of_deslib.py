"""Our equivalents of DESlib's methods, under its names and with what its tests set."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import BaggingClassifier
from sklearn.utils.validation import check_is_fitted, check_X_y

from covey import FusionClassifier, Predictions
from covey.fusers._dynamic import METHODS
from covey.fusers._fixed import make_fuser
from tests.peers.standing_in import StandsIn


def _members(pool: Any, X: Any, y: Any) -> list[Any]:
    """The models of a pool; those of an ensemble decide by numbers of classes."""
    if pool is None:
        pool = BaggingClassifier(random_state=0).fit(X, y)
    if isinstance(pool, list | tuple):
        return [_Mock(one, np.unique(y)) if isinstance(one, Mock) else one for one in pool]
    columns = getattr(pool, "estimators_features_", [slice(None)] * len(pool.estimators_))
    return [
        _Member(member, pool.classes_, of_member)
        for member, of_member in zip(pool.estimators_, columns, strict=True)
    ]


class _Member(ClassifierMixin, BaseEstimator):
    """A model of an ensemble, by its columns and with the ensemble's labels."""

    def __init__(self, model: Any, classes: Any, columns: Any) -> None:
        self.model, self.classes, self.columns = model, classes, columns
        known = np.asarray(model.classes_)
        is_label = np.isin(known, classes).all()
        self.classes_ = known if is_label else np.asarray(classes)[known.astype(int)]

    def fit(self, X: Any, y: Any) -> Any:
        """It is fitted already."""
        return self

    def predict_proba(self, X: Any) -> Any:
        """What the model predicts."""
        return self.model.predict_proba(X[:, self.columns])

    def predict(self, X: Any) -> Any:
        """The class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class _Mock(ClassifierMixin, BaseEstimator):
    """A member of DESlib's tests, which predicts one row as often as there are rows."""

    def __init__(self, mock: Any, classes: Any) -> None:
        self.mock, self.classes_ = mock, classes

    def fit(self, X: Any, y: Any) -> Any:
        """It is fitted already."""
        return self

    def predict(self, X: Any) -> Any:
        """Its class."""
        return np.broadcast_to(self.mock.predict(X), len(X)).astype(self.classes_.dtype)

    def predict_proba(self, X: Any) -> Any:
        """Its probabilities."""
        return np.broadcast_to(self.mock.predict_proba(X), (len(X), len(self.classes_)))


class _Method(StandsIn, ClassifierMixin, BaseEstimator):
    _rule: Any = None

    def __init__(
        self,
        pool_classifiers: Any = None,
        k: int = 7,
        DFP: bool = False,
        with_IH: bool = False,
        knn_classifier: Any = None,
        voting: str = "hard",
        random_state: Any = None,
        n_jobs: int | None = None,
        DSEL_perc: float = 0.5,
        alpha: float = 0.9,
        clustering: Any = None,
    ) -> None:
        self.pool_classifiers = pool_classifiers
        self.k = k
        self.DFP = DFP
        self.with_IH = with_IH
        self.knn_classifier = knn_classifier
        self.voting = voting
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.DSEL_perc = DSEL_perc
        self.alpha = alpha
        self.clustering = clustering

    def fit(self, X: Any, y: Any) -> Any:
        """Learn to fuse the pool."""
        if self.DFP or self.with_IH:
            raise NotImplementedError("no pruning of members, no hardness of rows")
        X, y = check_X_y(X, y)
        self.n_features_in_ = X.shape[1]
        fusion = FusionClassifier(
            _members(self.pool_classifiers, X, y), self._fuser(), prefit=True
        )
        self.fusion_ = fusion.fit(X, y)
        self.classes_ = fusion.classes_
        return self

    def _fuser(self) -> Any:
        # DESlib measures distances in columns as they are.
        how = {"n_neighbors": self.k, "voting": self.voting, "alpha": self.alpha, "scale": False}
        rule = make_fuser(self._rule)
        known = METHODS[self._rule].options if self._rule in METHODS else rule.get_params()
        always = {"voting", "scale"} & set(rule.get_params())
        return rule.set_params(**{name: how[name] for name in how if name in {*known, *always}})

    def estimate_competence(
        self, competence_region: Any, distances: Any = None, predictions: Any = None
    ) -> Any:
        """What our rule says of members, given what DESlib's tests say that it has learnt."""
        region = np.atleast_2d(competence_region)
        if hasattr(self, "fusion_"):
            rule = self.fusion_.fuser_
        else:
            rule = self._fuser()
            rule.available_, rule.right_ = None, np.asarray(self.DSEL_processed_, dtype=bool)
        n_members = rule.right_.shape[1]
        rule.truth_ = np.asarray(getattr(self, "DSEL_target_", getattr(rule, "truth_", [])))
        if hasattr(self, "dsel_scores_"):
            at = np.arange(len(rule.truth_))
            rule.worth_ = self.dsel_scores_[at, :, rule.truth_]
        rule._known_labels = getattr(self, "BKS_DSEL_", None)
        labels = np.zeros((len(region), n_members)) if predictions is None else predictions
        labels = np.broadcast_to(labels, (len(region), n_members)).astype(int)
        classes = np.arange(max(2, labels.max() + 1, rule.truth_.max(initial=0) + 1))
        given = Predictions(labels, classes=classes, kind="label")
        far = None if distances is None else np.atleast_2d(distances)
        return rule.competence(given, region, far) + self._chance(len(classes))

    def _chance(self, n_classes: int) -> float:
        """Ours counts accuracy above that of guessing in DES-P, DESlib as it is."""
        return 1.0 / n_classes if self._rule == "des_p" else 0.0

    def source_competence(self) -> Any:
        """The same of competence at each known row."""
        return METHODS[self._rule].worth(self.dsel_scores_, np.asarray(self.DSEL_target_))

    def select(self, competences: Any) -> Any:
        """Which members our rule selects."""
        chance = self._chance(getattr(self, "n_classes_", 2))
        return self._fuser().select(np.atleast_2d(competences) - chance) > 0

    def predict(self, X: Any) -> Any:
        """The decision."""
        check_is_fitted(self, "fusion_")
        return self.fusion_.predict(np.asarray(X))

    def predict_proba(self, X: Any, y: Any = None) -> Any:
        """The probabilities."""
        check_is_fitted(self, "fusion_")
        return self.fusion_.predict_proba(np.asarray(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy."""
        check_is_fitted(self, "fusion_")
        return self.fusion_.score(np.asarray(X), y, sample_weight)


OLA = type("OLA", (_Method,), {"_rule": "ola"})
LCA = type("LCA", (_Method,), {"_rule": "lca"})
KNORAE = type("KNORAE", (_Method,), {"_rule": "knora_e"})
KNORAU = type("KNORAU", (_Method,), {"_rule": "knora_u"})
KNOP = type("KNOP", (_Method,), {"_rule": "knop"})
DESP = type("DESP", (_Method,), {"_rule": "des_p"})
DESKNN = type("DESKNN", (_Method,), {"_rule": "des_knn"})
METADES = type("METADES", (_Method,), {"_rule": "meta_des"})
MLA = type("MLA", (_Method,), {"_rule": "mla"})
Rank = type("Rank", (_Method,), {"_rule": "rank"})
MCB = type("MCB", (_Method,), {"_rule": "mcb"})
APriori = type("APriori", (_Method,), {"_rule": "a_priori"})
APosteriori = type("APosteriori", (_Method,), {"_rule": "a_posteriori"})
RRC = type("RRC", (_Method,), {"_rule": "rrc"})
DESKL = type("DESKL", (_Method,), {"_rule": "des_kl"})
MinimumDifference = type("MinimumDifference", (_Method,), {"_rule": "minimum_difference"})
DESMI = type("DESMI", (_Method,), {"_rule": "des_mi"})
DESClustering = type("DESClustering", (_Method,), {"_rule": "des_clustering"})
StaticSelection = type("StaticSelection", (_Method,), {"_rule": "static_selection"})
SingleBest = type("SingleBest", (_Method,), {"_rule": "single_best"})
Oracle = type("Oracle", (_Method,), {"_rule": "oracle"})
StackedClassifier = type("StackedClassifier", (_Method,), {"_rule": "stacking"})
