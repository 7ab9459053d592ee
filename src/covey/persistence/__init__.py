"""Models that travel: saved to a file and loaded again, and nothing in the file is run.

A model file is data by construction: a zip archive of one JSON document and plain arrays. It names
no function, no module and no class but those of a fixed list (`covey.persistence._registry`), each
of which has a reader of its own that makes the object from numbers and strings, after checks of
their shapes, types, ranges and sizes. So a manipulated file is refused in one sentence, or is a
model with other predictions. It does not write files, start processes, read foreign memory or keep
the reader busy.

Models of foreign classes are saved with ``trusted=True``, in the format of skops, and loaded with
``trusted=[...]``: such a file can run code.
"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import sklearn

import covey
from covey._files import write_file
from covey._plain_words import first_line
from covey._validation import check_number
from covey.persistence._archive import Contents, archive_of, opened, write_archive
from covey.persistence._nodes import Node, Source
from covey.persistence._refusals import (
    DamagedError,
    ModelFileError,
    NotCoveredError,
    OutOfRangeError,
    damaged,
)
from covey.persistence._registry import by_hand, read_model, write_model
from covey.persistence._trusted import SKOPS_ENTRY, dumps_trusted, loads_trusted, trusted_types
from covey.persistence._writer import Writer

__all__ = ["ModelFileError", "load", "save", "trusted_types"]

# The format of the files that `save` writes, and the only one that `load` reads: a change that
# adds or removes a stored field raises it, once for each version.
FORMAT = 2


def save(
    estimator: Any, path: str | os.PathLike[str], *, trusted: bool = False, rows: bool = True
) -> None:
    """Save a model to a file that `covey.load` reads without running anything.

    The file appears completely or not at all: it is written under another name in the same folder,
    and renamed when it is complete. An existing file is replaced and keeps its permissions; a link
    is followed. Before that, it is checked that the written file can be read.

    Parameters
    ----------
    estimator : estimator
        A flock, a `covey.tables` model, a fusion or a stack of these and of some of scikit-learn's
        estimators, ``MultiOutput`` models of these, or a fuser. Its parameters are saved, too,
        except for those of the machine (``checkpoint``, ``device``, ``n_jobs``) and those that are
        not plain values, such as a generator of random numbers or lists of rows (``cv``): the
        loaded model has their defaults. Predictions of the training rows (``out_of_fold_``) are
        left out; their errors (``calibration_``) are saved, in an order that reveals nothing about
        the rows.
    path : str or path
        The file; its name usually ends in ``.covey``.
    trusted : bool, default=False
        Whether to save a model of any other class too, in the format of skops (which must be
        installed). `covey.load` reads such a file only with ``trusted=[...]``, since it can run
        code.
    rows : bool, default=True
        Whether to save up to 100 training rows, with which explanations compare a row. Without
        them it is compared with the typical row, which has the typical value of each column.
        Models that predict by rows (neighbors, kernel machines, dynamic selection) are then
        refused.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import covey
    >>> from covey.persistence import load, save
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> flock = covey.FlockClassifier(effort="fast", random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(flock, Path(folder) / "flock.covey")
    ...     again = load(Path(folder) / "flock.covey")
    >>> bool((again.predict_proba(X) == flock.predict_proba(X)).all())
    True
    """
    if trusted and not rows:
        raise ValueError("rows=False is not for trusted=True, which keeps all that a model has.")
    path = Path(path)
    name = type(estimator).__name__
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise TypeError(f"save takes an estimator, got {estimator!r}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(path.parent)!r} to save {name} in.")
    if path.exists() and not path.is_file():
        raise ModelFileError(f"{path} is a folder, a pipe or a device; name an ordinary file.")
    try:
        data = _dumps(estimator, rows)
        # If it cannot be loaded again, that is better known now.
        _read(io.BytesIO(data), len(data), max_size=len(data) << 20)
    except NotCoveredError as error:
        if not trusted:
            what = "is of a class" if str(error) == f"a {name}" else f"holds {error}"
            raise ModelFileError(
                f"This {name} {what}, which covey's model files do not hold; "
                "save(..., trusted=True) writes a file that covey.load reads only if it is told "
                "to trust it, since it can run code."
            ) from None
        data = dumps_trusted(estimator)
    except DamagedError as error:
        why = f"{error.part.removeprefix('it.model.')} {error.what}"
        if isinstance(error, OutOfRangeError):
            why = f"{why.rstrip('.')}; rescale the columns or the target, and fit it again."
        raise ModelFileError(
            f"This {name} cannot be saved, since it could not be loaded again: {why}"
        ) from error
    write_file(path, data)


def _dumps(estimator: Any, rows: Any) -> memoryview:
    out = Writer(write_model, by_hand, rows)
    document = {
        "format": FORMAT,
        "covey": covey.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "model": write_model(estimator, out),
    }
    return write_archive(document, out.arrays)


def load(
    path: str | os.PathLike[str],
    trusted: Sequence[str | type] | None = None,
    *,
    max_size: int | None = None,
) -> Any:
    """Load a model that `covey.save` has written. Nothing in the file is run.

    A file that is damaged or was manipulated is refused by the name of the wrong part, and one in
    the format of another version of covey by that version.

    Parameters
    ----------
    path : str or path
    trusted : sequence of str or type, optional
        To load a file that was saved with ``trusted=True``. **Such a file can run code when it is
        loaded or used**: give this only for files whose makers you trust. The types in it that
        belong neither to covey nor to those that skops knows must be named, as in
        ``["mypackage.steps.MyTransformer"]``.
    max_size : int, optional
        The most bytes that the file may unpack to. By default 4 GiB, and beyond 256 MiB no more
        than 200 times the size of the file. Reading takes a few times as much memory.

    Returns
    -------
    estimator : estimator
        Its predictions are those of the one saved, to the bit.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import covey
    >>> X, y = covey.make_quarter_circle(100, random_state=0)
    >>> flock = covey.FlockClassifier(effort="fast", random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     covey.save(flock, Path(folder) / "flock.covey")
    ...     again = covey.load(Path(folder) / "flock.covey")
    >>> bool((again.predict(X) == flock.predict(X)).all())
    True
    """
    if isinstance(trusted, str) or not all(isinstance(one, str | type) for one in trusted or ()):
        raise TypeError(f"trusted must be a list of types or of their names, got {trusted!r}.")
    check_number(max_size, "max_size", low=0, whole=True, or_none=True)
    path = Path(path)
    try:
        with opened(path) as file:
            return _read(file, os.fstat(file.fileno()).st_size, trusted, max_size)
    except ModelFileError as error:
        raise ModelFileError(f"{path} cannot be loaded: {error}") from None


def _read(
    file: BinaryIO,
    size: int,
    trusted: Sequence[str | type] | None = None,
    max_size: int | None = None,
) -> Any:
    with archive_of(file, size, max_size) as archive:
        if SKOPS_ENTRY in archive.namelist():
            file.seek(0)
            return loads_trusted(file.read(), trusted)
        contents = Contents(archive, max_size)
        document = contents.document()
        try:
            with Node(document, Source(contents, read_model, by_hand), "it") as node:
                _check_format(node)
                for library in ("scikit-learn", "numpy"):
                    node.text(library)
                model = node.model("model")
            contents.close()
        except ModelFileError:
            raise
        except Exception as error:
            # Errors that none of the checks has foreseen.
            damaged("its model", f"cannot be made: {first_line(error)}")
        return model


def _check_format(node: Node) -> None:
    found, version = node.whole("format", 1), node.text("covey")
    if found != FORMAT:
        advice = "update covey" if found > FORMAT else "fit the model again, and save it"
        raise ModelFileError(
            f"it was written by another version of covey ({version[:20]}), in format {found}, and "
            f"this one ({covey.__version__}) reads format {FORMAT}; {advice}."
        )
