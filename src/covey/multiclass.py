"""Many classes by learners of two: error-correcting output codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter
from sklearn.utils.validation import check_is_fitted, validate_data

from covey._blocks import as_table, by_blocks, take_rows
from covey._core.fusion import codes
from covey._models import classifies, fit_with, parameters_of_rows
from covey._typing import available_if
from covey._validation import check_choice, check_number, fitted_alone
from covey.fusers._predictions import encode_labels
from covey.members import _roster as roster
from covey.members._ensemble import Ensemble

_SEARCHED = {"max_distance": codes.max_distance_code, "random": codes.random_code}
_FIXED = {
    "one_vs_all": codes.one_versus_all,
    "one_vs_one": codes.one_versus_one,
    "exhaustive": codes.exhaustive,
}
_CODES = (*_SEARCHED, *_FIXED)
_DECODINGS = ("absolute", "hamming", "log_loss")

# 15 classes have 16,383 learners; nobody wants more.
_MOST_CLASSES_EXHAUSTIVE = 15


def _fit_bit(
    estimator: Any, X: Any, side: np.ndarray, parameters: Mapping[str, Any], *, partly: bool
) -> Any:
    """Fit a learner of one column, on the rows whose classes take part in it."""
    rows = np.flatnonzero(side)
    if not len(rows):
        return estimator
    if len(rows) < len(side):
        parameters = parameters_of_rows(parameters, rows, len(side))
        X, side = take_rows(X, rows), side[rows]
    bits = (side == 1).astype(np.int64)
    if not partly:
        return fit_with(estimator, X, bits, parameters)
    estimator.partial_fit(X, bits, classes=np.array([0, 1]), **parameters)
    return estimator


def _chance_of_one(estimator: Any, X: Any) -> np.ndarray:
    """Return the learner's probability that the bit is 1."""
    known = getattr(estimator, "classes_", None)
    one = 1 if known is None else int(np.flatnonzero(np.asarray(known) == 1)[0])
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, one]
    if hasattr(estimator, "decision_function"):
        score = np.asarray(estimator.decision_function(X), dtype=np.float64)
        return expit(score if score.ndim == 1 else score[:, one])
    return (np.asarray(estimator.predict(X)) == 1).astype(np.float64)


