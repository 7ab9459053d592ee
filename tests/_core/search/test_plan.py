import pytest

from covey._core.search.plan import (
    CLASSIFICATION,
    EFFORTS,
    REGRESSION,
    families,
    of_size,
    on_bases,
)

TASKS = pytest.mark.parametrize("task", [CLASSIFICATION, REGRESSION], ids=["classes", "numbers"])


@TASKS
@pytest.mark.parametrize("n_members", [1, 6])
def test_efforts_compare_one_then_more_candidates(task, n_members):
    fast, balanced, best = (families(task, effort, n_members, None, 100) for effort in EFFORTS)
    assert [len(family.alphas) for family in fast] == [1, 1]
    # The second is for those who want to read less than the first has.
    assert fast[1].n_members == 1
    assert balanced == best[: len(balanced)]
    assert (len(best) > len(balanced)) == (n_members > 1)
    # A plain linear model is always among the candidates.
    assert balanced[0].basis == "features"
    assert balanced[0].n_members == 1


@TASKS
def test_where_rows_are_many_candidates_that_could_learn_more_are_compared(task):
    few, many = (families(task, "balanced", 6, None, n_rows) for n_rows in (1_000, 1_001))
    assert {one.kind for one in few} <= {one.kind for one in many}
    # A weaker penalty lets them learn more.
    assert (many[-1].alphas[0] < 0.5 * few[-1].alphas[0]) == bool(task.many_rows)


def test_where_rows_times_classes_are_few_fits_go_less_far():
    assert of_size(CLASSIFICATION, 1_000, 2) is CLASSIFICATION.few
    assert of_size(CLASSIFICATION, 1_001, 2) is CLASSIFICATION
    assert of_size(CLASSIFICATION, 100, 21) is CLASSIFICATION
    assert of_size(REGRESSION, 10, 1) is REGRESSION
    few, more = CLASSIFICATION.few, CLASSIFICATION
    assert few.pace.max_iter < more.pace.max_iter
    assert few.pace.path_iter < more.pace.path_iter
    # The same kinds of candidates, with fewer penalties.
    found, all_of_them = (families(task, "balanced", 6, None, 100) for task in (few, more))
    assert [one.kind for one in found] == [one.kind for one in all_of_them]
    for one, other in zip(found, all_of_them, strict=True):
        assert set(one.alphas) <= set(other.alphas)


@TASKS
def test_members_alone_drop_columns_where_these_are_counted(task):
    plain = families(task, "balanced", 6, None, 100)
    found = families(task, "balanced", 6, None, 100, drops_columns=True)
    assert found[: len(plain)] == plain
    more = found[len(plain) :]
    assert {one.basis for one in more} == {"ramps", "products"}
    assert {(one.n_members, one.drops) for one in more} == {(1, "columns")}
    assert len(on_bases(found, ("features",))) == len(on_bases(plain, ("features",)))


@TASKS
def test_members_and_gates_see_bases_that_the_data_has(task):
    for bases in (("features",), ("features", "ramps"), ("features", "products")):
        for effort in EFFORTS:
            found = on_bases(families(task, effort, 3, None, 100), bases)
            assert {family.basis for family in found} <= set(bases)
            assert {family.gate for family in found} <= set(bases)
            points = [(family.kind, alpha) for family in found for alpha in family.alphas]
            assert len(set(points)) == len(points)


@TASKS
@pytest.mark.parametrize("effort", EFFORTS)
def test_a_penalty_that_is_given_is_the_only_one(task, effort):
    found = families(task, effort, 3, 0.02, 10_000, share_left=0.1)
    assert {family.alphas for family in found} == {(0.02,)}


@TASKS
def test_penalties_shrink_with_the_rows_beyond_500(task):
    few, as_few, many = (families(task, "best", 3, None, n) for n in (50, 500, 16_000))
    assert few == as_few
    for one, other in zip(few, many, strict=True):
        assert other.alphas == pytest.approx([alpha / 16 for alpha in one.alphas])


def test_without_folds_the_penalty_of_numbers_follows_what_a_line_leaves():
    noisy, _ = families(REGRESSION, "fast", 3, None, 100)
    clean, _ = families(REGRESSION, "fast", 3, None, 100, share_left=0.25)
    assert clean.alphas == pytest.approx([0.25 * noisy.alphas[0]])
