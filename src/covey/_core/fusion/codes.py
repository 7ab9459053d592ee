"""Code books, which give classes words of bits, and the decoding of words.

A book is an int8 array of shape (C, B): one row a class, one column the problem of a two-class
learner. An entry of 1 or -1 is the side that the class is on, 0 leaves its samples out. Two
classes lie as many bits apart as there are columns with one of them at 1 and the other at -1.
Of a column and its complement, which are the same problem, the functions below make the one with
-1 in the first row. Chances ``p`` that a bit is 1 are (n, B), distances (n, C).
"""

from __future__ import annotations

from math import ceil, log2

import numpy as np
import numpy.typing as npt

from covey._core.arrays import BoolArray, FloatArray, in_parts
from covey._core.random import Purpose, UniformRows

Book = npt.NDArray[np.int8]

# No bit counts as surer than this where its logarithm is taken.
SUREST = 1.0 - 1e-4

# Up to this many columns are listed, to draw from or to try each of them.
_FEW_COLUMNS = 1024
# The search: how often it starts again from a kicked book, and how many distances it may compute.
_KICKS = 30
_MOST_WORK = 30_000_000
_WORK_OF_A_STEP = 2_000  # the work that counts for a step in which none is computed
_MOST_AT_ONCE = 4_000_000

# The range in which the scale of `class_probabilities` is searched, and how finely.
SCALES = np.concatenate([[1e-5], np.geomspace(0.1, 500.0, 12)])
HALVINGS = 30
_ROWS_AT_ONCE = 512  # so that arrays that are computed again and again stay in the cache

# Classes within this share of the way from the nearest to the farthest class count as equally
# near: at the least scale their probabilities still differ by more than rounding.
TIE = 1e-9


# -- books ---------------------------------------------------------------------------------------


def most_bits(n_classes: int) -> int:
    """Return how many columns differ from each other, their complements and a constant."""
    return int(2 ** (n_classes - 1)) - 1


def fewest_bits(n_classes: int) -> int:
    """Return how many bits give every class a word of its own: log2(C), rounded up."""
    return (n_classes - 1).bit_length()


def default_bits(n_classes: int) -> int:
    """Return 10 log2(C) (Allwein, Schapire and Singer, 2000), at least C, at most `most_bits`."""
    return min(max(n_classes, ceil(10 * log2(n_classes))), most_bits(n_classes))


def one_versus_all(n_classes: int) -> Book:
    """Return the book of each class against all others; it has one column for two classes."""
    book = np.full((n_classes, n_classes), -1, dtype=np.int8)
    np.fill_diagonal(book, 1)
    return book if n_classes > 2 else book[:, 1:]


def one_versus_one(n_classes: int) -> Book:
    """Return the book of each class against each other one: C (C - 1) / 2 columns."""
    first, second = np.triu_indices(n_classes, 1)
    book = np.zeros((n_classes, len(first)), dtype=np.int8)
    book[first, np.arange(len(first))] = -1
    book[second, np.arange(len(first))] = 1
    return book


def exhaustive(n_classes: int) -> Book:
    """Return all 2^(C-1) - 1 columns that differ from each other and from their complements.

    Any two classes lie 2^(C-2) bits apart.
    """
    numbers = np.arange(1, most_bits(n_classes) + 1)
    rest = (numbers >> np.arange(n_classes - 1)[::-1, None]) & 1
    return _signs(np.concatenate([np.zeros((1, len(numbers)), dtype=np.int64), rest]) > 0)


def random_code(n_classes: int, n_bits: int, seed: int) -> Book:
    """Return a random book without repeated, constant or complementary columns or repeated rows.

    ``n_bits`` is from `fewest_bits` to `most_bits`.
    """
    attempt = 0
    while True:
        ones = _drawn(n_classes, n_bits, seed, attempt)
        ones ^= ones[0]
        words = {row.tobytes() for row in ones}
        columns = {column.tobytes() for column in ones.T if column.any()}
        if len(words) == n_classes and len(columns) == n_bits:
            return _signs(ones)
        attempt += 1


