"""Predictions of Dask collections: by block, and only when they are asked for."""

import dask
import dask.array as da
import numpy as np
import pandas as pd
from sklearn.utils.validation import validate_data

from covey.dask._collections import delayed_blocks, is_frame


def check_columns(estimator, X, reset=False):
    """Compare the columns of a collection with those of the fit, or note them."""
    if is_frame(X):
        shown = pd.DataFrame(columns=X.columns)
    else:
        if X.ndim != 2 or np.isnan(X.shape[1]):
            raise ValueError(
                "X must have two dimensions, rows and a known number of columns, got shape "
                f"{X.shape}."
            )
        shown = np.empty((0, X.shape[1]))
    validate_data(estimator, shown, reset=reset, skip_check_array=True)


def by_block(local, method, X, shape, dtype):
    """What a method of a fitted estimator says of a collection, as a Dask array.

    Parameters
    ----------
    local : SubsetEnsembleClassifier
    method : str
    X : Dask array or frame
    shape : tuple of int
        Of what is said of one row.
    dtype : dtype

    Returns
    -------
    said : dask.array.Array
        With the blocks of X; of a frame, how long they are is not known.
    """
    check_columns(local, X)
    nothing = np.empty((0, *shape), dtype=dtype)
    if is_frame(X):
        return X.map_partitions(_said, local, method, nothing, meta=nothing)
    X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
    return da.map_blocks(
        _said,
        X,
        local,
        method,
        nothing,
        dtype=dtype,
        meta=nothing,
        chunks=(X.chunks[0], *((size,) for size in shape)),
        drop_axis=[] if shape else 1,
        new_axis=list(range(2, nothing.ndim)),
    )


def _said(rows, local, method, nothing):
    return getattr(local, method)(rows) if rows.shape[0] else nothing


def importance_frames(local, X):
    """The members' importances as a Dask frame with their names."""
    names = local._names()
    if not is_frame(X):
        import dask.dataframe as dd

        importance = by_block(local, "explain_fusion", X, (len(names),), np.float64)
        return dd.from_dask_array(importance, columns=names)
    check_columns(local, X)
    nothing = pd.DataFrame(np.empty((0, len(names))), columns=names)
    return X.map_partitions(_importances, local, nothing, meta=nothing)


def _importances(rows, local, nothing):
    if not len(rows):
        return nothing
    return local.explain_fusion(rows, as_frame=True)


def score(local, X, y, sample_weight):
    """Accuracy over all blocks of a collection."""
    check_columns(local, X)
    counted = dask.delayed(_counted, pure=False)
    parts = [counted(local, *block) for block in delayed_blocks(X, y, sample_weight)]
    right, whole = np.sum(dask.compute(*parts), axis=0)
    if not whole:
        raise ValueError("There is no row that weighs something, so nothing can be scored.")
    return float(right / whole)


def _counted(local, X, y, weight):
    whole = float(len(y) if weight is None else np.sum(weight))
    if not whole:
        return 0.0, 0.0
    return local.score(X, y, weight) * whole, whole
