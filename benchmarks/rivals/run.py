"""The paper's rivals and covey, side by side: ``make bench-rivals``.

Eight tables x methods x splits, the same splits for all. Each line of results.csv is one fit:
accuracy and log-loss by the method's own fusion and by the mean of its members' probabilities,
the oracle's accuracy, how alike members are (kappa of their being right: 1 is all alike), the
share of features a member looks at, how many models were fitted, seconds. Lines that are there
are not made again. Prints the means in Markdown, and writes them to report.md.
"""

import argparse
import csv
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import stats
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_selection import (
    SelectKBest,
    SequentialFeatureSelector,
    mutual_info_classif,
)
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covey import (
    FlockClassifier,
    FusionClassifier,
    MultiviewClassifier,
    SubsetEnsembleClassifier,
    members_of,
)
from covey.inspection import diversity, oracle_interval
from covey.rivals import DecorateClassifier, DiverseMaxEntClassifier, SubsetSearchClassifier
from reproduction.data import load as load_paper_table

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "accuracy"))
import problems  # noqa: E402

# The paper's two public sets, and six more of many kinds.
TABLES = (
    "abalone",
    "segment",
    "heart",
    "ionosphere",
    "sonar",
    "vehicle",
    "vowel",
    "breast_cancer",
)
N_MEMBERS = 10
# What a search may spend; the report says how many searches it ended.
MAX_FITS = 500

FIELDS = (
    "table",
    "method",
    "split",
    "accuracy",
    "log_loss",
    "mean_accuracy",
    "mean_log_loss",
    "oracle",
    "kappa",
    "subset_share",
    "n_fits",
    "finished",
    "seconds",
)


def logistic():
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))


def tuned_logistic():
    return make_pipeline(
        StandardScaler(),
        LogisticRegressionCV(Cs=10, cv=5, max_iter=2000, scoring="neg_log_loss"),
    )


