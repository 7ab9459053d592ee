"""One function over saved predictions."""

from covey.fusers._base import Fuser
from covey.fusers._predictions import as_predictions
from covey.fusers._registry import make_fuser


def fuse(P, rule="mean", weights=None, *, X=None, y=None, classes=None, kind=None, **parameters):
    """Fuse saved predictions into one probability a class, or one number; no model is needed.

    Parameters
    ----------
    P : Predictions, array, data frame, mapping or list
        An array of shape (n_samples, n_members, n_classes) holds probabilities, one of shape
        (n_samples, n_members) labels. A list, or a mapping from names, holds one array a
        member: (n_samples, n_classes), or (n_samples,) of labels. A data frame holds labels,
        one column a member. NaN throughout means that a member has not spoken.
    rule : str or Fuser, default="mean"
        A fixed rule: "mean", "product", "median", "trimmed_mean", "max", "min", "majority",
        "k_of_n", "and", "or", "borda" or "oracle"; or a fuser of any kind, fitted if it
        learns.
    weights : array of shape (n_members,), optional
        How much each member counts, for the rules that weigh.
    X : array of shape (n_samples, n_features), optional
        Features, for dynamic selection.
    y : array of shape (n_samples,), optional
        True labels, for the oracle.
    classes : array of shape (n_classes,), optional
        The labels.
    kind : {"probability", "score", "label", "value"}, optional
        What the predictions are, where it is not as said above. "value" are the numbers of
        regressors, one for each sample and member; "mean", "median", "trimmed_mean" and a
        fitted `LinearStacking` fuse them.
    **parameters
        The rule's own, such as ``k`` and ``positive_class`` of "k_of_n".

    Returns
    -------
    fused : ndarray of shape (n_samples, n_classes)
        Rows sum to one; the decision is their argmax. With ``kind="value"`` an array of shape
        (n_samples,).

    Examples
    --------
    >>> import covey
    >>> forest = [[0.8, 0.2], [0.4, 0.6]]
    >>> boosting = [[0.6, 0.4], [0.1, 0.9]]
    >>> covey.fuse([forest, boosting])
    array([[0.7 , 0.3 ],
           [0.25, 0.75]])
    >>> covey.fuse([["cat", "dog"], ["dog", "dog"], ["dog", "cat"]], "majority").round(2)
    array([[0.33, 0.67],
           [0.33, 0.67]])
    >>> covey.fuse([[1.0, 7.0], [2.0, 8.0], [9.0, 0.0]], "median", kind="value")
    array([2., 7.])
    """
    P = as_predictions(P, classes=classes, kind=kind)
    if weights is not None:
        parameters["weights"] = weights
    fitted = isinstance(rule, Fuser) and hasattr(rule, "n_members_")
    fuser = rule if fitted and not parameters else make_fuser(rule, "rule", **parameters)
    if fuser.learns and not fitted:
        raise ValueError(
            f"{type(fuser).__name__} learns how to fuse: fit it on held-out predictions first, "
            "fuser.fit(P, y, X), and give the fitted fuser as rule."
        )
    return fuser.fuse(P, X, y)
