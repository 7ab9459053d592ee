"""The paper's ensemble: members that choose their boundaries and their features jointly."""

import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from covey._core.algorithm1.in_memory import in_memory
from covey._core.algorithm1.members import History
from covey._core.algorithm1.reweighting import REWEIGHTINGS
from covey._core.algorithm1.settings import DivergedError, TrainingSettings
from covey._core.algorithm1.trainer import StackTrainer
from covey._core.basis import Basis
from covey._core.design import Design, sorted_columns
from covey._core.losses import LOSSES, ClassLoss
from covey._core.moments import moments
from covey._core.search.bases import Features
from covey._core.search.families import CLASSIFICATION, families
from covey._core.search.rows import SearchBlock, SearchInMemory
from covey._core.search.search import Search
from covey._core.search.targets import ClassTarget
from covey._core.softmax_linear import class_blocks, linear_logits, log_softmax
from covey._devices import HostDevice, check_memory, device_of, returned, to_numpy
from covey._validation import check_choice, check_number
from covey.fusers import Gate, Predictions, Product, make_fuser
from covey.fusers._gate import GatedGroups
from covey.members._base import GrownClassifier
from covey.members._checkpointed import Checkpointed
from covey.members._columns import flip_units
from covey.members._flock_views import decisions, flock_table
from covey.members._folds import make_folds
from covey.members._member import LinearMember
from covey.members._plain import as_logistic_regression

_DEFAULT_TEMPERATURE = 0.01
_MOST_FOR_NEWTON = 2000
# Numbers of X that are sorted at once: bounds the memory that this needs.
_NUMBERS_AT_ONCE = 1 << 18


@dataclass
class _Grown:
    """A member as the trainer left it, in standardised units; what a warm start goes on from."""

    theta: np.ndarray  # (C, D)
    intercept: np.ndarray  # (C,)
    support: np.ndarray  # (D,)
    n_iter: int
    accuracy: float
    history: History
    overshot: bool  # ended with a likelihood below that of its start and of a uniform guess


class LinearFlock:
    """An ensemble of linear members on feature subsets, for classes or for numbers."""


