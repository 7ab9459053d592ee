"""Views of a table: how they teach each other, and which labels to ask for.

Shapes: ``n`` rows, ``D`` columns, ``V`` views, ``C`` classes. ``codes`` are classes as positions,
-1 where a row has no label. ``present`` of shape (n, V) marks which rows have which view.

A learner is a function ``teach(view, rows, codes, weight)``: it fits the view's classifier on rows
(some of them more than once, if they have several labels) and returns the probabilities of the
classes for all n rows; those of labelled rows, or of rows without the view, are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from covey._core.arrays import BoolArray, FloatArray, IntArray

Learner = Callable[[int, IntArray, IntArray, FloatArray], FloatArray]

# A soft label that weighs less than this is left out, and the row's others take its share.
LEAST_SHARE = 1e-3


# -- co-training -------------------------------------------------------------------------------


def class_quotas(frequency: FloatArray, n_rows: float) -> IntArray:
    """Return how many rows of each class to label: ``n_rows`` by frequency, at least one each."""
    quota = np.rint(n_rows * frequency / frequency.sum())
    return np.where(frequency > 0, np.maximum(quota, 1), 0).astype(np.intp)


def most_confident(probability: FloatArray, rows: IntArray, quota: IntArray) -> IntArray:
    """Return the ``quota`` of ``rows`` of each class that are surest of it, first of equals."""
    seems = probability[rows].argmax(axis=1)
    sure = probability[rows].max(axis=1)
    taken = []
    for code in np.flatnonzero(quota):
        alike = np.flatnonzero(seems == code)
        order = np.argsort(-np.round(sure[alike], 12), kind="stable")
        taken.append(rows[alike[order[: quota[code]]]])
    return np.concatenate(taken) if taken else rows[:0]


def agreed(predicted: Iterable[FloatArray], present: BoolArray) -> BoolArray:
    """Return on which rows all views that are present predict the same class, (n,)."""
    voted = np.stack([probability.argmax(axis=1) for probability in predicted])
    highest = np.where(present.T, voted, -1).max(axis=0)
    return (~present.T | (voted == highest)).all(axis=0)


def co_train(
    teach: Learner,
    codes: IntArray,
    present: BoolArray,
    weight: FloatArray,
    quota: IntArray,
    order: IntArray,
    pool_size: int | None,
    max_iter: int,
    agree: bool,
) -> tuple[IntArray, int]:
    """Run co-training: every view labels rows that it is sure of, for the other views.

    In a round each view's classifier is fitted on the rows that have a label for this view. From
    the pool each picks its most confident rows, ``quota`` of each class, among those that have no
    label yet for itself, nor for some other view; the others take the label. Where several views
    pick a row for another, the surest is believed. A label once given stays, and a view that has
    learnt a row gives it to no other: a guess does not come back to the view that made it. It ends
    when a round gives no label, or after ``max_iter``; then the classifiers are fitted a last
    time.

    The pool holds ``pool_size`` unlabelled rows at a time (None: all), which enter it in the given
    order; with ``agree`` only rows that all views present put in one class. It returns the labels
    that each view has learnt from, (V, n), -1 being none, and the number of rounds.
    """
    n_rows, n_views = present.shape
    given = np.where(present.T, codes, -1)
    stale = np.ones(n_views, dtype=bool)
    predicted: list[FloatArray] = [np.empty((0, 0))] * n_views

    def learn() -> None:
        # A view without a new label would learn the same again.
        for view in np.flatnonzero(stale):
            rows = np.flatnonzero(given[view] >= 0)
            predicted[view] = teach(int(view), rows, given[view, rows], weight[rows])
        stale[:] = False

    for n_iter in range(max_iter):
        learn()
        lacking = present.T & (given < 0)
        # One view must remain to teach a row, and another one to learn it.
        open_rows = lacking.sum(axis=0) >= 2
        pool = order[open_rows[order]]
        if agree:
            pool = pool[agreed(predicted, present)[pool]]
        pool = pool[:pool_size]
        trust = np.zeros((n_views, n_rows))
        offer = np.full((n_views, n_rows), -1)
        for view in range(n_views):
            picked = most_confident(predicted[view], np.sort(pool[lacking[view, pool]]), quota)
            sure = np.round(predicted[view][picked].max(axis=1), 12)
            label = predicted[view][picked].argmax(axis=1)
            for other in range(n_views):
                better = lacking[other, picked] & (sure > trust[other, picked])
                if other != view:
                    offer[other, picked[better]] = label[better]
                    trust[other, picked[better]] = sure[better]
        if not (offer >= 0).any():
            return given, n_iter + 1
        given = np.where(offer >= 0, offer, given)
        stale |= (offer >= 0).any(axis=1)
    learn()
    return given, max_iter


# -- co-EM -------------------------------------------------------------------------------------


def predicted_by_others(
    predicted: FloatArray, present: BoolArray, view: int
) -> tuple[FloatArray, BoolArray]:
    """Return the mean prediction of the other views, (n, C), and which rows have one."""
    counted = present.T.astype(np.float64)
    counted[view : view + 1] = 0.0  # a number that no view has: all are counted
    total = counted.sum(axis=0)
    mean = np.einsum("vnc,vn->nc", predicted, counted) / np.maximum(total, 1.0)[:, None]
    return mean, total > 0


def softly_labelled(
    rows: IntArray, targets: FloatArray, weight: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return rows once per class, weighted by its probability: (rows, codes, weight)."""
    share = np.where(targets >= LEAST_SHARE, targets, 0.0)
    share /= share.sum(axis=1, keepdims=True)
    place, codes = np.nonzero(share)
    return rows[place], codes, weight[place] * share[place, codes]


