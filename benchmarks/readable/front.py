"""Which model of at most so many terms a method gives, and which methods are on the front."""

import numpy as np
import pandas as pd

BUDGETS = (5, 10, 20, 50, 100, 200)
CONSTANT = "class frequencies"


def complete(results):
    """The tables on which every method was run on every split."""
    whole = len(results[["method", "split"]].drop_duplicates())
    runs = results[["problem", "method", "split"]].drop_duplicates().groupby("problem").size()
    return results[results["problem"].isin(runs[runs == whole].index)]


def chosen(lines, budget):
    """One line of one method, table and split: its best model of at most ``budget`` terms.

    A method that takes the budget itself (a line with ``budget``) gives the line made for it. Of
    any other, the model with the least cross-validated log-loss on the training rows is taken; the
    test rows have no say. None where every model has more terms.
    """
    own = lines[lines["budget"] == budget]
    if len(own):
        return own.iloc[0]
    fitting = lines[lines["budget"].isna() & (lines["terms"] <= budget)]
    if not len(fitting):
        return None
    return fitting.loc[fitting["cv_log_loss"].idxmin()]


def at_budgets(results, budgets=BUDGETS):
    """A long frame: method, budget, problem, split, terms, accuracy and log_loss.

    Where a method has no model of at most so many terms, it says the class frequencies.
    """
    constant = results[results["method"] == CONSTANT].set_index(["problem", "split"])
    rows = []
    others = results[results["method"] != CONSTANT]
    for (method, problem, split), lines in others.groupby(["method", "problem", "split"]):
        for budget in budgets:
            line = chosen(lines, budget)
            if line is None:
                line = constant.loc[(problem, split)]
            rows.append(
                {
                    "method": method,
                    "budget": budget,
                    "problem": problem,
                    "split": split,
                    "terms": line["terms"],
                    "accuracy": line["accuracy"],
                    "log_loss": line["log_loss"],
                }
            )
    return pd.DataFrame(rows)


def pareto(terms, losses):
    """Which points no other point beats: no more terms and no more loss, and less of one."""
    points = np.column_stack([terms, losses])
    no_more = (points[:, None] <= points[None]).all(axis=2)
    less = (points[:, None] < points[None]).any(axis=2)
    return ~(no_more & less).any(axis=0)
