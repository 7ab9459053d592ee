"""Models in and out of files."""

import numpy as np

from covey.cli._console import CommandError

# Of so many rows it is remembered that the model was fitted on them.
_MOST_ROWS_REMEMBERED = 20_000


def check_saving():
    """Say before anything slow happens that models cannot be saved."""
    try:
        import skops  # noqa: F401
    except ImportError:
        raise CommandError(
            'saving a model needs skops; install it with: pip install "covey[cli]".', 1
        ) from None


def save_model(model, path):
    """Save a model, whole or not at all."""
    from covey.persistence import ModelFileError, save

    try:
        save(model, path)
    except ModelFileError as error:
        raise CommandError(str(error), 1) from None
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror or error}.", 1) from None


def load_model(path):
    """A model of a table, from a file of ``covey fit``."""
    from covey.persistence import ModelFileError, load

    try:
        model = load(path)
    except FileNotFoundError:
        raise CommandError(f"there is no file {path}; covey fit makes one.") from None
    except IsADirectoryError:
        raise CommandError(f"{path} is a folder, not a model.") from None
    except PermissionError:
        raise CommandError(f"{path} may not be read; ask for the right to.") from None
    except ModelFileError as error:
        raise CommandError(str(error)) from None
    from covey.tables import TableClassifier, TableRegressor

    if not isinstance(model, TableClassifier | TableRegressor):
        raise CommandError(
            f"{path} holds a {type(model).__name__} without a table's preparation; give a file "
            "that covey fit has saved, or use covey.load in Python."
        )
    return model


def numbers_of(model):
    """The columns of numbers that a model needs."""
    return {name for name, kind in model.preparation_.kinds_.items() if kind == "number"}


def check_needed(model, names, path):
    """Name the columns that a table lacks, and how many it has of those that are needed."""
    absent = [name for name in model.feature_names_in_ if name not in set(names)]
    if not absent:
        return
    listed = ", ".join(repr(name) for name in absent[:5])
    more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
    needed = len(model.feature_names_in_)
    if len(absent) == needed:
        raise CommandError(
            f"{path} has none of the {needed} columns that the model needs ({listed}{more}); "
            "is it another table's model?"
        )
    word = "columns" if len(absent) > 1 else "column"
    raise CommandError(f"{path} lacks the {word} {listed}{more}, which the model needs.")


def remember_rows(model, table):
    """Keep the fingerprints of the rows a model is fitted on, to notice them again."""
    model.seen_ = np.unique(fingerprints(model, table.head(_MOST_ROWS_REMEMBERED)))


def fingerprints(model, table):
    """A number for each row, the same for the same values of the columns in use."""
    from covey.cli._question import row_hashes

    return row_hashes(table, model.preparation_.kinds_)


def labels_like(classes, values):
    """A target's values as the model's classes are written."""
    import pandas as pd

    if np.issubdtype(np.asarray(classes).dtype, np.number):
        return pd.to_numeric(values, errors="coerce").to_numpy()
    if pd.api.types.is_float_dtype(values.dtype) and bool((values == np.floor(values)).all()):
        values = values.astype("int64")
    return values.astype(str).to_numpy(dtype=object)
