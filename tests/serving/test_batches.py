"""Requests that are answered together."""

import asyncio
import threading
import time

import pytest
from starlette.exceptions import HTTPException

from covey.serving import Limits
from covey.serving._batches import Batches


def batches(compute, **limits):
    return Batches(compute, **{"most_rows": 50, "most_waiting": 10_000, "seconds": 20, **limits})


@pytest.mark.parametrize(
    ("name", "value"),
    [("rows", 0), ("rows", 1.5), ("bytes", -1), ("seconds", 0), ("seconds", "1")],
)
def test_limits_that_are_none_are_refused_by_name(name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        Limits(**{name: value})


def test_each_request_gets_its_own_answers_in_order():
    calls = []

    def squares(rows, how):
        calls.append(len(rows))
        time.sleep(0.002)
        return [(row * row, how) for row in rows]

    async def ask():
        line = batches(squares)
        asked = [(list(range(k, k + k % 4 + 1)), k // 30) for k in range(120)]
        answers = await asyncio.gather(*(line.ask(rows, how) for rows, how in asked))
        for (rows, how), answer in zip(asked, answers, strict=True):
            assert answer == [(row * row, how) for row in rows]
        assert line.waiting == 0

    asyncio.run(ask())
    # Together, but never more rows than are allowed.
    assert len(calls) < 40
    assert max(calls) <= 50


def test_a_request_larger_than_a_call_is_answered_alone():
    async def ask():
        return await batches(lambda rows, how: list(rows)).ask(list(range(500)))

    assert asyncio.run(ask()) == list(range(500))


def test_one_that_fails_does_not_fail_its_neighbours():
    def fragile(rows, how):
        time.sleep(0.005)
        if 13 in rows:
            raise ValueError("13")
        return rows

    async def ask():
        line = batches(fragile)
        return await asyncio.gather(*(line.ask([k]) for k in range(20)), return_exceptions=True)

    answers = asyncio.run(ask())
    assert isinstance(answers.pop(13), ValueError)
    assert answers == [[k] for k in range(20) if k != 13]


def test_too_many_rows_are_refused_and_later_ones_are_not():
    gate = threading.Event()

    def slow(rows, how):
        gate.wait(20)
        return rows

    async def ask():
        line = batches(slow, most_waiting=3)
        first = asyncio.create_task(line.ask([1, 2]))
        await asyncio.sleep(0)
        with pytest.raises(HTTPException, match="too many requests") as caught:
            await line.ask([3, 4])
        assert caught.value.status_code == 503
        gate.set()
        assert await first == [1, 2]
        assert await line.ask([5, 6, 7]) == [5, 6, 7]

    asyncio.run(ask())


def test_who_has_waited_too_long_is_told_and_not_computed():
    gate, computed = threading.Event(), []

    def slow(rows, how):
        computed.extend(rows)
        gate.wait(20)
        return rows

    async def ask():
        line = batches(slow, seconds=0.05)
        answers = await asyncio.gather(line.ask([1]), line.ask([2]), return_exceptions=True)
        assert all("longer than 0.05 seconds" in one.detail for one in answers)
        gate.set()
        line._seconds = 20
        assert await line.ask([3]) == [3]
        assert line.waiting == 0

    asyncio.run(ask())
    assert computed == [1, 3]


def test_what_follows_a_call_keeps_few_waiting():
    followed = []

    def after(rows, how, answers):
        followed.append((list(rows), how, list(answers)))

    def slow(rows, how):
        time.sleep(0.01)
        return [2 * row for row in rows]

    one = batches(slow, most_rows=1, after=after)

    async def ask():
        await one.ask([3], "alone")
        while not followed:  # what follows a call is done after its answer
            await asyncio.sleep(0.001)
        await asyncio.gather(*(one.ask([number], "many") for number in range(40)))

    asyncio.run(ask())
    one._thread.shutdown(wait=True)
    assert followed[0] == ([3], "alone", [6])
    assert 2 <= len(followed) <= 10  # of 41 calls