def half_of(X):
    return max(1, X.shape[1] // 2)


def searched(search, seed):
    return SubsetSearchClassifier(
        logistic(), N_MEMBERS, search=search, cv=3, max_fits=MAX_FITS, random_state=seed
    )


# Each makes a model for training rows X and a seed.
METHODS = {
    "logistic regression": lambda X, seed: logistic(),
    "logistic regression, tuned": lambda X, seed: tuned_logistic(),
    "covey, as printed": lambda X, seed: SubsetEnsembleClassifier.paper(
        select_size="validation", random_state=seed
    ),
    "covey, as printed, Theta only": lambda X, seed: SubsetEnsembleClassifier.paper(
        select_size="validation", flip_probability=0, random_state=seed
    ),
    "covey, equal weights": lambda X, seed: SubsetEnsembleClassifier(
        N_MEMBERS, fuser="product", random_state=seed
    ),
    "covey, exponential loss, AdaBoost": lambda X, seed: SubsetEnsembleClassifier(
        N_MEMBERS,
        fuser="product",
        loss="exponential",
        reweighting="adaboost",
        random_state=seed,
    ),
    "covey, focal loss": lambda X, seed: SubsetEnsembleClassifier(
        N_MEMBERS, fuser="product", loss="focal", random_state=seed
    ),
    "covey, default": lambda X, seed: FlockClassifier(random_state=seed),
    "bagging [5], 100 trees": lambda X, seed: BaggingClassifier(
        n_estimators=100, random_state=seed
    ),
    "gradient boosting [6], 100 rounds": lambda X, seed: GradientBoostingClassifier(
        subsample=0.5, random_state=seed
    ),
    # The penalty of scikit-learn's logistic regression.
    "diverse MaxEnt [7]": lambda X, seed: DiverseMaxEntClassifier(
        N_MEMBERS, alpha=1 / len(X), random_state=seed
    ),
    "DECORATE [8], 15 trees": lambda X, seed: DecorateClassifier(random_state=seed),
    "random partition into 2 views": lambda X, seed: MultiviewClassifier(2, random_state=seed),
    "random forest [10], 100 trees": lambda X, seed: RandomForestClassifier(random_state=seed),
    "hill climbing [11, 12]": lambda X, seed: searched("hill_climbing", seed),
    "genetic search [13]": lambda X, seed: searched("genetic", seed),
    "forward selection [14]": lambda X, seed: make_pipeline(
        StandardScaler(),
        SequentialFeatureSelector(
            LogisticRegression(max_iter=2000), n_features_to_select=half_of(X), cv=3
        ),
        LogisticRegression(max_iter=2000),
    ),
    "mutual information [14]": lambda X, seed: make_pipeline(
        StandardScaler(),
        SelectKBest(mutual_info_classif, k=half_of(X)),
        LogisticRegression(max_iter=2000),
    ),
}


def load(table):
    if table == "abalone":
        table = load_paper_table(table)
        return table.X, table.codes
    return problems.load(table)


def cautious_log_loss(y, P):
    """The log-loss, but one certain error must not decide a mean."""
    P = np.clip(P, 1e-6, 1)
    return log_loss(y, P / P.sum(axis=1, keepdims=True), labels=np.arange(P.shape[1]))


def n_fits_of(method, model, X):
    if hasattr(model, "n_fits_"):
        return model.n_fits_
    if hasattr(model, "cv_results_"):
        # Every member of every candidate on five folds, and those that are kept once more.
        return 5 * int(model.cv_results_["n_members"].sum()) + model.n_estimators_
    if isinstance(model, DecorateClassifier):
        return model.n_iter_  # members that were refused, too
    if method.startswith("forward"):
        # Each step fits what is left of the features on three folds.
        return 3 * sum(X.shape[1] - step for step in range(half_of(X))) + 1
    return len(getattr(model, "estimators_", [model]))


def subset_share(method, model):
    if isinstance(model, BaggingClassifier):
        return np.mean([len(np.unique(used)) for used in model.estimators_features_]) / (
            model.n_features_in_
        )
    if isinstance(model, RandomForestClassifier):
        used = [np.unique(tree.tree_.feature) for tree in model.estimators_]
        return np.mean([(columns >= 0).sum() for columns in used]) / model.n_features_in_
    if method.startswith(("forward", "mutual")):
        return model[1].get_support().mean()
    return model.support_.mean() if hasattr(model, "support_") else 1.0


def one(table, method, split):
    X, y = load(table)
    y = np.unique(y, return_inverse=True)[1]
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=split)
    row = {"table": table, "method": method, "split": split}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = METHODS[method](X, split)
        started = time.perf_counter()
        model.fit(X, y)
        row["seconds"] = time.perf_counter() - started
        said = model.predict_proba(X_test)
        row["accuracy"] = (model.predict(X_test) == y_test).mean()
        row["log_loss"] = cautious_log_loss(y_test, said)
        if isinstance(model, BaggingClassifier | RandomForestClassifier):
            fused = FusionClassifier(members_of(model), prefit=True).fit(X, y)
            members = fused.member_probabilities(X_test)
        elif hasattr(model, "member_probabilities"):
            members = model.member_probabilities(X_test)
        else:
            members = None
        row["subset_share"] = subset_share(method, model)
        row["n_fits"] = n_fits_of(method, model, X)
        row["finished"] = float(getattr(model, "search_complete_", True))
        if members is not None and members.shape[1] > 1:
            mean = members.mean(axis=1)
            row["mean_accuracy"] = (mean.argmax(axis=1) == y_test).mean()
            row["mean_log_loss"] = cautious_log_loss(y_test, mean)
            # The oracle does not choose among members that are constant: see oracle_score.
            found = oracle_interval(members, y_test)
            row["oracle"] = 1.0 - found.observed
            measured = diversity(members, y_test, measures=["interrater_kappa"])
            row["kappa"] = measured.values["interrater_kappa"]
    return row


