"""Checks a built site: links within it lead somewhere, and pages load nothing from elsewhere."""

from __future__ import annotations

import os
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself when it opens a page; an <a> is followed by the reader only.
LOADED = {
    "script": ("src",),
    "link": ("href",),
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "iframe": ("src",),
    "video": ("src", "poster"),
    "audio": ("src",),
    "object": ("data",),
    "embed": ("src",),
}
NOT_FETCHED = {"canonical", "prev", "next", "index", "search", "author", "license", "help"}


class _Page(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs) -> None:
        found = {name: value or "" for name, value in attrs}
        if "id" in found:
            self.ids.add(found["id"])
        if tag == "a" and "name" in found:
            self.ids.add(found["name"])
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag == "link" and set(found.get("rel", "").split()) & NOT_FETCHED:
            return
        self.loaded += [found[name] for name in LOADED.get(tag, ()) if found.get(name)]


def check_site(folder: Path) -> tuple[list[str], dict[str, int]]:
    """What is wrong with the links of a site, in sentences, and how much was looked at."""
    pages = {
        path: _Page(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.html"))
        if "_static" not in path.parts  # templates of the theme
    }
    faults, links = [], 0
    for path, page in pages.items():
        where = path.relative_to(folder)
        for target in page.loaded:
            parts = urlsplit(target)
            if parts.scheme == "data":
                continue
            links += 1
            if parts.scheme or parts.netloc:
                faults.append(f"{where} loads {target} from elsewhere.")
            elif not _file(folder, path, parts.path).is_file():
                faults.append(f"{where} loads {target}, which is not there.")
        for target in page.links:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc or target == "#":
                continue
            links += 1
            file = _file(folder, path, parts.path)
            if not file.is_file():
                faults.append(f"{where} links to {target}, which is not there.")
            elif (
                parts.fragment and file in pages and unquote(parts.fragment) not in pages[file].ids
            ):
                faults.append(f"{where} links to {target}; that page has no such place.")
    return faults, {"pages": len(pages), "links": links}


def _file(folder: Path, page: Path, target: str) -> Path:
    if not target:
        return page
    base = folder if target.startswith("/") else page.parent
    found = Path(os.path.normpath(base / unquote(target).lstrip("/")))
    return found / "index.html" if found.is_dir() else found
