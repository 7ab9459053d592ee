"""covey on tables whose rows lie on Dask workers, or do not fit into memory."""

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"covey.dask needs dask and distributed ({error}); install them with "
        "pip install 'covey[dask]'."
    ) from None

from covey.dask._estimator import FlockClassifier, SubsetEnsembleClassifier, on_dask

__all__ = ["FlockClassifier", "SubsetEnsembleClassifier", "on_dask"]
