"""Limits, and the buckets of clients."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.serving import Limits
from covey.serving._limits import TokenBuckets, client_key


@pytest.mark.parametrize(
    ("name", "value"),
    [("rows", 0), ("rows", 1.5), ("bytes", -1), ("rate", -1.0), ("seconds", 0), ("seconds", "1")],
)
def test_limits_that_are_none_are_refused_by_name(name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        Limits(**{name: value})


@given(
    st.floats(0.5, 50),
    st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 3)), max_size=60),
)
def test_buckets_are_those_of_a_literal_version(rate, asked):
    """Tokens of each client by the definition: a full bucket, filled by time, one a request."""
    now = 0.0
    buckets = TokenBuckets(rate, clock=lambda: now)
    tokens, last, full = {}, {}, max(rate, 1.0)
    for who, pause in asked:
        now += pause
        have = min(full, tokens.get(who, full) + (now - last.get(who, now)) * rate)
        wait = buckets.wait(who)
        assert (wait == 0) == (have >= 1)
        if wait:
            assert wait == pytest.approx((1 - have) / rate)
        tokens[who], last[who] = have - (have >= 1), now


def test_no_client_gets_more_than_its_rate_for_long():
    now = 0.0
    buckets = TokenBuckets(10, clock=lambda: now)
    granted = 0
    for step in range(10_000):
        now = step / 1000
        granted += buckets.wait("a") == 0
    assert granted <= 10 + 10 * 10


def test_silent_clients_are_forgotten_so_that_memory_is_bounded():
    buckets = TokenBuckets(1)
    for number in range(25_000):
        buckets.wait(str(number))
    assert len(buckets._buckets) == 10_000


def test_addresses_of_one_network_of_the_sixth_protocol_are_one_client():
    assert client_key("2001:db8::1") == client_key("2001:db8::ffff")
    assert client_key("2001:db8::1") != client_key("2001:db8:0:1::1")
    assert client_key("::ffff:10.0.0.1") == "10.0.0.1"
    assert client_key("fe80::1%eth0") == client_key("fe80::2")
    assert client_key("nonsense:") == "nonsense:"
