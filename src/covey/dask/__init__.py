"""Fits on Dask collections: the rows of a table on a cluster, or on disk beyond memory.

Estimators import this when they are given a Dask collection; users need not import it.
"""

from covey._names import extra

with extra("covey.dask needs", "dask"):
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
