"""Dynamic selection, literally: one sample and one member at a time, as the definitions read.

A method rates a member for a sample by the known samples near it. ``Known`` is what is known of
those, ``near`` the nearest of them as pairs (position, distance), the nearest first, and
``decided`` what members decide of the sample (None where one is not available).
"""

from functools import cache
from math import exp, log

import numpy as np
from scipy.special import betainc


class Known:
    """Known samples: rows X, truth y, and P (n, K, C), or (n, K) of numbers; NaN is silence."""

    def __init__(self, X, y, P, n_neighbors=7):
        self.X, self.y, self.P, self.n_neighbors = X, y, P, n_neighbors
        self.n_members, self.n_classes = P.shape[1], P.shape[2] if P.ndim == 3 else 0

    def speaks(self, member, sample):
        return not np.isnan(self.P[sample, member]).any()

    def decision(self, member, sample):
        return int(np.argmax(self.P[sample, member]))

    def right(self, member, sample):
        if self.P.ndim == 2:
            mean = np.nanmean(self.P[sample])
            error = abs(self.P[sample, member] - self.y[sample])
            return error <= abs(mean - self.y[sample])
        return self.decision(member, sample) == self.y[sample]

    def true(self, member, sample):
        return self.P[sample, member, self.y[sample]]

    def near(self, x, count=None):
        distance = [float(np.sqrt(((x - row) ** 2).sum())) for row in self.X]
        order = sorted(range(len(distance)), key=lambda sample: distance[sample])
        return [(sample, distance[sample]) for sample in order[: count or self.n_neighbors]]


def mean_over(samples, value, weight=lambda sample, distance: 1.0):
    """The weighted mean of a value over pairs (sample, distance); 0 of none."""
    total = sum(weight(*pair) for pair in samples)
    return sum(weight(*pair) * value(pair[0]) for pair in samples) / total if total else 0.0


def nearness(sample, distance):
    return 1.0 / distance


# -- what each method thinks of a member ----------------------------------------------------------


def ola(known, member, near, decided):
    spoken = [pair for pair in near if known.speaks(member, pair[0])]
    return mean_over(spoken, lambda sample: known.right(member, sample))


def of_class(known, member, near, decided):
    return [
        pair
        for pair in near
        if known.speaks(member, pair[0]) and known.y[pair[0]] == decided[member]
    ]


def lca(known, member, near, decided):
    spoken = of_class(known, member, near, decided)
    return mean_over(spoken, lambda sample: known.right(member, sample))


def mla(known, member, near, decided):
    spoken = of_class(known, member, near, decided)
    return mean_over(spoken, lambda sample: known.right(member, sample), nearness)


def rank(known, member, near, decided):
    count = 0
    for sample, _ in near:
        if known.speaks(member, sample):
            if not known.right(member, sample):
                break
            count += 1
    return count


def hits(known, member, near, decided):
    return sum(known.right(member, sample) for sample, _ in near if known.speaks(member, sample))


def des_p(known, member, near, decided):
    return ola(known, member, near, decided) - 1 / known.n_classes


def a_priori(known, member, near, decided):
    spoken = [pair for pair in near if known.speaks(member, pair[0])]
    return mean_over(spoken, lambda sample: known.true(member, sample), nearness)


def a_posteriori(known, member, near, decided):
    spoken = of_class(known, member, near, decided)
    return mean_over(spoken, lambda sample: known.true(member, sample), nearness)


def mcb(known, member, near, decided):
    alike = []
    for sample, distance in near:
        both = [k for k, label in enumerate(decided) if label is not None]
        both = [k for k in both if known.speaks(k, sample)]
        same = sum(known.decision(k, sample) == decided[k] for k in both)
        if both and same / len(both) > 0.7:
            alike.append((sample, distance))
    return ola(known, member, alike or near, decided)


def des_mi(known, member, near, decided):
    def weight(sample, distance):
        return 1 / (1 + exp(0.9 * sum(known.y == known.y[sample])))

    spoken = [pair for pair in near if known.speaks(member, pair[0])]
    return mean_over(spoken, lambda sample: known.right(member, sample), weight)


# -- what a member is worth at a known sample -----------------------------------------------------


def exponential(known, member, sample):
    p = known.true(member, sample)
    return 1.0 if p >= 1 else 1 - 2 ** (1 - (known.n_classes - 1) * p / (1 - p))


def logarithmic(known, member, sample):
    return 2 * known.true(member, sample) ** (log(2) / log(known.n_classes)) - 1


def des_kl(known, member, sample):
    divergence = sum(p * log(p * known.n_classes) for p in known.P[sample, member] if p > 0)
    sign = 1 if known.right(member, sample) else -1
    return sign * divergence / log(known.n_classes)


def minimum_difference(known, member, sample):
    others = [p for j, p in enumerate(known.P[sample, member]) if j != known.y[sample]]
    return known.true(member, sample) - max(others)


def rrc(known, member, sample):
    """The chance that the true class's random number is u and all others are below, over all u."""

    def below(u, code):
        p = known.P[sample, member, code]
        return betainc(known.n_classes * p, known.n_classes * (1 - p), u)

    truth = int(known.y[sample])
    total = 0.0
    for step in range(19):
        low, high = step / 19, (step + 1) / 19
        area = below(high, truth) - below(low, truth)
        for code in range(known.n_classes):
            if code != truth:
                area *= (below(low, code) + below(high, code)) / 2
        total += area
    return total


SOURCES = {
    "rrc": rrc,
    "des_kl": des_kl,
    "exponential": exponential,
    "logarithmic": logarithmic,
    "minimum_difference": minimum_difference,
}