def report(results):
    """Means over splits and tables, with the 95 % interval of the difference to covey."""
    results = pd.DataFrame(results)
    numbers = [field for field in FIELDS if field not in ("table", "method", "split")]
    results[numbers] = results[numbers].apply(pd.to_numeric)
    by_table = results.groupby(["method", "table"], sort=False)[numbers].mean()
    made = [method for method in METHODS if method in set(results["method"])]
    means = by_table.groupby("method").mean().reindex(made)
    n_tables, n_splits = results["table"].nunique(), results["split"].nunique()
    base = results[results["method"] == "covey, default"].groupby("table")["accuracy"].mean()
    lines = [
        "# The paper's rivals",
        "",
        f"Means over {n_tables} tables ({', '.join(TABLES)}) and {n_splits} splits, a quarter of "
        f"the rows for testing. {N_MEMBERS} members where nothing else is said; covey as printed "
        "has up to 20 and keeps as many as fuse best on a tenth of the training rows.",
        "",
        "**Who is tuned:** covey's default chooses among its candidates by five-fold "
        "cross-validation on the training rows, the tuned logistic regression its penalty. All "
        f"others run as their authors or scikit-learn set them. A search stops after {MAX_FITS} "
        "fits, each on two thirds of the training rows; *finished* is the share of searches that "
        "ended by themselves.",
        "",
        "*Own* is a method's own fusion, *mean* the mean of its members' probabilities, which are "
        "clipped at 1e-6 in the log-loss. *Difference*: accuracy of own fusion less that of "
        "covey's default, with its 95 % interval over tables. *Kappa*: how alike members are in "
        "being right (1: all alike). *Model fits* counts members, on folds and for nothing too. "
        "Made by `make bench-rivals`. *Seconds* are of wall-clock time on a core that had other "
        "work to do: do not compare them closely.",
        "",
        "| method | accuracy, own | difference | log-loss, own | accuracy, mean | log-loss, mean "
        "| oracle | kappa | share of features | model fits | finished | seconds |",
        "| --- | " + " | ".join(["---:"] * 11) + " |",
    ]
    for method, row in means.iterrows():
        gap = (by_table.loc[method]["accuracy"] - base).to_numpy() * 100
        half = stats.t.ppf(0.975, len(gap) - 1) * gap.std(ddof=1) / np.sqrt(len(gap))
        own = method == "covey, default"
        cells = [
            method,
            f"{row['accuracy']:.3f}",
            "" if own or np.isnan(half) else f"{gap.mean():+.1f} ± {half:.1f}",
            f"{row['log_loss']:.3f}",
            *("" if np.isnan(row[x]) else f"{row[x]:.3f}" for x in ("mean_accuracy",)),
            *("" if np.isnan(row[x]) else f"{row[x]:.3f}" for x in ("mean_log_loss", "oracle")),
            "" if np.isnan(row["kappa"]) else f"{row['kappa']:.2f}",
            f"{row['subset_share']:.2f}",
            f"{row['n_fits']:.0f}",
            "" if row["finished"] == 1 else f"{100 * row['finished']:.0f} %",
            f"{row['seconds']:.2f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "Accuracy by table (own fuser):", ""]
    wide = results.groupby(["method", "table"])["accuracy"].mean().unstack()
    wide = wide.reindex(index=made, columns=TABLES)
    lines.append("| method | " + " | ".join(TABLES) + " |")
    lines.append("| --- | " + " | ".join(["---:"] * len(TABLES)) + " |")
    for method, row in wide.iterrows():
        lines.append(f"| {method} | " + " | ".join(f"{value:.3f}" for value in row) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--out", type=Path, default=HERE / "results.csv")
    options = parser.parse_args()
    done = []
    if options.out.exists():
        with options.out.open() as file:
            done = list(csv.DictReader(file))
    made = {(row["table"], row["method"], int(row["split"])) for row in done}
    wanted = [
        (table, method, split)
        for split in range(options.splits)
        for table in TABLES
        for method in options.methods
        if (table, method, split) not in made
    ]
    with options.out.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not done:
            writer.writeheader()
        rows = Parallel(n_jobs=options.jobs, return_as="generator")(
            delayed(one)(*job) for job in wanted
        )
        for number, row in enumerate(rows, start=1):
            writer.writerow(row)
            file.flush()
            done.append(row)
            print(
                f"{number}/{len(wanted)} {row['table']}, {row['method']}: "
                f"{row['accuracy']:.3f} in {row['seconds']:.1f} s",
                file=sys.stderr,
            )
    text = report(done)
    options.out.with_name("report.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
