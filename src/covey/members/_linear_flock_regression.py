"""The paper's ensemble for numbers: linear regressors, each on a feature subset of its own."""

import time
import warnings
from contextlib import contextmanager

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from covey._blocks import checked_numbers, in_blocks
from covey._core.algorithm1.in_memory import in_memory
from covey._core.algorithm1.settings import DivergedError, TrainingSettings
from covey._core.algorithm1.trainer import StackTrainer
from covey._core.basis import Basis
from covey._core.design import Design
from covey._core.gating.gate import GatedLikelihood
from covey._core.gating.likelihoods import ValueLikelihood
from covey._core.lbfgs import minimise
from covey._core.moments import moments
from covey._core.random import Purpose, UniformRows
from covey._core.search.bases import Features
from covey._core.search.families import REGRESSION, families
from covey._core.search.rows import SearchBlock, SearchInMemory
from covey._core.search.search import Search
from covey._core.search.targets import ValueTarget
from covey._core.softmax_linear import linear_logits
from covey._core.value_losses import ValueLoss, weighted_quantile
from covey._validation import (
    check_all_finite,
    check_choice,
    check_number,
    check_sample_weight,
)
from covey.fusers import make_value_fuser
from covey.fusers._gate import GatedGroups
from covey.members._columns import flip_units
from covey.members._folds import make_folds
from covey.members._fused import FusedRegressor
from covey.members._linear_flock import LinearFlock
from covey.members._member import LinearRegressionMember

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
    objective = GatedLikelihood(
        design,
        [design],
        ValueLikelihood(target, loss),
        weight[None, :],
        np.array([_SCALE_ALPHA]),
        "log",
        1,
    )
    found = minimise(objective, np.zeros((1, objective.n_parameters)), max_iter=50)
    return target - objective.predictions(found.x)[0]


class LinearFlockRegressor(LinearFlock, FusedRegressor):
    """What `FlockRegressor` and `SubsetEnsembleRegressor` share: linear members and a fuser.

    Settings of Algorithm 1 that an estimator has no parameters for are constants of its class.
    """

    # -- check -----------------------------------------------------------------------------

    def _check_parameters(self):
        check_number(self.n_estimators, "n_estimators", low=1, whole=True)
        check_choice(self.loss, "loss", LOSSES)
        check_number(self.epsilon, "epsilon", low=1.0)
        check_number(self.quantile, "quantile", low=0, high=1, closed="neither")
        self._check_search()
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

    def _check_search(self):
        """Check the penalty, and the parameters of a search where there is one."""
        check_number(self.alpha, "alpha", low=0)

    def _searches(self):
        """Whether gated groups are searched for."""
        return False

    def _settings(self, loss):
        temperature = _DEFAULT_TEMPERATURE if self.temperature is None else self.temperature
        return TrainingSettings(
            learning_rate=self.learning_rate,
            tol=float(self.tol),
            patience=int(self.n_iter_no_change),
            max_iter=int(self.max_iter),
            init_scale=float(self.init_scale),
            acceptance=self.acceptance,
            temperature=float(temperature),
            # The optimiser of a search has penalties of its own, one a candidate.
            alpha=0.0 if self._searches() else float(self.alpha),
            subset_penalty=float(self.subset_penalty),
            loss=loss,
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
        fuser = None if self._searches() else make_value_fuser(self.fuser, "fuser")
        if fuser is not None and groups is not None:
            raise ValueError(
                "groups keeps rows together in the folds of a search, but "
                f"{type(self).__name__} has none; use FlockRegressor, or leave groups out."
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
        settings = self._settings(loss)
        trainer = StackTrainer(
            in_memory(self._design(X), target, weight[None, :], settings),
            settings,
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
        grouped = self.feature_groups is not None
        search = Search(
            SearchInMemory(SearchBlock(X, ValueTarget(target, loss), weight)),
            REGRESSION,
            Features(self.mean_, self.scale_, self._usable, self._units(), grouped),
            growth=self._settings(loss),
            flip_probability=float(self.flip_probability),
            seed=self._seed,
        )
        best = self.effort == "best"
        share_left = 1.0
        if self.effort == "fast" and self.alpha is None:
            share_left = self._share_left(X, target, weight, loss)
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
            families(
                REGRESSION,
                self.effort,
                int(self.n_estimators),
                self.alpha,
                search.bases,
                np.count_nonzero(weight),
                share_left,
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
        self.group_of_ = np.repeat(np.arange(len(flock.sizes)), flock.sizes)
        self.group_weights_ = flock.weights
        self.cv_results_ = flock.candidates
        return GatedGroups.of(flock, None)

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

    def _member_values(self, X):
        return linear_logits(self.basis_.rows(X), self.coef_, self.intercept_).T

    def _fused(self, X):
        if isinstance(self.fuser_, GatedGroups):
            coef, intercept = self.coef_[:, None], self.intercept_[:, None]
            return self.fuser_.fuse_linear(X, coef, intercept)[:, 0]
        return super()._fused(X)

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
