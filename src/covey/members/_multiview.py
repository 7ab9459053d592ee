"""Members that look at different views of a sample: its face, its voice, its fingerprint."""

from collections.abc import Mapping
from numbers import Number

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import check_cv
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from covey._blocks import as_table, take_rows
from covey._core.fusion.views import class_quotas, co_em, co_train, present_views
from covey._core.random import Purpose, UniformRows
from covey._models import classifies
from covey._validation import check_choice, check_number, check_sample_weight
from covey.fusers import Mean, Predictions, common_kind, concatenated, make_fuser, member_output
from covey.members._folds import check_cv_parameter, check_groups, make_folds
from covey.members._fused import FusedClassifier
from covey.members._ranges import check_range
from covey.members._view_columns import (
    PARTITIONS,
    find_views,
    missing_values,
    take_columns,
)
from covey.members._view_lessons import Lesson, explained, seeded, takes_nan, takes_weight

# The square of this, and of its inverse, is a float with some room for sums.
_LARGEST = 1e150

METHODS = ("co_training", "co_em", "supervised")


class MultiviewClassifier(FusedClassifier):
    """Members on different views of a sample, fused into one decision.

    A view is a set of columns of one nature: what a camera, a keyboard and a log file know of
    a user. Each view has members of its own, who see nothing else. Where a row lacks a view
    (all its columns are NaN), its members do not count: the others decide, and
    ``explain_fusion`` gives the absent ones 0.

    Views can teach each other. Rows whose label is ``unlabeled_label`` are labelled by views
    that are sure of them (co-training [1]_) or that have an opinion on them (co-EM [2]_).
    Both stand on views that are each good enough to decide alone, and that err on different
    rows; if a view is poor, it teaches the others its errors, and ``method="supervised"`` is
    better. Compare them on labelled rows that are held out.

    Parameters
    ----------
    views : dict, list or int, default=2
        A dict from names to columns: by names, numbers, a slice of either, a boolean mask, or
        a function of X such as scikit-learn's ``make_column_selector``. A list of such columns
        makes "view 1", "view 2", ...; a number parts all columns into so many views. Columns
        of no view are not used.
    estimator : classifier, list, dict or None, default=None
        The members of every view: one, or a list of several; or a dict from views to these.
        None is a logistic regression of imputed (the mean) and standardised columns (sparse
        ones are divided by their largest entry): it is fast, and its probabilities are fit to
        be fused and to teach by.
    fuser : str or Fuser, default="mean"
        How to fuse: a name or an object of `covey.fusers`. With "k_of_n", k votes are needed
        however many members have spoken. For fusers that look at X (gates and dynamic
        selection) a missing value is the mean of its column.
    partition : {"random", "correlation"}, default="random"
        How a number of views is found. "random" deals the columns out: every view gets some of
        everything and can decide alone, as teaching each other asks for. "correlation" puts
        columns together that say similar things, by complete linkage of ``1 - |r|``: what
        belongs together is easier to understand, but views may be of very different size.
    disjoint : bool, default=False
        Whether to refuse views that share a column.
    unlabeled_label : label or None, default=None
        What ``y`` holds where a label is not known, such as -1. NaN (or pandas' NA) stands for
        everything that is missing: None, NaN and NA. None: every entry of ``y`` is a label.
    method : {"co_training", "co_em", "supervised"} or None, default="co_training"
        How unlabelled rows are used; "supervised" or None leaves them out. Without such rows
        all are the same.
    agree : bool, default=True
        Whether views teach each other only rows that all of them put in the same class.
        Where views disagree, one of them may see noise, or something else [3]_. False leaves
        this filter out, as [1]_ and [2]_ do; what else differs from them is in the notes.
    n_per_round : int or float, default=0.1
        Co-training: how many rows each view labels in a round, at most; a float is a share of
        all unlabelled rows. They are shared among classes by their frequency in the labelled
        rows, at least one each.
    pool_size : int or None, default=None
        Co-training: how many unlabelled rows are looked at in a round. None is all.
    unlabeled_weight : float, default=0.3
        What a row without a label weighs against a labelled one, once it is learnt from.
    max_iter : int, default=30
        The most rounds.
    tol : float, default=0.001
        Co-EM ends when no probability moves by more in a round.
    cv : int, splitter or iterable, default=5
        How out-of-fold predictions of labelled rows are made for a fuser that learns. The
        views teach each other anew in each fold. A fixed rule needs none.
    n_jobs : int or None, default=None
        Processes that fit the members.
    random_state : int, RandomState instance or None, default=None
        Seeds the random partition, the pool, the folds, and members that have no seed.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    views_ : dict
        The positions of each view's columns.
    estimators_ : list of classifiers
        The fitted members, view by view.
    named_estimators_ : dict
        The same by name: the view's, with a number where it has several.
    member_views_ : list of str
        The view of each member.
    support_ : ndarray of shape (n_members, n_features), bool
        The columns that each member looks at.
    fuser_ : Fuser
    kind_ : {"probability", "score", "label"}
        What the members are asked for.
    n_iter_ : int
        Rounds in which views were fitted and taught each other; 1 if all rows are labelled.
    transduction_ : ndarray of shape (n_samples,)
        ``y``, with what the fused members say of unlabelled rows (the mean rule in place of
        the oracle).
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only where X has names.

    Notes
    -----
    Members are fitted on the rows that have their view. A fuser that learns does so from
    out-of-fold predictions, in which they are silent on the others. Where a row has no view
    at all, all classes are equally probable and all members equally important.

    Even with ``agree=False`` neither method is the papers' own to the letter:

    - *Co-training* in [1]_ adds the rows that any view is sure of to one set of labelled rows,
      from which all views learn, the one that guessed too. Here each view has a set of its own,
      and hands rows to the others: to all that have the row and no label for it; where several
      views hand one over in a round, the surest is believed. Who has learnt a row hands it to
      nobody, so that a view never learns its own guesses; a label once given stays.
    - How many rows of each class a view labels follows ``n_per_round`` and the frequencies of
      the classes; in [1]_ they are numbers that are given. Only rows count that seem to be of
      the class more than of any other.
    - The pool is filled in a random order that is drawn once, and is all rows by default.
    - What is guessed weighs ``unlabeled_weight``; in [1]_ it weighs as much as a label.
    - *Co-EM* has an unlabelled row once for each class, weighing as much as the class is
      probable by the mean of the other views; shares below 0.001 are left out. The views take
      turns from the second to the last and the first; for two views this is the paper's order.
    - Any classifier teaches, and where a view has several members, their mean; in the papers it
      is naive Bayes. What views say in the end is fused by ``fusion``.
    - A pipeline's steps all get the weights, if they take any: a scaler that counts a soft
      label like a row of its own would see another table.
    - Labelled rows keep their labels.

    ``benchmarks/multiview/run.py`` measures what teaching gains over the views fused, with one
    label in ten: co-training gains where each view is good, and loses where one is poor;
    without ``agree`` and at full weight it loses on every set, and so does co-EM.

    References
    ----------
    .. [1] Blum and Mitchell, "Combining labeled and unlabeled data with co-training",
       COLT 1998.
    .. [2] Nigam and Ghani, "Analyzing the effectiveness and applicability of co-training",
       CIKM 2000.
    .. [3] Christoudias, Urtasun and Darrell, "Multi-view learning in the presence of view
       disagreement", UAI 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from covey import MultiviewClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> views = {"mean": slice(0, 10), "error": slice(10, 20), "worst": slice(20, 30)}
    >>> fused = MultiviewClassifier(views).fit(X, y)
    >>> X[0, 10:20] = np.nan
    >>> fused.explain_fusion(X[:2], as_frame=True).round(2)
       mean  error  worst
    0  0.50   0.00   0.50
    1  0.33   0.33   0.33

    A tenth of the labels, and views that teach each other:

    >>> some = np.where(np.arange(len(y)) % 10 == 0, y, -1)
    >>> taught = MultiviewClassifier(views, unlabeled_label=-1, max_iter=2).fit(X, some)
    >>> taught.n_iter_, taught.classes_
    (2, array([0, 1]))
    """

    def __init__(
        self,
        views=2,
        estimator=None,
        fuser="mean",
        *,
        partition="random",
        disjoint=False,
        unlabeled_label=None,
        method="co_training",
        agree=True,
        n_per_round=0.1,
        pool_size=None,
        unlabeled_weight=0.3,
        max_iter=30,
        tol=1e-3,
        cv=5,
        n_jobs=None,
        random_state=None,
    ):
        self.views = views
        self.estimator = estimator
        self.fuser = fuser
        self.partition = partition
        self.disjoint = disjoint
        self.unlabeled_label = unlabeled_label
        self.method = method
        self.agree = agree
        self.n_per_round = n_per_round
        self.pool_size = pool_size
        self.unlabeled_weight = unlabeled_weight
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    # -- fit ---------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None, groups=None):
        """Fit the members of each view, and learn to fuse them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            NaN in all columns of a view means that the row lacks it.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts, with a label or without.
        groups : array-like of shape (n_samples,), optional
            Rows that belong together: no fold separates them.

        Returns
        -------
        self : MultiviewClassifier
        """
        self._check_parameters()
        fuser = make_fuser(self.fuser)
        X = self._check_table(X, reset=True)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        labelled = self._labelled(y)
        weight = None if sample_weight is None else check_sample_weight(sample_weight, len(y))
        codes = self._encode(y, labelled, weight)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        views = find_views(
            self.views,
            X,
            getattr(self, "feature_names_in_", None),
            np.ones(len(y)) if weight is None else weight,
            partition=self.partition,
            disjoint=self.disjoint,
            seed=seed,
        )
        self._check_columns(X, views)
        recipes = self._recipes(views, hasattr(X, "tocsr"), seed)
        names, self.member_views_ = _member_names(recipes)
        method = "supervised" if labelled.all() or self.method is None else self.method
        members = [member for view in recipes.values() for member in view]
        kind = common_kind(members, names, fuser)
        self._check_recipes(method, names, members, weight)

        self.views_ = views
        missing = missing_values(X)
        present = self._present(X.shape[0], missing)
        lesson = Lesson(
            X=[take_columns(X, columns) for columns in views.values()],
            codes=codes,
            present=present,
            weight=weight,
            classes=self.classes_,
            views=list(views),
            recipes=list(recipes.values()),
            n_jobs=self.n_jobs,
        )
        known = labelled if weight is None else labelled & (weight > 0)
        lesson.check_classes(known)
        counted = known if method == "supervised" else known | ~labelled
        used = np.flatnonzero(counted if weight is None else counted & (weight > 0))
        order = self._pool_order(codes, seed)
        fitted, self.n_iter_ = self._teach(lesson, used, method, order)
        self.kind_ = kind
        self.estimators_ = [member for view in fitted for member in view]
        self.named_estimators_ = dict(zip(names, self.estimators_, strict=True))
        self.support_ = np.zeros((len(names), X.shape[1]), dtype=bool)
        for row, view in zip(self.support_, self.member_views_, strict=True):
            row[views[view]] = True
        self._column_means = _column_means(X, lesson.weight_of) if fuser.needs_X else None
        if fuser.learns:
            rows = np.flatnonzero(known & present.any(axis=1))
            folds = self._folds(lesson, X, y, rows, groups, seed)
            rows, P = self._out_of_fold(lesson, folds, used, method, order)
        else:
            rows = np.flatnonzero(known)[:1]
            P = self._predictions(take_rows(X, rows))
        fuser.fit(
            P,
            self.classes_[codes[rows]],
            self._features(take_rows(X, rows), fuser),
            None if weight is None else weight[rows],
        )
        self.fuser_ = fuser
        self.transduction_ = self._transduced(X, y, labelled)
        return self

    def _check_parameters(self):
        check_choice(self.partition, "partition", PARTITIONS)
        if self.method is not None:
            check_choice(self.method, "method", METHODS)
        if isinstance(self.n_per_round, float | np.floating):
            check_number(self.n_per_round, "n_per_round", low=0, high=1, closed="right")
        else:
            check_number(self.n_per_round, "n_per_round", low=1, whole=True)
        if self.pool_size is not None:
            check_number(self.pool_size, "pool_size", low=1, whole=True)
        check_number(self.unlabeled_weight, "unlabeled_weight", low=0, closed="neither")
        check_number(self.max_iter, "max_iter", low=1, whole=True)
        check_number(self.tol, "tol", low=0)
        check_cv_parameter(self.cv)

    def _check_table(self, X, reset):
        """Frames as they are, for members that read them; all else as numbers."""
        if hasattr(X, "columns"):
            X = as_table(X)
            validate_data(self, X, reset=reset, skip_check_array=True)
            if reset and not X.shape[0]:
                raise ValueError("Found array with 0 sample(s), but at least 1 is required.")
            return X
        return validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype="numeric", ensure_all_finite=False
        )

    def _check_columns(self, X, views):
        """Refuse columns that the default member cannot standardise."""
        if self.estimator is not None or hasattr(X, "tocsr"):
            return
        try:
            numbers = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError):
            return  # the members will refuse these columns by themselves
        check_range(
            numbers,
            getattr(self, "feature_names_in_", None),
            smallest=1 / _LARGEST,
            largest=_LARGEST,
            reader="the default member, which squares them,",
            columns=np.concatenate(list(views.values())),
        )

    def _labelled(self, y):
        unknown = self.unlabeled_label
        unlabelled = missing = _missing_labels(y)
        if unknown is None or not _is_missing(unknown):
            if y.dtype.kind == "O" and missing.any():
                raise ValueError(
                    f"y holds no label (None or NaN) in row {int(np.argmax(missing))}; give it "
                    "one, or say unlabeled_label=float('nan') to learn from such rows without."
                )
            unlabelled = False if unknown is None else y == unknown
        # NumPy makes strings of numbers that stand among strings.
        other_kind = unknown is not None and not isinstance(unknown, str)
        if other_kind and str(unknown) in y[_strings(y)].tolist():
            raise ValueError(
                f"unlabeled_label={unknown!r} is no string, but y holds strings, "
                f"{str(unknown)!r} among them; use unlabeled_label={str(unknown)!r}."
            )
        labelled = ~np.broadcast_to(unlabelled, y.shape)
        if not labelled.any():
            raise ValueError(
                f"y holds no label at all: every entry is unlabeled_label={unknown!r}."
            )
        return labelled

    def _encode(self, y, labelled, weight):
        """Classes as positions, -1 where there is no label; sets ``classes_``."""
        labels = y[labelled]
        if all(isinstance(label, Number | np.generic) for label in labels):
            # Numbers that stood among None or NA are objects.
            labels = np.array(labels.tolist())
        check_classification_targets(labels)
        self.classes_, known = np.unique(labels, return_inverse=True)
        codes = np.full(len(y), -1)
        codes[labelled] = known
        counted = known if weight is None else known[weight[labelled] > 0]
        heard = np.unique(counted)
        if len(heard) < 2:
            weighted = "" if len(self.classes_) < 2 else " whose sample_weight is above 0"
            raise ValueError(
                f"{type(self).__name__} needs labelled samples of at least 2 classes in y"
                f"{weighted}, got {len(heard)} class: {self.classes_[heard].tolist()}."
            )
        return codes

    def _recipes(self, views, sparse, seed):
        """The unfitted members of each view; those without a seed get one."""
        given = self.estimator
        if given is None:
            given = make_pipeline(
                SimpleImputer(keep_empty_features=True),
                MaxAbsScaler() if sparse else StandardScaler(),
                LogisticRegression(max_iter=1000),
            )
        if isinstance(given, Mapping):
            strange = [name for name in given if name not in views]
            lacking = [name for name in views if name not in given]
            if strange or lacking:
                what = f"names {strange[0]!r}" if strange else f"lacks {lacking[0]!r}"
                raise ValueError(
                    f"estimator {what}; it must have members for each of the views "
                    f"{', '.join(map(repr, views))}."
                )
        recipes, number = {}, 0
        for view in views:
            members = given[view] if isinstance(given, Mapping) else given
            members = list(members) if isinstance(members, list | tuple) else [members]
            if not members:
                raise ValueError(f"estimator has no member for the view {view!r}.")
            recipes[view] = []
            for member in members:
                if not classifies(member):
                    raise ValueError(
                        f"estimator must be classifiers, but for the view {view!r} it has "
                        f"{member!r}."
                    )
                recipes[view].append(seeded(member, seed, number))
                number += 1
        return recipes

    def _check_recipes(self, method, names, members, weight):
        if method == "supervised":
            weighed = weight is not None
        else:
            if len(set(self.member_views_)) < 2:
                raise ValueError(
                    f"method={method!r} lets views teach each other and needs two or more, got "
                    "one view; use method='supervised', or more views."
                )
            for name, member in zip(names, members, strict=True):
                if not hasattr(member, "predict_proba"):
                    raise ValueError(
                        f"method={method!r} asks how sure views are, but the member {name!r} has "
                        "no predict_proba; calibrate it, or use method='supervised'."
                    )
            weighed = weight is not None or method == "co_em" or self.unlabeled_weight != 1
        for name, member in zip(names, members, strict=True):
            if weighed and not takes_weight(member):
                why = ""
                if weight is None and method == "co_em":
                    why = ", which co-EM needs"
                elif weight is None:
                    why = f", which unlabeled_weight={self.unlabeled_weight} needs; use 1"
                raise TypeError(f"The member {name!r} cannot be fitted with sample_weight{why}.")

    def _present(self, n_rows, missing):
        if missing is None:
            return np.ones((n_rows, len(self.views_)), dtype=bool)
        return present_views(missing, list(self.views_.values()))

    def _pool_order(self, codes, seed):
        """The unlabelled rows in the order in which co-training looks at them."""
        draws = UniformRows(seed, Purpose.START, 1, 0, 1).read(0, len(codes))[:, 0]
        rows = np.flatnonzero(codes < 0)
        return rows[np.argsort(draws[rows], kind="stable")]

    def _teach(self, lesson, rows, method, order):
        """Members of each view, fitted on some rows, and how many rounds it took."""
        part = lesson.of_rows(rows, self.unlabeled_weight)
        if method == "supervised":
            part.fit_labelled()
            return part.fitted, 1
        if method == "co_training":
            unlabelled = part.codes < 0
            frequency = np.bincount(
                part.codes[~unlabelled], part.weight_of[~unlabelled], len(self.classes_)
            )
            count = self.n_per_round
            if isinstance(count, float | np.floating):
                count = count * unlabelled.sum()
            # Positions among the rows of this part.
            order = np.searchsorted(rows, order[np.isin(order, rows)])
            _, n_iter = co_train(
                part.teach,
                part.codes,
                part.present,
                part.weight_of,
                class_quotas(frequency, count),
                order,
                self.pool_size,
                self.max_iter,
                bool(self.agree),
            )
        else:
            _, n_iter = co_em(
                part.teach,
                part.codes,
                part.present,
                part.weight_of,
                len(self.classes_),
                self.max_iter,
                self.tol,
                bool(self.agree),
            )
        return part.fitted, n_iter

    def _out_of_fold(self, lesson, folds, used, method, order):
        """What members taught without a labelled row say of it, and for which rows."""
        unlabelled = used[lesson.codes[used] < 0]
        blocks, tests = [], []
        for train, test in folds:
            learnt = np.sort(np.concatenate([train, unlabelled]))
            fitted, _ = self._teach(lesson.without_poor_views(train), learnt, method, order)
            blocks.append(
                self._gather(
                    [take_rows(view, test) for view in lesson.X], lesson.present[test], fitted
                )
            )
            tests.append(test)
        rows, first = np.unique(np.concatenate(tests), return_index=True)
        return rows, concatenated(blocks).rows(first)

    def _folds(self, lesson, X, y, rows, groups, seed):
        """Pairs of labelled rows to learn from and labelled rows held out."""
        codes = lesson.codes[rows]
        if groups is not None:
            groups = check_groups(groups, len(lesson.codes))
        if isinstance(self.cv, int | np.integer):
            if np.bincount(codes).max() < 2:
                raise ValueError(
                    f"fuser={self.fuser!r} learns from rows that are held out, but no class has "
                    "two labelled rows; use a fixed rule such as 'mean'."
                )
            folds = make_folds(
                self.cv,
                rows[:, None],
                codes,
                lesson.weight_of[rows],
                self.classes_,
                groups=None if groups is None else groups[rows],
                seed=seed,
                n_repeats=1,
            )
            return [(rows[train], rows[test]) for train, test in folds]
        # A splitter speaks of all rows of X; those without a label are neither here nor there.
        # Where such a row has nothing at all in y, no splitter would take it: the classes then
        # go by their positions, and it by -1.
        shown = lesson.codes if _missing_labels(y).any() else y
        splits = check_cv(self.cv, shown, classifier=True).split(X, shown, groups)
        folds = [
            (np.intersect1d(train, rows), np.intersect1d(test, rows)) for train, test in splits
        ]
        folds = [(train, test) for train, test in folds if len(train) and len(test)]
        if not folds:
            raise ValueError("cv holds out no labelled row from which to learn the fusion.")
        return folds

    def _transduced(self, X, y, labelled):
        given = np.array(y)
        if labelled.all():
            return given
        P = self._predictions(take_rows(X, np.flatnonzero(~labelled)))
        if self.fuser_.needs_y:
            fused = Mean().fuse(P)
        else:
            X = take_rows(X, np.flatnonzero(~labelled))
            fused = self.fuser_.fuse(P, self._features(X, self.fuser_))
        given[~labelled] = self.classes_[fused.argmax(axis=1)]
        return given

    # -- predict -----------------------------------------------------------------------------

    def _names(self):
        return list(self.named_estimators_)

    def _check_rows(self, X):
        check_is_fitted(self, "fuser_")
        return self._check_table(X, reset=False)

    def _predictions(self, X, kind=None):
        members = iter(self.estimators_)
        fitted = [
            [next(members) for owner in self.member_views_ if owner == view]
            for view in self.views_
        ]
        present = self._present(X.shape[0], missing_values(X))
        views = [take_columns(X, columns) for columns in self.views_.values()]
        return self._gather(views, present, fitted, kind)

    def _gather(self, views, present, fitted, kind=None):
        """What members say of the rows that have their view, as `Predictions`."""
        kind = self.kind_ if kind is None else kind
        n_rows, n_classes = len(present), len(self.classes_)
        values, available, seen = [], [], []
        for position, members in enumerate(fitted):
            rows = np.flatnonzero(present[:, position])
            for member in members:
                spoken = np.zeros(n_rows, dtype=bool)
                said = (
                    np.zeros(n_rows, dtype=int)
                    if kind == "label"
                    else np.full((n_rows, n_classes), 1.0 / n_classes)
                )
                known = np.ones(n_classes, dtype=bool)
                if member is not None:
                    spoken[rows] = True
                    if len(rows):
                        said[rows], known = self._output(member, views, position, rows, kind)
                values.append(said)
                available.append(spoken)
                seen.append(known)
        values, seen = np.stack(values, axis=1), np.stack(seen)
        P = Predictions(
            self.classes_[values] if kind == "label" else values,
            self.classes_,
            _member_names(dict(zip(self.views_, fitted, strict=True)))[0],
            kind,
            available=None if np.all(available) else np.stack(available, axis=1),
            seen=None if kind == "label" or seen.all() else seen,
        )
        P.check_probabilities()
        return P

    def _output(self, member, views, position, rows, kind):
        name = list(self.views_)[position]
        view = take_rows(views[position], rows)
        try:
            return member_output(member, view, self.classes_, kind, name)
        except ValueError as error:
            raise explained(error, view, name) from error

    def _member_values(self, X):
        """Probabilities if all members have them; NaN where a member has not spoken."""
        every = all(hasattr(member, "predict_proba") for member in self.estimators_)
        P = self._predictions(X, "probability" if every else self.kind_)
        if P.available is None:
            return P.values
        return np.where(P.available[:, :, None], P.values, np.nan)

    def _features(self, X, fuser):
        """What a fuser sees of the rows: missing values are the means of their columns."""
        if not fuser.needs_X:
            return None
        missing = missing_values(X)
        if missing is None:
            return X
        if hasattr(X, "tocsr"):
            X = X.copy()
            X.data = np.where(np.isnan(X.data), self._column_means[X.indices], X.data)
            return X
        return np.where(missing, self._column_means, np.asarray(X, dtype=np.float64))

    def _fused(self, X):
        return self.fuser_.fuse(self._predictions(X), self._features(X, self.fuser_))

    def _fused_log(self, X):
        return self.fuser_.fuse_log(self._predictions(X), self._features(X, self.fuser_))

    def _stages(self, P, codes, X, weight, fuser):
        return super()._stages(P, codes, self._features(X, fuser), weight, fuser)

    def explain_fusion(self, X, *, as_frame=False):
        """Who decided: the importance of each member for each row, 0 where its view is absent.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        as_frame : bool, default=False
            Whether to return a pandas data frame with the members' names.

        Returns
        -------
        importance : ndarray or DataFrame of shape (n_samples, n_members)
            Non-negative, rows sum to one. In a row without any view all are alike.
        """
        rows = self._check_rows(X)
        importance = self.fuser_.importance(
            self._predictions(rows), self._features(rows, self.fuser_)
        )
        if not as_frame:
            return importance
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("as_frame=True makes a data frame and needs pandas.") from None
        index = X.index if hasattr(X, "iloc") else None
        return pd.DataFrame(importance, index=index, columns=self._names())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        given = self.estimator
        given = list(given.values()) if isinstance(given, Mapping) else [given]
        members = []
        for entry in given:
            members += entry if isinstance(entry, list | tuple) else [entry]
        members = [
            member
            for member in members
            if hasattr(member, "__sklearn_tags__") and not isinstance(member, type)
        ]
        tags.input_tags.sparse = all(get_tags(member).input_tags.sparse for member in members)
        tags.input_tags.allow_nan = all(takes_nan(member) for member in members)
        return tags


