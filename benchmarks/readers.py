"""Which readers of tables read the odd files of the tests as ``covey fit`` does.

    python -m benchmarks.readers

Prints a line for each file that covey takes, and for each that it refuses in one sentence, with
what pandas, polars and DuckDB make of it by themselves, every cell of text as it is written:
"same" is the same table (names, rows, values and gaps), "other" is another table and "-" an
error; for a file that covey refuses, "taken" is a table and "-" an error.
"""

import tempfile
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
from tests.cli.test_odd_files import FAILS, FITS, put

from covey.cli._sources import batches, joined

JSON = {".jsonl": True, ".ndjson": True, ".json": False}  # whether a line is a record


def by_covey(path):
    return joined([batch for batch, *_ in batches(path)]).to_pandas()


def by_pandas(path):
    ending = Path(path).suffix
    if ending in JSON:
        return pd.read_json(path, lines=JSON[ending], dtype=False)
    if ending == ".xlsx":
        return pd.read_excel(path, engine="calamine")
    return pd.read_csv(path, sep=None, engine="python", dtype=str, keep_default_na=False)


def by_polars(path):
    ending = Path(path).suffix
    if ending in JSON:
        return (pl.read_ndjson if JSON[ending] else pl.read_json)(path).to_pandas()
    if ending == ".xlsx":
        return pl.read_excel(path).to_pandas()
    return pl.read_csv(path, infer_schema=False).to_pandas()


def by_duckdb(path):
    ending = Path(path).suffix
    if ending in JSON:
        return duckdb.sql(f"SELECT * FROM read_json('{path}')").df()
    if ending == ".xlsx":
        return duckdb.sql(f"SELECT * FROM read_xlsx('{path}')").df()
    return duckdb.sql(f"SELECT * FROM read_csv('{path}', all_varchar=true)").df()


READERS = {"pandas": by_pandas, "polars": by_polars, "DuckDB": by_duckdb}


def cells(frame):
    """The cells of a frame as text, a gap as an empty one, and a whole number without a point."""

    def text(value):
        if isinstance(value, list | dict) or not pd.isna(value):
            return f"{value:.15g}" if isinstance(value, int | float) else str(value)
        return ""

    return {str(name): [text(one) for one in frame[name]] for name in frame.columns}


def tried(read, path):
    """The cells of a table, or None where it is refused."""
    try:
        return cells(read(path))
    except BaseException as error:  # polars panics with what is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return None


def main():
    counts = dict.fromkeys(READERS, 0)
    print(f"{'file':50}" + "".join(f"{name:>9}" for name in READERS))
    with tempfile.TemporaryDirectory() as folder:
        for case, (name, content, *_) in {**FITS, **FAILS}.items():
            path = Path(folder) / put(Path(folder), name, content)
            ours, line = tried(by_covey, str(Path(folder) / name)), ""
            for reader, read in READERS.items():
                theirs = tried(read, str(path))
                counts[reader] += theirs == ours
                answer = "same" if theirs == ours else "taken" if ours is None else "other"
                line += f"{'-' if theirs is None else answer:>9}"
            print(f"{'' if ours else 'refused: '}{case:50}"[:50] + line)
            path.unlink()
    print(f"{'as covey':50}" + "".join(f"{count:>9}" for count in counts.values()))


if __name__ == "__main__":
    main()
