"""The predictions of any scikit-learn model, in the form that a fuser reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covey.fusers._base import Fuser
from covey.fusers._predictions import Predictions, align_classes, encode_labels

if TYPE_CHECKING:
    import pandas as pd

# The ways to get each kind of prediction, the most informative method first.
WAYS = {
    "probability": ("predict_proba",),
    "score": ("predict_proba", "decision_function"),
    "decision": ("decision_function",),
    "label": ("predict",),
}


def common_kind(members: Sequence[Any], names: Sequence[str], fuser: Fuser) -> str:
    """Return the first kind that the fuser takes and all members can give.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from covey.fusers import Majority
    >>> from covey.fusers._outputs import common_kind
    >>> members = [LogisticRegression().fit([[0], [1]], [0, 1])]
    >>> common_kind(members, ["logistic"], Majority())
    'label'
    """
    kinds = [kind for kind in fuser.kinds if kind in WAYS]
    if not kinds:
        raise ValueError(
            f"{fuser.title} fuses the numbers of regressors; use another rule for classifiers."
        )
    for kind in kinds:
        unable = [
            name
            for name, member in zip(names, members, strict=True)
            if not any(hasattr(member, method) for method in WAYS[kind])
        ]
        if not unable:
            return kind
    needed = " or ".join(kinds)
    raise ValueError(
        f"{fuser.title} fuses predictions of kind {needed}, but the member "
        f"{unable[0]!r} has no {WAYS[kind][-1]}; calibrate it, or use a rule for votes or "
        "ranks ('majority', 'borda')."
    )


def member_output(
    member: Any, X: Any, classes: np.ndarray, kind: str, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return one member's output of a kind, for the ensemble's classes, and which it has seen.

    The values are (n_samples, n_classes), or positions (n_samples,) for labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from covey.fusers._outputs import member_output
    >>> member = GaussianNB().fit([[0.0], [0.1], [1.0], [1.1]], [0, 0, 1, 1])
    >>> X, classes = np.array([[0.0]]), np.array([0, 1])
    >>> values, seen = member_output(member, X, classes, "probability", "bayes")
    >>> values.round(2)
    array([[1., 0.]])
    """
    method = next(method for method in WAYS[kind] if hasattr(member, method))
    output = np.asarray(getattr(member, method)(X))
    if len(output) != X.shape[0]:
        raise ValueError(
            f"The member {name!r} gives {len(output)} rows for {X.shape[0]} samples; its {method} "
            "must give one row a sample."
        )
    if method == "predict":
        every = np.ones(len(classes), dtype=bool)
        return encode_labels(output, classes, f"The member {name!r} predicts"), every
    known = getattr(member, "classes_", None)
    if known is None:
        raise ValueError(
            f"The member {name!r} has no classes_, so the columns of its {method} have no names; "
            "use a rule for votes ('majority')."
        )
    if output.ndim == 1:  # a decision function of two classes
        output = np.stack([-output, output], axis=1)
    if output.shape[1] != len(known) or (
        method == "decision_function" and _compares_pairs(member, X, output)
    ):
        raise ValueError(
            f"The member {name!r} has {len(known)} classes, but the columns of its {method} are "
            "not one a class; use decision_function_shape='ovr', or a rule for votes ('majority')."
        )
    fill = 0.0 if kind == "probability" else -np.inf
    return align_classes(output, known, classes, fill, f"The member {name!r} predicts")


def _compares_pairs(member: Any, X: Any, scores: np.ndarray) -> bool:
    """Return whether columns are pairs, so that the highest score is not the member's decision."""
    if scores.shape[1] < 3 or not hasattr(member, "predict"):
        return False
    decided = np.asarray(member.classes_)[scores.argmax(axis=1)] == np.asarray(member.predict(X))
    return decided.mean() < 0.95


def gather(
    outputs: Sequence[tuple[np.ndarray, np.ndarray]],
    classes: np.ndarray,
    names: Sequence[str],
    kind: str,
) -> Predictions:
    """Return the members' outputs as `Predictions`.

    Examples
    --------
    >>> import numpy as np
    >>> from covey.fusers._outputs import gather
    >>> output = (np.array([[0.9, 0.1]]), np.array([True, True]))
    >>> gather([output, output], np.array([0, 1]), ["one", "two"], "probability").values.shape
    (1, 2, 2)
    """
    values = np.stack([values for values, _ in outputs], axis=1)
    seen = np.stack([seen for _, seen in outputs])
    if kind == "label":
        return Predictions(classes[values], classes, names, kind)
    P = Predictions(values, classes, names, kind, seen=None if seen.all() else seen)
    P.check_probabilities()
    return P


def member_values(members: Sequence[Any], names: Sequence[str], X: Any) -> np.ndarray:
    """Return the predictions of fitted regressors, as (n, K).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from covey.fusers._outputs import member_values
    >>> member = LinearRegression().fit([[0.0], [1.0]], [0.0, 2.0])
    >>> member_values([member], ["line"], np.array([[2.0]])).round(6)
    array([[4.]])
    """
    table = np.empty((X.shape[0], len(members)))
    for column, (name, member) in enumerate(zip(names, members, strict=True)):
        output = np.asarray(member.predict(X), dtype=np.float64)
        if output.shape not in ((len(table),), (len(table), 1)):
            raise ValueError(
                f"The member {name!r} predicts an array of shape {output.shape} for {len(table)} "
                "rows; its predict must give one number a row."
            )
        table[:, column] = output.reshape(-1)
        infinite = np.flatnonzero(np.isinf(table[:, column]))
        if len(infinite):
            raise ValueError(
                f"The member {name!r} predicts infinity for row {infinite[0]} of the {len(table)} "
                "it is given; scale the features or y, or leave the member out."
            )
    return table


def importance_frame(importance: np.ndarray, X: Any, names: Sequence[str]) -> pd.DataFrame:
    """Return importances as a data frame with the members' names and the index of X, if any.

    Examples
    --------
    >>> import numpy as np
    >>> from covey.fusers._outputs import importance_frame
    >>> importance_frame(np.array([[0.25, 0.75]]), np.array([[1.0]]), ["one", "two"])
        one   two
    0  0.25  0.75
    """
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("as_frame=True makes a data frame and needs pandas.") from None
    index = X.index if hasattr(X, "iloc") else None
    return pd.DataFrame(importance, index=index, columns=names)