def co_em(
    teach: Learner,
    codes: IntArray,
    present: BoolArray,
    weight: FloatArray,
    n_classes: int,
    max_iter: int,
    tol: float,
    agree: bool,
) -> tuple[FloatArray, int]:
    """Run co-EM: views take turns; each learns all rows by the predictions of the others.

    At first each view learns the labelled rows alone. In a round, from the second view on, the
    first view last, each is fitted on its labelled rows and on all unlabelled ones, which have the
    mean probabilities of the other views as soft labels. It ends when no probability of the mean
    over views moves by ``tol`` in a round, or after ``max_iter``. With ``agree``, views learn only
    rows that all views present put in one class at the time. It returns each view's last
    predictions of the unlabelled rows, (V, n, C), and the number of rounds.
    """
    n_rows, n_views = present.shape
    labelled, unlabelled = codes >= 0, codes < 0
    predicted = np.zeros((n_views, n_rows, n_classes))

    def learn(view: int, soft: IntArray, targets: FloatArray) -> None:
        hard = np.flatnonzero(labelled & present[:, view])
        rows, guessed, share = softly_labelled(soft, targets, weight[soft])
        predicted[view] = teach(
            view,
            np.concatenate([hard, rows]),
            np.concatenate([codes[hard], guessed]),
            np.concatenate([weight[hard], share]),
        )

    for view in range(n_views):
        learn(view, np.empty(0, dtype=np.intp), np.empty((0, n_classes)))
    before, _ = predicted_by_others(predicted, present, n_views)
    for n_iter in range(1, max_iter + 1):
        for view in [*range(1, n_views), 0]:
            targets, known = predicted_by_others(predicted, present, view)
            if agree:
                known &= agreed(predicted, present)
            soft = np.flatnonzero(unlabelled & known & present[:, view])
            learn(view, soft, targets[soft])
        after, _ = predicted_by_others(predicted, present, n_views)
        if np.abs(after - before)[unlabelled].max(initial=0.0) < tol:
            return predicted, n_iter
        before = after
    return predicted, max_iter


# -- co-testing --------------------------------------------------------------------------------


def contention_points(views: FloatArray, present: BoolArray) -> BoolArray:
    """Return where a row's views disagree on its class, (n,): Muslea and others, JAIR 2006.

    ``views`` (n, V, C) are probabilities, ``present`` (n, V) says which views a row has.
    """
    labels = views.argmax(axis=2)
    lowest = np.where(present, labels, views.shape[2]).min(axis=1)
    highest = np.where(present, labels, -1).max(axis=1)
    return highest > lowest


def order_of_queries(
    views: FloatArray, present: BoolArray, strategy: str, draws: FloatArray
) -> IntArray:
    """Return all rows in the order of asking: contention points first, then unsure ones.

    Of contention points "aggressive" co-testing takes those first on which even the least sure
    view is sure, since two views that are sure of different things cannot both be right;
    "conservative" those on which views are equally sure; "naive" any, by the ``draws`` (n,). Of
    equals, the row with the lower number comes first.
    """
    sure = views.max(axis=2)
    low = np.where(present, sure, np.inf).min(axis=1)
    high = np.where(present, sure, -np.inf).max(axis=1)
    priority = {"naive": draws, "aggressive": low, "conservative": low - high}[strategy]
    share = present / np.maximum(present.sum(axis=1, keepdims=True), 1)
    mean = np.sort(np.einsum("nvc,nv->nc", views, share), axis=1)
    points = contention_points(views, present)
    first, rest = np.flatnonzero(points), np.flatnonzero(~points)
    first = first[np.argsort(-priority[first], kind="stable")]
    rest = rest[np.argsort((mean[:, -1] - mean[:, -2])[rest], kind="stable")]
    return np.concatenate([first, rest])
