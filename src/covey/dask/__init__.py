"""Fits on Dask collections: the rows of a table on a cluster, or on disk beyond memory.

Estimators import this when they are given a Dask collection; users need not import it.
"""

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"covey.dask needs dask and distributed ({error}); install them with "
        "pip install 'covey[dask]'."
    ) from None