class LinearFlockClassifier(LinearFlock, Checkpointed, GrownClassifier):
    """What `FlockClassifier` and `SubsetEnsembleClassifier` share: linear members and a fuser.

    Settings of Algorithm 1 that an estimator has no parameters for are constants of its class.
    """

    # -- grow ------------------------------------------------------------------------------

    def _check_parameters(self):
        check_number(self.n_estimators, "n_estimators", low=1, whole=True)
        check_number(self.flip_probability, "flip_probability", low=0, high=1)
        if isinstance(self.learning_rate, str):
            check_choice(self.learning_rate, "learning_rate", ("auto", "constant", "newton"))
        else:
            check_number(self.learning_rate, "learning_rate", low=0, closed="neither")
        check_number(self.tol, "tol", finite=False)
        if self.n_iter_no_change is not None:
            check_number(self.n_iter_no_change, "n_iter_no_change", low=1, whole=True)
        check_number(self.max_iter, "max_iter", low=1, whole=True)
        check_number(self.init_scale, "init_scale", low=0)
        check_choice(self.acceptance, "acceptance", ("greedy", "metropolis"))
        if self.temperature is not None:
            check_number(self.temperature, "temperature", low=0, closed="neither")
        check_number(self.subset_penalty, "subset_penalty", low=0)
        check_choice(self.loss, "loss", LOSSES)
        check_number(self.focal_gamma, "focal_gamma", low=0)
        if self.reweighting is not None:
            check_choice(self.reweighting, "reweighting", REWEIGHTINGS)
        if self.loss != "log" and self._is_gated():
            raise ValueError(
                f"loss={self.loss!r} trains members, but a gate would then refine them by their "
                "likelihood; use loss='log', or a fusion other than a gate ('product', 'mean')."
            )
        self._check_search()
        self._check_size_parameters()
        if self.warm_start and self.checkpoint is not None:
            raise ValueError(
                "warm_start goes on from the members at hand, checkpoint from a file; use one of "
                "them."
            )
        if self.warm_start and self._is_gated():
            raise ValueError(
                "warm_start adds members beside those at hand, but a gate changes them all; "
                "use warm_start=False, or a fusion other than a gate."
            )

    def _check_search(self):
        """Check the parameters of a search, where there is one."""

    def _is_gated(self):
        return isinstance(make_fuser(self.fuser), Gate)

    def _searches(self):
        """Whether gated groups are searched for."""
        return False

    def _settings(self):
        temperature = _DEFAULT_TEMPERATURE if self.temperature is None else self.temperature
        return TrainingSettings(
            learning_rate=self.learning_rate,
            tol=float(self.tol),
            patience=self.n_iter_no_change,
            max_iter=int(self.max_iter),
            init_scale=float(self.init_scale),
            acceptance=self.acceptance,
            temperature=float(temperature),
            fit_intercept=bool(self.fit_intercept),
            subset_penalty=float(self.subset_penalty),
            loss=ClassLoss(self.loss, float(self.focal_gamma)),
            reweighting=self.reweighting,
        )

    def _max_tasks(self):
        return None if self._searches() else self.n_estimators - len(getattr(self, "_grown", []))

    def _forget(self):
        self._grown = []

    def _column_name(self, position):
        names = getattr(self, "feature_names_in_", None)
        return str(position) if names is None else repr(names[position])

    def _standardised_design(self, X, order, weight):
        """The design with rows in the given order; sets what the columns are scaled by."""
        n_features = X.shape[1]
        sparse = hasattr(X, "tocsr")
        if sparse:
            columns = sorted_columns(X, order)
        else:
            columns = np.empty((n_features, len(order)))
            at_once = max(1, _NUMBERS_AT_ONCE // n_features)
            for start in range(0, len(order), at_once):
                rows = slice(start, start + at_once)
                columns[:, rows] = X[order[rows]].T
        if not self._grown:
            self._set_scale(*moments(columns, weight))
        if sparse:
            return Design(columns, self.mean_[None, :], self.scale_[None, :])
        columns -= self.mean_[:, None]
        columns /= self.scale_[:, None]
        return Design(columns)

    def _set_scale(self, mean, deviation):
        """What columns are centred and scaled by, and which can be used at all."""
        varies = deviation > 0
        if not varies.any():
            raise ValueError(
                f"All {len(varies)} feature(s) of X are constant, so there is nothing to learn "
                "from; give at least one column that varies."
            )
        # Beside an intercept a constant column says nothing; without one it is one.
        self._usable = varies if self.fit_intercept else varies | (mean != 0)
        # Without an intercept nothing may be shifted: that would be one.
        centred = self.scale_features and self.fit_intercept
        self.mean_ = mean if centred else np.zeros_like(mean)
        self.scale_ = (
            np.where(varies, deviation, 1.0) if self.scale_features else np.ones(len(mean))
        )
        self._grown_with = self._layout()

    def _layout(self):
        """The parameters that a warm start cannot change."""
        return {"scale_features": self.scale_features, "fit_intercept": self.fit_intercept}

    def _grow(self, X, codes, sample_weight, context):
        if self.n_estimators < len(self._grown):
            raise ValueError(
                f"n_estimators={self.n_estimators} is fewer than the {len(self._grown)} members "
                "already grown; with warm_start=True it cannot shrink."
            )
        for name, value in self._grown_with.items() if self._grown else ():
            if getattr(self, name) != value:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} differs from {value!r}, with which the "
                    "members at hand were grown; with warm_start=True it cannot change."
                )
        trainer = self._trainer(X, codes, sample_weight)
        for member in self._grown:
            trainer.see(
                self._place.send(member.theta[:, None, :]),
                self._place.send(member.intercept[:, None]),
            )
        for number in range(len(self._grown), self.n_estimators):
            task = context.subcontext(task_name="member").call_on_fit_task_begin(estimator=self)
            started = time.perf_counter()
            self._grown.append(self._grow_one(trainer))
            self._report(number, time.perf_counter() - started)
            self._done("member")
            stop = task.call_on_fit_task_end(
                estimator=self,
                X=X,
                y=self._labels(codes),
                metadata={"sample_weight": sample_weight},
                reconstruction_attributes=self._so_far,
            )
            if stop:
                break
        overshot = sum(member.overshot for member in self._grown)
        if overshot:
            warnings.warn(
                f"{overshot} of {len(self._grown)} members ended with an objective below that "
                f"of their start and of a uniform guess: learning_rate={self.learning_rate!r} "
                f"overshoots; {self._gentler()}.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._keep_first(len(self._grown))

    _place = HostDevice()  # where members are grown; a fit may set another one

    def _received(self, X, y, sample_weight):
        place = device_of(self.device, X, y, sample_weight)
        if not isinstance(place, HostDevice):
            for refused, what in (
                (hasattr(X, "tocsr"), "sparse X"),
                (self.learning_rate == "newton", "learning_rate='newton'"),
            ):
                if refused and place.device.type == "cpu":
                    place = HostDevice()
                    break
                if refused:
                    raise ValueError(
                        f"{what} is for the CPU, but the fit is to be computed on {place.name}; "
                        "use device=None and arrays of NumPy."
                    )
        self._place = place
        return to_numpy(X), to_numpy(y), to_numpy(sample_weight)

    def _let_go(self):
        super()._let_go()
        self.__dict__.pop("_place", None)

    def _trainer(self, X, codes, sample_weight):
        """Whoever trains the members on these rows; sets what the columns are scaled by."""
        # The trainer wants rows sorted by class.
        order = np.argsort(codes, kind="stable")
        weight = sample_weight[order]
        place = self._place
        self._check_newton(X.shape[1])
        check_memory(
            place,
            X,
            len(self.classes_),
            bool(self.flip_probability),
            n_matrices=4 if self.learning_rate == "newton" else 0,
        )
        design = self._standardised_design(X, order, weight)
        if not isinstance(place, HostDevice):
            design = design.sent(place.send)
        settings = self._settings()
        blocks = class_blocks(np.bincount(codes, minlength=len(self.classes_)))
        return StackTrainer(
            in_memory(design, blocks, place.send(weight[None, :]), settings),
            settings,
            seed=self._seed,
            runs=[0],
            flip_probability=np.array([float(self.flip_probability)]),
            unit_of_feature=self._units(),
            usable=self._usable,
            journal=self._journal,
        )

    def _check_newton(self, n_features):
        if self.learning_rate == "newton" and n_features > _MOST_FOR_NEWTON:
            raise ValueError(
                f"learning_rate='newton' keeps a matrix of all pairs of features, but X has "
                f"{n_features} of them, more than {_MOST_FOR_NEWTON}; use 'auto'."
            )

    def _done(self, part):
        """Called after each member, or family of candidates: for whoever shows progress."""

    def _labels(self, codes):
        """What callbacks are shown as y."""
        return self.classes_[codes]

    def _gentler(self):
        if self.learning_rate == "auto":
            return "start closer to zero (init_scale), or rescale X"
        return "use learning_rate='auto' or a smaller number"

    def _units(self):
        return flip_units(
            self.feature_groups,
            self.always_keep,
            ~self._usable,
            getattr(self, "feature_names_in_", None),
        )

    def _so_far(self):
        """What callbacks make a fitted flock of; none where the fusion is yet to be learnt."""
        fuser = make_fuser(self.fuser)
        if fuser.learns:
            return None
        return {
            **self._attributes(len(self._grown)),
            "classes_": self.classes_,
            "fuser_": fuser,
            "mean_": self.mean_,
            "scale_": self.scale_,
        }

    def _not_diverged(self, function, *args, **kwargs):
        """What the function gives, or one sentence if the ascent leaves the finite numbers."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return function(*args, **kwargs)
        except DivergedError as error:
            if isinstance(self.learning_rate, str):
                raise ValueError(
                    f"The ascent of member {error.member} diverges: the features are too large or "
                    "too small for floating point; use scale_features=True, or rescale X."
                ) from None
            raise ValueError(
                f"learning_rate={self.learning_rate!r} lets the ascent of member {error.member} "
                "diverge; use learning_rate='auto' or a smaller number."
            ) from None

    def _grow_one(self, trainer):
        grown = self._not_diverged(trainer.grow)
        history = grown.history[0]
        guess = ClassLoss(self.loss, self.focal_gamma).of_uniform_guess(len(self.classes_))
        uniform = -guess * float(grown.weight_sum[0])
        return _Grown(
            self._place.bring(grown.theta[:, 0]),
            self._place.bring(grown.intercept[:, 0]),
            grown.support[0],
            int(grown.n_iter[0]),
            float(grown.criterion[0]),
            history,
            bool(history.objective[-1] < min(history.objective[0], uniform)),
        )

    def _report(self, number, seconds):
        if self.verbose:
            member = self._grown[-1]
            print(
                f"[{type(self).__name__}] member {number + 1}/{self.n_estimators}: "
                f"{member.n_iter} steps, weighted accuracy "
                f"{member.accuracy:.4f}, "
                f"{int(member.support.sum())} of {len(member.support)} features, "
                f"{seconds:.2f} s"
            )

    def _check_coefficients(self, coef, basis):
        overflown = ~np.isfinite(coef).all(axis=(0, 1))
        if overflown.any():
            column = int(basis.feature[np.argmax(overflown)])
            raise ValueError(
                f"Column {self._column_name(column)} varies too little for its "
                "coefficient to be a number; multiply it by a constant, or drop it."
            )

    def _attributes(self, n_members):
        """The fitted attributes of the first members, in the units of X."""
        members = self._grown[:n_members]
        coef = np.stack([member.theta for member in members]) / self.scale_
        intercept = np.stack([member.intercept for member in members]) - coef @ self.mean_
        self._check_coefficients(coef, Basis.plain(coef.shape[2]))
        return {
            "n_estimators_": len(members),
            "coef_": coef,
            "intercept_": intercept,
            "support_": np.stack([member.support for member in members]),
            "basis_": Basis.plain(coef.shape[2]),
            "n_iter_": np.array([member.n_iter for member in members]),
            "history_": [vars(member.history).copy() for member in members],
            "_column_mean": self.mean_,
            "_column_scale": self.scale_,
            "_member_shares": np.full(len(members), 1.0 / len(members)),
        }

    def _keep_first(self, n_members):
        for name, value in self._attributes(n_members).items():
            setattr(self, name, value)

    # -- search ----------------------------------------------------------------------------

    def _search(self, X, codes, weight, groups, context):
        for name in ("group_of_", "group_weights_", "cv_results_"):
            # Of an earlier fit, perhaps one that searched.
            self.__dict__.pop(name, None)
        if not self._searches():
            if groups is not None:
                raise ValueError(
                    "groups keeps rows together in the folds of a search, but "
                    f"{type(self).__name__} has none; use FlockClassifier, or leave groups out."
                )
            return None
        search = self._begun_search(X, codes, weight)
        best = self.effort == "best"
        folds = []
        if self.effort != "fast":
            folds = self._search_folds(X, codes, weight, groups, 2 if best else 1)
        started = time.perf_counter()

        @contextmanager
        def on_family(family):
            task = context.subcontext(task_name="candidates").call_on_fit_task_begin(
                estimator=self
            )
            if self.verbose:
                print(
                    f"[{type(self).__name__}] {time.perf_counter() - started:.2f} s: "
                    f"{len(family.alphas)} candidates of {family.n_members} members on "
                    f"{family.basis}"
                )
            yield
            self._done("candidates")
            # A search that is stopped half-way has chosen nothing: it goes on.
            task.call_on_fit_task_end(
                estimator=self, X=X, y=None, metadata={}, reconstruction_attributes=lambda: None
            )

        flock = self._not_diverged(
            search.run,
            families(
                CLASSIFICATION,
                self.effort,
                int(self.n_estimators),
                self.alpha,
                search.bases,
                self._weight_of_all(weight),
            ),
            folds,
            n_restarts=2 if best else 1,
            fit_intercept=bool(self.fit_intercept),
            on_family=on_family,
        )
        self._check_coefficients(flock.coef, flock.basis)
        self.n_estimators_ = len(flock.coef)
        self.coef_, self.intercept_, self.support_ = flock.coef, flock.intercept, flock.support
        self.basis_ = flock.basis
        self._column_mean, self._column_scale = flock.column_mean, flock.column_scale
        self._member_shares = flock.shares
        self.n_iter_ = flock.n_iter
        self.history_ = [{} if past is None else vars(past).copy() for past in flock.history]
        self.group_of_ = np.repeat(np.arange(len(flock.sizes)), flock.sizes)
        self.group_weights_ = flock.weights
        self.cv_results_ = flock.candidates
        return GatedGroups.of(flock, self.classes_)

    # The next three are all that a search must know of where the rows are.

    def _begun_search(self, X, codes, weight):
        """Whoever searches these rows; sets what the columns are scaled by."""
        self._set_scale(*moments(X.tocsc() if hasattr(X, "tocsr") else X.T, weight))
        place = self._place
        self._check_newton(X.shape[1])
        check_memory(place, X, len(self.classes_) * self.n_estimators, flips=True)
        beside = None if isinstance(place, HostDevice) else place.send(np.zeros(0))
        target = ClassTarget(codes, len(self.classes_))
        rows = SearchInMemory(SearchBlock(X, target, weight, beside=beside))
        return Search(rows, CLASSIFICATION, **self._search_settings())

    def _search_folds(self, X, codes, weight, groups, n_repeats):
        """The folds by which candidates are compared."""
        return self._kept_folds(
            lambda: make_folds(
                self.cv,
                X,
                codes,
                weight,
                self.classes_,
                groups=groups,
                seed=self._seed,
                n_repeats=n_repeats,
            )
        )

    def _weight_of_all(self, weight):
        """What all rows weigh."""
        return weight.sum()

    def _search_settings(self):
        """What a search is told beside the rows."""
        return {
            "features": Features(
                self.mean_,
                self.scale_,
                self._usable,
                self._units(),
                grouped=self.feature_groups is not None,
                centered=bool(self.scale_features and self.fit_intercept),
                scaled=bool(self.scale_features),
            ),
            "growth": self._settings(),
            "flip_probability": float(self.flip_probability),
            "seed": self._seed,
            "journal": self._journal,
        }

    # -- refine ----------------------------------------------------------------------------

    def _refines(self, fuser):
        return isinstance(fuser, Gate)

    def _refine(self, X, codes, sample_weight, fuser):
        """Fit gate and members together, each member on the subset that it was grown on."""
        order = np.argsort(codes, kind="stable")
        refined = fuser.refine(
            self._standardised_design(X, order, sample_weight[order]),
            *self._grown_parts(),
            X,
            codes,
            sample_weight,
            self.classes_,
            fit_intercept=bool(self.fit_intercept),
            journal=self._journal,
        )
        self._keep_refined(*refined)
        importance = fuser.importance(self._predictions(X), X)
        self._member_shares = sample_weight @ importance / sample_weight.sum()

    def _grown_parts(self):
        """Theta (K, C, D), intercepts (K, C) and subsets (K, D) of the members."""
        return (
            np.stack([member.theta for member in self._grown]),
            np.stack([member.intercept for member in self._grown]),
            np.stack([member.support for member in self._grown]),
        )

    def _keep_refined(self, theta, intercept):
        """Let the members be where they were refined to."""
        for member, refined, moved in zip(self._grown, theta, intercept, strict=True):
            member.theta, member.intercept = refined, moved
        self._keep_first(len(self._grown))

    # -- fuse ------------------------------------------------------------------------------

    def _predictions(self, X):
        # Classes first: (C, K, n).
        logs = log_softmax(
            linear_logits(self.basis_.rows(X), self.coef_.transpose(1, 0, 2), self.intercept_.T)
        ).transpose(2, 1, 0)
        return Predictions(np.exp(logs), self.classes_, log_values=logs)

    def _fused_log(self, X):
        if isinstance(self.fuser_, Product):
            return log_softmax(linear_logits(X, *self._as_one())).T
        if isinstance(self.fuser_, GatedGroups):
            with np.errstate(divide="ignore"):
                return np.log(self._fused(X))
        return super()._fused_log(X)

    def _fused(self, X):
        if isinstance(self.fuser_, Product):
            return np.exp(self._fused_log(X))
        if isinstance(self.fuser_, GatedGroups):
            return self.fuser_.fuse_linear(X, self.coef_, self.intercept_)
        return super()._fused(X)

    def _as_one(self):
        """Coefficients (C, D) and intercepts (C,) of a product of all members."""
        weights = self.fuser_.member_weights(self.n_estimators_)
        return np.tensordot(weights, self.coef_, axes=1), weights @ self.intercept_

    def decision_function(self, X):
        """Scores whose softmax are the fused probabilities; for two classes the log-odds.

        Of a flock with ``fuser="product"``, which is one linear model, they are its logits: one
        product with X. Of others they are logarithms of probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        if not isinstance(getattr(self, "fuser_", None), Product):
            return super().decision_function(X)
        rows = self._check_rows(X)
        coef, intercept = self._as_one()
        if len(coef) == 2:
            scores = rows @ (coef[1] - coef[0])
            scores += intercept[1] - intercept[0]
            return returned(scores, X)
        # Classes first: sums along few classes are slow.
        scores = (rows @ coef.T).T if hasattr(rows, "tocsr") else coef @ rows.T
        scores += intercept[:, None]
        return returned(scores.T, X)

    def collapse(self):
        """The whole ensemble as one linear model, where the fusion allows it.

        The product of softmax-linear members is itself softmax-linear: its logits are the
        (weighted) mean of theirs. One matrix product then predicts what all members would.

        Returns
        -------
        member : LinearMember
            With the same probabilities.
        """
        check_is_fitted(self, "fuser_")
        if not isinstance(self.fuser_, Product):
            raise ValueError(
                f"Only the product of linear members is itself linear; "
                f"fuser={self.fuser!r} cannot collapse into one linear model."
            )
        weights = self.fuser_.member_weights(self.n_estimators_)
        return self._member(*self._as_one(), self.support_[weights > 0].any(axis=0))

    def to_sklearn(self):
        """The whole ensemble as a plain ``LogisticRegression``, which needs no covey.

        Only a flock with ``fuser="product"`` is one linear model.

        Returns
        -------
        model : sklearn.linear_model.LogisticRegression
            Fitted; with the same probabilities.
        """
        return as_logistic_regression(self)

    # -- explain ---------------------------------------------------------------------------

    def _member(self, coef, intercept, support):
        return LinearMember(
            coef,
            intercept,
            self.classes_,
            support,
            getattr(self, "feature_names_in_", None),
            None if self.basis_.is_plain else self.basis_,
        )

    def explain(self, X, *, top=3):
        """Who decided each row, with what weight, and which features pushed them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        top : int, default=3
            How many features to name for each member.

        Returns
        -------
        records : list of dict
            One for each row: ``prediction``, its ``probability``, and ``members``, those that
            were asked, the most important first. Each of these has its ``member`` number (from
            1), its ``weight``, its own ``prediction`` and ``probability``, and ``because``: the
            columns that moved its log-odds towards its prediction the most, each as (name,
            push), compared with an average row. (Empty: it says the same of an average row.)
        """
        check_number(top, "top", low=1, whole=True)
        X = self._check_rows(X)
        importance = self._by_blocks(
            lambda rows: self.fuser_.importance(self._predictions(rows), rows), X
        )
        return decisions(
            self,
            self.basis_.rows(X.toarray() if hasattr(X, "toarray") else X),
            said=self._by_blocks(self._member_values, X),
            importance=importance,
            fused=self._by_blocks(self._fused, X),
            column_mean=self._column_mean,
            top=top,
        )

    @property
    def estimators_(self):
        """The members, each a fitted classifier that shares the ensemble's arrays."""
        check_is_fitted(self, "fuser_")
        return [
            self._member(*parts)
            for parts in zip(self.coef_, self.intercept_, self.support_, strict=True)
        ]

    @property
    def feature_importances_(self):
        """How much each feature moves the members' logits; sums to one."""
        check_is_fitted(self, "fuser_")
        # Softmax ignores what all classes share.
        contrast = self.coef_ - self.coef_.mean(axis=1, keepdims=True)
        size = self.basis_.on_features(
            self._member_shares @ np.abs(contrast * self._column_scale).mean(axis=1)
        )
        return size / size.sum() if size.any() else size

    def _repr_html_(self):
        """What notebooks show: the estimator, and the flock once it is fitted."""
        html = estimator_html_repr(self)
        if not hasattr(self, "fuser_"):
            return html
        return html + flock_table(self, self._column_scale, self._member_shares)

    def _repr_mimebundle_(self, **kwargs):
        return {"text/plain": repr(self), "text/html": self._repr_html_()}
