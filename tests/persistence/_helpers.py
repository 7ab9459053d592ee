"""Models of all kinds that files hold, and files that are changed by hand."""

import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, ExtraTreeRegressor

from covey import (
    ConsensusClustering,
    FlockClassifier,
    FlockRegressor,
    FusionClassifier,
    Gate,
    SubsetEnsembleClassifier,
    SubsetEnsembleRegressor,
)
from covey.fusers import DynamicSelection, KOfN, Mean, Stacking
from covey.fusers._base import FUSERS
from covey.members import FusionRegressor
from covey.persistence import load, save
from covey.stacking import GeneralStackingClassifier, GeneralStackingRegressor

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*-*.covey"))

X, y = load_iris(return_X_y=True)
X, y = X[::3], np.array(["setosa", "versicolor", "virginica"])[y[::3]]
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"])
X_NUMBERS, Y_NUMBERS = (part[:60] for part in load_diabetes(return_X_y=True))


def flock(**parameters):
    if "fuser" in parameters:
        return SubsetEnsembleClassifier(
            **{"n_estimators": 2, "max_iter": 10, "random_state": 0, **parameters}
        )
    return FlockClassifier(**{"n_estimators": 2, "random_state": 0, **parameters})


def members():
    return [LogisticRegression(), GaussianNB(), DecisionTreeClassifier(max_depth=3)]


def linear():
    return [LinearRegression(), Ridge()]


MACHINE = CalibratedClassifierCV(SVC(C=10), ensemble=False, cv=3)
CLASSIFIERS = {
    "search": flock(),
    "fast": flock(effort="fast"),
    "product": flock(fuser="product", warm_start=True, select_size="train"),
    "gate": flock(fuser=Gate(pool="log", features="quadratic")),
    "weights": flock(fuser=Mean("accuracy")),
    "given weights": flock(fuser=Mean(np.array([1.0, 2.0]))),
    "near by another metric": flock(fuser=DynamicSelection("knora_u", metric="mahalanobis")),
    "near as they are": flock(fuser=DynamicSelection("rrc", metric="manhattan", scale=False)),
    "two of two": flock(fuser=KOfN(2, "setosa")),
    "grouped": flock(
        feature_groups={"sepal": [0, 1]}, class_weight={"setosa": 2.0, "virginica": 1}
    ),
    "logits": flock(fuser=Stacking(outputs="logits", passthrough=True)),
    **{f"by {rule}": flock(fuser=rule) for rule in FUSERS if rule != "oracle"},
    "table": flock(effort="fast"),
    "mixed": flock(effort="fast", members="mixed"),
    "own mixture": flock(effort="fast", members=[("linear", "linear"), ("nb", GaussianNB())]),
    **{
        f"fused by {rule}": FusionClassifier(members(), fuser=rule, cv=3)
        for rule in ("mean", "majority", "gate", "stacking", "meta_des", "linear_stacking")
    },
    "dropped": FusionClassifier([("a", GaussianNB()), ("b", "drop"), ("c", LogisticRegression())]),
    "stack": GeneralStackingClassifier(members(), cv=3),
    "layers": GeneralStackingClassifier(
        [members(), [LogisticRegression()]],
        passthrough=[0, 1],
        features=StandardScaler(),
        outputs={"gaussiannb": "ranks"},
        cv=3,
    ),
    **{
        type(model).__name__: model
        for model in (
            ExtraTreesClassifier(3, random_state=0),
            RandomForestClassifier(3, max_depth=4, random_state=0),
            HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5),
            KNeighborsClassifier(weights="distance"),
            SVC(),
            MACHINE,
        )
    },
    "each fold": CalibratedClassifierCV(SVC(), cv=3),
    "scaled machine": make_pipeline(StandardScaler(), MACHINE),
    "ball tree": KNeighborsClassifier(algorithm="ball_tree", metric="manhattan"),
}
REGRESSORS = {
    "search": FlockRegressor(n_estimators=2, effort="fast", random_state=0),
    "quantile": FlockRegressor(
        n_estimators=2, loss="quantile", quantile=0.7, effort="fast", random_state=0
    ),
    "mean": SubsetEnsembleRegressor(2, max_iter=10, random_state=0),
    "gate": SubsetEnsembleRegressor(2, fuser="gate", max_iter=10, random_state=0),
    "stacking": SubsetEnsembleRegressor(
        2, fuser=Stacking(outputs="ranks"), max_iter=10, random_state=0
    ),
    "table": FlockRegressor(n_estimators=2, effort="fast", random_state=0),
    "mixed": FlockRegressor(members="mixed", effort="fast", random_state=0),
    "fused": FusionRegressor(linear(), "linear_stacking", cv=3),
    **{
        f"fused by {rule}": FusionRegressor(linear(), rule, cv=3)
        for rule in ("ola", "knora_e", "knora_u", "des_p")
    },
    "layers": GeneralStackingRegressor([linear(), [Ridge()]], outputs="ranks", cv=3),
    **{
        type(model).__name__: model
        for model in (
            ExtraTreesRegressor(3, random_state=0),
            RandomForestRegressor(3, random_state=0),
            ExtraTreeRegressor(random_state=0),
            HistGradientBoostingRegressor(max_iter=3, loss="quantile", quantile=0.3),
            KNeighborsRegressor(),
            SVR(C=100.0),
        )
    },
}


