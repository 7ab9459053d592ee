"""The row-wise part of a step in two kernels, for CUDA devices.

The lines of `covey._core.softmax_linear` pass over the logits a dozen times, which on a GPU takes
longer than the matrix products themselves. These kernels do the same in one pass each. Sums are
kept in parts, one a block of rows, and added up in double precision in a fixed order: the result
is the same at every run.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

Array = Any

_ROWS = 256  # a program's
# The products of a few rows with a long table, and what a program of them takes at once.
_SKINNY = 16
_LONG = 1 << 18
_ACROSS = {"COLUMNS": 64, "ROWS": 4096, "STEP": 64}
_ALONG = {"COLUMNS": 16, "ROWS": 256}


@triton.jit
def _won_kernel(
    logits, intercept, weight, weight_row, label, parts,
    n_rows, n_candidates, candidate_stride, class_stride, n_parts,
    N_CLASSES: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    candidate = tl.program_id(0).to(tl.int64)
    part = tl.program_id(1)
    rows = part * ROWS + tl.arange(0, ROWS)
    inside = rows < n_rows
    truth = tl.load(label + rows, mask=inside, other=0)
    start = logits + candidate * candidate_stride
    best = tl.load(start + rows, mask=inside, other=0.0) + tl.load(intercept + candidate)
    winner = tl.zeros((ROWS,), tl.int32)
    for c in tl.static_range(1, N_CLASSES):
        value = tl.load(start + c * class_stride + rows, mask=inside, other=0.0)
        value += tl.load(intercept + c * n_candidates + candidate)
        # The first class where several tie.
        winner = tl.where(value > best, c, winner)
        best = tl.maximum(value, best)
    row = tl.load(weight_row + candidate).to(tl.int64)
    w = tl.load(weight + row * n_rows + rows, mask=inside, other=0.0)
    right = tl.where((winner == truth) & inside, w.to(tl.float64), 0.0)
    tl.store(parts + candidate * n_parts + part, tl.sum(right, axis=0))


@triton.jit
def _residual_kernel(
    logits, intercept, source, added, added_intercept, weight, weight_row, label, residual,
    objective, totals,
    n_rows, n_runs, n_classes, n_told, n_added, candidate_stride, class_stride, added_stride,
    out_candidate_stride, out_class_stride, n_candidates, n_parts,
    CLASSES: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    candidate = tl.program_id(0).to(tl.int64)
    part = tl.program_id(1)
    rows = part * ROWS + tl.arange(0, ROWS)
    classes = tl.arange(0, CLASSES).to(tl.int64)
    inside = rows < n_rows
    known = (classes < n_classes)[:, None] & inside[None, :]
    truth = tl.load(label + rows, mask=inside, other=0)
    of = tl.load(source + candidate).to(tl.int64)
    row = tl.load(weight_row + candidate).to(tl.int64)
    w = tl.load(weight + row * n_rows + rows, mask=inside, other=0.0)
    at = classes[:, None] * class_stride + rows[None, :]
    value = tl.load(logits + of * candidate_stride + at, mask=known, other=0.0)
    shift = intercept + classes * n_told + of
    value += tl.load(shift, mask=classes < n_classes, other=0.0)[:, None]
    more = added + (candidate - n_runs) * n_rows + classes[:, None] * added_stride + rows[None, :]
    tries = candidate >= n_runs
    value += tl.load(more, mask=known & tries, other=0.0)
    shift = added_intercept + classes * n_added + candidate - n_runs
    value += tl.load(shift, mask=(classes < n_classes) & tries, other=0.0)[:, None]
    value = tl.where((classes < n_classes)[:, None], value, float("-inf"))
    own = classes[:, None] == truth[None, :]
    value -= tl.max(value, axis=0)[None, :]
    log_true = tl.sum(tl.where(own, value, 0.0), axis=0)
    value = tl.exp(value)
    normaliser = tl.sum(value, axis=0)
    gain = (w * (log_true - tl.log(normaliser))).to(tl.float64)
    tl.store(objective + candidate * n_parts + part, tl.sum(tl.where(inside, gain, 0.0), axis=0))
    value = tl.where(own, w[None, :], 0.0) - (w / normaliser)[None, :] * value
    start = residual + candidate * out_candidate_stride
    out = start + classes[:, None] * out_class_stride + rows[None, :]
    tl.store(out, value, mask=known)
    total = tl.sum(tl.where(known, value.to(tl.float64), 0.0), axis=1)
    at = totals + (classes * n_candidates + candidate) * n_parts + part
    tl.store(at, total, mask=classes < n_classes)


@triton.jit
def _across_kernel(
    left, columns, parts,
    n_left, n_rows, n_columns, n_parts,
    LEFT: tl.constexpr, COLUMNS: tl.constexpr, ROWS: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    part = tl.program_id(1)
    which = tl.arange(0, LEFT)
    begin = part.to(tl.int64) * ROWS
    total = tl.zeros((COLUMNS, LEFT), tl.float32)
    for step in range(0, ROWS, STEP):
        rows = begin + step + tl.arange(0, STEP)
        inside = rows < n_rows
        x = tl.load(
            columns + column[:, None].to(tl.int64) * n_rows + rows[None, :],
            mask=(column < n_columns)[:, None] & inside[None, :],
            other=0.0,
        )
        r = tl.load(
            left + which[None, :].to(tl.int64) * n_rows + rows[:, None],
            mask=(which < n_left)[None, :] & inside[:, None],
            other=0.0,
        )
        total = tl.dot(x, r, total, input_precision="tf32x3")
    at = parts + (which[None, :] * n_columns + column[:, None]) * n_parts + part
    tl.store(at, total, mask=(which < n_left)[None, :] & (column < n_columns)[:, None])


@triton.jit
def _along_kernel(
    left, columns, out,
    n_left, n_rows, n_columns,
    LEFT: tl.constexpr, COLUMNS: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = rows < n_rows
    which = tl.arange(0, LEFT)
    total = tl.zeros((LEFT, ROWS), tl.float32)
    for begin in range(0, n_columns, COLUMNS):
        column = begin + tl.arange(0, COLUMNS)
        wanted = column < n_columns
        theta = tl.load(
            left + which[:, None] * n_columns + column[None, :],
            mask=(which < n_left)[:, None] & wanted[None, :],
            other=0.0,
        )
        x = tl.load(
            columns + column[:, None].to(tl.int64) * n_rows + rows[None, :],
            mask=wanted[:, None] & inside[None, :],
            other=0.0,
        )
        total = tl.dot(theta, x, total, input_precision="tf32x3")
    at = out + which[:, None].to(tl.int64) * n_rows + rows[None, :]
    tl.store(at, total, mask=(which < n_left)[:, None] & inside[None, :])


def won(logits: Array, intercept: Array, weight: Array, weight_row: Array, label: Array) -> Array:
    """The weight of the rows that each candidate gets right, (L,).

    The logits (C, L, n) are without their intercepts (C, L); ``weight_row`` (L,) is the row of the
    weights (R, n) of each candidate. All are contiguous; ``weight_row`` and ``label`` are int32.
    """
    n_classes, n_candidates, n_rows = logits.shape
    n_parts = triton.cdiv(n_rows, _ROWS)
    parts = torch.empty((n_candidates, n_parts), dtype=torch.float64, device=logits.device)
    _won_kernel[(n_candidates, n_parts)](
        logits, intercept, weight, weight_row, label, parts,
        n_rows, n_candidates, logits.stride(1), logits.stride(0), n_parts,
        N_CLASSES=n_classes, ROWS=_ROWS,
    )  # fmt: skip
    return parts.sum(dim=1)


def residual(
    logits: Array,
    intercept: Array,
    source: Array,
    added: Array,
    added_intercept: Array,
    weight: Array,
    weight_row: Array,
    label: Array,
    out: Array,
    n_runs: int,
) -> tuple[Array, Array]:
    """Eq. (9) of the runs (R,), and the sums (C, L) of the residuals that fill ``out``.

    The logits (C, L', n) are those of the candidates evaluated last, without their intercepts.
    ``source`` (L,), int32, is from which of these each candidate continues; ``added`` (C, L - R,
    n) is what the candidates after the first R add to that. All are contiguous; the others are
    those of `won`.
    """
    n_classes, n_candidates, n_rows = out.shape
    n_parts = triton.cdiv(n_rows, _ROWS)
    double = {"dtype": torch.float64, "device": out.device}
    objective = torch.empty((n_candidates, n_parts), **double)
    totals = torch.empty((n_classes, n_candidates, n_parts), **double)
    _residual_kernel[(n_candidates, n_parts)](
        logits, intercept, source, added, added_intercept, weight, weight_row, label, out,
        objective, totals,
        n_rows, n_runs, n_classes, logits.shape[1], n_candidates - n_runs,
        logits.stride(1), logits.stride(0), added.stride(0),
        out.stride(1), out.stride(0), n_candidates, n_parts,
        CLASSES=triton.next_power_of_2(n_classes), ROWS=_ROWS,
    )  # fmt: skip
    return objective[:n_runs].sum(dim=1), totals.sum(dim=2).to(out.dtype)


def is_skinny(left: Array, n_rows: int) -> bool:
    """Whether few rows are multiplied with so long a table that only reading it counts."""
    return bool(left.dtype == torch.float32 and left.shape[0] <= _SKINNY and n_rows >= _LONG)


def across(left: Array, columns: Array) -> Array:
    """``left @ columns.T`` of shape (M, D) for few rows M, reading ``columns`` (D, n) once."""
    n_left, n_rows = left.shape
    n_columns = columns.shape[0]
    n_parts = triton.cdiv(n_rows, _ACROSS["ROWS"])
    parts = torch.empty((n_left, n_columns, n_parts), dtype=torch.float32, device=left.device)
    _across_kernel[(triton.cdiv(n_columns, _ACROSS["COLUMNS"]), n_parts)](
        left, columns, parts, n_left, n_rows, n_columns, n_parts, LEFT=_SKINNY, **_ACROSS
    )
    return parts.sum(dim=2, dtype=torch.float64).to(left.dtype)


def along(left: Array, columns: Array, out: Array) -> None:
    """``left @ columns`` of shape (M, n) for few rows M, in ``out``."""
    n_left, n_columns = left.shape
    n_rows = columns.shape[1]
    _along_kernel[(triton.cdiv(n_rows, _ALONG["ROWS"]),)](
        left, columns, out, n_left, n_rows, n_columns, LEFT=_SKINNY, **_ALONG
    )
