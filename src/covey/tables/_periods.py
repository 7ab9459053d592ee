"""Times until an event as rows of periods, whose rates a model of counts can learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    import pandas as pd


def person_periods(
    table: pd.DataFrame, time: str, event: str, periods: int | ArrayLike = 10
) -> pd.DataFrame:
    """Return a row for each period in which a row of a table was observed until an event.

    A model of counts that is fitted to these rows is a model of survival: the rate of events in
    each period, given the columns and the period (the piecewise exponential model). Rows that end
    without an event are censored and count as long as they were observed.

    Parameters
    ----------
    table : DataFrame
    time : str
        The column of the time until the event, or until a row was last seen; above 0.
    event : str
        The column that is 1 (or True) where the event happened, and 0 where it did not.
    periods : int or array-like, default=10
        The number of periods, with as many events in each as ties allow, or their starts after 0,
        rising. The last one has no end.

    Returns
    -------
    periods : DataFrame
        The other columns of the table; ``period``, the start of the period; ``at_risk``, how long
        the row was observed in it; ``events``, 1 if the event happened in it; and ``row``, the
        position of the row in the table, to keep its periods together in folds.

    Examples
    --------
    >>> import pandas as pd
    >>> from covey.tables import person_periods
    >>> table = pd.DataFrame({"dose": [1, 2], "weeks": [3.0, 5.0], "died": [1, 0]})
    >>> person_periods(table, "weeks", "died", [4])
       dose  period  at_risk  events  row
    0     1     0.0      3.0       1    0
    1     2     0.0      4.0       0    1
    2     2     4.0      1.0       0    1
    """
    made = ("period", "at_risk", "events", "row")
    if taken := [name for name in made if name in table.columns and name not in (time, event)]:
        raise ValueError(f"The table has a column {taken[0]!r} already; rename it.")
    ends, happened = (_numbers(table, name) for name in (time, event))
    if not (np.isfinite(ends) & (ends > 0)).all():
        raise ValueError(f"Column {time!r} must hold times above 0; leave other rows out.")
    if not np.isin(happened, (0.0, 1.0)).all():
        raise ValueError(f"Column {event!r} must hold 1 where the event happened, else 0.")
    if not happened.any():
        raise ValueError(f"Column {event!r} holds no event; there is nothing to learn.")
    if isinstance(periods, int | np.integer):
        if periods < 1:
            raise ValueError(f"periods must be 1 or more, got {periods}.")
        shares = np.arange(1, periods) / periods
        starts = np.unique(np.quantile(ends[happened > 0], shares, method="inverted_cdf"))
    else:
        starts = np.ravel(periods).astype(np.float64)
        if not (np.isfinite(starts).all() and (np.diff(starts, prepend=0.0) > 0).all()):
            raise ValueError(f"periods must be starts above 0 that rise, got {periods!r}.")
    starts = np.append(0.0, starts)
    # A time that is the start of a period ends the one before.
    n_of = np.searchsorted(starts, ends, side="left")
    row = np.repeat(np.arange(len(ends)), n_of)
    period = np.arange(len(row)) - np.repeat(np.cumsum(n_of) - n_of, n_of)
    until = np.minimum(np.append(starts[1:], np.inf)[period], ends[row])
    last = period == n_of[row] - 1
    found = table.drop(columns=[time, event]).iloc[row].reset_index(drop=True)
    events = (happened[row] * last).astype(np.int64)
    values = starts[period], until - starts[period], events, row
    return found.assign(**dict(zip(made, values, strict=True)))


def _numbers(table: pd.DataFrame, name: str) -> np.ndarray:
    """Return a column as numbers; gaps are NaN."""
    if name not in table.columns:
        raise ValueError(f"The table has no column {name!r}.")
    try:
        return table[name].to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise ValueError(f"Column {name!r} must hold numbers.") from None
