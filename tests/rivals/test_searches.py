import numpy as np
import pytest

from covey._core.random import Purpose, UniformRows
from covey.rivals._subset_search import JudgedSubsets, choose, evolve, hill_climb, random_subsets

# -- the searches as one would write them down: a subset is judged whenever it is met -------------


def literal_hill_climb(judge, weight, starts, seed, alpha, acceptance, max_passes):
    """Kept subsets, and the flock's criterion after the start and each flip that was kept."""
    members = [list(map(bool, mask)) for mask in starts]
    n_members, n_features = len(members), len(members[0])

    def judged(mask):
        accuracy, decisions = judge(np.array([mask]))
        return round(accuracy[0], 12), decisions[0]

    def spread(k, mask):
        said = judged(mask)[1]
        others = [judged(members[j])[1] for j in range(n_members) if j != k]
        shares = [sum(weight[said != other]) / sum(weight) for other in others]
        return sum(shares) / len(shares) if shares else 0.0

    def flock():
        parts = [
            judged(members[k])[0] + alpha * spread(k, members[k]) / 2 for k in range(n_members)
        ]
        return sum(parts) / n_members

    rising = [flock()]
    for number in range(max_passes):
        moved = False
        orders = [
            np.argsort(UniformRows(seed, Purpose.FLIP, 0, k, n_features).read(number, 1)[0])
            for k in range(n_members)
        ]
        for position in range(n_features):
            for k in range(n_members):
                candidate = members[k].copy()
                feature = orders[k][position]
                candidate[feature] = not candidate[feature]
                if not any(candidate):
                    continue
                more_right = judged(candidate)[0] - judged(members[k])[0]
                more_unlike = spread(k, candidate) - spread(k, members[k])
                if acceptance == "both" and alpha > 0:
                    better = more_right > 1e-12 or more_unlike > 1e-12
                    worse = more_right < -1e-12 or more_unlike < -1e-12
                    kept = better and not worse
                else:
                    kept = more_right + alpha * more_unlike > 1e-12
                if kept:
                    members[k] = candidate
                    moved = True
                    rising.append(flock())
        if not moved:
            break
    return np.array(members), rising


