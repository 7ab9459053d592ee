"""A flock as a plain model of scikit-learn, for those who have no covey."""

import numpy as np
from sklearn.linear_model import LogisticRegression


def as_logistic_regression(flock):
    """A flock whose fuser is a product, as a fitted LogisticRegression with equal probabilities.

    The logits of a product of softmax-linear members are the (weighted) mean of theirs, which
    is what a multinomial logistic regression has. Of two classes scikit-learn keeps one row: the
    difference, whose logistic function is the softmax of both.

    Parameters
    ----------
    flock : SubsetEnsembleClassifier
        Fitted, and able to ``collapse``.

    Returns
    -------
    model : sklearn.linear_model.LogisticRegression
        It knows nothing of covey. Its parameters are scikit-learn's defaults: to fit it again
        would give another model.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from covey import SubsetEnsembleClassifier
    >>> from covey.members._plain import as_logistic_regression
    >>> X, y = load_iris(return_X_y=True)
    >>> flock = SubsetEnsembleClassifier(3, random_state=0).fit(X, y)
    >>> plain = as_logistic_regression(flock)
    >>> plain
    LogisticRegression()
    >>> bool(abs(plain.predict_proba(X) - flock.predict_proba(X)).max() < 1e-12)
    True
    """
    member = flock.collapse()
    coef, intercept = member.coef_, member.intercept_
    if len(member.classes_) == 2:
        coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
    model = LogisticRegression(fit_intercept=bool(flock.fit_intercept))
    model.classes_ = member.classes_.copy()
    # Copies: what is done to one model is not done to the other.
    model.coef_, model.intercept_ = coef.copy(), intercept.copy()
    model.n_features_in_ = member.n_features_in_
    if member.feature_names is not None:
        model.feature_names_in_ = member.feature_names_in_.copy()
    model.n_iter_ = np.array([int(np.sum(flock.n_iter_))], dtype=np.int32)
    return model
