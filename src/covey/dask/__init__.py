"""covey on tables whose rows lie on Dask workers, or do not fit into memory."""

try:
    import dask.array  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"covey.dask needs dask and distributed ({error}); install them with "
        "pip install 'covey[dask]'."
    ) from None

from covey.dask._collections import check_numeric_columns, is_dask
from covey.dask._estimator import FlockClassifier, SubsetEnsembleClassifier, on_dask
from covey.dask._lazy import check_columns, lazily, lazy_score
from covey.dask._rows import DaskRows

__all__ = [
    "DaskRows",
    "FlockClassifier",
    "SubsetEnsembleClassifier",
    "check_columns",
    "check_numeric_columns",
    "is_dask",
    "lazily",
    "lazy_score",
    "on_dask",
]
