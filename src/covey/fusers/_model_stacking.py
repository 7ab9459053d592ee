"""Stacking by any model of what members say."""

from collections.abc import Mapping

import numpy as np
from scipy import sparse
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_array

from covey._core.fusion.rules import normalised, uniform
from covey._validation import check_choice, check_number
from covey.fusers._base import Fuser, spoken_weight
from covey.fusers._predictions import align_classes, encode_labels

# What a fuser must be given, the most telling kind first, for each way to write it down.
_KINDS_FOR = {
    "probabilities": ("probability", "label"),
    "one_hot": ("label", "probability", "score"),
    "logits": ("probability",),
    "ranks": ("probability", "score", "label"),
}
OUTPUTS = tuple(_KINDS_FOR)


def ranks_of_classes(values):
    """Average ranks of the classes of each row, from 0 for the last to 1 for the first."""
    ranks = rankdata(values, axis=-1) - 1.0
    return ranks / max(1, values.shape[-1] - 1)


def _logits(values, clip):
    clipped = np.clip(values, clip, 1.0 - clip)
    return np.log(clipped) - np.log1p(-clipped)


def encode_outputs(values, outputs, clip):
    """What members say as columns for a model.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_members, n_classes)
    outputs : list of n_members names out of ``OUTPUTS``
    clip : float

    Returns
    -------
    encoded : ndarray of shape (n_samples, n_members, n_classes), or (n_samples, n_members, 1)
        Of two classes the first says nothing that the second does not, and is left out.
    """
    encoded = np.empty(values.shape)
    for output in set(outputs):
        chosen = [k for k, name in enumerate(outputs) if name == output]
        said = values[:, chosen]
        if output == "one_hot":
            said = np.eye(values.shape[2])[said.argmax(axis=2)]
        elif output == "logits":
            said = _logits(said, clip)
        elif output == "ranks":
            said = ranks_of_classes(said)
        encoded[:, chosen] = said
    return encoded[:, :, 1:] if values.shape[2] == 2 else encoded


def outputs_by_member(outputs, names, choices):
    """One way to write a member's output down for each member.

    Parameters
    ----------
    outputs : str, list of str, or mapping from names to str
        Members that a mapping does not name get the first of the choices.
    names : list of str
    choices : tuple of str
    """
    if isinstance(outputs, str):
        listed = [outputs] * len(names)
    elif isinstance(outputs, Mapping):
        unknown = [name for name in outputs if name not in names]
        if unknown:
            raise ValueError(
                f"outputs names the member {unknown[0]!r}; the members are {', '.join(names)}."
            )
        listed = [outputs.get(name, choices[0]) for name in names]
    elif isinstance(outputs, list | tuple):
        listed = list(outputs)
        if len(listed) != len(names):
            raise ValueError(
                f"outputs has {len(listed)} entries for {len(names)} members; give one each."
            )
    else:
        listed = [outputs]
    return [check_choice(output, "outputs", choices) for output in listed]


def linear_coefficients(model, Z):
    """Coefficients of shape (n_scores, n_columns) of a model whose score is linear, or None.

    Believed only if they give what the model itself says of some rows: those of a kernel
    machine compare pairs, and a link function bends the line.
    """
    coefficients = getattr(model, "coef_", None)
    score = getattr(model, "decision_function", None) or getattr(model, "predict", None)
    if coefficients is None or callable(coefficients) or not hasattr(model, "intercept_"):
        return None
    if hasattr(coefficients, "toarray"):
        coefficients = coefficients.toarray()
    coefficients = np.atleast_2d(coefficients)
    if coefficients.ndim != 2 or coefficients.shape[1] != Z.shape[1]:
        return None
    some = Z[:16]
    claimed = np.asarray(some @ coefficients.T + model.intercept_)
    said = np.asarray(score(some))
    said = said.reshape(len(said), -1)
    if said.dtype.kind != "f" or said.shape != claimed.shape:
        return None
    return coefficients if np.allclose(said, claimed, equal_nan=True) else None


def contributions(directions, encoded, means):
    """How far each member moves a linear score from where its mean would leave it, (n, K).

    Parameters
    ----------
    directions : ndarray of shape (n_samples or 1, n_columns)
        The score's coefficients; those of members come first.
    encoded : ndarray of shape (n_samples, n_members, width)
    means : ndarray of shape (n_members, width)
    """
    moved = encoded - means
    directions = directions[:, : moved[0].size].reshape(-1, *moved.shape[1:])
    return np.abs((directions * moved).sum(axis=2))