def by_potential(source):
    source = cache(source)

    def rate(known, member, near, decided):
        spoken = [
            (sample, distance)
            for sample, distance in known.near(known.sample, len(known.y))
            if known.speaks(member, sample)
        ]
        return mean_over(
            spoken,
            lambda sample: source(known, member, sample),
            lambda sample, distance: exp(-(distance**2)),
        )

    return rate


# -- neighbors in what members predict -----------------------------------------------------------


def profile(P):
    """What all members predict of a sample, as one row; silence is equal probabilities."""
    return np.where(np.isnan(P), 1 / P.shape[1], P).ravel()


def profiles(known):
    """The same known samples, near each other where members predict alike."""
    return Known(np.array([profile(P) for P in known.P]), known.y, known.P, known.n_neighbors)


def evidence(known, member, near, alike, P):
    """The five kinds of evidence of META-DES about what a member predicts of a sample, P (C,)."""

    def right(sample):
        return float(known.right(member, sample)) if known.speaks(member, sample) else 0.5

    def true(sample):
        speaks = known.speaks(member, sample)
        return known.true(member, sample) if speaks else 1 / known.n_classes

    local = [right(sample) for sample, _ in near]
    return [
        *local,
        *(true(sample) for sample, _ in near),
        sum(local) / len(local),
        *(right(sample) for sample, _ in alike),
        max(P),
    ]


def meta_des(known, X, P, classifier, n_profiles=5):
    """The probability (n, K) that members are right, by a classifier of the evidence."""
    by_profile = profiles(known)
    rows, labels = [], []
    for sample in range(len(known.y)):
        # Each known sample is judged by its neighbors without itself.
        near = known.near(known.X[sample], known.n_neighbors + 1)[1:]
        alike = by_profile.near(by_profile.X[sample], n_profiles + 1)[1:]
        for member in range(known.n_members):
            if known.speaks(member, sample):
                said = known.P[sample, member]
                rows.append(evidence(known, member, near, alike, said))
                labels.append(known.right(member, sample))
    classifier.fit(np.array(rows), labels)
    rated = np.full(P.shape[:2], np.nan)
    for row in range(len(X)):
        near = known.near(X[row])
        alike = by_profile.near(profile(P[row]), n_profiles)
        for member in range(known.n_members):
            if not np.isnan(P[row, member]).any():
                one = evidence(known, member, near, alike, P[row, member])
                rated[row, member] = classifier.predict_proba([one])[0, 1]
    return rated


# -- numbers --------------------------------------------------------------------------------------


def value_error(known, member, near, decided):
    spoken = [pair for pair in near if known.speaks(member, pair[0])]
    return mean_over(spoken, lambda sample: (known.P[sample, member] - known.y[sample]) ** 2)


def value_ola(known, member, near, decided):
    return -value_error(known, member, near, decided)


def value_des_p(known, member, near, decided):
    spoken = [pair for pair in near if known.speaks(member, pair[0])]
    of_mean = mean_over(
        spoken, lambda sample: (np.nanmean(known.P[sample]) - known.y[sample]) ** 2
    )
    return 1 - value_error(known, member, near, decided) / of_mean if of_mean else 0.0


# -- which members are selected, by what they are rated -------------------------------------------


def the_best(rated):
    best = max(rated)
    return [1.0 if member == rated.index(best) else 0.0 for member in range(len(rated))]


def all_best(rated):
    return [float(one == max(rated)) for one in rated]


def nearly_best(rated):
    return [float(max(rated) - one < 0.1) for one in rated]


def above(threshold):
    return lambda rated: [float(one > threshold) for one in rated]


def as_weights(rated):
    return [max(one, 0.0) for one in rated]


def first_two_fifths(rated):
    count = max(1, int(0.4 * len(rated)))
    order = sorted(range(len(rated)), key=lambda member: -rated[member])
    return [float(member in order[:count]) for member in range(len(rated))]


# {name: (how a member is rated, how members are selected)}, for classes and for numbers.
METHODS = {
    "ola": (ola, the_best),
    "lca": (lca, the_best),
    "mla": (mla, the_best),
    "rank": (rank, the_best),
    "knora_e": (rank, all_best),
    "knora_u": (hits, as_weights),
    "des_p": (des_p, above(0.0)),
    "a_priori": (a_priori, nearly_best),
    "a_posteriori": (a_posteriori, nearly_best),
    "mcb": (mcb, nearly_best),
    "des_mi": (des_mi, first_two_fifths),
    **{name: (by_potential(source), above(0.0)) for name, source in SOURCES.items()},
    "rrc": (by_potential(rrc), above(1 / 3)),
}
VALUE_METHODS = {
    "ola": (value_ola, the_best),
    "knora_e": (rank, all_best),
    "knora_u": (hits, as_weights),
    "des_p": (value_des_p, above(0.0)),
}


def ratings(method, known, x, P):
    """What each member is rated for the sample x, of which the members predict P (K, ...)."""
    rate, _ = method
    known.sample = x
    silent = [bool(np.isnan(P[member]).any()) for member in range(known.n_members)]
    decided = [None if silent[k] else int(np.argmax(P[k])) for k in range(known.n_members)]
    near = known.near(x)
    return [
        -np.inf if silent[member] else rate(known, member, near, decided)
        for member in range(known.n_members)
    ]


def weights(method, known, x, P):
    """The weight of each member for the sample x; all that predict it, if none is selected."""
    rated = ratings(method, known, x, P)
    chosen = [
        0.0 if one == -np.inf else share
        for one, share in zip(rated, method[1](rated), strict=True)
    ]
    if not any(chosen):
        chosen = [0.0 if one == -np.inf else 1.0 for one in rated]
    return np.array(chosen) / sum(chosen)
