"""Speech by speaker: Algorithm 1 beside what the field uses, and what a flock looks at."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from covey.reproduce._data import Table, load
from covey.reproduce._ensembles import Constants, Grown, grow_on_splits, stages, tuned_sizes
from covey.reproduce._jobs import Task, in_chunks
from covey.reproduce._options import Options
from covey.reproduce._results import Row
from covey.reproduce._splits import split_rows, whole_number

EXPERIMENT = "speech"
# The splits are those of Table 2 by speaker.
PURPOSE = "table2"
CONDITION = "by speaker"
# What is compared, and what the page calls it.
METHODS = {
    "single": "one softmax-linear classifier (the paper's baseline)",
    "equal": "Algorithm 1, g_EW {Θ, Λ}",
    "logistic": "logistic regression (C = 1)",
    "svm": "SVM with an RBF kernel, tuned",
    "flock": "`FlockClassifier()`",
}
# The groups of acoustic features, by how the names of their columns begin; the first that fits.
GROUPS = {
    "pitch": r"f0|pitch|semitone|chroma|voic|jitter|hnr",
    "energy": r"log_?e|rms|energy|loud|intensity|power|shimmer",
    "cepstrum": r"d*mfcc|plp|lpc",
    "spectrum": r"spectral|centroid|bandwidth|rolloff|(log_?)?flat|contrast|flux|zcr|f[1-4]",
    "time": r"audio_duration|duration|tempo|rate",
}
# What is computed over the frames of a recording.
_FUNCTIONALS = r"(_(mean|std|var|min|max|median|range|skew|kurtosis|slope|iqr|p\d+|q\d+))+$"


def descriptor(feature: str) -> str:
    """What a feature measures, without how it is summed up over a recording.

    >>> descriptor("f0_semitone_p90"), descriptor("mfcc3_slope")
    ('f0_semitone', 'mfcc3')
    """
    return re.sub(_FUNCTIONALS, "", feature)


def group_of(feature: str) -> str:
    """The group of acoustic features that one belongs to.

    >>> [group_of(name) for name in ("logE_mean", "dmfcc4_std", "zcr_std", "smile")]
    ['energy', 'cepstrum', 'spectrum', 'other']
    """
    name = feature.lower()
    return next((group for group, start in GROUPS.items() if re.match(start, name)), "other")


def n_runs(options: Options) -> int:
    """How many splits are made: fits of flocks and of tuned SVMs take seconds."""
    return min(options.runs, 3 if options.quick else 10)


def sources(options: Options) -> list[str]:
    """The tables of speech whose speakers are known."""
    return [source for source, by in options.splits() if by == "speaker"]


def tasks(options: Options) -> list[Task]:
    """One part a split."""
    found = []
    for source in sources(options):
        table = load(source)
        found += in_chunks(
            *(EXPERIMENT, table.name, CONDITION, "_speech:work"),
            runs=n_runs(options),
            at_once=1,
            cost=10.0,
            arguments={"source": source, "seed": options.seed},
            data=table.digest,
            searches=True,
        )
    return found


def work(source: str, seed: int, runs: list[int]) -> Iterator[Row]:
    """Accuracy and unweighted average recall of each method, and what the flock looks at."""
    table = load(source)
    number = whole_number(seed, PURPOSE, table.name, "speaker")
    for run in runs:
        split = split_rows(table, "speaker", seed, PURPOSE, run)
        training, _, test = split
        truth = table.codes[test]
        grown = grow_on_splits(table, [split], Constants(), seed=number, runs=[run])
        _, tuned_on, _, ensembles = next(iter(grown))
        predicted = {
            "single": _fused(ensembles["theta"], table.X[test], 1),
            "equal": _fused(
                ensembles["both"],
                table.X[test],
                tuned_sizes(stages(ensembles["both"], *tuned_on).equal)[0],
            ),
        }
        flock = None
        for name in ("logistic", "svm", "flock"):
            model = _fitted(name, table, training, whole_number(seed, EXPERIMENT, name, run))
            predicted[name] = model.predict(table.X[test])
            flock = model
        for name, codes in predicted.items():
            yield run, f"{name}_accuracy", float(np.mean(codes == truth))
            yield run, f"{name}_recall", _recall(codes, truth)
        importance = np.asarray(flock.feature_importances_)
        for what, share in _by_descriptor(table.features, importance).items():
            yield run, f"importance_{what}", share


def _fused(grown: Grown, X: np.ndarray, size: int) -> np.ndarray:
    """What the first members predict together under g_EW."""
    logits = np.einsum("nd,kcd->nc", X, grown.coef[:size]) + grown.intercept[:size].sum(axis=0)
    return logits.argmax(axis=1)


def _recall(predicted: np.ndarray, truth: np.ndarray) -> float:
    """The mean over the classes that there are of the share of their rows that is right."""
    return float(np.mean([np.mean(predicted[truth == one] == one) for one in np.unique(truth)]))


def _by_descriptor(features: tuple[str, ...], importance: np.ndarray) -> dict[str, float]:
    found: dict[str, float] = {}
    for feature, share in zip(features, importance, strict=True):
        found[descriptor(feature)] = found.get(descriptor(feature), 0.0) + float(share)
    return found


def _fitted(name: str, table: Table, rows: np.ndarray, number: int) -> Any:
    """A model of some rows; what it tunes, it tunes on speakers held out."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    from covey import FlockClassifier

    X, y, speakers = table.X[rows], table.codes[rows], table.speakers[rows]
    n_folds = min(5, len(np.unique(speakers)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "logistic":
            model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=5000))
            return model.fit(X, y)
        if name == "flock":
            return FlockClassifier(cv=n_folds, random_state=number).fit(X, y, groups=speakers)
        folds = StratifiedGroupKFold(min(3, n_folds), shuffle=True, random_state=number)
        model = GridSearchCV(
            make_pipeline(StandardScaler(), SVC()),
            {"svc__C": [0.3, 1, 3, 10, 30], "svc__gamma": ["scale", 0.3 / X.shape[1]]},
            cv=list(folds.split(X, y, speakers)),
            scoring="balanced_accuracy",
        )
        return model.fit(X, y)
