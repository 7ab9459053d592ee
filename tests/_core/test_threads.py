"""One BLAS thread a product while fits run, and threads of our own; all is put back afterwards."""

import multiprocessing
import os
import platform
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from covey._core import blocks as threads
from covey._core.blocks import MemoryBlocks, in_order, n_cores, own_threads


def libraries():
    return ThreadpoolController().select(user_api="blas").lib_controllers


def blas_threads():
    return [library.num_threads for library in libraries()]


def set_threads(n_threads):
    """Set the threads of products, and leave it to any thread to set them next."""
    for library in libraries():
        library.set_num_threads(n_threads)
    threads._release()


@pytest.fixture(autouse=True)
def several(monkeypatch):
    """A machine of three cores whose BLAS has as many threads."""
    if not libraries():
        pytest.skip("no library of linear algebra whose threads can be limited")
    monkeypatch.setattr(joblib, "cpu_count", lambda: 3)
    before = blas_threads()
    set_threads(3)
    yield
    for library, n_threads in zip(libraries(), before, strict=True):
        library.set_num_threads(n_threads)
    threads._release()


def test_products_have_one_thread_in_a_fit_and_those_before_after_it():
    with own_threads():
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {3}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_fit_that_fails_puts_the_threads_back(error):
    with pytest.raises(error), own_threads():
        raise error
    assert set(blas_threads()) == {3}
    assert threads._shared.pool is None


def test_the_last_of_overlapping_fits_puts_the_threads_back():
    first, second = own_threads(), own_threads()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(blas_threads()) == {1}
    assert list(in_order(lambda item: -item, range(3))) == [0, -1, -2]
    second.__exit__(None, None, None)
    assert set(blas_threads()) == {3}
    assert threads._shared.pool is None


def test_a_fit_within_a_call_of_another_fit_waits_for_no_thread_of_that_fit():
    def inner(item):
        with own_threads():
            return list(in_order(lambda one: one * item, range(4)))

    def outer():
        with own_threads():
            found.extend(in_order(inner, range(6)))

    found = []
    fit = threading.Thread(target=outer, daemon=True)
    fit.start()
    fit.join(20)
    assert found == [[one * item for one in range(4)] for item in range(6)]


def test_many_fits_in_threads_put_them_back():
    n_wrong = []

    def fit(seconds):
        with own_threads():
            time.sleep(seconds)
            n_wrong.append(set(blas_threads()) != {1})

    fits = [threading.Thread(target=fit, args=(0.001 * (k % 7),)) for k in range(40)]
    for one in fits:
        one.start()
    for one in fits:
        one.join()
    assert sum(n_wrong) == 0
    assert set(blas_threads()) == {3}


def test_a_fit_that_ends_in_another_thread_puts_them_back():
    """The thread that has limited them goes on, but its fit has ended before."""
    ends, waits = threading.Event(), threading.Event()
    began = threading.Event()

    def first():
        with own_threads():
            began.set()
            ends.wait(20)
        waits.wait(20)

    other = threading.Thread(target=first)
    other.start()
    began.wait(20)
    with own_threads():
        ends.set()
        time.sleep(0.05)
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {3}
    # And any thread may limit them now.
    with threadpool_limits(2, user_api="blas"):
        assert set(blas_threads()) == {2}
    waits.set()
    other.join()


def test_a_fit_leaves_it_to_other_threads_to_limit_products():
    with own_threads():
        pass
    found = []

    def limited():
        with threadpool_limits(2, user_api="blas"):
            found.append(set(blas_threads()))

    other = threading.Thread(target=limited)
    other.start()
    other.join()
    assert found == [{2}]


def test_a_fit_in_a_thread_keeps_the_limit_of_another_thread():
    found = []

    def fit():
        with own_threads():
            pass
        found.append(set(blas_threads()))

    with threadpool_limits(2, user_api="blas"):
        other = threading.Thread(target=fit)
        other.start()
        other.join()
        assert found == [{2}]
        assert set(blas_threads()) == {2}
    assert set(blas_threads()) == {3}


def test_a_limit_of_the_user_is_one_of_ours():
    assert n_cores() == 3
    with threadpool_limits(2, user_api="blas"):
        assert n_cores() == 2
    with threadpool_limits(1, user_api="blas"), own_threads():
        assert threads._shared.pool is None
        here = threading.get_ident()
        assert {here} == set(in_order(lambda item: threading.get_ident(), range(5)))


@pytest.mark.slow
def test_a_limit_of_the_environment_is_one_of_ours():
    lines = (
        "import joblib",
        "joblib.cpu_count = lambda: 3",
        "import scipy.linalg",
        "from covey._core.blocks import n_cores",
        "print(n_cores())",
    )
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    for n_threads in (1, 2):
        found = subprocess.run(
            [sys.executable, "-c", "\n".join(lines)],
            env={**os.environ, **dict.fromkeys(names, str(n_threads))},
            capture_output=True,
            text=True,
            check=True,
        )
        # A library of linear algebra has no more threads than the machine has cores.
        assert int(found.stdout) == min(n_threads, os.cpu_count())


def test_a_quota_of_cores_is_one_of_ours(monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 1)
    assert n_cores() == 1


def test_several_threads_return_in_order():
    def slowly(item):
        time.sleep(0.02 * (item == 0))
        return item, threading.get_ident()

    with own_threads():
        found = list(in_order(slowly, range(12)))
    assert [item for item, _ in found] == list(range(12))
    assert len({ident for _, ident in found}) > 1


def test_threads_treat_overflow_as_their_caller_does():
    with own_threads(), np.errstate(over="ignore"):
        assert all(in_order(lambda item: np.geterr()["over"] == "ignore", range(4)))


def test_an_error_of_a_block_is_raised_once():
    class Block:
        n_features = n_classes = like = None

        def fail(self):
            raise RuntimeError("block")

    rows = MemoryBlocks([Block(), Block()], side_by_side=True)
    with pytest.raises(RuntimeError, match="block"), own_threads():
        rows.broadcast(Block.fail)
    assert set(blas_threads()) == {3}


def _in_a_child(found):
    with own_threads():
        found.put([*in_order(lambda item: item + 1, range(4)), *blas_threads()])
    found.put(blas_threads())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("during", [False, True])
def test_a_forked_process_fits_too(during):
    processes = multiprocessing.get_context("fork")
    found = processes.Queue()
    child = processes.Process(target=_in_a_child, args=(found,), daemon=True)
    if during:
        # The threads of a fit that runs in the parent do not exist in the child.
        with own_threads():
            list(in_order(lambda item: item, range(4)))
            child.start()
            within, after = found.get(timeout=20), found.get(timeout=20)
    else:
        with own_threads():
            list(in_order(lambda item: item, range(4)))
        child.start()
        within, after = found.get(timeout=20), found.get(timeout=20)
    child.join(20)
    assert within[:4] == [1, 2, 3, 4]
    assert set(within[4:]) == {1}
    assert set(after) == {3}


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries keep memory")
def test_a_fit_keeps_the_memory_of_arrays_that_it_makes_again_and_again():
    script = """
import resource
import numpy as np
from covey._core.blocks import own_threads
with own_threads():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(200):
        made = [np.ones(100_000) for _ in range(8)]
        del made
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    # The eight arrays have 1,600 pages; a page that is given anew is a fault.
    assert int(found.stdout) < 5_000
