"""What it costs to fit a model again for every candidate subset.

The joint optimisation of features and boundaries (`SubsetEnsembleClassifier`) against searches
that judge a subset by fitting a model on it (`SubsetSearchClassifier`): processor seconds, model
fits and accuracy on groups that were held out, at the same number of members. A search is run
with more and more fits allowed, so that the table shows what it has reached by when::

    python benchmarks/rivals/cost.py --table FILE --target COLUMN --group COLUMN

Columns of numbers are the features, from ``--features-from`` on. Without a table: scikit-learn's
digits in 20 random groups. A search judges a subset on a quarter of the training groups, one fit
a candidate: no way to judge is cheaper. Prints a table in Markdown and a sentence. Pin it to one
core (``taskset -c 0``) with one thread (``OMP_NUM_THREADS=1``).
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covey import FlockClassifier, SubsetEnsembleClassifier
from covey.rivals import SubsetSearchClassifier

warnings.simplefilter("ignore")


# -- data ----------------------------------------------------------------------------------------


def load(options):
    """X, y and groups."""
    if options.table is None:
        X, y = load_digits(return_X_y=True)
        rows = np.random.default_rng(0).permutation(len(y))[:1000]
        return X[rows], y[rows], np.arange(len(rows)) % 20
    table = pd.read_csv(options.table)
    for column in (options.target, options.group):
        if column not in table.columns:
            raise SystemExit(f"{options.table} has no column {column!r}.")
    if options.classes:
        table = table[table[options.target].isin(options.classes.split(","))]
    features = table.loc[:, options.features_from :] if options.features_from else table
    features = features.drop(columns=[options.target, options.group], errors="ignore")
    return (
        features.select_dtypes("number").to_numpy(dtype=np.float64),
        table[options.target].to_numpy(),
        table[options.group].to_numpy(),
    )


# -- methods -------------------------------------------------------------------------------------


def joint(n_members):
    """The joint optimisation: name, whether it reads groups, and how to make it."""
    return {
        "joint, as printed": (
            False,
            lambda seed: SubsetEnsembleClassifier.paper(n_estimators=n_members, random_state=seed),
        ),
        "joint, product": (
            False,
            lambda seed: SubsetEnsembleClassifier(n_members, random_state=seed),
        ),
        "joint, default (gated)": (
            True,
            lambda seed: FlockClassifier(n_estimators=n_members, random_state=seed),
        ),
    }


def joint_fits(model):
    """Members that were trained; with a search, those of all candidates on all folds."""
    if not hasattr(model, "cv_results_"):
        return model.n_estimators
    return 5 * int(model.cv_results_["n_members"].sum()) + model.n_estimators_


def search(kind, learner, options, max_fits, seed):
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))
    return SubsetSearchClassifier(
        logistic if learner == "logistic" else None,
        options.members,
        search=kind.replace(" ", "_"),
        cv=GroupShuffleSplit(1, test_size=0.25, random_state=seed),
        population_size=options.population,
        # Only max_fits ends a search that still gains.
        n_generations=1000,
        max_passes=100,
        max_fits=max_fits,
        random_state=seed,
    )


# -- measuring -----------------------------------------------------------------------------------


def measured(model, train, test, **fit):
    """Processor seconds to fit, and accuracy on the rows held out."""
    started = time.process_time()
    model.fit(*train, **fit)
    return time.process_time() - started, model.score(*test)


def interval(values):
    """Mean and half of its 95 % interval over the splits."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return values.mean(), np.nan
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return values.mean(), half


