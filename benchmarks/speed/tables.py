"""What fits of tables of up to 4,000 rows cost beside LightGBM's and another version of covey.

    python -m benchmarks.speed.tables                               # beside LightGBM
    python -m benchmarks.speed.tables --against OTHER/src           # and another version of covey
    python -m benchmarks.speed.tables --against OTHER/src --numbers # of numbers

All by default, in processor seconds of one thread, in turns over the splits of a table, of which
75 % of the rows are fitted on. For each table the mean seconds, terms, and log-loss on held-out
rows (of numbers the log of the error); at the end medians of the seconds' ratios, and the mean
ratio of losses with its standard error over tables. With ``--development``, tables to try changes
on; without it, others, on which nothing is to be tuned.
"""

import argparse
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.speed.small import ROOT, Version

DEVELOPMENT = {
    False: (
        "australian",
        "bands",
        "contraceptive",
        "german",
        "ionosphere",
        "led7digit",
        "phoneme",
        "pima",
        "satimage",
        "segment",
        "spambase",
        "tic-tac-toe",
        "twonorm",
        "vehicle",
        "vowel",
        "wine",
    ),
    True: ("airfoil", "autoMPG6", "ccpp", "concrete", "laser", "mortgage", "wizmir"),
}
JUDGED = {
    False: (
        "banana",
        "breast_cancer",
        "bupa",
        "chess",
        "crx",
        "heart",
        "magic",
        "mammographic",
        "marketing",
        "mushroom",
        "penbased",
        "ring",
        "saheart",
        "sonar",
        "splice",
        "tae",
        "titanic",
        "wisconsin",
    ),
    True: (
        "compactiv",
        "excitation_current",
        "maternal_health_risk",
        "plastic",
        "qsar_fish_toxicity",
        "treasury",
        "winequality_red",
        "yacht_hydrodynamics",
    ),
}
MOST_ROWS = 4_000


@cache
def table(name, numbers, split):
    """Training rows and test rows of a split: X, X_test, y, y_test."""
    from benchmarks.accuracy import problems as of_classes
    from benchmarks.regression import problems as of_numbers

    problems = of_numbers if numbers else of_classes
    X, y = problems.load(name)
    if len(X) > MOST_ROWS:
        rows = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
        X, y = X[rows], y[rows]
    return problems.split(X, y, split)


def model(rival, numbers, seed):
    """The default of covey or LightGBM, on one thread."""
    if rival == "covey":
        import covey

        return (covey.FlockRegressor if numbers else covey.FlockClassifier)(random_state=seed)
    import lightgbm

    kind = lightgbm.LGBMRegressor if numbers else lightgbm.LGBMClassifier
    return kind(random_state=seed, verbosity=-1, n_jobs=1)


def fitted(rival, name, numbers, split):
    """Processor seconds of a fit, its loss on held-out rows, and its terms."""
    from sklearn.metrics import log_loss

    X, X_test, y, y_test = table(name, numbers, split)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        begun = time.process_time()
        found = model(rival, numbers, split).fit(X, y)
        seconds = time.process_time() - begun
        if numbers:
            loss = np.sqrt(np.mean((found.predict(X_test) - y_test) ** 2))
        else:
            loss = log_loss(y_test, found.predict_proba(X_test), labels=np.unique(y))
    return {"seconds": seconds, "loss": float(loss), "terms": int(getattr(found, "n_terms_", 0))}


def compare(fits, names, numbers, n_splits):
    """Print what each of ``fits``, functions by name, makes of the tables; the last is ours."""
    titles = "".join(f"{name:>28}" for name in fits)
    print(f"{'seconds, loss, terms':24}{titles}", flush=True)
    found = []
    for name in names:
        of_table = np.array(
            [
                [[*one(name, numbers, split).values()] for one in fits.values()]
                for split in range(n_splits)
            ]
        ).mean(axis=0)
        found.append(of_table)
        cells = "".join(
            f"{seconds:12.3f}{loss:9.4g}{terms:7.0f}" for seconds, loss, terms in of_table
        )
        print(f"{name:24}{cells}", flush=True)
    *others, ours = np.moveaxis(np.array(found), 1, 0)
    for name, other in zip(fits, others, strict=False):
        seconds = np.median(ours[:, 0] / other[:, 0])
        losses = np.log(ours[:, 1] / other[:, 1])
        error = losses.std(ddof=1) / np.sqrt(len(losses))
        terms = ours[:, 2].mean(), other[:, 2].mean()
        print(
            f"beside {name}: {seconds:.2f} times the seconds in the median (all together "
            f"{ours[:, 0].sum() / other[:, 0].sum():.2f}), losses {np.exp(losses.mean()):.4f} +- "
            f"{error:.4f}, median {np.exp(np.median(losses)):.4f}, terms {terms[0]:.0f} and "
            f"{terms[1]:.0f}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--against", type=Path, help="the src folder of another version")
    parser.add_argument("--source", type=Path, default=ROOT / "src", help="this version's")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--numbers", action="store_true")
    parser.add_argument("--development", action="store_true")
    parser.add_argument("--tables", nargs="*", help="instead of all")
    how = parser.parse_args()
    known = DEVELOPMENT if how.development else JUDGED
    sources = {"LightGBM": how.source, "before": how.against, "covey": how.source}
    versions = {
        name: Version(source.resolve(), "benchmarks.speed.tables")
        for name, source in sources.items()
        if source is not None
    }

    def fit_by(name):
        rival = "LightGBM" if name == "LightGBM" else "covey"
        versions[name](rival, "wine (scikit-learn)" if how.numbers else "wine", how.numbers, 0)
        return lambda *table: versions[name](rival, *table)

    try:
        fits = {name: fit_by(name) for name in versions}
        compare(fits, how.tables or known[how.numbers], how.numbers, how.splits)
    finally:
        for version in versions.values():
            version.close()


if __name__ == "__main__":
    main()
