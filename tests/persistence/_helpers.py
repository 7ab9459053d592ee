"""Models of all kinds, and archives that are changed by hand."""

import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM
from sklearn.tree import DecisionTreeClassifier

from covey import (
    CodeBookClassifier,
    ConsensusClustering,
    FlockClassifier,
    FlockRegressor,
    FusionClassifier,
    Gate,
    SubsetEnsembleClassifier,
    SubsetEnsembleRegressor,
    SubsetSelector,
)
from covey.fusers import FUSERS
from covey.members import FusionRegressor
from covey.members._multiview import MultiviewClassifier
from covey.members._sampled import SampledFusionClassifier, SampledFusionRegressor
from covey.persistence import load, save
from covey.rivals._decorate import DecorateClassifier
from covey.rivals._diverse_maxent import DiverseMaxEntClassifier
from covey.rivals._subset_search import SubsetSearchClassifier
from covey.stacking import (
    GeneralStackingClassifier,
    GeneralStackingRegressor,
)
from covey.tables import TableClassifier, TableRegressor

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*.covey"))

X, y = load_iris(return_X_y=True)
X, y = X[::3], np.array(["setosa", "versicolor", "virginica"])[y[::3]]
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"])
X_NUMBERS, Y_NUMBERS = (part[:60] for part in load_diabetes(return_X_y=True))


def members():
    return [LogisticRegression(), GaussianNB(), DecisionTreeClassifier(max_depth=3)]


def flock(**parameters):
    if "fuser" in parameters:
        return SubsetEnsembleClassifier(
            **{"n_estimators": 2, "max_iter": 10, "random_state": 0, **parameters}
        )
    return FlockClassifier(**{"n_estimators": 2, "random_state": 0, **parameters})


def linear():
    return [LinearRegression(), Ridge()]


CLASSIFIERS = {
    "search": flock(),
    "fast": flock(effort="fast"),
    "product": flock(fuser="product", warm_start=True),
    "gate": flock(fuser=Gate(pool="log", features="quadratic")),
    "random state": flock(fuser="mean", random_state=np.random.RandomState(3)),
    "splitter": flock(cv=StratifiedKFold(2)),
    "code book": CodeBookClassifier(LogisticRegression(), random_state=0),
    "general stacking": GeneralStackingClassifier(members(), cv=3),
    "max-ent": DiverseMaxEntClassifier(n_estimators=2, random_state=0),
    "decorate": DecorateClassifier(n_estimators=2, random_state=0),
    "subset search": SubsetSearchClassifier(n_estimators=2, random_state=0),
    "views": MultiviewClassifier({"sepal": slice(0, 2), "petal": slice(2, 4)}),
    "sampled": SampledFusionClassifier(RandomForestClassifier(4, random_state=0)),
    "pipeline": make_pipeline(StandardScaler(), flock(effort="fast")),
    "grid": GridSearchCV(flock(fuser="product"), {"n_estimators": [1, 2]}, cv=2),
    "voting": VotingClassifier([("nb", GaussianNB()), ("flock", flock(fuser="mean"))]),
    **{
        f"fused by {rule}": FusionClassifier(members(), fuser=rule, cv=3)
        for rule in FUSERS
        if rule != "oracle"
    },
    **{
        f"scikit-learn's {type(model).__name__}": FusionClassifier(
            [model, GaussianNB()], "majority"
        )
        for model in (
            BaggingClassifier(n_estimators=2, max_features=0.5, random_state=0),
            ExtraTreesClassifier(3, random_state=0),
            GradientBoostingClassifier(n_estimators=2),
            HistGradientBoostingClassifier(max_iter=2),
            KNeighborsClassifier(),
            RandomForestClassifier(3, random_state=0),
            SVC(),
        )
    },
    "ball tree": KNeighborsClassifier(algorithm="ball_tree", metric="manhattan"),
    "brute neighbours": KNeighborsClassifier(algorithm="brute"),
    "calibrated": CalibratedClassifierCV(GaussianNB(), method="isotonic", cv=2),
    "processes": GaussianProcessClassifier(),
    "network": MLPClassifier((3,), max_iter=3, random_state=0),
    "zero start": GradientBoostingClassifier(n_estimators=2, init="zero"),
    "log": make_pipeline(FunctionTransformer(np.log1p), GaussianNB()),
    "table": TableClassifier(flock(effort="fast")),
}
OTHERS = {
    "selector": SubsetSelector(random_state=0),
    "consensus": ConsensusClustering(n_clusters=3, random_state=0),
    "isolation": IsolationForest(n_estimators=3, random_state=0),
    "k-means": KMeans(3, n_init=1, random_state=0),
    "one class": OneClassSVM(),
}
REGRESSORS = {
    "flock": FlockRegressor(n_estimators=2, effort="fast", random_state=0),
    "fusion": FusionRegressor(linear()),
    "linear stacking": FusionRegressor(linear(), "linear_stacking", cv=3),
    "general stacking": GeneralStackingRegressor(linear(), cv=3),
    "sampled": SampledFusionRegressor(BaggingRegressor(Ridge(), 3, random_state=0)),
    "flock by product": SubsetEnsembleRegressor(2, max_iter=10, random_state=0),
    "table": TableRegressor(FlockRegressor(n_estimators=2, effort="fast", random_state=0)),
    "support vectors": SVR(),
    "boosting": GradientBoostingRegressor(n_estimators=2, loss="huber"),
}


def saved(model, path):
    save(model, path)
    return path


def round_trip(model, tmp_path):
    return load(saved(model, tmp_path / "model.covey"))


def assert_predicts_the_same(one, other, X):
    for method in ("predict", "predict_proba", "decision_function", "transform", "explain_fusion"):
        if hasattr(one, method) and not isinstance(one, ConsensusClustering):
            np.testing.assert_array_equal(getattr(one, method)(X), getattr(other, method)(X))
    assert described(one) == described(other)


def described(model):
    return re.sub("0x[0-9A-F]+", "", repr(model))


def changed(path, **entries):
    """The archive with some entries changed by functions of their parsed JSON."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(buffer, "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            change = entries.get(entry.filename.removesuffix(".json"))
            if change is not None:
                parsed = json.loads(content)
                content = json.dumps(change(parsed) or parsed)
            new.writestr(entry.filename, content)
    path.write_bytes(buffer.getvalue())
    return path


def nodes(schema):
    if isinstance(schema, dict):
        if "__loader__" in schema:
            yield schema
        for part in schema.values():
            yield from nodes(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from nodes(part)


def with_array(path, change, *, fields=()):
    """The archive with its first array of these fields changed in place."""
    buffer = io.BytesIO()
    done = False
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(buffer, "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename.endswith(".npy") and not done:
                array = np.load(io.BytesIO(content))
                if set(fields) <= set(array.dtype.names or ()) and (
                    fields or not array.dtype.names
                ):
                    done = change(array) is None
                    out = io.BytesIO()
                    np.save(out, array)
                    content = out.getvalue()
            new.writestr(entry.filename, content)
    assert done
    path.write_bytes(buffer.getvalue())
    return path


def number(value):
    """What a file says for a number or text."""
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
    }


def call(module, name, argument, loader="ConstructorFromReduceNode"):
    """What a file says to have something called with an argument."""
    return {
        "__class__": name,
        "__module__": module,
        "__loader__": loader,
        "content": {
            "__class__": "tuple",
            "__module__": "builtins",
            "__loader__": "TupleNode",
            "content": [number(argument)],
        },
    }
