import numpy as np
import pytest

from covey._checkpoint import Journal, JournalError
from covey._core.lbfgs import minimise


def quadratics(n_runs=3, size=6, seed=0):
    rng = np.random.default_rng(seed)
    scales = rng.uniform(0.1, 10, (n_runs, size))
    centres = rng.standard_normal((n_runs, size))

    def objective(x, runs):
        away = x - centres[runs]
        value = (scales[runs] * away**2).sum(axis=1) + (away**4).sum(axis=1)
        return value, 2 * scales[runs] * away + 4 * away**3

    return objective, rng.standard_normal((n_runs, size)) * 5


class KilledError(Exception):
    pass


def killed_after(n_steps, monkeypatch):
    """From now on a journal's process dies after so many steps in all."""
    count = Journal.count

    def dying(self, snapshot):
        count(self, snapshot)
        if self.n_steps >= n_steps:
            raise KilledError

    monkeypatch.setattr(Journal, "count", dying)


@pytest.mark.parametrize("n_steps", [1, 2, 5, 9])
def test_an_interrupted_minimisation_goes_on_to_the_same_bits(tmp_path, monkeypatch, n_steps):
    objective, start = quadratics()
    whole = minimise(objective, start, tol=1e-9)
    assert whole.n_iter.max() > 10
    path = tmp_path / "journal"
    with monkeypatch.context() as patch:
        killed_after(n_steps, patch)
        with pytest.raises(KilledError):
            minimise(objective, start, tol=1e-9, journal=Journal(path, "key", 0))
    journal = Journal(path, "key", 0)
    assert journal.n_steps >= 0.9 * n_steps
    resumed = minimise(objective, start, tol=1e-9, journal=journal)
    for name, values in vars(whole).items():
        np.testing.assert_array_equal(getattr(resumed, name), values)


def test_finished_tasks_are_not_done_again(tmp_path):
    objective, start = quadratics()
    path = tmp_path / "journal"
    first = minimise(objective, start, journal=Journal(path, "key", 0))

    def never(x, runs):
        raise AssertionError("done again")

    again = minimise(never, start, journal=Journal(path, "key", 0))
    np.testing.assert_array_equal(again.x, first.x)


def test_at_most_a_tenth_of_the_steps_is_lost(tmp_path):
    journal = Journal(tmp_path / "journal", "key", 0)
    task = journal.begin()
    for step in range(1, 400):
        task.step(lambda: {"x": np.zeros(2)})
        written = Journal(tmp_path / "journal", "key", 0).n_steps
        assert step - written <= 0.1 * step


def test_a_journal_keeps_the_seed_of_the_process_that_began(tmp_path):
    Journal(tmp_path / "journal", "key", 7).begin().finish({"x": np.arange(3)})
    assert Journal(tmp_path / "journal", "key", 8).seed == 7


def test_journals_of_others_and_other_files_are_refused(tmp_path):
    path = tmp_path / "journal"
    Journal(path, "key", 0).begin().finish({"x": np.arange(3)})
    with pytest.raises(JournalError, match="other data"):
        Journal(path, "another", 0)
    whole = path.read_bytes()
    for broken in (b"", b"nothing", whole[: len(whole) // 2]):
        path.write_bytes(broken)
        with pytest.raises(JournalError, match="is not a checkpoint"):
            Journal(path, "key", 0)
    np.save(path.with_suffix(".npy"), np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(JournalError, match="is not a checkpoint"):
        Journal(path.with_suffix(".npy"), "key", 0)
    with pytest.raises(JournalError, match="folder that does not exist"):
        Journal(tmp_path / "no" / "journal", "key", 0)


def test_a_journal_of_another_covey_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "journal"
    with monkeypatch.context() as patch:
        patch.setattr("covey._checkpoint.FORMAT", 3)
        Journal(path, "key", 0).begin().finish({"x": np.arange(3)})
    with pytest.raises(JournalError, match="another covey"):
        Journal(path, "key", 0)


def test_a_failed_write_leaves_the_file_that_was_there(tmp_path, monkeypatch):
    path = tmp_path / "journal"
    Journal(path, "key", 0).begin().finish({"x": np.arange(3)})
    before = path.read_bytes()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    journal = Journal(path, "key", 0)
    journal.begin()
    with monkeypatch.context() as patch:
        patch.setattr("covey._checkpoint.np.savez", full)
        with pytest.raises(JournalError, match="No space left"):
            journal.begin().finish({"x": np.arange(4)})
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["journal"]
