"""The fit of a flock that Algorithm 1 grows, one member after another."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from covey import _state as stored
from covey._core.algorithm1.rows import TrainingSettings
from covey._core.algorithm1.trainer import AccuracyHistory, LossHistory
from covey._core.arrays import to_host
from covey._core.basis import Basis
from covey._state import refuse
from covey._validation import check_choice, check_number
from covey.fusers import Gate
from covey.members._linear_model import GrownModel
from covey.members._prepared_fit import PreparedFit
from covey.members._rows_in_memory import InMemoryRows
from covey.members._stored import check_fuser
from covey.members._targets import Classes, Numbers

_TEMPERATURE = 0.01
# Products with this many numbers of X are worth several threads of BLAS.
_LARGE_TABLE = 1 << 20
# No coefficient is larger.
_LARGEST = 1e200
History = AccuracyHistory | LossHistory


@dataclass
class GrownMember:
    """A member as the trainer left it, in standardized units; a warm start continues from it."""

    theta: Annotated[np.ndarray, stored.Array("C D")]
    intercept: Annotated[np.ndarray, stored.Array("C")]
    support: Annotated[np.ndarray, stored.Flags("D")]
    n_iter: Annotated[int, stored.Wholes("", low=0)]
    score: Annotated[float, stored.Array("", nan=True)]  # weighted accuracy, or loss
    history: Annotated[History | None, stored.AnyOf(AccuracyHistory, LossHistory)]
    failure: Annotated[str | None, stored.Text()]  # how its training failed


class Growing:
    """A fit of a flock that Algorithm 1 grows."""

    roster = None  # there are no members of other kinds

    def __init__(self, flock: Any) -> None:
        self._flock = flock

    def restored(self) -> None:
        """Refuse a flock from a file whose parts do not fit each other."""
        flock, model = self._flock, self._flock.model_
        kind = AccuracyHistory if flock._classifies else LossHistory
        own = all(isinstance(one.history, kind | None) for one in flock._grown)
        refuse("grown", "has histories of another target.", own)
        refuse("model", "has more members than are grown.", model.n_members <= len(flock._grown))
        for name in ("coef", "intercept"):
            largest = np.abs(getattr(model, name)).max(initial=0.0)
            refuse(name, "is not finite.", largest <= _LARGEST, too_large=True)
        example = model.target.example(model.n_members)
        check_fuser(model.fuser, lambda fuser: example, model.basis.n_features)

    def check_parameters(self, groups: Any = None) -> None:
        """Refuse parameters that make no sense, before any data are read."""
        flock = self._flock
        rates = ("auto", "constant", "newton") if flock._classifies else ("auto",)
        check_number(flock.n_estimators, "n_estimators", low=1, whole=True)
        check_number(flock.flip_probability, "flip_probability", low=0, high=1)
        if isinstance(flock.learning_rate, str):
            check_choice(flock.learning_rate, "learning_rate", rates)
        else:
            check_number(flock.learning_rate, "learning_rate", low=0, closed="neither")
        check_number(flock.tol, "tol", finite=False)
        if not (flock.n_iter_no_change is None and flock._classifies):
            check_number(flock.n_iter_no_change, "n_iter_no_change", low=1, whole=True)
        check_number(flock.max_iter, "max_iter", low=1, whole=True)
        check_number(flock.init_scale, "init_scale", low=0)
        check_choice(flock.acceptance, "acceptance", ("greedy", "metropolis"))
        check_number(flock.temperature, "temperature", low=0, closed="neither", or_none=True)
        check_number(flock.subset_penalty, "subset_penalty", low=0)
        target = Classes if flock._classifies else Numbers
        target.check_loss(flock)
        check_choice(flock.select_size, "select_size", ("train", "validation"), or_none=True)
        check_choice(flock.of_equals, "of_equals", ("fewest", "most"))
        check_number(
            flock.validation_fraction, "validation_fraction", low=0, high=1, closed="neither"
        )
        if not flock._classifies:
            check_number(flock.alpha, "alpha", low=0)
        fuser = self._fuser = flock._make_fuser(flock.fuser)
        gated = isinstance(fuser, Gate)
        if gated and not flock._classifies:
            fuser.check_numbers()
        elif gated and flock.loss != "log":
            raise ValueError(
                f"loss={flock.loss!r} trains members, but a gate would then refine them by their "
                "likelihood; use loss='log', or a fuser other than a gate ('product', 'mean')."
            )
        if flock.warm_start and flock.checkpoint is not None:
            raise ValueError(
                "warm_start continues with the fitted members, checkpoint from a file; use one of "
                "them."
            )
        if flock.warm_start and gated:
            raise ValueError(
                "warm_start adds members beside the fitted ones, but a gate changes them all; "
                "use warm_start=False, or a fuser other than a gate."
            )
        if fuser.learns and flock.select_size is not None:
            raise ValueError(
                f"select_size={flock.select_size!r} compares flocks of different sizes under a "
                f"fixed rule, but fuser={flock.fuser!r} learns; use select_size=None."
            )
        if groups is not None:
            search = "FlockRegressor" if not flock._classifies else "FlockClassifier"
            raise ValueError(
                "groups keeps rows together in the folds of a search, but "
                f"{type(flock).__name__} has none; use {search}, or leave groups out."
            )

    def settings(self, target: Classes | Numbers) -> TrainingSettings:
        """Return the settings by which a member is trained."""
        flock = self._flock
        return TrainingSettings(
            learning_rate=flock.learning_rate,
            tol=float(flock.tol),
            patience=flock.n_iter_no_change,
            max_iter=int(flock.max_iter),
            init_scale=float(flock.init_scale),
            acceptance=flock.acceptance,
            temperature=_TEMPERATURE if flock.temperature is None else float(flock.temperature),
            subset_penalty=float(flock.subset_penalty),
            **target.growth(flock),
        )

    @property
    def n_tasks(self) -> int:
        """Return how many subtasks of a fit callbacks can expect."""
        return self._flock.n_estimators - len(getattr(self._flock, "_grown", ()))

    def has_own_threads(self, rows: InMemoryRows) -> bool:
        """Return whether products have one thread each; large ones are left to BLAS."""
        return rows.n_weighted() * rows.n_features < _LARGE_TABLE

    def run(self, fit: PreparedFit, context: Any, given: dict[str, Any]) -> None:
        """Grow the members, and learn to fuse them."""
        flock, fuser, rows = self._flock, self._fuser, fit.rows
        if not hasattr(flock, "_grown"):
            flock._grown = []
        learns = fuser.learns and not isinstance(fuser, Gate)
        if learns or flock.select_size == "validation":
            rows.hold_out(flock.validation_fraction, fit.seed)
        if not (fit.is_numeric or flock._grown):
            fit.learn_scale()
        self._grow(fit, context, given)
        model = self._model(fit, len(flock._grown))
        if flock.select_size is not None:
            scores = rows.stage_scores(model, fuser)
            equals = np.flatnonzero(scores > scores.max() - 1e-12)
            model = self._model(fit, int(equals[0 if flock.of_equals == "fewest" else -1]) + 1)
        if isinstance(fuser, Gate):
            model = self._refined(fit)
        elif fuser.learns:
            X, y, weight = rows.held_out()
            fuser.fit(model.predictions(X), y, X, weight)
        else:
            # A fixed rule learns nothing, but still checks that it suits these members.
            fuser.fit(model.target.example(model.n_members))
        flock.model_ = model

    def _grow(self, fit: PreparedFit, context: Any, given: dict[str, Any]) -> None:
        flock, scaling = self._flock, fit.scaling
        self._check_warm_start()
        trainer = fit.rows.trainer(
            scaling.mean,
            scaling.scale,
            scaling.usable,
            self.settings(fit.target),
            flip_probability=float(flock.flip_probability),
            seed=fit.seed,
            unit_of_feature=fit.units(),
            journal=fit.journal,
        )
        for member in flock._grown:
            trainer.see(member.theta[:, None, :], member.intercept[:, None])
        for number in range(len(flock._grown), flock.n_estimators):
            task = context.subcontext(task_name="member").call_on_fit_task_begin(estimator=flock)
            started = time.perf_counter()
            flock._grown.append(self._grow_one(fit, trainer))
            self._show(number, time.perf_counter() - started)
            fit.rows.done("member")
            stop = task.call_on_fit_task_end(
                estimator=flock,
                **given,
                reconstruction_attributes=partial(self._reconstruction, fit),
            )
            if stop:
                break
        failures = [member.failure for member in flock._grown if member.failure]
        if failures:
            warnings.warn(
                f"{failures.count(failures[0])} of {len(flock._grown)} members {failures[0]}",
                ConvergenceWarning,
                stacklevel=6,
            )

    def _grow_one(self, fit: PreparedFit, trainer: Any) -> GrownMember:
        grown = trainer.grow()
        return GrownMember(
            to_host(grown.theta[:, 0]).astype(np.float64),
            to_host(grown.intercept[:, 0]).astype(np.float64),
            grown.support[0],
            int(grown.n_iter[0]),
            float(np.abs(grown.criterion[0])),
            grown.history[0],
            fit.target.failure(self._flock, grown),
        )

    def _show(self, number: int, seconds: float) -> None:
        flock = self._flock
        if flock.verbose:
            member = flock._grown[-1]
            measure = "weighted loss" if not flock._classifies else "weighted accuracy"
            print(
                f"[{type(flock).__name__}] member {number + 1}/{flock.n_estimators}: "
                f"{member.n_iter} steps, {measure} {member.score:.4f}, "
                f"{int(member.support.sum())} of {len(member.support)} features, {seconds:.2f} s"
            )

    def _reconstruction(self, fit: PreparedFit) -> dict[str, Any] | None:
        """Return the data of a fitted flock for callbacks; None before the fuser has learnt."""
        if self._fuser.learns:
            return None
        return {"model_": self._model(fit, len(self._flock._grown))}

    def _parts(self, n_members: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return theta (K, C, D), intercepts (K, C) and subsets (K, D) of the first members."""
        members = self._flock._grown[:n_members]
        return (
            np.stack([member.theta for member in members]),
            np.stack([member.intercept for member in members]),
            np.stack([member.support for member in members]),
        )

    def _model(self, fit: PreparedFit, n_members: int) -> GrownModel:
        theta, intercept, support = self._parts(n_members)
        members, mean, scale = self._flock._grown[:n_members], fit.scaling.mean, fit.scaling.scale
        coef = theta / scale
        return GrownModel.of(
            fit,
            fuser=self._fuser,
            basis=replace(Basis.plain(coef.shape[2]), seen=fit.ranges),
            coef=coef,
            intercept=intercept - coef @ mean,
            support=support,
            history=[vars(member.history).copy() if member.history else {} for member in members],
            n_iter=np.array([member.n_iter for member in members]),
            column_mean=mean,
            column_scale=scale,
            shares=np.full(len(members), 1.0 / len(members)),
        )

    def _refined(self, fit: PreparedFit) -> GrownModel:
        """Fit gate and members together, each member on the subset that it was grown on."""
        flock, rows = self._flock, fit.rows
        theta, intercept = rows.refine(
            self._fuser,
            fit.scaling.mean,
            fit.scaling.scale,
            self._parts(len(flock._grown)),
            fit_intercept=bool(flock.fit_intercept),
            journal=fit.journal,
            seed=fit.seed,
        )
        for member, refined, moved in zip(flock._grown, theta, intercept, strict=True):
            member.theta, member.intercept = refined, moved
        model = self._model(fit, len(flock._grown))
        self._warn_of_constant_members(rows.constant_members(model))
        shares, means = rows.mean_importance(model), rows.mean_predictions(model)
        return replace(model, shares=shares, means=means)

    def _warn_of_constant_members(self, constant: np.ndarray) -> None:
        if len(constant) > 1 and constant.sum() > len(constant) / 2:
            warnings.warn(
                f"{constant.sum()} of {len(constant)} members predict the same for (nearly) every "
                "row, so that little but the gate decides; give the Gate a smaller alpha than "
                f"{self._fuser.alpha_:.2g}, or use fewer members (n_estimators).",
                UserWarning,
                stacklevel=7,
            )

    def _check_warm_start(self) -> None:
        """Refuse to continue with fewer members than there are, or with other scales."""
        flock = self._flock
        layout = {"scale_features": flock.scale_features, "fit_intercept": flock.fit_intercept}
        if not flock._grown:
            flock._grown_with = layout
        if flock.n_estimators < len(flock._grown):
            raise ValueError(
                f"n_estimators={flock.n_estimators} is fewer than the {len(flock._grown)} members "
                "already grown; with warm_start=True it cannot shrink."
            )
        for name, value in flock._grown_with.items():
            if layout[name] != value:
                raise ValueError(
                    f"{name}={layout[name]!r} differs from {value!r}, with which the "
                    "fitted members were grown; with warm_start=True it cannot change."
                )
