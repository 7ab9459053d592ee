"""Copies the repository's pages to where Sphinx reads them, with links that hold there.

Pages are written so that their links hold in the repository. ``docs/`` becomes the root of the
site, benchmark reports keep their folders below ``benchmarks/``, and what lies at the top of the
repository (changelog, security, ...) goes to ``project/``. A link to a page becomes one to its new
place, a picture is copied, and any other file of the repository becomes a download.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

PROJECT_PAGES = (
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "SUPPORT.md",
)
PICTURES = {".png", ".svg", ".jpg", ".webp"}
# [text](target "title"), also of pictures and across lines; targets with spaces are not used here.
LINK = re.compile(r"(\]\()([^)\s]+)(\s+\"[^\"]*\")?(\))")


@cache
def pages() -> tuple[Path, ...]:
    """Every page of the site that is a file of the repository."""
    written = [
        path
        for path in sorted(DOCS.rglob("*"))
        if path.suffix in (".md", ".ipynb") and not _left_out(path.relative_to(DOCS))
    ]
    reports = sorted((ROOT / "benchmarks").glob("*/report.md"))
    project = [ROOT / name for name in PROJECT_PAGES if (ROOT / name).exists()]
    return (*written, *reports, *project)


def _left_out(path: Path) -> bool:
    private = any(part.startswith(("_", ".")) for part in path.parts)
    return private or path.parts[0] == "gallery"  # sphinx-gallery writes these pages


def site_path(path: Path) -> Path:
    """Where a file of the repository lies in the site."""
    relative = path.relative_to(ROOT)
    if relative == Path("README.md"):
        return Path("index.md")
    if relative == Path("docs/gallery/README.md"):
        return Path("gallery/index.rst")
    if relative.parent == Path("docs/gallery") and relative.suffix == ".py":
        return Path("gallery") / f"{relative.stem}.rst"
    if relative.parts[0] == "docs":
        return Path(*relative.parts[1:])
    if len(relative.parts) == 1:
        return Path("project") / relative.name.lower()
    return relative


def is_page(path: Path) -> bool:
    """Whether a file of the repository has a page in the site."""
    if path.parent == DOCS / "gallery" and path.suffix == ".py":
        return not path.name.startswith("_") and path.name != "run_all.py"
    return path in (ROOT / "README.md", DOCS / "gallery" / "README.md") or path in pages()


def links(text: str) -> Iterator[re.Match]:
    """Links outside of code blocks."""
    blocks = _code_blocks(text)
    for match in LINK.finditer(text):
        if not any(start <= match.start() < end for start, end in blocks):
            yield match


def _code_blocks(text: str) -> list[tuple[int, int]]:
    blocks, opened, position = [], None, 0
    for line in text.splitlines(keepends=True):
        fence = re.match(r"\s*(`{3,}|~{3,})(.*)", line)
        if fence and opened is None and not fence[2].startswith("{toctree"):
            opened = (position, fence[1])
        elif fence and opened and fence[1].startswith(opened[1]) and not fence[2].strip():
            blocks.append((opened[0], position + len(line)))
            opened = None
        position += len(line)
    for code in re.finditer(r"`[^`\n]+`", text):
        blocks.append(code.span())
    return blocks


def local_target(page: Path, target: str) -> tuple[Path, str] | None:
    """The file of the repository that a page's link leads to, and the anchor behind it."""
    if re.match(r"[a-z]+:", target) or target.startswith("#"):
        return None
    name, _, anchor = target.partition("#")
    path = Path(os.path.normpath(page.parent / name)) if name else page
    if path.is_dir():
        path = path / "README.md"
    return path, anchor


def rewritten(page: Path, text: str, stage: Path) -> tuple[str, list[Path]]:
    """A page with links that hold in the site, and the pictures that it shows."""
    here = (stage / site_path(page)).parent
    pictures: list[Path] = []
    parts, done = [], 0
    for match in links(text):
        found = local_target(page, match[2])
        if found is None:
            continue
        path, anchor = found
        if is_page(path):
            target = os.path.relpath(stage / site_path(path), here)
        elif path.suffix in PICTURES:
            pictures.append(path)
            target = os.path.relpath(stage / site_path(path), here)
        elif path.exists():
            target = os.path.relpath(path, here)
        else:
            continue  # the site has pages that the repository has not, such as api/
        parts += [text[done : match.start(2)], target + (f"#{anchor}" if anchor else "")]
        done = match.end(2)
    return "".join(parts) + text[done:], pictures


def with_commands_run(text: str) -> str:
    """A page that shows commands of a shell, and below them what they print when they are run."""
    return re.sub(
        r"^```\{sh-run\}\n(.*?)^```\n",
        r"```sh\n\1```\n\n```{code-cell} python\n:tags: [remove-input]\n"
        r"%%bash\nset -e\nexec 2>&1\n\1```\n",
        text,
        flags=re.MULTILINE | re.DOTALL,
    )


def write_if_changed(path: Path, text: str) -> None:
    """Leave alone what is as it should be, so that Sphinx reads only what has changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def copy_if_changed(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists() or target.read_bytes() != source.read_bytes():
        shutil.copyfile(source, target)


def stage_pages(stage: Path) -> set[Path]:
    """Copy all pages and their pictures; returns what was written."""
    from _site.benchmark_tables import filled

    written = set()
    for page in pages():
        target = stage / site_path(page)
        text = page.read_text(encoding="utf-8")
        pictures: list[Path] = []
        if page.suffix == ".md":
            text = with_commands_run(filled(text))
            text, pictures = rewritten(page, text, stage)
        write_if_changed(target, text)
        written.add(target)
        for picture in pictures:
            copy_if_changed(picture, stage / site_path(picture))
            written.add(stage / site_path(picture))
    return written
