"""Flocks that Algorithm 1 grows, one member after another."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from covey import _state as stored
from covey._core.algorithm1.settings import TrainingSettings
from covey._core.algorithm1.trainer import AccuracyHistory, LossHistory
from covey._core.arrays import to_host
from covey._core.basis import Basis
from covey._state import refuse
from covey._validation import check_choice, check_number
from covey.fusers import Fuser, Gate
from covey.members._linear_flock import LinearFlock
from covey.members._stored import check_fuser
from covey.members._training_rows import TrainingRows

_TEMPERATURE = 0.01
# No coefficient is larger.
_LARGEST = 1e200


@dataclass
class GrownMember:
    """A member as the trainer left it, in standardized units; a warm start continues from it."""

    theta: stored.Array("C D")
    intercept: stored.Array("C")
    support: stored.Flags("D")
    n_iter: stored.Wholes("", low=0)
    score: stored.Array("", nan=True)  # weighted accuracy, or loss
    history: stored.OrNone(stored.AnyOf(AccuracyHistory, LossHistory))
    failure: stored.OrNone(stored.Text())  # how its training failed


class Algorithm1Flock(LinearFlock):
    """What `SubsetEnsembleClassifier` and `SubsetEnsembleRegressor` share."""

    fuser: stored.Parameter(Fuser)
    _usable: stored.Flags("D")
    mean_: stored.Array("D")
    scale_: stored.Array("D", low=1e-200)
    _means: stored.Array("D")
    _member_means: stored.OrAbsent(stored.Array("K C"))
    _grown: stored.Stacked(GrownMember, "R")
    n_estimators_: stored.Whole(1, "R", letter="K")
    _member_shares: stored.Array("K", low=0)
    _ranges: stored.OrNone(stored.Array("2 D"))
    _grown_with: stored.Parts({"scale_features": stored.Flag(), "fit_intercept": stored.Flag()})
    fuser_: stored.Model(Fuser)

    def _restored(self) -> None:
        self._check_width("mean", len(self.mean_))
        kind = LossHistory if not self._classifies else AccuracyHistory
        own = all(isinstance(one.history, kind | None) for one in self._grown)
        refuse("grown", "has histories of another target.", own)
        shares = self._member_shares
        with np.errstate(over="ignore", invalid="ignore"):
            self._keep_first(self.n_estimators_)
        self._member_shares = shares
        for name in ("member_coef_", "member_intercept_"):
            largest = np.abs(getattr(self, name)).max(initial=0.0)
            refuse(name, "is not finite.", largest <= _LARGEST, too_large=True)
        check_fuser(self.fuser_, lambda fuser: self._target.example(self), len(self.mean_))

    def _check_parameters(self) -> None:
        rates = ("auto", "constant", "newton") if self._classifies else ("auto",)
        check_number(self.n_estimators, "n_estimators", low=1, whole=True)
        check_number(self.flip_probability, "flip_probability", low=0, high=1)
        if isinstance(self.learning_rate, str):
            check_choice(self.learning_rate, "learning_rate", rates)
        else:
            check_number(self.learning_rate, "learning_rate", low=0, closed="neither")
        check_number(self.tol, "tol", finite=False)
        if not (self.n_iter_no_change is None and self._classifies):
            check_number(self.n_iter_no_change, "n_iter_no_change", low=1, whole=True)
        check_number(self.max_iter, "max_iter", low=1, whole=True)
        check_number(self.init_scale, "init_scale", low=0)
        check_choice(self.acceptance, "acceptance", ("greedy", "metropolis"))
        if self.temperature is not None:
            check_number(self.temperature, "temperature", low=0, closed="neither")
        check_number(self.subset_penalty, "subset_penalty", low=0)
        self._target.check_loss(self)
        if self.select_size is not None:
            check_choice(self.select_size, "select_size", ("train", "validation"))
        check_number(
            self.validation_fraction, "validation_fraction", low=0, high=1, closed="neither"
        )
        if not self._classifies:
            check_number(self.alpha, "alpha", low=0)
        fuser = self._make_fuser(self.fuser)
        gated = self._refines(fuser)
        if gated and not self._classifies:
            fuser.check_numbers()
        elif gated and self.loss != "log":
            raise ValueError(
                f"loss={self.loss!r} trains members, but a gate would then refine them by their "
                "likelihood; use loss='log', or a fuser other than a gate ('product', 'mean')."
            )
        if self.warm_start and self.checkpoint is not None:
            raise ValueError(
                "warm_start continues with the fitted members, checkpoint from a file; use one of "
                "them."
            )
        if self.warm_start and gated:
            raise ValueError(
                "warm_start adds members beside the fitted ones, but a gate changes them all; "
                "use warm_start=False, or a fuser other than a gate."
            )

    def _settings(self) -> TrainingSettings:
        """How a member is trained."""
        return TrainingSettings(
            learning_rate=self.learning_rate,
            tol=float(self.tol),
            patience=self.n_iter_no_change,
            max_iter=int(self.max_iter),
            init_scale=float(self.init_scale),
            acceptance=self.acceptance,
            temperature=_TEMPERATURE if self.temperature is None else float(self.temperature),
            subset_penalty=float(self.subset_penalty),
            **self._target.growth(self),
        )

    def _check_fuser(self, fuser: Fuser, groups: Any) -> None:
        check_fixed_size(self.select_size, self.fuser, fuser)
        if groups is not None:
            search = "FlockRegressor" if not self._classifies else "FlockClassifier"
            raise ValueError(
                "groups keeps rows together in the folds of a search, but "
                f"{type(self).__name__} has none; use {search}, or leave groups out."
            )

    def _refines(self, fuser: Fuser) -> bool:
        """Whether members and fuser are refined together."""
        return isinstance(fuser, Gate)

    def _max_tasks(self) -> int:
        return self.n_estimators - len(self._grown)

    def _fit_rows(
        self, rows: TrainingRows, fuser: Fuser, context: Any, given: dict[str, Any]
    ) -> Fuser:
        learns = fuser.learns and not self._refines(fuser)
        if learns or self.select_size == "validation":
            rows.hold_out(self.validation_fraction, self._seed)
        if self._classifies and not self._grown:
            self._set_scale(*rows.moments())
        self._grow(rows, fuser, context, given)
        if self.select_size is not None:
            self._keep_first(best_size(rows.stage_scores(self, fuser)))
        if self._refines(fuser):
            self._refine(rows, fuser)
        elif fuser.learns:
            X, y, weight = rows.held_out()
            fuser.fit(self._predictions(X), y, X, weight)
        else:
            # A fixed rule learns nothing, but still checks that it suits these members.
            fuser.fit(self._target.example(self))
        return fuser

    def _grow(self, rows: TrainingRows, fuser: Fuser, context: Any, given: dict[str, Any]) -> None:
        check_warm_start(self)
        trainer = rows.trainer(
            self.mean_,
            self.scale_,
            self._usable,
            self._settings(),
            flip_probability=float(self.flip_probability),
            seed=self._seed,
            unit_of_feature=self._units(),
            journal=self._journal,
        )
        for member in self._grown:
            trainer.see(member.theta[:, None, :], member.intercept[:, None])
        for number in range(len(self._grown), self.n_estimators):
            task = context.subcontext(task_name="member").call_on_fit_task_begin(estimator=self)
            started = time.perf_counter()
            self._grown.append(self._grow_one(rows, trainer))
            self._show(number, time.perf_counter() - started)
            rows.done("member")
            stop = task.call_on_fit_task_end(
                estimator=self,
                **given,
                reconstruction_attributes=lambda: self._reconstruction(fuser),
            )
            if stop:
                break
        failures = [member.failure for member in self._grown if member.failure]
        if failures:
            warnings.warn(
                f"{failures.count(failures[0])} of {len(self._grown)} members {failures[0]}",
                ConvergenceWarning,
                stacklevel=6,
            )
        self._keep_first(len(self._grown))

    def _grow_one(self, rows: TrainingRows, trainer: Any) -> GrownMember:
        grown = trainer.grow()
        return GrownMember(
            to_host(grown.theta[:, 0]).astype(np.float64),
            to_host(grown.intercept[:, 0]).astype(np.float64),
            grown.support[0],
            int(grown.n_iter[0]),
            float(np.abs(grown.criterion[0])),
            grown.history[0],
            self._target.failure(self, grown),
        )

    def _show(self, number: int, seconds: float) -> None:
        if self.verbose:
            member = self._grown[-1]
            measure = "weighted loss" if not self._classifies else "weighted accuracy"
            print(
                f"[{type(self).__name__}] member {number + 1}/{self.n_estimators}: "
                f"{member.n_iter} steps, {measure} {member.score:.4f}, "
                f"{int(member.support.sum())} of {len(member.support)} features, {seconds:.2f} s"
            )

    def _reconstruction(self, fuser: Fuser) -> dict[str, Any] | None:
        """What callbacks make a fitted flock of; None where the fuser is yet to be learnt."""
        if fuser.learns:
            return None
        names = ("classes_", "y_center_", "y_scale_", "mean_", "scale_")
        known = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return {**self._attributes(len(self._grown)), **known, "fuser_": fuser}

    def _parts(self, n_members: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Theta (K, C, D), intercepts (K, C) and subsets (K, D) of the first members."""
        members = self._grown[:n_members]
        return (
            np.stack([member.theta for member in members]),
            np.stack([member.intercept for member in members]),
            np.stack([member.support for member in members]),
        )

    def _attributes(self, n_members: int) -> dict[str, Any]:
        theta, intercept, support = self._parts(n_members)
        members = self._grown[:n_members]
        coef = theta / self.scale_
        return self._attributes_of(
            replace(Basis.plain(coef.shape[2]), seen=self._ranges),
            coef,
            intercept - coef @ self.mean_,
            support,
            np.array([member.n_iter for member in members]),
            [member.history for member in members],
            self.mean_,
            self.scale_,
            np.full(len(members), 1.0 / len(members)),
        )

    def _keep_first(self, n_members: int) -> None:
        for name, value in self._attributes(n_members).items():
            setattr(self, name, value)

    def _refine(self, rows: TrainingRows, fuser: Gate) -> None:
        """Fit gate and members together, each member on the subset that it was grown on."""
        theta, intercept = rows.refine(
            fuser,
            self.mean_,
            self.scale_,
            self._parts(len(self._grown)),
            fit_intercept=bool(self.fit_intercept),
            journal=self._journal,
            seed=self._seed,
        )
        for member, refined, moved in zip(self._grown, theta, intercept, strict=True):
            member.theta, member.intercept = refined, moved
        self._keep_first(len(self._grown))
        self.fuser_ = fuser
        self._member_shares = rows.mean_importance(self)
        self._member_means = rows.mean_predictions(self)
        self._warn_of_constant_members(rows.constant_members(self))

    def _warn_of_constant_members(self, constant: np.ndarray) -> None:
        if len(constant) > 1 and constant.sum() > len(constant) / 2:
            warnings.warn(
                f"{constant.sum()} of {len(constant)} members predict the same for (nearly) every "
                "row, so that little but the gate decides; give the Gate a smaller alpha than "
                f"{self.fuser_.alpha_:.2g}, or use fewer members (n_estimators).",
                UserWarning,
                stacklevel=7,
            )


def check_fixed_size(select_size: str | None, rule: str | Fuser, fuser: Fuser) -> None:
    """Refuse to select a size under a rule that learns."""
    if fuser.learns and select_size is not None:
        raise ValueError(
            f"select_size={select_size!r} compares flocks of different sizes under a "
            f"fixed rule, but fuser={rule!r} learns; use select_size=None."
        )


def check_warm_start(flock: Any) -> None:
    """Refuse to continue with fewer members than are grown, or with columns scaled otherwise."""
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


def best_size(scores: np.ndarray) -> int:
    """How many members score best; the fewest, of equals."""
    return int(np.argmax(scores > scores.max() - 1e-12)) + 1
