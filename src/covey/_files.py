"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield the path of a temporary file that replaces ``path`` once the block has ended.

    Until then, and if the block fails or is interrupted, ``path`` is unchanged and nothing else is
    left in its folder. A link is followed, and an existing file keeps its permissions.
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        # A device or a pipe cannot be replaced, and has no earlier content to protect.
        yield path
        return
    path = path.resolve()
    # Renaming is a single step only within a file system, so the draft is in the same folder.
    draft = path.with_name(f".{uuid.uuid4().hex}.part{path.suffix}")
    try:
        _create_like(path, draft)
        yield draft
        with open(draft, "rb") as file:
            # The content must be on the disk before the name points to it.
            os.fsync(file.fileno())
        os.replace(draft, path)
        _sync_folder(path.parent)
    finally:
        _remove(draft)


def _create_like(path: Path, draft: Path) -> None:
    """Make an empty file with the permissions of another, or with those of any new file."""
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    if path.is_file():
        draft.chmod(stat.S_IMODE(path.stat().st_mode))


def _sync_folder(folder: Path) -> None:
    """Write the new name to the disk too, where a system can synchronize folders."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _remove(draft: Path) -> None:
    try:
        draft.unlink(missing_ok=True)
    except OSError as error:
        raise OSError(
            error.errno, f"a temporary file cannot be removed ({error.strerror})", str(draft)
        ) from None


def write_file(path: str | os.PathLike[str], content: bytes | memoryview | str) -> None:
    """Write bytes, or text as UTF-8, to a file that is replaced in one step."""
    with replacing(path) as draft:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)
