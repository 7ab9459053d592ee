"""Random tables, targets, weights and parameters, ordinary ones and odd ones."""

import numpy as np
import pandas as pd
from scipy import sparse

ODD = [
    None,
    -1,
    0,
    1,
    2,
    3.5,
    0.5,
    1e300,
    -1e-300,
    np.nan,
    np.inf,
    True,
    "",
    "x",
    [],
    {},
    (),
    b"x",
]


def one_of(rng, values):
    """Any of the values, as it is."""
    return values[int(rng.integers(len(values)))]


def chance(rng, share):
    """True for this share of the draws."""
    return bool(rng.random() < share)


def table(rng, odd=False, n_columns=None):
    """Numbers in some container; an odd one is empty, has gaps, or holds no numbers."""
    n_rows = one_of(rng, [*([40] * 6), 12, 25, 90, 150, 600, *([3, 2, 1, 0] if odd else [])])
    if n_columns is None:
        wide = [300, 1100] if n_rows < 100 else []
        n_columns = one_of(rng, [*([4] * 5), 2, 3, 8, 1, 40, *wide, *([0] if odd else [])])
    values = rng.normal(size=(n_rows, n_columns))
    changes = [*_CHANGES, *(_ODD_CHANGES if odd else [])]
    for change in rng.choice(len(changes), size=one_of(rng, [0, 0, 1, 1, 2]), replace=False):
        with np.errstate(all="ignore"):
            values = changes[change](values, rng)
    containers = _CONTAINERS | (_ODD_CONTAINERS if odd else {})
    kind = one_of(rng, [*(["array"] * 6), *containers])
    if kind == "array":
        return values
    with np.errstate(all="ignore"):
        return containers[kind](values)


def _some(values, rng, number):
    """The array with a number at a few places."""
    if values.size:
        values.flat[rng.integers(values.size, size=one_of(rng, [1, 1, 5]))] = number
    return values


def _column(values, rng, number):
    """The array with one column that is a constant."""
    if values.size:
        values[:, rng.integers(values.shape[1])] = number
    return values