def measure(options):
    X, y, groups = load(options)
    print(
        f"{len(y)} rows, {X.shape[1]} features, {len(np.unique(y))} classes, "
        f"{len(np.unique(groups))} groups; K = {options.members}, "
        f"{options.splits} splits by group\n",
        flush=True,
    )
    caps = {
        ("hill climbing", "logistic"): options.logistic_fits,
        ("genetic", "logistic"): options.logistic_fits,
        ("hill climbing", "neighbours"): options.neighbours_fits,
        ("genetic", "neighbours"): options.neighbours_fits,
    }
    records = []
    splits = GroupShuffleSplit(options.splits, test_size=0.25, random_state=0)
    for number, (train_rows, test_rows) in enumerate(splits.split(X, y, groups)):
        train = X[train_rows], y[train_rows]
        test = X[test_rows], y[test_rows]
        known = groups[train_rows]
        for name, (grouped, make) in joint(options.members).items():
            model = make(number)
            extra = {"groups": known} if grouped else {}
            seconds, score = measured(model, train, test, **extra)
            records.append((name, "", number, seconds, joint_fits(model), score, True))
        for (kind, learner), cap in caps.items():
            n_starts = options.population if kind == "genetic" else options.members
            least = n_starts + options.members
            rungs = {"before any search": least, "a quarter": cap // 4, "cap": cap}
            for step, max_fits in rungs.items():
                if max_fits < least:
                    continue
                model = search(kind, learner, options, max_fits, number)
                seconds, score = measured(model, train, test, groups=known)
                name, complete = f"{kind}, {learner}", model.search_complete_
                records.append((name, step, number, seconds, model.n_fits_, score, complete))
        print(f"split {number + 1} of {options.splits} done", flush=True)
    columns = ["method", "step", "split", "seconds", "fits", "accuracy", "complete"]
    return pd.DataFrame(records, columns=columns)


# -- reporting -----------------------------------------------------------------------------------


def report(results):
    print("\n| method | allowed | CPU seconds | model fits | accuracy | ended by |")
    print("|---|---|---|---|---|---|")
    for (name, step), part in results.groupby(["method", "step"], sort=False):
        seconds, wide = interval(part["seconds"])
        accuracy, half = interval(part["accuracy"])
        ended = "itself" if part["complete"].all() else "max_fits"
        print(
            f"| {name} | {step or '-'} | {seconds:.2f} ± {wide:.2f} | {part['fits'].mean():.0f} "
            f"| {accuracy:.4f} ± {half:.4f} | {ended} |"
        )
    print(
        "\n| to the accuracy of | rival | CPU seconds | times as long | at the cap: times as long "
        "| accuracy less the joint's |"
    )
    print("|---|---|---|---|---|---|")
    joints = [name for name in results["method"].unique() if name.startswith("joint")]
    rivals = [name for name in results["method"].unique() if name not in joints]
    sentences = []
    for name in joints:
        ours = results[results["method"] == name].set_index("split")
        reached, whole, apart = {}, [], []
        for rival in rivals:
            theirs = results[results["method"] == rival]
            rungs = theirs.groupby("step", sort=False)[["seconds", "accuracy"]].mean()
            rungs["factor"] = rungs["seconds"] / ours["seconds"].mean()
            last = theirs[theirs["step"] == "cap"].set_index("split")
            mean, half = interval(last["accuracy"] - ours["accuracy"])
            whole.append(rungs["factor"].iloc[-1])
            apart.append(mean)
            there = rungs[rungs["accuracy"] >= ours["accuracy"].mean()]
            shown = "not reached | -"
            if len(there):
                first = there.iloc[0]
                reached[f"{rival}: {there.index[0]}"] = first["factor"]
                shown = f"{first['seconds']:.2f} ({there.index[0]}) | {first['factor']:.1f}"
            print(f"| {name} | {rival} | {shown} | {whole[-1]:.1f} | {mean:+.4f} ± {half:.4f} |")
        cheapest = min(reached, key=reached.get, default=None)
        sentences.append(
            f"To the accuracy of {name!r}, "
            + (
                "no search got within its cap"
                if cheapest is None
                else f"the cheapest search ({cheapest}) took {reached[cheapest]:.1f} times as long"
            )
            + f"; at their caps searches had taken {min(whole):.1f} to {max(whole):.1f} times as "
            f"long, for {min(apart):+.3f} to {max(apart):+.3f} in accuracy."
        )
    print("\n" + "\n".join(sentences))
    if not results["complete"].all():
        print("Searches that max_fits ended (see the first table) would have gone on.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", help="a CSV file")
    parser.add_argument("--target", default="target", help="the column of labels")
    parser.add_argument("--group", default="group", help="rows that must not be separated")
    parser.add_argument("--features-from", help="the first feature; columns before are left out")
    parser.add_argument("--classes", help="only these labels, by commas")
    parser.add_argument("--members", type=int, default=6, help="K")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--population", type=int, default=50)
    parser.add_argument("--logistic-fits", type=int, default=700, help="cap of a search")
    parser.add_argument("--neighbours-fits", type=int, default=2000, help="cap of a search")
    parser.add_argument("--out", help="a CSV file for the single measurements")
    options = parser.parse_args()
    results = measure(options)
    if options.out:
        results.to_csv(options.out, index=False)
    report(results)


if __name__ == "__main__":
    main()