@dataclass(eq=False, repr=False)
class CodeBookClassifier(
    MetaEstimatorMixin,
    ClassifierMixin,
    BaseEstimator,
):
    """A classifier of many classes by learners of two, through an error-correcting code.

    Each class is a word of bits, each bit a learner that separates the classes with a 1 from
    those with a -1. A sample belongs to the class whose word is nearest to the bits that the
    learners predict. If the words lie d bits apart, (d - 1) // 2 learners may err.

    Take it for many classes and a learner that handles only two, or handles two far better.
    Learners that handle many classes themselves seldom gain by it.

    Parameters
    ----------
    estimator : classifier
        The learner of two classes, cloned for each bit. Without ``predict_proba``, the logistic
        function of its ``decision_function`` is taken, and without that its labels, 0 or 1.
    code : str or array-like of shape (n_classes, n_bits), default="max_distance"
        - "max_distance": searched so that the two nearest words lie as far apart as possible;
        - "random": drawn, without repeated, constant or complementary columns;
        - "one_vs_all": each class against all others;
        - "one_vs_one": each class against each other one, the rest left out;
        - "exhaustive": all 2^(C-1) - 1 columns, for up to 15 classes;
        - or a book of your own: a row for each class, in sorted order, of 1, -1, and 0 for
          classes that a learner does not see.
    n_bits : int, optional
        The number of learners for "max_distance" and "random"; the other codes have their own. At
        least log2(C), and cut down to the 2^(C-1) - 1 columns that exist. None: 10 log2(C), as in
        Allwein, Schapire and Singer (2000), or C if that is more, with the same cut: 1, 3, 7, 15
        and 26 learners for 2, 3, 4, 5 and 6 classes.
    decoding : {"absolute", "hamming", "log_loss"}, default="absolute"
        The distance of words from the learners' predictions: the sum of ``|bit - probability|``,
        the number of wrong bits, or the log-loss of the bits. Bits that leave a class out are left
        out of its distance, which is then scaled up to the full number of bits. The first of
        equally near classes wins.
    random_state : int, RandomState instance or None, default=None
        Seeds the code book. Learners keep their own.
    n_jobs : int or None, default=None
        Processes that fit the learners.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    code_book_ : ndarray of shape (n_classes, n_bits), int8
    min_distance_ : int
        How many bits the two nearest words lie apart; zeros do not count.
    estimators_ : list of estimators
        The fitted learners, one per column, of the classes 0 (for -1) and 1.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Probabilities are softmax(-s distance). For each sample, the scale s is the one at
    which the class probabilities best reproduce the bit probabilities, by cross-entropy; it is
    found without labels, so that nothing leaks. Learners that contradict each other thus lead to
    doubt. With two classes there is one bit, and its probability is theirs, though never surer
    than 0.9999.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from covey.multiclass import CodeBookClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CodeBookClassifier(LogisticRegression(max_iter=500)).fit(X, y)
    >>> model.code_book_
    array([[-1, -1, -1],
           [-1,  1,  1],
           [ 1, -1,  1]], dtype=int8)
    >>> model.min_distance_
    2
    """

    estimator: Any
    _: KW_ONLY
    code: str | ArrayLike = "max_distance"
    n_bits: int | None = None
    decoding: str = "absolute"
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    _seen_columns = _importance_of_columns = None
    _keep_seen, _keep_rows = Ensemble._keep_seen, Ensemble._keep_rows
    importance_, feature_importances_ = Ensemble.importance_, Ensemble.feature_importances_
    contributions, what_if = Ensemble.contributions, Ensemble.what_if
    smallest_change = Ensemble.smallest_change

    # Weights are for the learners; the code book itself reads none.
    __metadata_request__fit = {"sample_weight": UNUSED}  # noqa: RUF012
    __metadata_request__partial_fit = {"sample_weight": UNUSED, "classes": UNUSED}  # noqa: RUF012

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata the learner requests.

        Returns
        -------
        routing : MetadataRouter
        """
        return roster.routing_of(self, {"estimator": self.estimator})

    # -- fit ---------------------------------------------------------------------------------

    @fitted_alone
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **metadata: Any
    ) -> Self:
        """Write the code book and fit a learner for each of its columns.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Passed to the learners as it is.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Passed to the learners.
        **metadata
            With scikit-learn's ``enable_metadata_routing``, whatever ``estimator`` requests; it
            then gets weights only if it requests them (``set_fit_request``).
        """
        self._check_parameters()
        X, y, weight = roster.training_table_of(self, roster.Classifiers, X, y, sample_weight)
        self.classes_ = roster.Classifiers.classes(type(self).__name__, [], y, prefit=False)
        positions = np.searchsorted(self.classes_, y)
        book = self._book()
        parameters = roster.parameters_of_estimator(self, self.estimator, weight, None, metadata)
        learners = [clone(self.estimator) for _ in book.T]
        self.estimators_ = self._fit_bits(learners, book, X, positions, parameters, partly=False)
        self.code_book_ = book
        self._has_learnt = np.ones(book.shape[1], dtype=bool)
        return self

    def _fit_bits(
        self,
        learners: list[Any],
        book: np.ndarray,
        X: Any,
        positions: np.ndarray,
        parameters: Mapping[str, Any],
        *,
        partly: bool,
    ) -> list[Any]:
        return Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_bit)(learner, X, column[positions], parameters, partly=partly)
            for learner, column in zip(learners, book.T, strict=True)
        )

    @property
    def min_distance_(self) -> int:
        """Return how many bits the two nearest words lie apart."""
        return codes.min_distance(self.code_book_)

    @available_if(lambda self: hasattr(self.estimator, "partial_fit"))
    @fitted_alone
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **metadata: Any,
    ) -> Self:
        """Continue to learn from more rows, if ``estimator`` has a ``partial_fit``.

        Parameters
        ----------
        X, y, sample_weight, **metadata
            As in ``fit``. y need not hold all classes.
        classes : array-like of shape (n_classes,), optional
            All classes that will occur; needed by the first call, which writes the book.
        """
        first = not hasattr(self, "code_book_")
        self._check_parameters()
        X, y, weight = roster.check_training_table(
            self, roster.Classifiers, X, y, sample_weight, reset=first
        )
        parameters = roster.parameters_of_estimator(
            self, self.estimator, weight, None, metadata, "partial_fit"
        )
        if first and classes is None:
            raise ValueError("The first call of partial_fit needs classes, all that y will hold.")
        if classes is not None:
            known = roster.Classifiers.check_target(classes)
            known = roster.Classifiers.classes(type(self).__name__, [], known, prefit=False)
            if not (first or np.array_equal(known, self.classes_)):
                raise ValueError(
                    f"classes={known.tolist()} differ from those of the first call of "
                    f"partial_fit, {self.classes_.tolist()}; leave them out."
                )
            self.classes_ = known
        positions = encode_labels(y, self.classes_, "y holds")
        book = self._book() if first else self.code_book_
        learners = [clone(self.estimator) for _ in book.T] if first else self.estimators_
        self.estimators_ = self._fit_bits(learners, book, X, positions, parameters, partly=True)
        self.code_book_ = book
        before = np.zeros(book.shape[1], dtype=bool) if first else self._has_learnt
        self._has_learnt = before | (book[positions] != 0).any(axis=0)
        return self

    def _check_parameters(self) -> None:
        if not classifies(self.estimator):
            raise ValueError(
                f"estimator must be a classifier of two classes, got {self.estimator!r}."
            )
        check_choice(self.decoding, "decoding", _DECODINGS)

    def _book(self) -> np.ndarray:
        n_classes = len(self.classes_)
        if not isinstance(self.code, str):
            return self._given_book()
        check_choice(self.code, "code", _CODES)
        if self.code in _FIXED:
            if self.code == "exhaustive" and n_classes > _MOST_CLASSES_EXHAUSTIVE:
                raise ValueError(
                    f"code='exhaustive' would need 2^{n_classes - 1} - 1 learners for "
                    f"{n_classes} classes; use 'max_distance'."
                )
            return _FIXED[self.code](n_classes)
        n_bits = codes.default_bits(n_classes) if self.n_bits is None else self.n_bits
        check_number(n_bits, "n_bits", low=1, whole=True)
        fewest = codes.fewest_bits(n_classes)
        if n_bits < fewest:
            raise ValueError(
                f"n_bits={n_bits} cannot give {n_classes} classes a word each; give at least "
                f"{fewest}."
            )
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return _SEARCHED[self.code](n_classes, min(int(n_bits), codes.most_bits(n_classes)), seed)

    def _given_book(self) -> np.ndarray:
        """Return the user's own book, checked."""
        try:
            book = np.asarray(self.code)
            known = book.ndim == 2 and book.shape[1] > 0 and np.isin(book, (-1, 0, 1)).all()
        except (TypeError, ValueError):  # rows of different lengths
            known = False
        if not known:
            raise ValueError(
                f"code must be one of {', '.join(map(repr, _CODES))}, or a two-dimensional "
                "array of -1, 0 and 1, one row a class."
            )
        book = book.astype(np.int8)
        if len(book) != len(self.classes_):
            raise ValueError(
                f"code has {len(book)} rows, but y holds {len(self.classes_)} classes; give one "
                "row a class, in sorted order."
            )
        one_sided = ~((book == 1).any(axis=0) & (book == -1).any(axis=0))
        if one_sided.any():
            raise ValueError(
                f"code must have a 1 and a -1 in every column, but column "
                f"{int(np.argmax(one_sided))} has one side only; change it or leave it out "
                "(0 stands for classes left out, not for the other side)."
            )
        first, second = np.triu_indices(len(book), 1)
        apart = codes.pair_distances(book)[first, second]
        if not apart.all():
            pair = self.classes_[[first[apart.argmin()], second[apart.argmin()]]].tolist()
            raise ValueError(
                f"code must set any two classes apart, but no column has a 1 for one and a -1 "
                f"for the other of {pair[0]!r} and {pair[1]!r}; change their rows or add a column."
            )
        return book

    # -- predict -----------------------------------------------------------------------------

    def _in_blocks(self, function: Callable[[Any], np.ndarray], X: Any) -> np.ndarray:
        """Apply a function in blocks of rows: memory does not grow with bits times rows."""
        check_is_fitted(self, "code_book_")
        X = as_table(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return by_blocks(function, X)

    def _bits(self, X: Any) -> np.ndarray:
        # A learner for which none of the rows so far counted knows nothing of its bit.
        chances = [
            _chance_of_one(estimator, X) if has_learnt else np.full(X.shape[0], 0.5)
            for estimator, has_learnt in zip(self.estimators_, self._has_learnt, strict=True)
        ]
        return np.stack(chances, axis=1)

    def _class_probabilities(self, X: Any) -> np.ndarray:
        bits = self._bits(X)
        distances = codes.decoded(self.code_book_, bits, self.decoding)
        return codes.class_probabilities(self.code_book_, bits, distances)

    def _scores(self, X: Any) -> np.ndarray:
        return codes.scores(codes.decoded(self.code_book_, self._bits(X), self.decoding))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the nearness of each class's word: minus its distance, (n_samples, n_classes).

        For two classes it is (n_samples,), the difference of the two. The class with the highest
        score, the first of equals, is the predicted one.
        """
        scores = self._in_blocks(self._scores, X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def bit_probabilities(self, X: Any) -> np.ndarray:
        """Return each learner's probability that its bit is 1, (n_samples, n_bits)."""
        return self._in_blocks(self._bits, X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities of the classes, (n_samples, n_classes), by words' distances."""
        return self._in_blocks(self._class_probabilities, X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the classes whose words are nearest."""
        nearest = self._in_blocks(self._scores, X).argmax(axis=1)
        return self.classes_[nearest]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "fit"):
            inner = get_tags(self.estimator).input_tags
            tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        return tags
