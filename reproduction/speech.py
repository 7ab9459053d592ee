"""Speech by speaker: Algorithm 1 beside what the field uses, and what a flock looks at."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from reproduction.data import Table, load, split_rows, whole_number
from reproduction.ensembles import Constants, Grown, grow_on_splits, stages, tuned_sizes
from reproduction.jobs import Options, Task, in_chunks
from reproduction.page import COLORS, GREY, Section, filled, panels
from reproduction.results import Results, Row, interval, overlap

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
            *(EXPERIMENT, table.name, CONDITION, "speech:work"),
            runs=n_runs(options),
            at_once=1,
            cost=10.0,
            arguments={"source": source, "seed": options.seed},
            data=table.digest,
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


# Descriptors that the picture names, of each table.
_MOST_NAMED = 8


def _importances(results: Results, dataset: str) -> dict[str, np.ndarray]:
    """The importances of each descriptor, over splits."""
    case = EXPERIMENT, dataset, CONDITION
    prefix = "importance_"
    names = dict.fromkeys(
        row[4].removeprefix(prefix)
        for row in results.rows
        if row[:3] == case and row[4].startswith(prefix)
    )
    return {name: results.get(*case, prefix + name) for name in names}


def _group_shares(features: tuple[str, ...]) -> dict[str, float]:
    """The share of the columns that each group has."""
    groups = [group_of(feature) for feature in features]
    return {group: groups.count(group) / len(groups) for group in dict.fromkeys(groups)}


def draw(results: Results, options: Options) -> Any:
    """Importances of groups beside their share of the columns, and what counts most."""
    tables = [load(source) for source in sources(options)]
    figure, axes = panels(2, len(tables), size=(3.9 * len(tables), 5.6))
    axes = np.asarray(axes).reshape(2, len(tables))
    for (above, below), table in zip(axes.T, tables, strict=True):
        found = _importances(results, table.name)
        shares = _group_shares(table.features)
        order = [group for group in (*GROUPS, "other") if group in shares]
        by_group = {
            group: sum(
                (found[name] for name in found if group_of(name) == group),
                start=np.zeros(n_runs(options)),
            )
            for group in order
        }
        place = np.arange(len(order))
        cells = [interval(100 * by_group[group], overlap(table, "speaker")) for group in order]
        halves = [cell.half if cell.known else 0.0 for cell in cells]
        above.barh(
            place - 0.18,
            [cell.mean for cell in cells],
            0.34,
            color=COLORS["both"],
            xerr=halves,
            ecolor=GREY,
            label="importance in the flock",
        )
        above.barh(
            place + 0.2,
            [100 * shares[group] for group in order],
            0.3,
            color="#c9d1da",
            label="share of the columns",
        )
        above.set_yticks(place, order)
        above.invert_yaxis()
        above.set_title(table.name, loc="left")
        above.set_xlabel("%")
        top = sorted(found, key=lambda name: -found[name].mean())[:_MOST_NAMED]
        cells = [interval(100 * found[name], overlap(table, "speaker")) for name in top]
        halves = [cell.half if cell.known else 0.0 for cell in cells]
        below.barh(
            np.arange(len(top)),
            [cell.mean for cell in cells],
            0.6,
            xerr=halves,
            color=COLORS["logistic"],
            ecolor=GREY,
        )
        named = [f"{name} ({group_of(name)})" for name in top]
        below.set_yticks(np.arange(len(top)), named)
        below.invert_yaxis()
        below.set_xlabel("importance, %")
    axes[0, 0].legend(frameon=False, fontsize=7.5, loc="upper right")
    return figure


def section(results: Results, options: Options) -> Section:
    """A table of methods, and what the flock looks at."""
    tables = [load(source) for source in sources(options)]
    rows = []
    for method, title in METHODS.items():
        cells = []
        for table in tables:
            case = EXPERIMENT, table.name, CONDITION
            shared = overlap(table, "speaker")
            for measure in ("recall", "accuracy"):
                cells.append(interval(100 * results.get(*case, f"{method}_{measure}"), shared))
        rows.append([title, *(cell.text() for cell in cells)])
    header = ["method"]
    for table in tables:
        shape = f"{table.X.shape[1]} features, {len(table.classes)} classes, {len(table.X)} rows"
        header += [f"{table.name} ({shape}): UAR, %", "accuracy, %"]
    return filled(
        "Speech, by speaker",
        "speech",
        n_runs=n_runs(options),
        speakers=[f"{one.name} {len(np.unique(one.speakers))}" for one in tables],
        header=header,
        rows=rows,
        differences=[
            _difference(results, table.name, overlap(table, "speaker")) for table in tables
        ],
    )


def _difference(results: Results, dataset: str, shared: float) -> str:
    """How far the flock is from the others on the same splits."""
    case = EXPERIMENT, dataset, CONDITION
    flock = results.get(*case, "flock_recall")
    parts = []
    for method, against in (("svm", "the tuned SVM"), ("equal", "Algorithm 1 under g_EW")):
        apart = interval(100 * (flock - results.get(*case, f"{method}_recall")), shared)
        parts.append(f"{apart.text(signed=True)} points of UAR against {against}")
    return f"{dataset}: the flock is at {' and '.join(parts)}."
