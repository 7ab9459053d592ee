"""Rows of single values become columns, whatever they hold."""

import datetime
from decimal import Decimal

import pyarrow as pa

from covey.cli._cells import arrow_column, batches_of, joined


def test_columns_have_the_type_that_all_values_share():
    day, moment = datetime.date(2024, 1, 5), datetime.datetime(2024, 1, 5, 10)
    for values, kind in (
        ([1, 2.5, None], pa.float64()),
        ([Decimal("1.50"), 2], pa.float64()),
        ([True, None], pa.bool_()),
        ([day, moment, None], pa.timestamp("us")),
        ([moment.replace(tzinfo=datetime.UTC), None], pa.string()),
        ([1, "a", None, 2.0], pa.string()),
        ([10**18 + 1, 3], pa.string()),
        ([[1], None], pa.list_(pa.string())),
        ([b"\0", None], pa.list_(pa.string())),
        ([None, None], pa.null()),
    ):
        assert arrow_column(values).type == kind
    assert arrow_column([1, "a", 2.0]).to_pylist() == ["1", "a", "2"]
    assert arrow_column([10**18 + 1, 3]).to_pylist() == [str(10**18 + 1), "3"]


def test_batches_of_other_types_and_columns_are_one_table():
    first = pa.record_batch({"a": [1.0, 2.0], "b": pa.nulls(2), "c": [[1], [2]]})
    second = pa.record_batch({"a": ["x", None], "b": ["y", "z"], "d": [1.0, 2.0]})
    table = joined([first, second])
    assert table.column("a").to_pylist() == ["1", "2", "x", None]
    assert table.column("b").to_pylist() == [None, None, "y", "z"]
    assert table.column("d").to_pylist() == [None, None, 1.0, 2.0]
    assert pa.types.is_list(table.column("c").type)


def test_columns_may_be_left_unread():
    (batch,) = batches_of([(1, "a"), (2, "b")], ["x", "y"], {"y"})
    assert batch.to_pydict() == {"y": ["a", "b"]}