def changes_without(predict, encoded, means, beside):
    """How far the answer moves if each member says what it says on average, (n, K).

    Parameters
    ----------
    predict : callable
        From columns to answers of shape (n_samples, n_answers).
    encoded, means
        As for ``contributions``.
    beside : callable
        From members' columns to all columns of the model.
    """
    answer = predict(beside(encoded))
    changes = np.empty(encoded.shape[:2])
    for k in range(encoded.shape[1]):
        without = encoded.copy()
        without[:, k] = means[k]
        changes[:, k] = 0.5 * np.abs(predict(beside(without)) - answer).sum(axis=1)
    return changes


def join_columns(*blocks):
    """Blocks of columns side by side, sparse if one of them is; None is no block."""
    blocks = [block for block in blocks if block is not None]
    if any(hasattr(block, "tocsr") for block in blocks):
        return sparse.hstack(blocks, format="csr")
    return np.hstack(blocks)


class Stacking(Fuser):
    r"""Any classifier, learnt from what members say of held-out samples.

    .. math:: f(x) = A_\theta\big(z(f_1(x)), \ldots, z(f_K(x))\big)

    A is ``final_estimator`` and z writes a member's output down as columns: one a class, or
    for two classes one alone. Stacked generalisation of Wolpert (1992), on saved predictions.

    A member that has not spoken of a sample counts as if it had said what it says on average.

    The importance of a member, which a general A does not define, is its share of

    - for a linear A (one with ``coef_``), :math:`|\sum_j a_j (z_{kj} - \bar z_{kj})|`, how far
      the member's columns move the score of the decided class, against the mean score of all
      classes, from where its average columns would leave it;
    - for any other A, how far the fused probabilities move (half the sum of absolute
      differences) if that member alone says what it says on average.

    Columns of X that A looks at too are not counted. Where no member moves anything, all share
    alike.

    Parameters
    ----------
    final_estimator : classifier, optional
        A; by default a `LogisticRegression`. One without ``predict_proba`` speaks in ones and
        zeros.
    outputs : str, list of str or dict from members' names, default="probabilities"
        z, for all members or for each. "probabilities": as they are. "one_hot": a one for the
        class that the member decides for. "logits": :math:`\log p - \log(1 - p)`. "ranks":
        average ranks of the classes, from 0 to 1. Labels are taken as ones and zeros, scores
        are taken for "one_hot" and "ranks" only.
    passthrough : bool, default=False
        Whether A also sees the columns of X, which must be numbers.
    clip : float, default=1e-6
        Probabilities are kept this far from 0 and 1 before "logits" are taken.
    keep_certainty : bool, default=False
        Whether a class to which all members give the probability 1 keeps it, as under every
        other rule, whatever A says. Of members that are always certain, such as fully grown
        trees, A would then hear only what they do not agree on.

    Attributes
    ----------
    final_estimator_ : classifier
        A, fitted.
    outputs_ : list of str
        One a member.
    means_ : ndarray of shape (n_members, width)
        The average columns.

    Examples
    --------
    >>> import numpy as np
    >>> from covey.fusers import Stacking
    >>> y = np.arange(60) % 2
    >>> good = np.where(y, 0.7, 0.4)
    >>> contrary = np.where(y, 0.1, 0.9)
    >>> P = [np.column_stack([1 - p, p]) for p in (good, contrary)]
    >>> stacking = Stacking(outputs="logits").fit(P, y)
    >>> stacking.fuse(P)[:2].argmax(axis=1)
    array([0, 1])
    >>> stacking.importance(P)[0].round(1)
    array([0.1, 0.9])
    """

    learns = True

    def __init__(
        self,
        final_estimator=None,
        outputs="probabilities",
        passthrough=False,
        clip=1e-6,
        keep_certainty=False,
    ):
        self.final_estimator = final_estimator
        self.outputs = outputs
        self.passthrough = passthrough
        self.clip = clip
        self.keep_certainty = keep_certainty

    @property
    def needs_X(self):
        """Whether the model looks at the features too."""
        return bool(self.passthrough)

    @property
    def keeps_certainty(self):
        """Whether certainty of all members stands, whatever the model says."""
        return bool(self.keep_certainty)

    @property
    def kinds(self):
        """The kinds of predictions that can be written down as asked."""
        asked = self.outputs
        if isinstance(asked, Mapping):
            asked = [OUTPUTS[0], *asked.values()]
        elif not isinstance(asked, list | tuple):
            asked = [asked]
        given = [_KINDS_FOR[check_choice(one, "outputs", OUTPUTS)] for one in asked or OUTPUTS[:1]]
        return tuple(kind for kind in given[0] if all(kind in kinds for kinds in given))

    @staticmethod
    def default_final():
        """The model that None stands for."""
        return LogisticRegression()

    def _check(self, P, X):
        if self.needs_X and X is None:
            raise ValueError("Stacking with passthrough=True needs the features X.")
        return super()._check(P, X)

    def _features(self, X):
        try:
            return check_array(
                X, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan"
            )
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"Stacking with passthrough=True needs numbers in X: {error}"
            ) from None

    def _check_parameters(self, P):
        # What is known of models lives beside members, which stand on fusers.
        from covey._models import classifies

        if self.final_estimator is not None and not classifies(self.final_estimator):
            raise ValueError(
                f"final_estimator must be a classifier, got {self.final_estimator!r}."
            )
        check_number(self.clip, "clip", low=0, high=0.5, closed="neither")
        if P is not None:
            outputs_by_member(self.outputs, P.names, OUTPUTS)

    def _fit(self, P, codes, X, sample_weight):
        from covey._blocks import take_rows
        from covey._models import fit_member

        if len(np.unique(codes[sample_weight > 0])) < 2:
            raise ValueError("Stacking needs samples of at least 2 classes to learn from.")
        self.outputs_ = outputs_by_member(self.outputs, P.names, OUTPUTS)
        encoded = encode_outputs(P.values, self.outputs_, self.clip)
        spoken = spoken_weight(P) * sample_weight[:, None]
        heard = np.maximum(spoken.sum(axis=0), np.finfo(np.float64).tiny)[:, None]
        self.means_ = np.einsum("nk,nkw->kw", spoken, encoded) / heard
        Z = self._columns(self._with_means(P, encoded), X)
        if P.available is not None:
            rows = np.flatnonzero(P.available.any(axis=1))
            if not len(rows):
                raise ValueError("Stacking has nothing to learn from: no member has spoken.")
            Z, codes, sample_weight = take_rows(Z, rows), codes[rows], sample_weight[rows]
        # Weights of one are no weights: models that take none can learn then.
        weight = None if (sample_weight == 1).all() else sample_weight
        final = self.default_final() if self.final_estimator is None else self.final_estimator
        self.final_estimator_ = fit_member(
            clone(final), "final_estimator", Z, P.classes[codes], weight
        )
        self._coefficients = linear_coefficients(self.final_estimator_, Z)

    def _with_means(self, P, encoded):
        """Columns of members, the average ones where a member has not spoken."""
        if P.available is None:
            return encoded
        return np.where(P.available[:, :, None], encoded, self.means_)

    def _columns(self, encoded, X):
        """What A sees."""
        return join_columns(encoded.reshape(len(encoded), -1), X if self.needs_X else None)

    def _decide(self, Z, classes):
        final = self.final_estimator_
        if hasattr(final, "predict_proba"):
            said = np.asarray(final.predict_proba(Z), dtype=np.float64)
            return align_classes(said, final.classes_, classes, who="final_estimator predicts")[0]
        return np.eye(len(classes))[
            encode_labels(np.asarray(final.predict(Z)), classes, "final_estimator predicts")
        ]

    def _certain(self, P):
        """Classes to which all members that have spoken give the probability 1, (n, C)."""
        if not self.keep_certainty or P.kind != "probability":
            return np.zeros((P.n_samples, P.n_classes), dtype=bool)
        values = P.values
        if P.available is not None:
            values = np.where(P.available[:, :, None], values, 1.0)
        return (values == 1.0).all(axis=1)

    def _encoded(self, P):
        return self._with_means(P, encode_outputs(P.values, self.outputs_, self.clip))

    def _written_down(self, P, X):
        """Predictions as A sees them."""
        return self._columns(self._encoded(P), X)

    def _fuse(self, P, X, codes):
        fused = self._decide(self._written_down(P, X), P.classes)
        certain = self._certain(P)
        return np.where(certain.any(axis=1, keepdims=True), certain, fused)

    def _importance(self, P, X, codes):
        encoded = self._encoded(P)
        classes = np.asarray(self.final_estimator_.classes_)
        if self._coefficients is None:
            moved = changes_without(
                lambda Z: self._decide(Z, P.classes),
                encoded,
                self.means_,
                lambda part: self._columns(part, X),
            )
        else:
            directions = self._coefficients
            if len(directions) > 1:
                decided = self._decide(self._columns(encoded, X), classes).argmax(axis=1)
                directions = (directions - directions.mean(axis=0))[decided]
            moved = contributions(directions, encoded, self.means_)
        everyone = normalised(spoken_weight(P), uniform(P.n_samples, P.n_members))
        certain = self._certain(P).any(axis=1, keepdims=True)
        return np.where(certain, everyone, normalised(moved, everyone))
