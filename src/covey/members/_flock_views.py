"""A fitted flock for people to read: who decided a row and why, and a table of members."""

from html import escape

import numpy as np

# A member with less weight than this is not said to have spoken.
_LEAST_SAY = 0.01

# How many features of a member a table shows.
_TOP_FEATURES = 4


def decisions(flock, columns, *, said, importance, fused, column_mean, top):
    """The records of ``FlockClassifier.explain``.

    Parameters
    ----------
    flock : FlockClassifier or SubsetEnsembleClassifier
        Fitted.
    columns : ndarray of shape (n_samples, n_columns)
        What its basis makes of the rows.
    said : ndarray of shape (n_samples, n_members, n_classes)
    importance : ndarray of shape (n_samples, n_members)
    fused : ndarray of shape (n_samples, n_classes)
    column_mean : ndarray of shape (n_columns,)
        The average row, with which these are compared.
    top : int
    """
    names = flock.estimators_[0].column_names()
    # Softmax ignores what all classes share.
    contrast = flock.coef_ - flock.coef_.mean(axis=1, keepdims=True)
    labels = flock.classes_.tolist()

    def spoken(row, member):
        code = int(said[row, member].argmax())
        push = contrast[member, code] * (columns[row] - column_mean)
        strongest = np.argsort(-push, kind="stable")[:top]
        return {
            "member": int(member) + 1,
            "weight": float(importance[row, member]),
            "prediction": labels[code],
            "probability": float(said[row, member, code]),
            "because": [(names[k], float(push[k])) for k in strongest if push[k] > 0],
        }

    records = []
    for row, probability in enumerate(fused):
        code = int(probability.argmax())
        asked = np.argsort(-importance[row], kind="stable")
        asked = asked[importance[row, asked] > _LEAST_SAY]
        records.append(
            {
                "prediction": labels[code],
                "probability": float(probability[code]),
                "members": [spoken(row, member) for member in asked],
            }
        )
    return records


def flock_table(flock, column_scale, shares):
    """The members as an HTML table: their group, how much they are asked, top features.

    Parameters
    ----------
    flock : FlockClassifier or SubsetEnsembleClassifier
        Fitted.
    column_scale : ndarray of shape (n_columns,)
        How much each column varies.
    shares : ndarray of shape (n_members,)
        How much each member is asked.
    """
    names = getattr(flock, "feature_names_in_", None)
    if names is None:
        names = [f"x{position}" for position in range(flock.n_features_in_)]
    contrast = np.abs(flock.coef_ - flock.coef_.mean(axis=1, keepdims=True)).mean(axis=1)
    # Only a search makes more than one group.
    groups = getattr(flock, "group_of_", np.zeros(len(contrast), dtype=int))
    rows = []
    for number, (size, support) in enumerate(
        zip(contrast * column_scale, flock.support_, strict=True)
    ):
        heavy = np.argsort(-flock.basis_.on_features(size), kind="stable")
        top = ", ".join(str(names[which]) for which in heavy[:_TOP_FEATURES] if support[which])
        cells = [
            str(number + 1),
            str(groups[number] + 1),
            f"{100 * shares[number]:.0f} %",
            f"{int(support.sum())} of {len(support)}",
            top,
        ]
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    heads = ("member", "group", "asked", "features", "the heaviest")
    head = "".join(f"<th>{name}</th>" for name in heads)
    title = f"{flock.n_estimators_} members, {len(flock.classes_)} classes"
    return (
        f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
    )
