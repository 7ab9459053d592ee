"""Fixed rules: fusers that learn nothing."""

import numpy as np
from scipy.special import log_softmax

from covey.fusers._base import Fuser


class Product(Fuser):
    r"""The product of the members' probabilities with equal importances, eq. (10).

    .. math:: g(x) = \arg\max_j \prod_k p_k(c_j | x)^{1/K}

    the paper's equal weighting g_EW, renormalised to probabilities and computed in log
    space. For softmax-linear members the result is itself softmax-linear: the logits average.

    Examples
    --------
    >>> import covey
    >>> covey.Product().fuse([[[0.9, 0.1], [0.5, 0.5]]]).round(3)
    array([[0.75, 0.25]])
    """

    def _fuse_log(self, P, X, y):
        logs = np.einsum("nkc,nk->nc", P.log(), self._importance(P, X, y))
        return log_softmax(logs, axis=1)

    def _importance(self, P, X, y):
        spoken = np.ones((P.n_samples, P.n_members)) if P.available is None else P.available
        return spoken / np.maximum(spoken.sum(axis=1, keepdims=True), 1)


class Oracle(Fuser):
    """The paper's oracle g_orc: for each sample, a member that is right, if there is one.

    It reads the true labels, so it is a bound to compare with and no way to predict. Of
    several members that are right the first counts; where none is, the first member's
    (wrong) opinion stands.

    Examples
    --------
    >>> import covey
    >>> P = [[[0.9, 0.1], [0.2, 0.8]]]
    >>> covey.Oracle().fuse(P, y=[1])
    array([[0.2, 0.8]])
    """

    needs_y = True

    def _fuse_log(self, P, X, y):
        chosen = self._importance(P, X, y).argmax(axis=1)
        return P.log()[np.arange(P.n_samples), chosen]

    def _importance(self, P, X, y):
        right = self.right(P, y)
        importance = np.zeros(right.shape)
        importance[np.arange(P.n_samples), right.argmax(axis=1)] = 1.0
        return importance

    def right(self, P, y):
        """Which members are right on which samples, as (n_samples, n_members) bool."""
        if y is None:
            raise ValueError(
                "The oracle picks a member that is right, so it needs the true labels y; "
                "it bounds what fusion can reach and cannot predict. Use oracle_score(X, y), or "
                "another fusion to predict."
            )
        P = self._check(P)
        right = P.values.argmax(axis=2) == P.encode(y)[:, None]
        return right if P.available is None else right & P.available
