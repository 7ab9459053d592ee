"""L-BFGS for a stack of independent problems, advanced together.

scipy's minimiser runs one problem at a time. Folds, penalties and restarts over one design
matrix are many small problems that share their matrix products; here one call of the objective
serves all of them. Each run has its own history, step length and end.

Variables may be bounded by zero on one side (``signs``). Those that lie at zero with a slope that
points outward are held there for an iteration, the curvature is that of the others, and a step
ends at zero where it would cross it (a two-metric projection: Bertsekas 1982). Without signs,
nothing of this is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from covey._core.arrays import Array, BoolArray, IntArray, is_on_host, namespace_of, to_host
from covey._core.journal import Journal, arrays_of, restored

# Sufficient decrease (Armijo), and the most halvings before a run gives up.
_DECREASE = 1e-4
_MAX_HALVINGS = 25
# How far rounding moves a value, in units of its last place.
_ROUNDING = 4.0

_NOBODY: IntArray = np.zeros(0, dtype=np.int64)

#: ``objective(x, runs)`` gives the values (r,) and gradients (r, N) of the runs named.
Objective = Callable[[Array, IntArray], tuple[Array, Array]]


@dataclass
class Minimum:
    """The end of each run: ``x`` is (R, N).

    A run has converged if its gradient became small, and not if it ran out of iterations.
    """

    x: Array
    value: Array
    n_iter: IntArray
    converged: BoolArray


@dataclass
class _Stack:
    """The runs still under way; ``r`` of them, each with up to ``m`` remembered pairs."""

    runs: IntArray  # (r,)
    x: Array  # (r, N)
    value: Array  # (r,)
    gradient: Array  # (r, N)
    steps: list[Array]  # of (r, N): differences of x, the latest last
    turns: list[Array]  # of (r, N): differences of the gradient
    inverses: list[Array]  # of (r,): one over their products; 0 where a pair is not used

    def keep(self, which: IntArray) -> None:
        """Drop all runs but some."""
        self.runs = self.runs[which]
        self.x, self.value, self.gradient = (
            self.x[which, :],
            self.value[which],
            self.gradient[which, :],
        )
        self.steps = [step[which, :] for step in self.steps]
        self.turns = [turn[which, :] for turn in self.turns]
        self.inverses = [inverse[which] for inverse in self.inverses]


def minimise(
    objective: Objective,
    start: Array,
    *,
    max_iter: int = 200,
    tol: float = 1e-5,
    memory: int = 10,
    journal: Journal | None = None,
    on_iteration: Callable[[], None] | None = None,
    signs: Array | None = None,
) -> Minimum:
    """Minimise a stack of smooth functions from ``start`` (R, N).

    ``objective(x, runs) -> (value, gradient)`` is called with the numbers of runs, some of 0 ...
    R-1, and ``x`` of shape (len(runs), N). A run has converged when no entry of its gradient
    exceeds ``tol``; ``memory`` pairs of differences approximate the curvature. Iterations are kept
    in ``journal``, so that an interrupted fit can continue, and ``on_iteration`` is called after
    each. ``signs`` (N,) are 1 for variables that must not be negative, -1 for those that must not
    be positive, and 0 for others; only slopes by variables that may move then count for ``tol``.
    """
    xp, n_runs, n_done = namespace_of(start), start.shape[0], 0
    start = _allowed(start, signs)
    runs, none = np.arange(n_runs), np.zeros(n_runs, dtype=np.int64)
    result = Minimum(xp.asarray(start, copy=True), start[:, 0], none, none > 0)
    task = None if journal is None else journal.begin()
    if task is not None and task.result is not None:
        return restored(result, task.result)
    if task is not None and task.state is not None:
        # A list has one entry here, as a model of all its entries.
        stack = _Stack(runs, start, start[:, 0], start, [start], [start], [start[:, 0]])
        stack, result = (
            restored(part, task.state, name)
            for name, part in (("stack", stack), ("result", result))
        )
        n_done = int(task.state["n_done"])
    else:
        value, gradient = objective(start, runs)
        stack = _Stack(runs, start, value, gradient, [], [], [])
        result.value = xp.asarray(value, copy=True)
    for number in range(n_done, max_iter):
        slopes = _slopes(stack, _movable(stack, signs))
        flat = to_host(xp.max(xp.abs(slopes), axis=1)) <= tol
        if flat.any():
            result.converged[stack.runs[flat]] = True
            _note(stack, result)
            stack.keep(np.flatnonzero(~flat))
        if not len(stack.runs):
            break
        moved = _advance(objective, stack, memory, signs)
        if on_iteration is not None:
            on_iteration()
        result.n_iter[stack.runs] += 1
        if not moved.all():
            # No step lowers the value any more: only rounding is left.
            _note(stack, result)
            stack.keep(np.flatnonzero(moved))
        if not len(stack.runs):
            break
        if task is not None:
            _note(stack, result)
            state = {"stack": stack, "result": result, "n_done": number + 1}
            task.step(partial(arrays_of, state))
    if len(stack.runs):
        _note(stack, result)
    if task is not None:
        task.finish(arrays_of(result))
    return result


def _note(stack: _Stack, result: Minimum) -> None:
    """Write the present state of all active runs into the result."""
    result.x[stack.runs, :] = stack.x
    result.value[stack.runs] = stack.value


def _allowed(x: Array, signs: Array | None) -> Array:
    """Return x (r, N) with zero in place of values of a sign that is not allowed."""
    if signs is None:
        return x
    xp = namespace_of(x)
    return xp.where(x * signs < 0, xp.zeros_like(x), x)


def _movable(stack: _Stack, signs: Array | None) -> Array | None:
    """Return ones for variables (r, N) that may move, and zeros for those held at their bound."""
    if signs is None:
        return None
    xp = namespace_of(stack.x)
    held = (signs != 0) & (stack.x * signs <= 0) & (stack.gradient * signs >= 0)
    return xp.where(held, xp.zeros_like(stack.x), xp.ones_like(stack.x))


def _slopes(stack: _Stack, movable: Array | None) -> Array:
    """Return the gradients (r, N), with zeros for variables that are held."""
    return stack.gradient if movable is None else stack.gradient * movable


def _inverse(step: Array, turn: Array) -> Array:
    """Return one over the products (r,) of pairs of differences; 0 where they are not used."""
    xp = namespace_of(step)
    product = xp.vecdot(step, turn)
    # Only pairs of positive curvature keep the approximation positive definite.
    curved = product > 1e-10 * xp.vecdot(turn, turn)
    safe = xp.where(curved, product, xp.ones_like(product))
    return xp.where(curved, 1.0 / safe, xp.zeros_like(product))


def _direction(stack: _Stack, movable: Array | None) -> Array:
    """Return the direction of the two-loop recursion, for all runs at once."""
    xp = namespace_of(stack.x)
    direction = -_slopes(stack, movable)
    used = list(zip(stack.steps, stack.turns, stack.inverses, strict=True))
    if movable is not None:
        # The curvature among the variables that may move.
        among = [(step * movable, turn * movable) for step, turn, _ in used]
        used = [(step, turn, _inverse(step, turn)) for step, turn in among]
    shares = []
    for step, turn, inverse in reversed(used):
        share = xp.vecdot(step, direction) * inverse
        direction -= share[:, None] * turn
        shares.append(share)
    if used:
        _, turn, inverse = used[-1]
        squared = xp.vecdot(turn, turn) * inverse
        direction /= xp.where(squared > 0, squared, xp.ones_like(squared))[:, None]
    for (step, turn, inverse), share in zip(used, reversed(shares), strict=True):
        share -= xp.vecdot(turn, direction) * inverse
        direction += share[:, None] * step
    return direction


def _advance(
    objective: Objective, stack: _Stack, memory: int, signs: Array | None = None
) -> BoolArray:
    """Make one iteration of every run; return which of them moved."""
    xp = namespace_of(stack.x)
    movable = _movable(stack, signs)
    slopes, direction = _slopes(stack, movable), _direction(stack, movable)
    slope = xp.vecdot(direction, slopes)
    # A direction that does not descend is replaced by the steepest one.
    uphill = slope >= 0
    if not is_on_host(uphill) or uphill.any():
        direction = xp.where(uphill[:, None], -slopes, direction)
        slope = xp.where(uphill, -xp.vecdot(slopes, slopes), slope)
    length = xp.ones_like(slope)
    if not stack.steps:
        length = xp.minimum(length, 1.0 / xp.sum(xp.abs(slopes), axis=1))

    def least(x: Array, which: Any, length: Array) -> Array:
        """Return the change of the value that some runs must reach, which move to x."""
        if signs is None:
            return _DECREASE * length * slope[which]
        # Less of the step is made where it ends at zero.
        change = xp.vecdot(x - stack.x[which, :], stack.gradient[which, :])
        return _DECREASE * xp.minimum(change, xp.zeros_like(change))

    rounding = _ROUNDING * float(xp.finfo(stack.x.dtype).eps)

    x = length[:, None] * direction
    x += stack.x
    x = _allowed(x, signs)
    # Near the minimum, rounding hides the decrease; the gradient still shows the direction.
    bound = stack.value + least(x, slice(None), length) + rounding * xp.abs(stack.value)
    value, gradient = objective(x, stack.runs)
    accepted = to_host(value <= bound)
    trying = _NOBODY if accepted.all() else np.flatnonzero(~accepted)
    if len(trying):
        new_value = value[trying]
        x[trying, :], gradient[trying, :] = stack.x[trying, :], stack.gradient[trying, :]
        value[trying] = stack.value[trying]
    for _ in range(_MAX_HALVINGS - 1):
        if not len(trying):
            break
        # The minimum of the parabola through the known values, near the current length.
        now = length[trying]
        rise = new_value - stack.value[trying] - now * slope[trying]
        proposal = -slope[trying] * now * now / (2.0 * xp.where(rise > 0, rise, 1.0))
        finite = xp.isfinite(new_value) & (rise > 0)
        length[trying] = xp.where(finite, xp.clip(proposal, 0.1 * now, 0.5 * now), 0.1 * now)
        before, now = stack.value[trying], length[trying]
        candidate = _allowed(stack.x[trying, :] + now[:, None] * direction[trying, :], signs)
        new_value, new_gradient = objective(candidate, stack.runs[trying])
        bound = before + least(candidate, trying, now) + rounding * xp.abs(before)
        accepted = to_host(new_value <= bound)
        done, took = trying[accepted], np.flatnonzero(accepted)
        x[done, :], value[done] = candidate[took, :], new_value[took]
        gradient[done, :] = new_gradient[took, :]
        trying, new_value = trying[~accepted], new_value[np.flatnonzero(~accepted)]
    moved = np.ones(len(stack.runs), dtype=bool)
    moved[trying] = False

    step, turn = x - stack.x, gradient - stack.gradient
    stack.steps.append(step)
    stack.turns.append(turn)
    stack.inverses.append(_inverse(step, turn))
    if len(stack.steps) > memory:
        del stack.steps[0], stack.turns[0], stack.inverses[0]
    stack.x, stack.value, stack.gradient = x, value, gradient
    return moved