def _is_missing(label):
    """Whether it is None, NaN or pandas' NA."""
    try:
        return label is None or bool(label != label)
    except TypeError:
        return True  # nobody knows whether NA differs from itself


def _missing_labels(y):
    """Where y has no label."""
    if y.dtype.kind == "O":
        return np.array([_is_missing(label) for label in y], dtype=bool)
    return y != y


def _strings(y):
    """Where y is a string."""
    if y.dtype.kind == "O":
        return np.array([isinstance(label, str) for label in y], dtype=bool)
    return np.full(y.shape, y.dtype.kind == "U")


def _member_names(recipes):
    """Names of the members, and of their views."""
    names, owners = [], []
    for view, members in recipes.items():
        alone = len(members) == 1
        names += [view] if alone else [f"{view} {k}" for k in range(1, len(members) + 1)]
        owners += [view] * len(members)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"Two members would be called {twice!r}; give the views names that differ by more "
            "than a number."
        )
    return names, owners


def _column_means(X, weight):
    """The weighted means of columns that are numbers, for fusers that look at X."""
    if hasattr(X, "tocsr"):
        X = X.tocsc()
        known = ~np.isnan(X.data)
        column = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))
        heavy = weight[X.indices]
        total = np.bincount(column[known], (heavy * X.data)[known], X.shape[1])
        lost = np.bincount(column[~known], heavy[~known], X.shape[1])
        carried = weight.sum() - lost
        return np.divide(total, carried, out=np.zeros_like(total), where=carried > 0)
    try:
        X = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return np.zeros(X.shape[1])  # the fuser will refuse these columns by itself
    known = ~np.isnan(X)
    total, carried = weight @ np.where(known, X, 0.0), weight @ known
    return np.divide(total, carried, out=np.zeros_like(total), where=carried > 0)