def saved(model, path, **how):
    save(model, path, **how)
    return path


def round_trip(model, tmp_path):
    return load(saved(model, tmp_path / "model.covey"))


def assert_predicts_the_same(one, other, X):
    for method in ("predict", "predict_proba", "decision_function", "transform", "explain_fusion"):
        if hasattr(one, method) and not isinstance(one, ConsensusClustering):
            first, second = (np.asarray(getattr(model, method)(X)) for model in (one, other))
            np.testing.assert_array_equal(first, second)
            assert first.dtype == second.dtype
    assert described(one) == described(other)


def described(model):
    return re.sub("0x[0-9A-F]+", "", repr(model))


def table_of_all_kinds(n_rows=60):
    moments = pd.Series(pd.date_range("2020-01-01", periods=n_rows, freq="35h"))
    return pd.DataFrame(
        {
            "size": np.where(np.arange(n_rows) % 7, np.arange(n_rows) ** 1.5, np.nan),
            "town": ["Rome", "Oslo", None, "Bath"] * (n_rows // 4),
            "sure": [True, False] * (n_rows // 2),
            "note": [f"word {place} of a long text" for place in range(n_rows)],
            "when": pd.date_range("2020-01-01", periods=n_rows, freq="17h").astype(str),
            "seen": moments,
            "told": moments.dt.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "there": moments.dt.tz_localize("Europe/Paris"),
            "far": moments.dt.tz_localize("UTC").dt.tz_convert("+05:30"),
        }
    )


def entries_of(path):
    """The entries of an archive by name."""
    with zipfile.ZipFile(path) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def write_entries(path, entries):
    """Write an archive of pairs of names and contents."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    path.write_bytes(buffer.getvalue())
    return path


def changed(path, change):
    """The archive with its document changed by a function of the parsed JSON."""
    entries = entries_of(path)
    document = json.loads(entries["model.json"])
    changed = change(document)
    entries["model.json"] = json.dumps(document if changed is None else changed).encode()
    return write_entries(path, entries.items())


def with_array(path, reference, change):
    """The archive with one array changed: that which ``reference`` of the document gives."""
    entries = entries_of(path)
    name = f"{reference(json.loads(entries['model.json']))}.npy"
    values = np.load(io.BytesIO(entries[name]))
    made = change(values)
    packed = io.BytesIO()
    np.save(packed, values if made is None else made)
    entries[name] = packed.getvalue()
    return write_entries(path, entries.items())
