"""The paper's ensembles: members that choose coefficients and features jointly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Annotated, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from covey import _state as stored
from covey._validation import keep_parameters
from covey.fusers import Fuser
from covey.members._base_flock import Flock
from covey.members._growing import Growing, GrownMember
from covey.members._linear_model import GrownModel
from covey.tables._columns import ColumnNames

_GROWN_WITH = stored.Parts({"scale_features": stored.Flag(), "fit_intercept": stored.Flag()})


class SubsetEnsembleClassifier(Flock, ClassifierMixin, BaseEstimator):
    """An ensemble of softmax-linear members, each on a feature subset of its own.

    Members are trained one after another by Algorithm 1 of Gupta, Audhkhasi and Narayanan,
    "Training ensemble of diverse classifiers on feature subsets". Each climbs its class boundaries
    by gradient ascent while flipping features in and out of its subset, and rows that the earlier
    members get wrong weigh more. ``SubsetEnsembleClassifier.paper()`` is the algorithm as printed.

    Take it to study or to teach the paper, to grow members for a fuser of your own, or if one
    linear model must be the result (`collapse`): with equal weights the ensemble stays linear.
    Otherwise take `FlockClassifier`, which is more accurate: its weights depend on the row.

    Parameters
    ----------
    n_estimators : int, default=6
        K, the number of members.
    flip_probability : float, default=0.01
        p_lambda: the probability that a step flips a feature into or out of the candidate subset.
    learning_rate : "auto", "constant", "newton" or float, default="auto"
        eta. "auto" is the step that a Lipschitz bound of the gradient allows, for each member's
        own sample weights. "constant" is one for all members, ``1.5 C / lambda_max(Z'Z)`` for C
        classes and features Z: see `paper`. "newton" is the inverse of Bohning's bound of the
        curvature on the member's subset, for up to 2000 features: without flips every step
        climbs, and a few of them do as much as hundreds of others if features are correlated. A
        number is the eta of the sum in eq. (9), for standardized features if ``scale_features``.
    tol : float, default=0.0
        thr: the gain in weighted accuracy below which a step counts as no progress. With
        ``-inf`` a member takes ``max_iter`` steps and keeps its last state.
    n_iter_no_change : int or None, default=10
        A member ends after this many steps in a row without progress beyond its best state, which
        it keeps. None is the printed rule: it ends at the first step that gains less than ``tol``.
    max_iter : int, default=300
        The most steps of a member.
    init_scale : float, default=0.1
        Standard deviation of the random start of the coefficients (of standardized features).
    acceptance : {"greedy", "metropolis"}, default="greedy"
        Which flipped candidates are taken. "greedy", as printed: those with a strictly higher
        weighted accuracy than the old subset. "metropolis", as in simulated annealing: with
        ``E = 1 - A / mean(w)``, one that is worse by ``dE`` is taken with probability
        ``exp(-dE / T_t)`` at step t = 0, 1, ..., where ``T_t = temperature * 0.98**t``.
    temperature : float or None, default=None
        The initial temperature of "metropolis"; None is 0.01: one point of accuracy.
    subset_penalty : float, default=0.0
        The gain in weighted accuracy that a feature needs to stay in a subset, as a share: 0.003
        is three points for ten features. The paper has none.
    loss : {"log", "exponential", "focal"}, default="log"
        The loss of a member; q is the probability of a row's true class. "log": the likelihood,
        eq. (9). "exponential": ``-sqrt((1 - q) / q)``, AdaBoost's loss for two classes. "focal":
        ``(1 - q)**focal_gamma * log(q)``, with little weight on right rows. A gate needs "log".
    focal_gamma : float, default=2.0
        How little "focal" weighs rows that are right; 0 is "log".
    reweighting : {"mean_probability", "divergence", "adaboost"} or None
        How rows that earlier members get wrong gain weight; p is their mean probability of the
        true class. "mean_probability", the default: ``1 - p``, eq. (8). "divergence": ``-log(p)``,
        the Kullback-Leibler divergence. "adaboost": a member makes the rows that it gets wrong
        ``(C - 1) (1 - e) / e`` times as heavy, e being its weighted error. None: no change.
    feature_groups, always_keep, categorical_features, gaps
        As in `FlockClassifier`.
    fit_intercept : bool, default=True
        Whether each class has an intercept, never masked. Without it, features are not centered.
    scale_features : bool, default=True
        Whether to standardize the features inside. Coefficients are in the units of X in any
        case. Sparse X is centered implicitly and never densified.
    fuser : str or Fuser, default="product"
        "product": eq. (10) with equal importances. "gate" or a `Gate`: a learned function of the
        sample, refined together with the members. Or any other name or object of `covey.fusers`,
        which learns from rows held out (``validation_fraction``); "oracle" can only score.
    select_size : {"train", "validation"} or None, default=None
        Keep as many members as fuse best on the training rows, or on rows held out. None: all.
    of_equals : {"fewest", "most"}, default="fewest"
        The size to keep among several that fuse equally well, which the paper does not say; on few
        rows the oracle gains what it prints only with "most".
    validation_fraction : float, default=0.1
        The share of each class that is held out if something is chosen or learnt on such rows.
    warm_start : bool, default=False
        Whether ``fit`` continues with the members of the last fit, up to ``n_estimators`` in all,
        with the same result as one fit of the same data.
    n_jobs : int or None, default=None
        Threads that predict blocks of rows. It never changes a result.
    random_state : int, RandomState instance or None, default=None
        Seeds the start and the flips. The same int gives the same result, to the bit.
    class_weight, checkpoint, device, verbose
        As in `FlockClassifier`. ``learning_rate="newton"`` is for the CPU.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, preparation_, basis_, estimators_, fuser_
        As in `FlockClassifier`, and so are ``member_intercept_``, ``importance_``,
        ``feature_importances_``, ``coefficient_sizes_`` and, by `calibrate`, ``calibration_``.
    model_, n_estimators_ : GrownModel and int
        The members as data, of which most attributes are parts, and how many were kept.
    member_coef_ : ndarray of shape (n_estimators_, n_classes, n_features)
        Coefficients in the units of X; zero outside a member's subset.
    coef_, intercept_ : ndarrays of shape (n_classes, n_features) and (n_classes,)
        Only with ``fuser="product"``, if the flock is one linear model; one row for two classes.
    support_ : ndarray of shape (n_estimators_, n_features), bool
        Lambda, the subset of each member. A constant column is in none if there are intercepts.
    mean_, scale_ : ndarrays of shape (n_features,)
        The standardization of features; zeros and ones without ``scale_features``.
    n_iter_, history_ : ndarray of shape (n_estimators_,) and list of dict
        The steps of each member, and its ``weighted_accuracy``, ``objective``, ``subset_size`` and
        ``accepted_flip`` at its start (entry 0) and after each step; before a gate refined it.

    Notes
    -----
    The order of the rows, rows given twice in place of a weight of 2, new labels and other units
    change only the rounding. The order of columns and classes does more, and so does one more
    column: each has a random start. On three tables a probability changes by .005 to .007 on
    average, as by another ``random_state``, and by up to .11 (``python benchmarks/laws.py``).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from covey import SubsetEnsembleClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> flock = SubsetEnsembleClassifier(4, random_state=0).fit(X, y)
    >>> flock.predict_proba(X).shape
    (178, 3)
    >>> reasons = flock.explain(X.iloc[:1])[0]
    >>> len(reasons["members"]) > 0, "because" in reasons
    (True, True)
    """

    fuser: Annotated[str | Fuser, stored.Parameter(Fuser)]
    model_: Annotated[GrownModel, stored.Record(GrownModel, "C D F")]
    _grown: Annotated[list[GrownMember], stored.Stacked(GrownMember, "R")]
    _grown_with: Annotated[dict[str, bool], _GROWN_WITH]

    _finder = Growing

    def __init__(
        self,
        n_estimators: int = 6,
        *,
        flip_probability: float = 0.01,
        learning_rate: float | str = "auto",
        tol: float = 0.0,
        n_iter_no_change: int | None = 10,
        max_iter: int = 300,
        init_scale: float = 0.1,
        acceptance: str = "greedy",
        temperature: float | None = None,
        subset_penalty: float = 0.0,
        loss: str = "log",
        focal_gamma: float = 2.0,
        reweighting: str | None = "mean_probability",
        feature_groups: Sequence[Any] | Mapping[str, Any] | None = None,
        always_keep: ColumnNames | None = None,
        categorical_features: ColumnNames | Mapping[str, str] | None = "from_dtype",
        gaps: Mapping[Any, Any] | None = None,
        fit_intercept: bool = True,
        scale_features: bool = True,
        fuser: str | Fuser = "product",
        select_size: str | None = None,
        of_equals: str = "fewest",
        validation_fraction: float = 0.1,
        class_weight: Mapping[Any, float] | str | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        checkpoint: str | PathLike[str] | None = None,
        device: Any = None,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())

    @classmethod
    def paper(cls, **overrides: Any) -> Self:
        """Return Algorithm 1 as printed, with values for the constants that the paper leaves open.

        The paper states p_lambda = 0.01 and calls eta and thr "empirically set". Set here:

        - *thr* (``tol``) = -0.002. A member ends at the first step that loses more than 0.2 points
          of weighted accuracy; that step is not taken. Accuracy moves in jumps of single rows,
          and with thr >= 0 a member ends at the first row lost, long before the accuracies
          that the paper reports.
        - *eta* of the sum in eq. (9): ``learning_rate="constant"``, one for all members:
          1.5 C / lambda_max(Z'Z) for the standardized features Z (with a column of ones) and
          C classes, three quarters of the longest stable step at the uniform guess. (A fixed
          number would have to change with the number of rows.)
        - ``max_iter`` = 200 steps; the paper has no limit.
        - *Start:* Theta from a normal distribution of standard deviation 0.5, Lambda all ones.
        - *K:* up to 20 members; as many are kept as fuse best on the training rows
          (``select_size="train"``, the synthetic experiments), the fewest of equals unless
          ``of_equals="most"`` is given. For the real data the paper tunes K on a development
          set: ``select_size="validation"``.
        - *Intercept:* one for each class, never masked. Eq. (6) prints none, but without it
          every boundary passes through the origin.
        - *Scaling:* features are standardized inside.

        Parameters
        ----------
        **overrides
            Parameters to set otherwise.

        Returns
        -------
        flock : SubsetEnsembleClassifier

        Examples
        --------
        >>> import covey
        >>> X, y = covey.make_quarter_circle(30, random_state=0)
        >>> flock = covey.SubsetEnsembleClassifier.paper(random_state=0).fit(X, y)
        >>> 1 <= flock.n_estimators_ <= 20
        True
        """
        printed = {
            "n_estimators": 20,
            "flip_probability": 0.01,
            "learning_rate": "constant",
            "tol": -0.002,
            "n_iter_no_change": None,
            "max_iter": 200,
            "init_scale": 0.5,
            "acceptance": "greedy",
            "fit_intercept": True,
            "scale_features": True,
            "fuser": "product",
            "select_size": "train",
        }
        return cls(**{**printed, **overrides})


class SubsetEnsembleRegressor(Flock, RegressorMixin, BaseEstimator):
    r"""An ensemble of linear regressors, each on a feature subset of its own.

    The regression sibling of `SubsetEnsembleClassifier`: Algorithm 1 of Gupta, Audhkhasi and
    Narayanan, "Training ensemble of diverse classifiers on feature subsets", with a loss of
    numbers where the paper has the likelihood and the accuracy of classes. Members are trained
    one after another. Each descends the weighted loss by gradient steps while flipping
    features in and out of its subset; a flip is taken if it leads to a lower loss than the
    step without it. Rows that the earlier members get wrong weigh more; eq. (8) is replaced by

    .. math:: w_m = 1 - \frac{1}{k} \sum_{k'=1}^{k}
              \exp\Big(-\frac{\ell_{k'}(m)}{\bar\ell_{k'}}\Big)

    with :math:`\ell_{k'}(m)` the loss of the earlier member k' at row m and
    :math:`\bar\ell_{k'}` its mean over the rows, so that the unit of y does not matter (for
    "huber" and "quantile" its median, divided by log 2, so that outliers alone do not decide).
    Given its subset, a member is linear and its loss convex: L-BFGS takes it to the minimum. These
    choices are ours, as is everything below; the paper is only about classes.

    The mean of linear members is linear again. `FlockRegressor` searches for groups of members
    whose weights depend on the row; it is more accurate, and the one to take unless the algorithm
    itself is of interest.

    Take it for members on subsets under one loss, or to compare with the classifier's algorithm.

    Parameters
    ----------
    n_estimators, flip_probability, init_scale
        As in `SubsetEnsembleClassifier`.
    loss, epsilon, quantile
        As in `FlockRegressor`.
    alpha : float, default=0.0
        The L2 penalty of a member, against the mean loss of a row, for standardized features and
        y. (For n rows and one member this is ``Ridge(n * alpha)`` of standardized columns.)
    learning_rate : "auto" or float, default="auto"
        The step along the gradient of the weighted mean loss. "auto" is the inverse of a bound
        of its curvature, for each member's own row weights.
    tol : float, default=1e-4
        The fall of the weighted loss (of standardized y) below which a step counts as no
        progress.
    n_iter_no_change : int, default=10
        The steps of a member end after this many in a row without progress; it keeps the subset
        of its best state, and continues from there.
    max_iter : int, default=300
        The most steps of a member, and again the most iterations that take it to the minimum;
        if these do not suffice there is a warning.
    acceptance : {"greedy", "metropolis"}, default="greedy"
        Which flipped candidates are taken. "greedy": those with a strictly lower loss than the
        candidate with the old subset. "metropolis": at step t also one whose loss is higher by
        ``dE``, in units of the loss of a constant, with probability
        ``exp(-dE / (temperature * 0.98**t))``.
    temperature : float or None, default=None
        The initial temperature of "metropolis"; None is 0.01.
    subset_penalty : float, default=0.0
        The fall of the weighted loss (of standardized y) that a feature needs to stay in a subset.
    feature_groups, always_keep, categorical_features, gaps, select_size, of_equals
        As in `SubsetEnsembleClassifier`.
    validation_fraction, warm_start, n_jobs
        As in `SubsetEnsembleClassifier`.
    fuser : str or Fuser, default="mean"
        How members are fused: "mean", "median", "trimmed_mean", or any fuser of numbers. "gate"
        or a `Gate` is refined together with the members, under its own penalty. Others that
        learn, such as "linear_stacking" or ``Mean(weights="inverse_error")``, do so from rows
        that are held out from the members (``validation_fraction``).
    random_state, checkpoint, device, verbose
        As in `SubsetEnsembleClassifier`.

    Attributes
    ----------
    n_features_in_, feature_names_in_, n_estimators_, support_, mean_, scale_
        As in `SubsetEnsembleClassifier`.
    member_coef_ : ndarray of shape (n_estimators_, 1, n_features)
        Coefficients in the units of X and y; zero outside a member's subset.
    coef_, intercept_ : ndarray of shape (n_features,) and float
        Only with ``fuser="mean"``, where the flock is one linear model.
    y_center_, y_scale_, y_range_
        The standardization of y, and the range of predictions; see `FlockRegressor`.
    n_iter_, basis_, fuser_
        As in `SubsetEnsembleClassifier`.
    member_intercept_, history_, importance_, feature_importances_, estimators_
        As in `FlockRegressor`; the history ends before the optimizer refined the member.

    Notes
    -----
    The order of the rows and of the columns, rows that are given twice in place of a weight of 2,
    other units and constant columns change predictions by less than .001 standard deviations of
    y, because fits end before the optimum (``python benchmarks/laws.py``).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from covey import SubsetEnsembleRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> flock = SubsetEnsembleRegressor(4, random_state=0).fit(X, y)
    >>> flock.member_predictions(X).shape
    (442, 4)
    """

    fuser: Annotated[str | Fuser, stored.Parameter(Fuser)]
    model_: Annotated[GrownModel, stored.Record(GrownModel, "C D F")]
    _grown: Annotated[list[GrownMember], stored.Stacked(GrownMember, "R")]
    _grown_with: Annotated[dict[str, bool], _GROWN_WITH]

    _finder = Growing

    def __init__(
        self,
        n_estimators: int = 6,
        *,
        loss: str = "squared",
        epsilon: float = 1.35,
        quantile: float = 0.5,
        alpha: float = 0.0,
        flip_probability: float = 0.01,
        learning_rate: float | str = "auto",
        tol: float = 1e-4,
        n_iter_no_change: int | None = 10,
        max_iter: int = 300,
        init_scale: float = 0.1,
        acceptance: str = "greedy",
        temperature: float | None = None,
        subset_penalty: float = 0.0,
        feature_groups: Sequence[Any] | Mapping[str, Any] | None = None,
        always_keep: ColumnNames | None = None,
        categorical_features: ColumnNames | Mapping[str, str] | None = "from_dtype",
        gaps: Mapping[Any, Any] | None = None,
        fuser: str | Fuser = "mean",
        select_size: str | None = None,
        of_equals: str = "fewest",
        validation_fraction: float = 0.1,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        checkpoint: str | PathLike[str] | None = None,
        device: Any = None,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())
