"""Times until an event as rows of periods."""

import numpy as np
import pandas as pd
import pytest

from covey import FlockRegressor
from covey.tables import person_periods

rng = np.random.default_rng(0)
N = 200
DOSE = rng.uniform(-1, 1, N)
LIFE = rng.exponential(np.exp(-1.5 * DOSE))
SEEN = rng.uniform(0.1, 3.0, N)
TABLE = pd.DataFrame(
    {"dose": DOSE, "weeks": np.minimum(LIFE, SEEN), "died": (LIFE <= SEEN).astype(int)}
)


def literal(table, starts):
    """Walk through the life of each row."""
    found = []
    for row, (dose, weeks, died) in enumerate(table.itertuples(index=False)):
        for start, end in zip([0.0, *starts], [*starts, np.inf], strict=True):
            if weeks > start:
                events = int(died and weeks <= end)
                found.append((dose, start, min(weeks, end) - start, events, row))
    return np.array(found)


@pytest.mark.parametrize("starts", [[], [0.5], [0.2, 0.4, 1.1], [5.0]])
def test_periods_are_the_literal_ones(starts):
    found = person_periods(TABLE, "weeks", "died", starts)
    assert found.columns.tolist() == ["dose", "period", "at_risk", "events", "row"]
    np.testing.assert_allclose(found.to_numpy(), literal(TABLE, starts))
    # A time that is the start of a period belongs to the one before.
    tied = TABLE.assign(weeks=np.where(DOSE > 0, 0.5, TABLE["weeks"]))
    again = person_periods(tied, "weeks", "died", [0.5])
    np.testing.assert_allclose(again.to_numpy(), literal(tied, [0.5]))
    assert again["events"].sum() == tied["died"].sum()
    assert again["at_risk"].sum() == pytest.approx(tied["weeks"].sum())


def test_periods_that_are_counted_have_as_many_events_each():
    found = person_periods(TABLE, "weeks", "died", 4)
    events = found.groupby("period")["events"].sum()
    assert len(events) == 4
    assert events.max() - events.min() <= 1


def test_a_flock_of_counts_learns_the_hazard():
    rows = person_periods(TABLE, "weeks", "died", 3)
    flock = FlockRegressor(loss="poisson", effort="fast", random_state=0)
    risk = rows["at_risk"]
    flock.fit(rows[["dose", "period"]], rows["events"] / risk, risk, groups=rows["row"])
    hazard = flock.predict(pd.DataFrame({"dose": [-0.8, 0.8], "period": 0.0}))
    np.testing.assert_allclose(np.log(hazard), [-1.2, 1.2], atol=0.5)


@pytest.mark.parametrize(
    ("changes", "options", "match"),
    [
        ({"weeks": 0.0}, {}, "must hold times above 0"),
        ({"weeks": np.nan}, {}, "must hold times above 0"),
        ({"weeks": "long"}, {}, "'weeks' must hold numbers"),
        ({"died": 2}, {}, "must hold 1 where"),
        ({"died": 0}, {}, "holds no event"),
        ({"row": 1}, {}, "a column 'row' already"),
        ({}, {"time": "week"}, "no column 'week'"),
        ({}, {"periods": 0}, "periods must be 1 or more"),
        ({}, {"periods": [2.0, 1.0]}, "starts above 0 that rise"),
    ],
)
def test_impossible_times_are_refused_in_one_sentence(changes, options, match):
    given = {"time": "weeks", "event": "died", **options}
    with pytest.raises(ValueError, match=match) as refused:
        person_periods(TABLE.assign(**changes), **given)
    assert "\n" not in str(refused.value)