def max_distance_code(n_classes: int, n_bits: int, seed: int) -> Book:
    """Return a book whose two nearest rows lie as far apart as a search finds.

    The column rules are those of `random_code`, from which it starts. Column by column it takes
    the replacement that best separates the pairs of classes; a pair counts four times as much for
    each bit that it is nearer. Where no replacement helps, a few columns are drawn anew. It ends
    after a fixed amount of work, or when the sum of all distances, at most n_bits floor(C / 2)
    ceil(C / 2) (Plotkin), allows no larger minimum. The book is a function of the seed; with
    2^(C-1) - 1 bits it is the exhaustive code.
    """
    if n_bits == most_bits(n_classes):
        return exhaustive(n_classes)
    pairs = np.triu_indices(n_classes, 1)
    n_pairs = len(pairs[0])
    bound = n_bits * (n_classes // 2) * (n_classes - n_classes // 2) // n_pairs
    # The penalty of a pair at distance 0 to n_bits; the sum of penalties is minimized.
    nearness = np.exp2(np.clip(2.0 * (bound - np.arange(n_bits + 1)), -600.0, 600.0))
    every = exhaustive(n_classes).T > 0 if most_bits(n_classes) <= _FEW_COLUMNS else None
    best = random_code(n_classes, n_bits, seed).T > 0
    best_distance = _parted(best, pairs).sum(axis=0)
    left = _MOST_WORK
    for kick in range(_KICKS):
        columns = best.copy()
        if kick:
            _kick(columns, seed, kick)
        left -= _descend(columns, pairs, nearness, every, seed, kick, left)
        distance = _parted(columns, pairs).sum(axis=0)
        gain = int(distance.min()) - int(best_distance.min())
        nearer = nearness[best_distance].sum() - nearness[distance].sum()
        if gain > 0 or (gain == 0 and nearer > 0):
            best, best_distance = columns, distance
        if best_distance.min() >= bound or left <= 0:
            break
    return _signs(best.T)


def pair_distances(book: Book) -> npt.NDArray[np.int64]:
    """Return the distances (C, C) of the rows, in bits."""
    ones, minus = (book == 1).astype(np.int64), (book == -1).astype(np.int64)
    opposed: npt.NDArray[np.int64] = ones @ minus.T
    return opposed + opposed.T


def min_distance(book: Book) -> int:
    """Return how many bits the two nearest rows lie apart.

    By Hamming's rule, (d - 1) // 2 wrong bits cannot change the class.
    """
    return int(pair_distances(book)[np.triu_indices(len(book), 1)].min())


def _signs(ones: BoolArray) -> Book:
    return np.where(ones, 1, -1).astype(np.int8)


def _drawn(n_classes: int, n_bits: int, seed: int, attempt: int) -> BoolArray:
    """Draw random bits (C, B), with distinct rows or columns where chance would repeat them."""
    draw = UniformRows(seed, Purpose.START, attempt, 0, 1)
    if n_bits <= min(2 * fewest_bits(n_classes), 20):
        words = np.argsort(draw.read(0, 2**n_bits)[:, 0], kind="stable")[:n_classes]
        return ((words[:, None] >> np.arange(n_bits)) & 1) > 0
    most = most_bits(n_classes)
    if most <= _FEW_COLUMNS:
        numbers = 1 + np.argsort(draw.read(0, most)[:, 0], kind="stable")[:n_bits]
        return ((numbers >> np.arange(n_classes)[:, None]) & 1) > 0
    return draw.read(0, n_classes * n_bits).reshape(n_classes, n_bits) < 0.5


# The search holds books as columns (B, C) of truth values, the first class at False.


def _parted(columns: BoolArray, pairs: tuple[npt.NDArray[np.intp], ...]) -> BoolArray:
    """Return which pairs of classes (B, pairs) a column sets apart."""
    return columns[:, pairs[0]] != columns[:, pairs[1]]


def _kick(columns: BoolArray, seed: int, kick: int) -> None:
    """Draw a fifth of the columns anew, in place, where that repeats none."""
    n_bits, n_classes = columns.shape
    draws = UniformRows(seed, Purpose.START, kick, 1, n_classes).read(0, n_bits)
    which = np.argsort(UniformRows(seed, Purpose.START, kick, 2, 1).read(0, n_bits)[:, 0])
    for position in which[: 1 + n_bits // 5]:
        new = draws[position] < 0.5
        new ^= new[0]
        if new.any() and not (columns == new).all(axis=1).any():
            columns[position] = new


def _descend(
    columns: BoolArray,
    pairs: tuple[npt.NDArray[np.intp], ...],
    nearness: FloatArray,
    every: BoolArray | None,
    seed: int,
    kick: int,
    budget: int,
) -> int:
    """Replace columns, in place, until no replacement is better; return the work done."""
    n_bits, n_classes = columns.shape
    n_pairs = len(pairs[0])
    parted = _parted(columns, pairs)
    distance = parted.sum(axis=0)
    energy = float(nearness[distance].sum())
    every_parted = None if every is None else _parted(every, pairs)
    draws = UniformRows(seed, Purpose.START, kick, 3, n_classes)
    width = max(1, min(2 * n_classes, _MOST_AT_ONCE // n_pairs))
    work = unchanged = step = 0
    while unchanged < n_bits and work < budget:
        position = step % n_bits
        if every is None or every_parted is None:
            # Neighbors of this column by one class, and columns from anywhere.
            flips = np.eye(n_classes, dtype=bool)[(step + np.arange(width // 2)) % n_classes]
            strangers = draws.read(step * width, width - width // 2) < 0.5
            tried = np.concatenate([columns[position] ^ flips, strangers])
            tried ^= tried[:, :1]
            tried_parted = _parted(tried, pairs)
        else:
            tried, tried_parted = every, every_parted
        without = distance - parted[position]
        energies = nearness[without + tried_parted].sum(axis=1)
        work += tried_parted.size + _WORK_OF_A_STEP
        step += 1
        unchanged += 1
        taken = {column.tobytes() for column in columns}
        for candidate in np.argsort(energies, kind="stable"):
            # Rounding must not make two equal books look like a gain, again and again.
            if energies[candidate] >= energy * (1.0 - 1e-9):
                break
            if tried[candidate].any() and tried[candidate].tobytes() not in taken:
                columns[position], parted[position] = tried[candidate], tried_parted[candidate]
                distance = without + parted[position]
                energy = float(energies[candidate])
                unchanged = 0
                break
    return work


# -- reading words back --------------------------------------------------------------------------


def decoded(book: Book, p: FloatArray, decoding: str) -> FloatArray:
    """Return distances (n, C) of the words from predictions p (n, B), the chances of a 1.

    With bits W in {0, 1}, "absolute" sums |W - p|; "hamming" counts wrong bits, and a bit of one
    half counts as half wrong for every class; "log_loss" is the log-loss of the bits, had the
    class been the true one, where no bit counts as surer than `SUREST`: one wrong learner with a
    probability near 1 would overrule all others.

    Bits that leave a class out do not count for it. The sum over the other bits is multiplied by B
    over their number, so that classes that are left out more often do not become nearer; in a book
    without zeros it is the plain sum.
    """
    if decoding == "log_loss":
        p = np.clip(p, 1.0 - SUREST, SUREST)
        loss_of_ones, loss_of_others = -np.log(p), -np.log1p(-p)
    else:
        bits = 0.5 * (1.0 + np.sign(p - 0.5)) if decoding == "hamming" else p
        loss_of_ones, loss_of_others = 1.0 - bits, bits
    ones, minus = (book == 1).astype(np.float64), (book == -1).astype(np.float64)
    total = loss_of_ones @ ones.T + loss_of_others @ minus.T
    return total * (book.shape[1] / (ones + minus).sum(axis=1))


def _excess(distances: FloatArray) -> FloatArray:
    """Return how far each class is, from 0 for the nearest to 1 for the farthest."""
    excess = distances - distances.min(axis=1, keepdims=True)
    spread = excess.max(axis=1, keepdims=True)
    # Where all distances are equal up to rounding, all classes are equally near.
    differ = spread > 1e-12 * distances.max(axis=1, keepdims=True)
    excess = excess / np.where(differ, spread, 1.0)
    return np.where(differ & (excess >= TIE), excess, 0.0)


def scores(distances: FloatArray) -> FloatArray:
    """Return scores (n, C): the negative distances, exactly equal for equally near classes.

    The nearest class has the highest score, the first of equally near ones.
    """
    nearest = distances.min(axis=1, keepdims=True)
    return -np.where(_excess(distances) == 0, nearest, distances)


def class_probabilities(book: Book, p: FloatArray, distances: FloatArray) -> FloatArray:
    """Return probabilities (n, C) of the classes, the highest that of the nearest in `scores`.

    They are softmax(-s distance), with for each sample the scale s at which they best reproduce
    the bits: a class distribution makes bit b a 1 with chance q_b, its share of the classes at 1
    among those not left out, and s has the least cross-entropy of p and q, summed over bits
    (Kullback and Leibler's divergence, as in Bradley-Terry coupling). No label is needed. Bits
    that contradict each other lead to doubt; a sum of their log-losses would treat them as
    independent, and be far too sure. With one bit, it is p itself. No bit counts as surer than
    `SUREST`.
    """
    blocks = in_parts(len(p), _ROWS_AT_ONCE)
    found = [_coupled(book, p[rows], distances[rows]) for rows in blocks]
    return np.concatenate(found) if found else np.empty(distances.shape)


def _coupled(book: Book, p: FloatArray, distances: FloatArray) -> FloatArray:
    ones, minus = (book == 1).astype(np.float64), (book == -1).astype(np.float64)
    p = np.clip(p, 1.0 - SUREST, SUREST)
    excess = _excess(distances)

    def unnormalized(scale: FloatArray) -> FloatArray:
        return np.exp(-scale[:, None] * excess)

    def cross_entropy(scale: FloatArray) -> FloatArray:
        weights = unnormalized(scale)
        at_one, at_other = weights @ ones, weights @ minus
        loss = np.log(at_one + at_other) - p * np.log(at_one) - (1.0 - p) * np.log(at_other)
        return loss.sum(axis=1)

    def slope(scale: FloatArray) -> FloatArray:
        weights = unnormalized(scale)
        weighted = weights * excess
        at_one, at_other = weights @ ones, weights @ minus
        sum_one, sum_other = weighted @ ones, weighted @ minus
        change = p * sum_one / at_one + (1.0 - p) * sum_other / at_other
        change -= (sum_one + sum_other) / (at_one + at_other)
        return change.sum(axis=1)

    n_samples = len(p)
    tried = np.stack([cross_entropy(np.full(n_samples, scale)) for scale in SCALES])
    nearest = tried.argmin(axis=0)
    low = SCALES[np.maximum(nearest - 1, 0)]
    high = SCALES[np.minimum(nearest + 1, len(SCALES) - 1)]
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        falls = slope(middle) < 0
        low, high = np.where(falls, middle, low), np.where(falls, high, middle)
    found, listed = 0.5 * (low + high), SCALES[nearest]
    # There may be several minima; the result must not be worse than the listed scales.
    weights = unnormalized(np.where(cross_entropy(found) <= tried.min(axis=0), found, listed))
    return weights / weights.sum(axis=1, keepdims=True)
