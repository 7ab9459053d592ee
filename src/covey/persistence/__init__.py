"""Models that travel: saved to a file and loaded again, without running code from the file.

A model file is a zip archive in the format of skops, with one more entry, ``covey.json``, that
names the format and which versions wrote it. A pickle is a program; a skops file is a tree of
names of types and of numbers. Loading makes objects of the types that it names, so everything
hangs on which names are taken: those that `covey.persistence._names` lists (skops would take
more) and those that the user gives in ``trusted``. No constructor of a class that a file names
runs, but those of plain containers and numbers, and no function of a file's choosing is called.

What a tampered file can still do:

- predict nonsense, or take very long or much memory to do it;
- crash or corrupt the process through one of those compiled models of scikit-learn whose numbers
  are not checked here (trees, forests, boosting, nearest neighbours, k-means and support vector
  machines are);
- have many processes started when it predicts (``n_jobs``), or a file written that it names when
  it is *fitted again* (``checkpoint``).
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

import covey
from covey._files import write_file
from covey._validation import check_number
from covey.persistence._contents import check_contents
from covey.persistence._names import check_nodes, full_name, node_name, strangers

# The format of the files that `save` writes; `load` reads it and all earlier ones.
FORMAT = 1

_INFO = "covey.json"
_SCHEMA = "schema.json"
# What skops calls its own format. Earlier ones hide names in places of their own, and no covey
# has ever written them.
_FIRST_PROTOCOL = 2

# What a file may unfold to. A bomb shrinks a thousandfold; so does a mask of a million features,
# but no large model does as a whole.
_LARGEST_SIZE = 4 << 30
_LARGE = 256 << 20
_LARGEST_RATIO = 200

# Classes that have moved since they were first saved: {"covey.old.Name": "covey.new.Name"}.
_MOVED = {}


class ModelFileError(ValueError):
    """A model file that cannot, or must not, be loaded; or a model that cannot be saved."""


def _skops():
    try:
        import skops.io
    except ImportError:
        raise ImportError(
            'covey.save and covey.load need skops; install it with: pip install "covey[io]".'
        ) from None
    return skops.io


# -- save -----------------------------------------------------------------------------------


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Save a model to a file that `covey.load` reads without running any code from it.

    The file appears whole or not at all: it is written under another name in the same folder,
    and renamed when it is complete.

    Parameters
    ----------
    estimator : estimator
        Any estimator or fuser of covey, or a Pipeline or other estimator of scikit-learn.
    path : str or path
        The file; by custom its name ends in ``.covey``. One that is there is replaced.

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
    skops_io = _skops()
    path = Path(path)
    name = type(estimator).__name__
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise TypeError(f"save takes an estimator, got {estimator!r}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(path.parent)!r} to save {name} in.")
    try:
        data = skops_io.dumps(estimator, compression=zipfile.ZIP_DEFLATED)
        # What cannot be read again (a lambda, say) is better known now. These bytes are ours.
        skops_io.loads(data, trusted=skops_io.get_untrusted_types(data=data))
    except Exception as error:
        raise ModelFileError(
            f"This {name} cannot be saved, since something in it has no name or no state that "
            f"could be read again: {_one_line(error)}"
        ) from error
    info = {
        "format": FORMAT,
        "estimator": name,
        "covey": covey.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
    }
    buffer = io.BytesIO(data)
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_INFO, json.dumps(info, indent=1))
    write_file(path, buffer.getbuffer())


# -- load -----------------------------------------------------------------------------------


def load(
    path: str | os.PathLike[str],
    trusted: Sequence[str | type] = (),
    *,
    max_size: int | None = None,
) -> Any:
    """Load a model that `covey.save` has written. No code from the file is run.

    A file may have been saved by an older covey. One whose types are not known to be harmless
    is refused, with their names.

    Parameters
    ----------
    path : str or path
    trusted : sequence of str or type, default=()
        Further types to admit, such as ``"mypackage.steps.MyTransformer"``. Their code may run:
        name only types of packages that you trust, in files whose makers you trust.
    max_size : int, optional
        The most bytes that the file may unfold to. By default 4 GiB, and beyond 256 MiB no more
        than 200 times the size of the file. Reading takes a few times as much memory.

    Returns
    -------
    estimator : estimator
        Its predictions are those of the one saved, to the bit.
    """
    skops_io = _skops()
    if isinstance(trusted, str) or not all(isinstance(one, str | type) for one in trusted):
        raise TypeError(f"trusted must be a list of types or of their names, got {trusted!r}.")
    trusted = {one if isinstance(one, str) else full_name(one) for one in trusted}
    if max_size is not None:
        check_number(max_size, "max_size", low=0, whole=True)
    path = Path(path)
    _check_size(path.stat().st_size, None, max_size, path)
    data = path.read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_archive(archive, len(data), max_size, path)
            _check_format(archive, path)
            schema = json.loads(archive.read(_SCHEMA))
            nodes = _nodes(schema)
            if _MOVED and any(node_name(node) in _MOVED for node in nodes):
                _rename(nodes)
                data = _with_schema(archive, schema)
            for node in nodes:
                if node["__loader__"] == "SparseMatrixNode":
                    inner = archive.read(node["file"])
                    with zipfile.ZipFile(io.BytesIO(inner)) as matrix:
                        _check_archive(matrix, len(inner), max_size, path)
        names = {node_name(node) for node in nodes}
        unknown = strangers(nodes, trusted)
        if not unknown:
            check_nodes(nodes)
            # What skops admits by itself is on our list or refused above; what it finds
            # beyond the names of nodes, such as a method, is on no list.
            unknown = set(skops_io.get_untrusted_types(data=data)) - names - trusted
        if unknown:
            listed = ", ".join(sorted(unknown))
            raise ModelFileError(
                f"{path} holds types that covey does not know to be harmless: {listed}; if you "
                "trust them and whoever made the file, name them in trusted=[...]."
            )
        estimator = skops_io.loads(data, trusted=sorted(names | trusted))
        check_contents(estimator, trusted)
    except (ModelFileError, Warning):
        # scikit-learn warns of models of another version; some make errors of warnings.
        raise
    except zipfile.BadZipFile:
        raise ModelFileError(
            f"{path} is not a model file, or only a part of one; load takes what covey.save "
            "writes, and no pickles."
        ) from None
    except Exception as error:
        raise ModelFileError(f"{path} is damaged: {_one_line(error)}") from error
    return estimator


def _one_line(error):
    reason = str(error).strip() or type(error).__name__
    if isinstance(error, KeyError):
        reason = f"there is no {reason} where one should be."
    return reason.splitlines()[0]


def _check_size(total, packed, max_size, path):
    largest = _LARGEST_SIZE if max_size is None else max_size
    if total > largest:
        raise ModelFileError(
            f"{path} unfolds to {total:,} bytes, more than max_size={largest:,}; if you trust "
            "whoever made it, pass a larger max_size."
        )
    if max_size is None and packed and total > max(_LARGE, _LARGEST_RATIO * packed):
        raise ModelFileError(
            f"{path} unfolds to {total:,} bytes from {packed:,}, as no model does; if you trust "
            "whoever made it, pass max_size."
        )


def _check_archive(archive, size, max_size, path):
    """Refuse, before anything is unfolded, what no model file is like."""
    entries = archive.infolist()
    _check_size(sum(entry.file_size for entry in entries), size, max_size, path)
    names = [entry.filename for entry in entries]
    for entry in entries:
        # Nothing is ever unpacked to disk; but a model file has no reason to try.
        if any(mark in entry.filename for mark in ("/", "\\", "..", ":")):
            raise ModelFileError(
                f"{path} has an entry {entry.filename!r} that points to a folder; no model file "
                "does, and it is not loaded."
            )
        if entry.flag_bits & 0x1 or entry.compress_type not in (
            zipfile.ZIP_STORED,
            zipfile.ZIP_DEFLATED,
        ):
            raise ModelFileError(
                f"{path} has an entry {entry.filename!r} that is encrypted or packed in a way "
                "that covey.save does not use."
            )
    if len(set(names)) < len(names):
        raise ModelFileError(f"{path} has two entries of one name; no model file does.")


def _check_format(archive, path):
    names = archive.namelist()
    if _INFO not in names or _SCHEMA not in names:
        raise ModelFileError(
            f"{path} is an archive, but not a model file; load takes what covey.save writes."
        )
    info = json.loads(archive.read(_INFO))
    found = info.get("format") if isinstance(info, dict) else None
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise ModelFileError(f"{path} is damaged: its {_INFO} names no format.")
    if found > FORMAT:
        raise ModelFileError(
            f"{path} has format {found}, written by covey {info.get('covey')}, and this covey "
            f"{covey.__version__} reads formats up to {FORMAT}; update covey."
        )


def _nodes(schema):
    """Every object that a schema describes, wherever it stands; more than skops will visit."""
    protocol = schema.get("protocol") if isinstance(schema, dict) else None
    if not isinstance(protocol, int) or protocol < _FIRST_PROTOCOL:
        raise ValueError("its schema is none that covey.save writes.")
    found, waiting = [], [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if "__loader__" in part:
                found.append(part)
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return found


def _rename(nodes):
    for node in nodes:
        if node_name(node) in _MOVED:
            node["__module__"], _, node["__class__"] = _MOVED[node_name(node)].rpartition(".")


def _with_schema(archive, schema):
    """The same archive with another schema."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as changed:
        for entry in archive.infolist():
            text = json.dumps(schema) if entry.filename == _SCHEMA else archive.read(entry)
            changed.writestr(entry.filename, text)
    return buffer.getvalue()
