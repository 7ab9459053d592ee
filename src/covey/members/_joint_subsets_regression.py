"""The paper's ensemble for numbers: linear regressors, each on a feature subset of its own."""

import time
import warnings
from contextlib import contextmanager

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from covey._blocks import checked_numbers, in_blocks
from covey._core.algorithm1.ascent import DivergedError
from covey._core.algorithm1.descent import Descent, ValueTrainer
from covey._core.basis import Basis
from covey._core.design import Design
from covey._core.gating.gated_values import GatedValues
from covey._core.lbfgs import minimise
from covey._core.moments import moments
from covey._core.random import Purpose, UniformRows
from covey._core.softmax_linear import linear_logits
from covey._core.value_losses import ValueLoss, weighted_quantile
from covey._validation import (
    check_all_finite,
    check_choice,
    check_number,
    check_sample_weight,
)
from covey.members._columns import flip_units
from covey.members._folds import check_cv_parameter, make_folds
from covey.members._fused_regression import FusedRegressor, value_fuser
from covey.members._linear_regression import LinearRegressionMember
from covey.members._search import EFFORTS
from covey.members._search_regression import ValueFlockSearch, value_families

LOSSES = ("squared", "huber", "quantile")

_DEFAULT_TEMPERATURE = 0.01

# The median absolute deviation of a normal distribution is this share of its standard one.
_NORMAL_DEVIATION = 0.6744897501960817
# Rounds in which the scale of the residuals is found, and the threshold (in units of it) and
# the penalty of their linear model.
_SCALE_ROUNDS = 3
_SCALE_EPSILON = 1.35
_SCALE_ALPHA = 1e-3
# Residuals this small, in units of y's own spread, are as good as none.
_LEAST_SCALE = 1e-3
# The least share of a constant's loss that a linear model is taken to leave.
_LEAST_LEFT = 1e-4
# How far the corner of a quantile's loss is rounded, in units of the residuals' scale.
_BAND = 0.05
# Robust losses grow evenly out there, so that it does not matter how far an outlier lies; sums
# that it would swamp do.
_FARTHEST = 1e6


def _linear_errors(design, target, weight, loss):
    """What a linear model, penalised a little, leaves of the target."""
    objective = GatedValues(
        design,
        [design],
        (slice(0, len(target)),),
        weight[None, :],
        np.array([_SCALE_ALPHA]),
        "log",
        1,
        target=target,
        loss=loss,
    )
    found = minimise(objective, np.zeros((1, objective.n_parameters)), max_iter=50)
    return target - objective.said(found.x)[0]


