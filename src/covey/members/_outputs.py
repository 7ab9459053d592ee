"""What any scikit-learn classifier says, in the form that a fuser takes."""

import numpy as np

from covey.fusers import Predictions, align_classes
from covey.fusers._predictions import encode_labels

# How to get each kind of prediction, the most telling method first.
_METHODS = {
    "probability": ("predict_proba",),
    "score": ("predict_proba", "decision_function"),
    "label": ("predict_proba", "decision_function", "predict"),
}


def common_kind(members, names, fuser):
    """The most telling kind that all members can give and the fuser takes."""
    for kind, methods in _METHODS.items():
        mute = [
            name
            for name, member in zip(names, members, strict=True)
            if not any(hasattr(member, method) for method in methods)
        ]
        if kind in fuser.kinds and not mute:
            return kind
        if kind == "probability":
            without_probabilities = mute
    needed = " or ".join(kind for kind in fuser.kinds if kind in _METHODS)
    raise ValueError(
        f"{type(fuser).__name__} fuses predictions of kind {needed}, but the member "
        f"{without_probabilities[0]!r} has no predict_proba; calibrate it, or use a rule for "
        "votes or ranks ('majority', 'borda')."
    )


def member_output(member, X, classes, kind, name):
    """One member's output of a kind, in the order of the ensemble's classes.

    Returns
    -------
    values : ndarray of shape (n_samples, n_classes), or (n_samples,) of positions for labels
    seen : ndarray of shape (n_classes,), bool
    """
    method = next(method for method in _METHODS[kind] if hasattr(member, method))
    output = np.asarray(getattr(member, method)(X))
    if method == "predict":
        return encode_labels(output, classes, f"The member {name!r} predicts"), np.ones(
            len(classes), dtype=bool
        )
    if output.ndim == 1:  # a decision function of two classes
        output = np.stack([-output, output], axis=1)
    if output.shape[1] != len(member.classes_):
        raise ValueError(
            f"The member {name!r} has {len(member.classes_)} classes, but its {method} gives "
            f"{output.shape[1]} columns; use a rule for votes, or one column a class."
        )
    fill = 0.0 if kind == "probability" else -np.inf
    values, seen = align_classes(output, member.classes_, classes, fill)
    return (values.argmax(axis=1) if kind == "label" else values), seen


def gather(outputs, classes, names, kind, available=None):
    """The members' outputs as `Predictions`."""
    values = np.stack([values for values, _ in outputs], axis=1)
    seen = np.stack([seen for _, seen in outputs])
    if kind == "label":
        return Predictions(classes[values], classes, names, kind, available=available)
    return Predictions(
        values,
        classes,
        names,
        kind,
        available=available,
        seen=None if seen.all() else seen,
    )
