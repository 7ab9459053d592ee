"""``covey demo``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from covey.cli import _options as options
from covey.cli._console import Console

if TYPE_CHECKING:
    import pandas as pd

EXAMPLE = ("covey demo --table wine.csv",)

# fmt: off
_COLUMNS = [
    "alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium", "total_phenols",
    "flavanoids", "nonflavanoid_phenols", "proanthocyanins", "color_intensity", "hue",
    "dilution", "proline", "cultivar",
]
# fmt: on
_CULTIVARS = {0: "Barolo", 1: "Grignolino", 2: "Barbera"}


_TABLE = options.option("The file to write; its ending determines the format.", metavar="FILE")


def demo(
    table: Annotated[str, _TABLE],
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write a table to try covey on: wines of three cultivars, with an id, a category and gaps."""
    console = Console(quiet, as_json)
    from covey.cli._writing import TABLE_ENDINGS, check_writable, table_writer

    check_writable(table, TABLE_ENDINGS)
    frame = _wine()
    with table_writer(table) as write:
        write(frame)
    console.note(f"Wrote {table}: {len(frame)} wines; try --target cultivar.")
    console.emit(table=table, rows=len(frame), columns=list(frame.columns))


def _wine() -> pd.DataFrame:
    """Wines of three cultivars, with the columns a real table has: an id, a gap, a category.

    scikit-learn's file is read without scikit-learn, which takes most of a second to import.
    """
    from importlib.util import find_spec
    from pathlib import Path

    import numpy as np
    import pandas as pd

    home = Path(getattr(find_spec("sklearn"), "origin", ""))
    file = home.with_name("datasets") / "data" / "wine_data.csv"
    frame = pd.read_csv(file, skiprows=1, names=_COLUMNS, dtype=float).round(3)
    cultivar = frame.pop("cultivar").map(_CULTIVARS)
    frame.insert(0, "bottle", [f"B{number:03d}" for number in range(len(frame))])
    shade = np.digitize(frame["hue"], [0.8, 1.0])
    frame["shade"] = np.array(["brown", "red", "purple"])[shade]
    frame.loc[frame.index % 17 == 5, "magnesium"] = np.nan
    return frame.assign(cultivar=cultivar)