class SubsetEnsembleRegressor(FusedRegressor):
    r"""An ensemble of linear regressors, each on a feature subset of its own.

    The regression sibling of `SubsetEnsembleClassifier`: Algorithm 1 of Gupta, Audhkhasi and
    Narayanan, "Training ensemble of diverse classifiers on feature subsets", with a loss of
    numbers where the paper has the likelihood and the accuracy of classes. Members are trained
    one after another. Each descends the weighted loss by gradient steps while flipping
    features in and out of its subset; a flip is taken if it leads to a lower loss than the
    step without it. Each is drawn to the rows that the earlier ones get wrong: in the place of
    eq. (8) stands

    .. math:: w_m = 1 - \frac{1}{k} \sum_{k'=1}^{k}
              \exp\Big(-\frac{\ell_{k'}(m)}{\bar\ell_{k'}}\Big)

    with :math:`\ell_{k'}(m)` the loss of the earlier member k' at row m and
    :math:`\bar\ell_{k'}` its mean over the rows, so that the unit of y does not matter (for
    "huber" and "quantile" its median, divided by log 2: members shall not be drawn to outliers
    alone). Given its subset, a member is linear and its loss convex: L-BFGS takes it to the
    minimum. These choices are ours, as is everything below; the paper is about classes only.

    By default that is where a search begins (``fuser="gate"``). The mean of linear members is
    linear again, so groups of members are refined together with a gate, which says for each
    row whom to ask: :math:`f(x) = \sum_k g_k(x) f_k(x)` with :math:`g` a softmax of a linear
    function, by L-BFGS on the mean loss and an L2 penalty. Candidates differ in size, penalty
    and in what members and gate see: the features, ramps of them (which bend), products of
    two (of values within the range that was seen, lest a row far out be predicted beyond all
    sense); single members, which are ridge regressions if the loss is squared, are among them.
    Each is fitted on the folds of ``cv``; greedy selection by the loss of the rows held out
    decides how much each weighs, and those that weigh something are fitted again on all rows.

    Parameters
    ----------
    n_estimators : int, default=6
        The number of members; in a search, of each gated group.
    loss : {"squared", "huber", "quantile"}, default="squared"
        What is minimised. "huber" is squared for small errors and grows evenly beyond, so that
        outliers pull no more than others. "quantile" leaves a share of the rows below what is
        predicted.
    epsilon : float, default=1.35
        Where "huber" turns, in units of the residuals' scale (as in scikit-learn's
        ``HuberRegressor``), which is estimated by the median absolute residual of a linear
        model.
    quantile : float, default=0.5
        The share of rows below the prediction, for ``loss="quantile"``. The corner of that
        loss is rounded within 0.05 of the residuals' scale, which is estimated as for "huber".
    effort : {"fast", "balanced", "best"}, default="balanced"
        How much to search, with ``fuser="gate"``. "fast": one gated group, no search. "best":
        more and larger candidates, folds drawn twice, every candidate kept grown twice.
    alpha : float or None, default=None
        The L2 penalty, against the mean loss of a row, for standardised features and y. (For n
        rows and one member this is ``Ridge(n * alpha)`` of standardised columns.) None: in a
        search several, and the folds decide; with ``effort="fast"`` 0.1 (for n > 500 rows,
        times ``(500 / n) ** 0.8``) times the share of a constant's loss that a linear model
        leaves; without the gate none. Each member of a group is penalised by itself: six that
        say the same are shrunk like one with six times the penalty.
    cv : int, splitter or iterable, default=5
        The folds of a search: a number (by group where ``fit`` is given ``groups``), or
        whatever scikit-learn takes for ``cv``.
    flip_probability : float, default=0.01
        p_lambda: the probability that a feature is flipped into or out of the candidate subset
        at a step. With 0 every member uses all features.
    learning_rate : "auto" or float, default="auto"
        The step along the gradient of the weighted mean loss. "auto" is the inverse of a bound
        of its curvature, for each member's own row weights.
    tol : float, default=1e-4
        The fall of the weighted loss (of standardised y) below which a step counts as no
        progress.
    n_iter_no_change : int, default=10
        The steps of a member end after so many in a row without progress; it keeps the subset
        of the best state that it saw, and goes on from there.
    max_iter : int, default=300
        The most steps of a member, and again the most iterations that take it to the minimum;
        if these do not suffice there is a warning. A search takes 30 steps at most, and goes on
        with the gate.
    init_scale : float, default=0.1
        Standard deviation of the random start of the coefficients (of standardised features).
    acceptance : {"greedy", "metropolis"}, default="greedy"
        Which flipped candidates are taken. "greedy": those with a strictly lower loss than the
        candidate with the old subset. "metropolis": at step t also one whose loss is higher by
        ``dE``, in units of the loss of a constant, with probability
        ``exp(-dE / (temperature * 0.98**t))``.
    temperature : float or None, default=None
        The initial temperature of "metropolis"; None is 0.01.
    subset_penalty : float, default=0.0
        What a feature must earn to stay in a subset, in weighted loss of standardised y.
    feature_groups : sequence of column sequences, or mapping from name to columns, optional
        Columns that flip together, by name or number: the one-hot columns of one variable.
        With groups a search makes no products.
    always_keep : sequence of columns, optional
        Columns that never leave a subset.
    fuser : str or Fuser, default="gate"
        How members are fused. "gate": a search for gated groups, see above. "mean", "median",
        "trimmed_mean", or any fuser of numbers. One that learns, such as "linear_stacking" or
        ``Mean(weights="inverse_error")``, does so from rows that are held out from the members
        (``validation_fraction``).
    validation_fraction : float, default=0.1
        The share of rows that is held out for a fuser that learns.
    n_jobs : int or None, default=None
        Threads that predict blocks of rows. It never changes a result.
    random_state : int, RandomState instance or None, default=None
        The start and the flips. The same int gives the same result, to the bit.
    verbose : int, default=0
        With 1, prints a line for each member or family of candidates.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only where X has names.
    n_estimators_ : int
        How many members were kept.
    coef_ : ndarray of shape (n_estimators_, n_columns)
        Coefficients of what ``basis_`` makes of X, in its units and those of y; zero outside a
        member's subset. The first ``n_features_in_`` columns are the features themselves.
    intercept_ : ndarray of shape (n_estimators_,)
    support_ : ndarray of shape (n_estimators_, n_features), bool
        The subset of each member. A constant column is in none.
    mean_, scale_ : ndarrays of shape (n_features,)
        What the features were standardised by.
    y_center_, y_scale_ : float
        What y was standardised by: mean and standard deviation; for "huber" and "quantile" the
        median (or quantile) and the median absolute deviation, which outliers do not move.
    n_iter_ : ndarray of shape (n_estimators_,)
        Steps of each member. (For a member that a search fitted alone: iterations of the
        optimiser.)
    history_ : list of dict
        For each member the ``weighted_loss``, ``objective`` (with the penalties),
        ``subset_size`` and ``accepted_flip`` at its start (entry 0) and after each step:
        before the optimiser refined it, for standardised y. Empty for a member that a search
        fitted alone.
    basis_ : Basis
        The columns that members see.
    group_of_ : ndarray of shape (n_estimators_,)
        The group of each member. Only after a search, like the next two.
    group_weights_ : ndarray of shape (n_groups,)
        What each group weighs; sums to one.
    cv_results_ : dict of ndarrays
        The candidates: ``basis``, ``n_members``, ``gate``, ``alpha``, their ``mean_loss`` on
        rows held out (of standardised y), and the ``weight`` they were given.
    feature_importances_ : ndarray of shape (n_features,)
        How much each feature moves what the members say: the mean size of coefficients of
        scaled columns over members (as much as each is asked); sums to one. What a gate looks
        at to ask them is not counted.
    estimators_ : list of LinearRegressionMember
        The members, each a fitted regressor.
    fuser_ : Fuser

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from covey import SubsetEnsembleRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> flock = SubsetEnsembleRegressor(effort="fast", random_state=0).fit(X, y)
    >>> bool(flock.score(X, y) > 0.5)
    True
    >>> flock.explain_fusion(X).shape
    (442, 6)
    """

    def __init__(
        self,
        n_estimators=6,
        *,
        loss="squared",
        epsilon=1.35,
        quantile=0.5,
        effort="balanced",
        alpha=None,
        cv=5,
        flip_probability=0.01,
        learning_rate="auto",
        tol=1e-4,
        n_iter_no_change=10,
        max_iter=300,
        init_scale=0.1,
        acceptance="greedy",
        temperature=None,
        subset_penalty=0.0,
        feature_groups=None,
        always_keep=None,
        fuser="gate",
        validation_fraction=0.1,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_estimators = n_estimators
        self.loss = loss
        self.epsilon = epsilon
        self.quantile = quantile
        self.effort = effort
        self.alpha = alpha
        self.cv = cv
        self.flip_probability = flip_probability
        self.learning_rate = learning_rate
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.max_iter = max_iter
        self.init_scale = init_scale
        self.acceptance = acceptance
        self.temperature = temperature
        self.subset_penalty = subset_penalty
        self.feature_groups = feature_groups
        self.always_keep = always_keep
        self.fuser = fuser
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # -- check -----------------------------------------------------------------------------

    def _check_parameters(self):
        check_number(self.n_estimators, "n_estimators", low=1, whole=True)
        check_choice(self.loss, "loss", LOSSES)
        check_number(self.epsilon, "epsilon", low=1.0)
        check_number(self.quantile, "quantile", low=0, high=1, closed="neither")
        check_choice(self.effort, "effort", EFFORTS)
        if self.alpha is not None:
            check_number(self.alpha, "alpha", low=0, closed="neither")
        check_cv_parameter(self.cv)
        check_number(self.flip_probability, "flip_probability", low=0, high=1)
        if isinstance(self.learning_rate, str):
            check_choice(self.learning_rate, "learning_rate", ("auto",))
        else:
            check_number(self.learning_rate, "learning_rate", low=0, closed="neither")
        check_number(self.tol, "tol", finite=False)
        check_number(self.n_iter_no_change, "n_iter_no_change", low=1, whole=True)
        check_number(self.max_iter, "max_iter", low=1, whole=True)
        check_number(self.init_scale, "init_scale", low=0)
        check_choice(self.acceptance, "acceptance", ("greedy", "metropolis"))
        if self.temperature is not None:
            check_number(self.temperature, "temperature", low=0, closed="neither")
        check_number(self.subset_penalty, "subset_penalty", low=0)
        check_number(
            self.validation_fraction, "validation_fraction", low=0, high=1, closed="neither"
        )

    def _searches(self):
        return isinstance(self.fuser, str) and self.fuser == "gate"

    def _descent(self):
        temperature = _DEFAULT_TEMPERATURE if self.temperature is None else self.temperature
        return Descent(
            learning_rate=self.learning_rate,
            tol=float(self.tol),
            patience=int(self.n_iter_no_change),
            max_iter=int(self.max_iter),
            init_scale=float(self.init_scale),
            acceptance=self.acceptance,
            temperature=float(temperature),
            # The optimiser of a search has penalties of its own, one a candidate.
            alpha=0.0 if self.alpha is None or self._searches() else float(self.alpha),
            subset_penalty=float(self.subset_penalty),
            finish=0 if self._searches() else int(self.max_iter),
        )

    def _check_training_data(self, X, y, sample_weight):
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse=("csr", "csc"),
            dtype=np.float64,
            y_numeric=True,
            ensure_all_finite=False,
            ensure_min_samples=2,
        )
        check_all_finite(X, getattr(self, "feature_names_in_", None))
        if hasattr(X, "tocsr") and not X.has_canonical_format:
            # An entry may be stored in parts; their squares are not its square.
            X = X.copy()
            X.sum_duplicates()
        weight = check_sample_weight(sample_weight, len(y))
        if np.count_nonzero(weight) < 2:
            raise ValueError(
                "sample_weight is above 0 for one row only; at least two are needed to learn from."
            )
        return X, y.astype(np.float64), weight

    # -- fit -------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None, groups=None):
        """Grow the members and learn to fuse them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            How much each row counts; only the ratios matter. Among weights of 1, one of 2 is
            the row given twice, but for the penalties that ``alpha=None`` leaves open: these go
            by how many rows have a weight, however large.
        groups : array-like of shape (n_samples,), optional
            Rows that belong together: no fold of a search separates them.

        Returns
        -------
        self : SubsetEnsembleRegressor
        """
        self._check_parameters()
        fuser = None if self._searches() else value_fuser(self.fuser, "fuser")
        if fuser is not None and groups is not None:
            raise ValueError(
                "groups keeps rows together in the folds of a search, but there is none with "
                f"fuser={self.fuser!r}; use fuser='gate', or leave groups out."
            )
        X, y, weight = self._check_training_data(X, y, sample_weight)
        for name in ("fuser_", "group_of_", "group_weights_", "cv_results_"):
            # Should this fit fail, what an earlier one left would fit neither.
            self.__dict__.pop(name, None)
        # One number stands for the whole fit: every draw is a function of it.
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._set_scale(X, weight)
        target = self._standardised_target(y, weight)
        loss = self._value_loss(X, target, weight)
        if fuser is None:
            self.fuser_ = self._not_diverged(self._search, X, y, target, weight, groups, loss)
        else:
            self.fuser_ = self._not_diverged(
                self._grow_and_fuse, X, y, target, weight, loss, fuser
            )
        return self

    def _set_scale(self, X, weight):
        """What columns are centred and scaled by, and which can be used at all."""
        mean, deviation = moments(X.tocsc() if hasattr(X, "tocsr") else X.T, weight)
        self._usable = deviation > 0
        if not self._usable.any():
            raise ValueError(
                f"All {len(mean)} feature(s) of X are constant, so there is nothing to learn "
                "from; give at least one column that varies."
            )
        self.mean_, self.scale_ = mean, np.where(self._usable, deviation, 1.0)

    def _standardised_target(self, y, weight):
        used = weight > 0
        (mean,), (deviation,) = moments(y[None], weight)
        if deviation == 0:
            mean = y[used][0]  # a mean of large numbers is off by rounding
        elif self.loss != "squared":
            # Outliers move means and deviations, and these losses are there to resist them.
            share = self.quantile if self.loss == "quantile" else 0.5
            mean = weighted_quantile(y, weight, share)
            middle = weighted_quantile(y, weight, 0.5)
            spread = weighted_quantile(np.abs(y - middle), weight, 0.5) / _NORMAL_DEVIATION
            deviation = spread if spread > 0 else deviation
        self.y_center_ = float(mean)
        self.y_scale_ = float(deviation) if deviation > 0 else 1.0
        # What a row of weight 0 holds is of no account.
        target = (np.where(used, y, self.y_center_) - self.y_center_) / self.y_scale_
        if not (np.abs(target) < 1e100).all():
            raise ValueError(
                "y holds numbers too far apart, or too close, for floating point; rescale it, or "
                "drop what is out of range."
            )
        return target if self.loss == "squared" else np.clip(target, -_FARTHEST, _FARTHEST)

    def _design(self, X):
        if hasattr(X, "tocsr"):
            return Design(X.tocsc(), self.mean_[None, :], self.scale_[None, :])
        return Design(np.ascontiguousarray(((X - self.mean_) / self.scale_).T))

    def _value_loss(self, X, target, weight):
        if self.loss == "squared":
            return ValueLoss("squared")
        scale = self._residual_scale(X, target, weight)
        if self.loss == "huber":
            return ValueLoss("huber", self.epsilon * scale)
        return ValueLoss("quantile", quantile=float(self.quantile), band=_BAND * scale)

    def _residual_scale(self, X, target, weight):
        """The scale of what a linear model leaves, by its median absolute residual."""
        scale = 1.0
        epsilon = self.epsilon if self.loss == "huber" else _SCALE_EPSILON
        design = self._design(X)
        for _ in range(_SCALE_ROUNDS):
            loss = ValueLoss("huber", epsilon * scale)
            left = np.abs(_linear_errors(design, target, weight, loss))
            scale = weighted_quantile(left, weight, 0.5) / _NORMAL_DEVIATION
            scale = max(scale, _LEAST_SCALE)
        return scale

    def _share_left(self, X, target, weight, loss):
        """The share of a constant's loss that a linear model leaves, of rows not yet seen."""
        constant = loss.value(target) @ weight
        freedom = np.count_nonzero(weight) - 1
        if constant == 0 or freedom <= self._usable.sum():
            return 1.0
        left = loss.value(_linear_errors(self._design(X), target, weight, loss)) @ weight
        # What each column takes away though it knows nothing, as in an adjusted R^2.
        left *= freedom / (freedom - self._usable.sum())
        return float(np.clip(left / constant, _LEAST_LEFT, 1.0))

    def _units(self):
        return flip_units(
            self.feature_groups,
            self.always_keep,
            ~self._usable,
            getattr(self, "feature_names_in_", None),
        )

    def _not_diverged(self, function, *args):
        """What the function gives, or one sentence if the descent leaves the finite numbers."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return function(*args)
        except DivergedError as error:
            raise ValueError(
                f"learning_rate={self.learning_rate!r} lets the descent of member {error.member} "
                "diverge; use learning_rate='auto' or a smaller number."
            ) from None

    def _say(self, started, what):
        if self.verbose:
            print(f"[{type(self).__name__}] {time.perf_counter() - started:.2f} s: {what}")

    def _grow_and_fuse(self, X, y, target, weight, loss, fuser):
        held_out = self._held_out(weight, fuser)
        grown = ~held_out
        self._grow(X[grown], target[grown], weight[grown], loss)
        # A fixed rule learns nothing, but still checks that it suits these members.
        rows = np.flatnonzero(held_out) if fuser.learns else np.arange(1)
        return fuser.fit(
            self._predictions(X[rows]), y[rows], X[rows], weight[rows] if fuser.learns else None
        )

    def _held_out(self, weight, fuser):
        """The rows kept from the members for a fuser that learns, by each row's own draw."""
        held_out = np.zeros(len(weight), dtype=bool)
        if fuser.learns:
            draws = UniformRows(self._seed, Purpose.HOLD_OUT, 0, 0, 1).read(0, len(weight))[:, 0]
            rows = np.flatnonzero(weight > 0)
            if len(rows) < 2:
                raise ValueError(
                    "One row has a weight, so none can be held out to learn the fusion; use a "
                    "fixed fusion rule."
                )
            count = min(max(1, round(self.validation_fraction * len(rows))), len(rows) - 1)
            held_out[rows[np.argsort(draws[rows], kind="stable")[:count]]] = True
        return held_out

    def _grow(self, X, target, weight, loss):
        started = time.perf_counter()
        trainer = ValueTrainer(
            self._design(X),
            target,
            weight[None, :],
            loss,
            self._descent(),
            seed=self._seed,
            runs=[0],
            flip_probability=np.array([float(self.flip_probability)]),
            unit_of_feature=self._units(),
            usable=self._usable,
        )
        grown = []
        for number in range(1, self.n_estimators + 1):
            member = trainer.grow()
            grown.append(member)
            self._say(
                started,
                f"member {number}/{self.n_estimators}: {member.n_iter[0]} steps, weighted loss "
                f"{member.history[0].weighted_loss.min():.4f}, {member.support[0].sum()} of "
                f"{len(self.mean_)} features",
            )
        self._warn_of_poor(grown)
        theta = np.concatenate([member.theta[0] for member in grown])
        intercept = np.concatenate([member.intercept[0] for member in grown])
        coef = theta / self.scale_
        self._keep(
            Basis.plain(len(self.mean_)),
            coef,
            intercept - coef @ self.mean_,
            np.concatenate([member.support for member in grown]),
            np.concatenate([member.n_iter for member in grown]),
            [member.history[0] for member in grown],
            self.scale_,
            np.full(len(grown), 1.0 / len(grown)),
        )

    def _warn_of_poor(self, grown):
        """Say if members were grown without success."""
        pasts = [member.history[0].objective for member in grown]
        rose = sum(bool(past[1:].min() > past[0]) for past in pasts)
        short = sum(not member.converged[0] for member in grown)
        if rose:
            what = (
                f"never got below the loss of their start, so that no subset was searched: "
                f"learning_rate={self.learning_rate!r} overshoots; use learning_rate='auto' or a "
                "smaller number."
            )
        elif short:
            what = (
                f"did not converge in max_iter={self.max_iter} iterations; use more, or an alpha "
                "above 0."
            )
        else:
            return
        warnings.warn(
            f"{rose or short} of {len(grown)} members {what}", ConvergenceWarning, stacklevel=6
        )

    def _search(self, X, y, target, weight, groups, loss):
        search = ValueFlockSearch(
            X,
            target,
            weight,
            loss=loss,
            descent=self._descent(),
            mean=self.mean_,
            scale=self.scale_,
            usable=self._usable,
            unit_of_feature=self._units(),
            grouped=self.feature_groups is not None,
            centred=True,
            scaled=True,
            flip_probability=float(self.flip_probability),
            seed=self._seed,
        )
        best = self.effort == "best"
        folds = []
        if self.effort != "fast":
            folds = make_folds(
                self.cv,
                X,
                np.zeros(len(target), dtype=int),
                weight,
                np.zeros(1),
                groups=groups,
                seed=self._seed,
                n_repeats=2 if best else 1,
                y=y,
            )
        started = time.perf_counter()

        @contextmanager
        def on_family(family):
            self._say(
                started,
                f"{len(family.alphas)} candidates of {family.n_members} members on {family.basis}",
            )
            yield

        flock = search.run(
            value_families(
                self.effort,
                int(self.n_estimators),
                self.alpha,
                search.bases,
                np.count_nonzero(weight),
                lambda: self._share_left(X, target, weight, loss),
            ),
            folds,
            n_restarts=2 if best else 1,
            fit_intercept=True,
            on_family=on_family,
        )
        self._keep(
            flock.basis,
            flock.coef[:, 0],
            flock.intercept[:, 0],
            flock.support,
            flock.n_iter,
            flock.history,
            flock.column_scale,
            flock.shares,
        )
        self.group_of_ = np.repeat(np.arange(len(flock.fuser.sizes)), flock.fuser.sizes)
        self.group_weights_ = flock.fuser.weights
        self.cv_results_ = {
            name: np.array([candidate[name] for candidate in flock.candidates])
            for name in flock.candidates[0]
            if name != "pool"
        }
        return flock.fuser

    def _keep(self, basis, coef, intercept, support, n_iter, history, column_scale, shares):
        """Store members, given for standardised y, as fitted attributes."""
        coef = coef * self.y_scale_
        overflown = ~np.isfinite(coef).all(axis=0)
        if overflown.any():
            names = getattr(self, "feature_names_in_", None)
            column = int(basis.feature[np.argmax(overflown)])
            raise ValueError(
                f"Column {column if names is None else repr(names[column])} varies too little for "
                "its coefficient to be a number; multiply it by a constant, or drop it."
            )
        self.n_estimators_ = len(coef)
        self.coef_, self.support_ = coef, support
        self.intercept_ = self.y_center_ + intercept * self.y_scale_
        self.basis_ = basis
        self.n_iter_ = n_iter
        self.history_ = [{} if past is None else vars(past).copy() for past in history]
        self._column_scale, self._member_shares = column_scale, shares

    # -- predict ---------------------------------------------------------------------------

    def _check_rows(self, X):
        return checked_numbers(self, X)

    def _by_blocks(self, function, X):
        return in_blocks(function, X, self.n_jobs)

    def _said(self, X):
        return linear_logits(self.basis_.rows(X), self.coef_, self.intercept_).T

    def _names(self):
        return [f"member {k}" for k in range(1, self.n_estimators_ + 1)]

    # -- explain ---------------------------------------------------------------------------

    @property
    def estimators_(self):
        """The members, each a fitted regressor that shares the ensemble's arrays."""
        check_is_fitted(self, "fuser_")
        names = getattr(self, "feature_names_in_", None)
        basis = None if self.basis_.is_plain else self.basis_
        return [
            LinearRegressionMember(coef, intercept, support, names, basis)
            for coef, intercept, support in zip(
                self.coef_, self.intercept_, self.support_, strict=True
            )
        ]

    @property
    def feature_importances_(self):
        """How much each feature moves what the members say; sums to one."""
        check_is_fitted(self, "fuser_")
        size = self.basis_.on_features(
            self._member_shares @ np.abs(self.coef_ * self._column_scale)
        )
        return size / size.sum() if size.any() else size

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
