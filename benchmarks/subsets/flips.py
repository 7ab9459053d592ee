"""Flips of single features while members and gate are refined.

What is minimized is the penalized negative log-likelihood plus ``price / n`` for each feature of a
member. The gate's columns have K - 1 free numbers each where a member's have C - 1, and a feature
of the gate costs so many times more. A flip takes a feature out, with all its ramps, or takes it
in with the coefficients of one step that cannot raise the objective but for the price. A member
that loses its last feature is dropped. Between sweeps of proposals, members and gate take a few
iterations of L-BFGS within their subsets.
"""

import time
from dataclasses import replace

import numpy as np

from benchmarks.subsets.group import N_MEMBERS, NEVER, refined
from covey._core.gating.gate import softmax_first
from covey._core.softmax_linear import log_softmax

# Iterations of L-BFGS before the first sweep, between sweeps, and after the last one.
FIRST = 20
BETWEEN = 5
LAST = 10


class Sweep:
    """One sweep over all pairs of member and feature, and over the features of the gate.

    A flip changes the logits of one member, or those of the gate, by a few columns: nothing else
    is computed again.
    """

    def __init__(self, rows, group, price, temperature, rng):
        self._rows, self._rng = rows, rng
        self._price, self._temperature = price / rows.n_rows, temperature / rows.n_rows
        self._gate_price = self._price * (N_MEMBERS - 1) / (rows.n_classes - 1)
        self._theta, self._gate = group.theta.copy(), group.gate.copy()
        self._kept, self._gate_kept = group.kept.copy(), group.gate_kept.copy()
        self._gate_intercept = group.gate_intercept.copy()
        self._group = group
        self._logits = group.theta @ rows.columns + group.intercept[:, :, None]
        self._gate_logits = group.gate @ rows.columns + group.gate_intercept[:, None]
        self._true = np.stack([self._true_class(logits) for logits in self._logits])
        self._set_gates(softmax_first(self._gate_logits.copy()))
        self.n_flipped = 0

    def run(self):
        """Propose every pair once, in random order; the group after all flips."""
        pairs = [(k, u) for k in range(-1, N_MEMBERS) for u in range(len(self._gate_kept))]
        for which in self._rng.permutation(len(pairs)):
            member, unit = pairs[which]
            if member < 0:
                self._propose_to_gate(unit)
            elif self._kept[member].sum() > 1 or not self._kept[member, unit]:
                self._propose(member, unit)
            else:
                self._propose_without(member)
        return replace(
            self._group,
            theta=self._theta,
            gate=self._gate,
            gate_intercept=self._gate_intercept,
            kept=self._kept,
            gate_kept=self._gate_kept,
        )

    def _propose(self, member, unit):
        """Flip a feature of a member that has others too."""
        if self._gate_intercept[member] <= NEVER / 2:
            return
        columns = self._rows.unit_columns[unit]
        taken_out = self._kept[member, unit]
        before = self._theta[member][:, columns]
        after = np.zeros_like(before) if taken_out else self._first_step(member, columns)
        logits = self._logits[member] + (after - before) @ self._rows.columns[columns]
        true = self._true_class(logits)
        total = self._total + self._gates[member] * (true - self._true[member])
        price = -self._price if taken_out else self._price
        if self._accepts(total, before, after, price):
            self._theta[member][:, columns] = after
            self._logits[member], self._true[member], self._total = logits, true, total
            self._kept[member, unit] = not taken_out

    def _propose_without(self, member):
        """Drop a member that has one feature left, unless it is the last one."""
        if self._kept.any(axis=1).sum() == 1:
            return
        logits = self._gate_logits.copy()
        logits[member] = NEVER
        gates = softmax_first(logits.copy())
        before = np.append(self._theta[member].ravel(), self._gate[member])
        total = np.sum(gates * self._true, axis=0)
        if self._accepts(total, before, np.zeros(1), -self._price):
            self._theta[member] = self._gate[member] = 0.0
            self._kept[member] = False
            self._gate_intercept[member] = NEVER
            self._gate_logits = logits
            self._set_gates(gates)

    def _propose_to_gate(self, unit):
        """Flip a feature of the gate."""
        columns = self._rows.unit_columns[unit]
        taken_out = self._gate_kept[unit]
        before = self._gate[:, columns]
        after = np.zeros_like(before) if taken_out else self._first_gate_step(columns)
        logits = self._gate_logits + (after - before) @ self._rows.columns[columns]
        gates = softmax_first(logits.copy())
        price = -self._gate_price if taken_out else self._gate_price
        if self._accepts(np.sum(gates * self._true, axis=0), before, after, price):
            self._gate[:, columns] = after
            self._gate_logits = logits
            self._gate_kept[unit] = not taken_out
            self._set_gates(gates)

    def _set_gates(self, gates):
        self._gates = gates
        self._total = np.sum(gates * self._true, axis=0)

    def _accepts(self, total, before, after, price):
        """Whether the priced objective falls, or rises by no more than chance allows.

        ``total`` (n,) is the proposal's probability of each row's own class.
        """
        loss = np.log((self._total + 1e-300) / (total + 1e-300)).mean()
        penalty = 0.5 * self._rows.alpha * (np.sum(after * after) - np.sum(before * before))
        allowed = self._temperature * self._rng.standard_exponential()
        accepted = bool(loss + penalty + price < allowed)
        self.n_flipped += accepted
        return accepted

    def _first_step(self, member, columns):
        """Coefficients of columns taken in: Newton's step with a bound of the curvature."""
        Z = self._rows.columns[columns]
        weight = self._gates[member] * self._true[member] / (self._total + 1e-300)
        weight /= self._rows.n_rows
        residual = -weight * np.exp(log_softmax(self._logits[member]))
        for label, rows in enumerate(self._rows.blocks):
            residual[label, rows] += weight[rows]
        return self._step(Z, weight, residual)

    def _first_gate_step(self, columns):
        """The same for columns of the gate."""
        responsibility = self._gates * self._true / (self._total + 1e-300)
        residual = (responsibility - self._gates) / self._rows.n_rows
        return self._step(self._rows.columns[columns], 1 / self._rows.n_rows, residual)

    def _step(self, Z, weight, residual):
        """From zero, for the slope ``residual @ Z.T`` of the log-likelihood.

        The curvature of a softmax is at most half of that of squares (Bohning).
        """
        curvature = 0.5 * (Z * weight) @ Z.T + self._rows.alpha * np.eye(len(Z))
        return np.linalg.solve(curvature, Z @ residual.T).T

    def _true_class(self, logits):
        """The probability that one member's logits (C, n) give each row's own class, (n,)."""
        logs = log_softmax(logits)
        return np.exp(
            np.concatenate([logs[label, rows] for label, rows in enumerate(self._rows.blocks)])
        )


def flipped_path(rows, start, prices, seconds, temperature, rng):
    """Groups for rising prices, each from where the last one ended, in so many CPU seconds.

    With a temperature flips are accepted as by Metropolis: it falls to zero while the time for a
    price passes. Without, only flips that lower the objective are.
    """
    opened = time.process_time()
    ends = opened + seconds * np.arange(2, len(prices) + 2) / (len(prices) + 1)
    group = refined(rows, start, FIRST)
    for price, closes in zip(prices, ends, strict=True):
        left = 1.0
        while left > 0:
            sweep = Sweep(rows, group, price, temperature * left**2, rng)
            before = time.process_time()
            group = refined(rows, sweep.run(), BETWEEN)
            now = time.process_time()
            # Each iteration of the end takes as long as those that were just made.
            finishing = (now - before) * LAST / BETWEEN
            left = (closes - now - finishing) / max(closes - opened, 1e-9)
            if not temperature and not sweep.n_flipped:
                break
        group = refined(rows, group, LAST)
        yield group
        opened = time.process_time()