def literal_evolve(judge, population, seed, n_generations):
    """The subsets of all populations that ended a run, the best first, without repeats."""

    def accuracy(mask):
        return round(judge(np.array([mask]))[0][0], 12)

    def best_first(masks):
        return sorted(masks, key=lambda mask: -accuracy(mask))  # sorted() keeps equals in order

    size, n_features = population.shape
    people = best_first([tuple(map(bool, mask)) for mask in population])
    threshold, past = n_features // 4, []
    for generation in range(n_generations):
        draws = UniformRows(seed, Purpose.FLIP, 1, 0, size).read(generation, 1)[0]
        shuffled = [people[i] for i in np.argsort(draws)]
        children = []
        for number in range(size // 2):
            one, other = shuffled[2 * number], shuffled[2 * number + 1]
            differing = [i for i in range(n_features) if one[i] != other[i]]
            if len(differing) // 2 <= threshold:
                continue
            lots = UniformRows(seed, Purpose.FLIP, 2, number, n_features).read(generation, 1)[0]
            swapped = sorted(differing, key=lambda i: lots[i])[: len(differing) // 2]
            for mother, father in ((one, other), (other, one)):
                child = tuple(father[i] if i in swapped else mother[i] for i in range(n_features))
                if any(child) and child not in people and child not in children:
                    children.append(child)
        survivors = best_first(people + children)[:size]
        if survivors == people:
            threshold -= 1
        people = survivors
        if threshold < 0 and generation + 1 < n_generations:
            past += people
            restarted = [people[0]]
            for number in range(1, size):
                lots = UniformRows(seed, Purpose.FLIP, 3, number, n_features).read(generation, 1)
                mask = [
                    bool(bit) != (lot < 0.35) for bit, lot in zip(people[0], lots[0], strict=True)
                ]
                if not any(mask):
                    mask[int(np.argmin(lots[0]))] = True
                restarted.append(tuple(mask))
            people = best_first(restarted)
            threshold = int(0.35 * 0.65 * n_features)
    ranked = []
    for mask in best_first(past + people):
        if mask not in ranked:
            ranked.append(mask)
    return np.array(ranked[:size])


# -- a judge that is quick and has many peaks -----------------------------------------------------


class Landscape:
    """Decides by the sign of random sums of the chosen columns; counts what it is asked."""

    def __init__(self, seed, n_rows=40, n_features=7):
        rng = np.random.default_rng(seed)
        self.columns = rng.normal(size=(n_rows, n_features)) * rng.normal(size=n_features)
        self.truth = rng.integers(0, 2, n_rows)
        self.weight = rng.integers(1, 4, n_rows).astype(float)
        self.asked = []

    def __call__(self, masks):
        self.asked += [mask.tobytes() for mask in masks]
        decisions = (self.columns @ masks.T > 0).astype(int).T
        right = (decisions == self.truth) @ self.weight / self.weight.sum()
        return right, decisions

    def judged(self, seed=0, alpha=0.0, budget=None):
        self.asked.clear()
        judged = JudgedSubsets(self, self.weight, seed, alpha)
        judged.budget = np.inf if budget is None else budget
        return judged


SEEDS = range(6)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("alpha", "acceptance"), [(0.0, "sum"), (0.7, "sum"), (0.7, "both"), (0.0, "both")]
)
def test_climbing_equals_the_literal_one(seed, alpha, acceptance):
    land = Landscape(seed)
    starts = random_subsets(seed, 4, 7)
    judged = land.judged(seed, alpha)
    found, complete = hill_climb(judged, starts, acceptance, 20)
    expected, rising = literal_hill_climb(land, land.weight, starts, seed, alpha, acceptance, 20)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(judged.history[0]["criterion"], rising[0], atol=1e-12)
    np.testing.assert_allclose(judged.history[-1]["criterion"], rising[-1], atol=1e-12)
    # Every flip that is kept raises the flock's own criterion.
    assert (np.diff(rising) > 0).all()
    assert complete


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_climbing_ends_where_no_flip_helps_and_never_falls(alpha):
    climbed = 0
    for seed in SEEDS:
        land = Landscape(seed)
        judged = land.judged(seed, alpha)
        found, _ = hill_climb(judged, random_subsets(seed, 3, 7), "sum", 50)
        criterion = [stage["criterion"] for stage in judged.history]
        assert (np.diff(criterion) >= 0).all()
        climbed += criterion[-1] > criterion[0]
        for k, mask in enumerate(found):
            others = np.delete(found, k, axis=0)

            def worth(subset, others=others, judged=judged):
                judged.look(subset[None])
                apart = judged.disagreement(subset, others) if alpha else 0.0
                return judged.accuracy(subset[None])[0] + alpha * apart

            for feature in range(7):
                flipped = mask.copy()
                flipped[feature] ^= True
                if flipped.any():
                    assert worth(flipped) <= worth(mask) + 1e-12
    assert climbed > 3


@pytest.mark.parametrize("seed", SEEDS)
def test_evolution_equals_the_literal_one(seed):
    land = Landscape(seed)
    population = random_subsets(seed, 9, 7)
    judged = land.judged(seed)
    found, _ = evolve(judged, population, 25)
    np.testing.assert_array_equal(found, literal_evolve(land, population, seed, 25))
    best = [stage["criterion"] for stage in judged.history]
    assert len(best) == 26
    assert (np.diff(best) >= 0).all()


def test_evolution_restarts_and_keeps_what_was_best_before():
    land = Landscape(0, n_features=5)
    judged = land.judged()
    found, _ = evolve(judged, random_subsets(0, 6, 5), 60)
    lowest = [stage["accuracy"][-1] for stage in judged.history]
    assert (np.diff(lowest) < 0).any()  # a restart
    np.testing.assert_allclose(land(found)[0][0], judged.history[-1]["criterion"])
    assert len(np.unique(found, axis=0)) == len(found)


@pytest.mark.parametrize("search", ["climb", "evolve"])
def test_no_subset_is_judged_twice_and_none_beyond_the_budget(search):
    land = Landscape(1, n_features=12)
    for budget in (None, 20, 45):
        judged = land.judged(0, 0.1, budget)
        if search == "climb":
            _, complete = hill_climb(judged, random_subsets(0, 5, 12), "sum", 50)
        else:
            _, complete = evolve(judged, random_subsets(0, 20, 12), 30)
        assert len(set(land.asked)) == len(land.asked) == judged.n_fits
        assert complete == (budget is None)
        assert budget is None or judged.n_fits <= budget


def test_a_smaller_budget_is_the_beginning_of_the_same_climb():
    land = Landscape(2, n_features=12)
    asked = []
    for budget in (60, None):
        hill_climb(land.judged(budget=budget), random_subsets(0, 5, 12), "sum", 50)
        asked.append(land.asked.copy())
    assert asked[0] == asked[1][: len(asked[0])]


def test_random_subsets_are_half_full_and_never_empty():
    masks = random_subsets(3, 400, 10)
    assert 0.45 < masks.mean() < 0.55
    assert random_subsets(0, 50, 1).all()
    np.testing.assert_array_equal(masks[:5], random_subsets(3, 5, 10))


def test_choice_is_by_accuracy_then_by_disagreement_too():
    truth = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    said = np.array([truth, truth, truth, truth])
    said[1, :1] ^= 1  # 7 of 8 right
    said[2, :2] ^= 1  # 6 of 8
    said[3, 2:6] ^= 1  # 4 of 8, and unlike all others
    support = np.eye(4, dtype=bool)
    rows = {mask.tobytes(): decided for mask, decided in zip(support, said, strict=True)}

    def judge(masks):
        decisions = np.array([rows[mask.tobytes()] for mask in masks])
        return (decisions == truth).mean(axis=1), decisions

    def chosen(n_members, alpha, n_subsets=4):
        judged = JudgedSubsets(judge, np.ones(8), 0, alpha)
        judged.look(support)
        return choose(judged, support[:n_subsets], n_members).argmax(axis=1).tolist()

    assert chosen(3, 0.0) == [0, 1, 2]
    # 1 + 0 first; then 7/8 + a/8 against 4/8 + a 4/8: the unlike one wins beyond a = 1.
    assert chosen(2, 0.9) == [0, 1]
    assert chosen(2, 1.1) == [0, 3]
    assert chosen(5, 0.0, 2) == [0, 1, 0, 1, 0]
