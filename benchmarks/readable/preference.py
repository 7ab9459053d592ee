"""What the preference for few terms costs: a search that allows two errors while terms are many.

    python -m benchmarks.readable.preference      # about ten processor minutes

Fits the default with and without it (`covey._core.search.selection.MANY_TERMS`) on two splits of
every other small table of the accuracy benchmark, and prints log-losses of new rows and terms.
"""

import argparse
import warnings

import numpy as np
from sklearn.metrics import log_loss

import covey
from benchmarks.accuracy import problems
from covey._core.search import selection

_MOST_NUMBERS = 60_000
_SPLITS = 2


def measured(X, y, number, many_terms):
    """The log-loss on new rows, and the terms, of a default flock."""
    X_train, X_test, y_train, y_test = problems.split(X, y, number)
    selection.MANY_TERMS = many_terms
    flock = covey.FlockClassifier(random_state=number).fit(X_train, y_train)
    loss = log_loss(y_test, flock.predict_proba(X_test), labels=flock.classes_)
    return loss, flock.n_terms_


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=1, choices=(0, 1), help="which half of all")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    preferred, found = selection.MANY_TERMS, []
    quick = problems.names(quick=True)
    for name in [name for name in problems.names() if name not in quick][given.first :: 2]:
        X, y = problems.load(name)
        if X.size > _MOST_NUMBERS:
            continue
        both = np.array(
            [
                [measured(X, y, number, many) for many in (np.inf, preferred)]
                for number in range(_SPLITS)
            ]
        )
        found.append(both)
        (loss, terms), (loss_with, terms_with) = both.mean(axis=0)
        print(
            f"{name:16} {loss:.4f} {loss_with:.4f}  {terms:6,.0f} {terms_with:6,.0f}", flush=True
        )
    found = np.concatenate(found)
    more = found[:, 1, 0] - found[:, 0, 0]
    error = 1.96 * more.std(ddof=1) / np.sqrt(len(more))
    print(f"log-loss {more.mean():+.4f} +- {error:.4f} over {len(more)} fits")
    print("median terms", *np.median(found[:, :, 1], axis=0))


if __name__ == "__main__":
    main()