_CHANGES = [
    lambda values, rng: values * 1e300,
    lambda values, rng: values * 1e-300,
    lambda values, rng: values * 10.0 ** rng.integers(-300, 300, values.shape[1]),
    lambda values, rng: _some(values, rng, one_of(rng, [1e308, -1e308, 1e155, 1e100, 1e30])),
    lambda values, rng: _column(values, rng, one_of(rng, [0.0, 7.3, 1e300])),
    lambda values, rng: np.round(values),
    lambda values, rng: np.abs(values) * 5e-324,
    lambda values, rng: np.repeat(values[: max(1, len(values) // 3)], 4, axis=0)[: len(values)],
    lambda values, rng: values[:, :1] @ np.ones((1, values.shape[1])) if values.size else values,
    lambda values, rng: values + 1e12,
]
_ODD_CHANGES = [
    lambda values, rng: _some(values, rng, np.nan),
    lambda values, rng: _some(values, rng, one_of(rng, [np.inf, -np.inf])),
    lambda values, rng: np.zeros_like(values),
]


def _read_only(values):
    values.setflags(write=False)
    return values


_CONTAINERS = {
    "float32": lambda values: values.astype(np.float32),
    "float16": lambda values: values.astype(np.float16),
    "int8": lambda values: np.nan_to_num(np.clip(values * 10, -99, 99)).astype(np.int8),
    "bool": lambda values: values > 0,
    "object": lambda values: values.astype(object),
    "list": lambda values: values.tolist(),
    "Fortran": np.asfortranarray,
    "read-only": _read_only,
    "every other": lambda values: np.repeat(values, 2, axis=0)[::2],
    "frame": lambda values: pd.DataFrame(
        values, columns=[f"c{k}" for k in range(values.shape[1])]
    ),
    "frame of numbers": lambda values: pd.DataFrame(values),
    "csr": sparse.csr_matrix,
    "csc": lambda values: sparse.csc_matrix(np.where(np.abs(values) > 0.5, values, 0.0)),
    "coo": sparse.coo_array,
}
_ODD_CONTAINERS = {
    "mixed object": lambda values: np.where(values > 2.2, "text", values.astype(object)),
    "strings": lambda values: values.astype(str),
    "complex": lambda values: values + 0j,
    "one dimension": lambda values: values.ravel(),
    "three dimensions": lambda values: values[None],
}


def n_rows_of(X):
    """How many rows a table has, whatever it is."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def classes(rng, n_rows, odd=False):
    """Labels, of few or many classes; odd ones are of one class, or no labels at all."""
    n_classes = one_of(rng, [2, 2, 2, 3, 3, 5, *([1] if odd else []), 500])
    codes = rng.permutation(n_rows) % n_classes
    if chance(rng, 0.1):
        codes[: n_rows // 2] = 0
    makes = [
        *([lambda: codes] * 6),
        lambda: codes.astype(str),
        lambda: np.array([f"class {code}" for code in codes], dtype=object),
        lambda: codes > 0,
        lambda: codes.astype(np.int8),
        lambda: codes.astype(float),
        lambda: pd.Series(codes),
        lambda: codes - 10**15,
        lambda: codes.tolist(),
    ]
    no_labels = [
        lambda: codes[:, None],
        lambda: np.stack([codes, codes], axis=1),
        lambda: codes[1:],
        lambda: rng.normal(size=n_rows),
        lambda: np.where(codes, np.nan, 1.0),
        lambda: np.array([None if code else "a" for code in codes], dtype=object),
        lambda: np.array([code if code else "a" for code in codes], dtype=object),
        lambda: None,
    ]
    return one_of(rng, no_labels if odd and chance(rng, 0.8) else makes)()


def numbers(rng, n_rows, odd=False):
    """Numbers to predict, of any size; odd ones are missing, or no numbers."""
    y = rng.normal(size=n_rows)
    makes = [
        *([lambda: y] * 8),
        lambda: np.round(y),
        lambda: y * 1e200,
        lambda: y * 1e-200,
        lambda: y + 1e12,
        lambda: np.zeros(n_rows),
        lambda: _some(y, rng, one_of(rng, [1e200, 1e308, -1e100])),
        lambda: y.astype(np.float32),
        lambda: y.astype(np.float16),
        lambda: y.astype(object),
        lambda: pd.Series(y),
    ]
    no_numbers = [
        lambda: _some(y, rng, one_of(rng, [np.nan, np.inf])),
        lambda: y.astype(str),
        lambda: y[:, None],
        lambda: y[1:],
        lambda: y > 0,
        lambda: None,
    ]
    return one_of(rng, no_numbers if odd else makes)()


def weights(rng, n_rows, odd=False):
    """Weights of rows, or none; odd ones are such as cannot be, or hardly."""
    makes = [
        *([lambda: None] * 5),
        lambda: np.ones(n_rows),
        lambda: rng.uniform(size=n_rows),
        lambda: rng.integers(0, 3, n_rows),
    ]
    odd_ones = [
        lambda: 1e-300 * np.ones(n_rows),
        lambda: 10.0 ** rng.integers(-90, 90, n_rows),
        lambda: np.zeros(n_rows),
        lambda: -np.ones(n_rows),
        lambda: np.full(n_rows, np.nan),
        lambda: np.ones(n_rows + 1),
        lambda: 2.0,
        lambda: "x",
    ]
    return one_of(rng, odd_ones if odd else makes)()


def parameters(rng, choices, odd=False):
    """A few of the parameters with one of their choices each; one of them may be odd."""
    chosen = {}
    for name, values in choices.items():
        if chance(rng, min(0.4, 2 / len(choices))):
            chosen[name] = one_of(rng, values)
    if choices and odd:
        chosen[one_of(rng, list(choices))] = one_of(rng, ODD)
    return chosen
