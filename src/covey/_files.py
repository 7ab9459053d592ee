"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """The path of a temporary file that replaces ``path`` once the block has ended.

    Until then, and if the block fails or is interrupted, ``path`` stays as it was and nothing
    else is left in its folder. A link is written through.
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        # A device or a pipe cannot be replaced, and has no earlier content to protect.
        yield path
        return
    path = path.resolve()
    # Renaming is one step only within a file system, so the draft is in the same folder.
    draft = path.with_name(f".{uuid.uuid4().hex}.part{path.suffix}")
    try:
        yield draft
        with open(draft, "rb") as file:
            # The content must be on the disk before the name points to it.
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def write_file(path: str | os.PathLike[str], content: bytes | memoryview | str) -> None:
    """Write bytes, or text as UTF-8, to a file that is replaced in one step."""
    with replacing(path) as draft:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)
