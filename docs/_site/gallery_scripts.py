"""Makes of each script in docs/gallery one that sphinx-gallery shows, and that runs anywhere.

The scripts share ``_style.py`` and write a picture beside themselves. A reader who downloads one,
or its notebook, has neither: so what is shared is put into each, and the name of the file is
written out.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from _site.staging import DOCS, write_if_changed

SCRIPTS = DOCS / "gallery"
SHARED = re.compile(r"^from _style import (\([^)]*\)|.*)\n", re.MULTILINE)
RUN = re.compile(r'\n\nif __name__ == "__main__":\n +main\(\)\n*\Z')


def scripts() -> list[Path]:
    """The scripts that the gallery shows."""
    every = sorted(SCRIPTS.glob("*.py"))
    return [path for path in every if not path.name.startswith("_") and path.stem != "run_all"]


def standalone(path: Path, picture: str) -> str:
    """A script in cells: its question and picture, what scripts share, its code, and the run."""
    text = path.read_text(encoding="utf-8")
    docstring = re.match(r'"""(.*?)"""\n', text, re.DOTALL)
    if docstring is None:
        raise ValueError(f"{path} begins with no docstring that asks its question.")
    title, _, answer = docstring[1].strip().partition("\n")
    answer = re.sub(r"\A=+\n", "", answer).strip()
    shown = f".. image:: {picture}\n   :alt: The answer as a picture.\n   :class: gallery-picture"
    code = text[docstring.end() :]
    if not RUN.search(code):
        raise ValueError(f'{path} does not end in: if __name__ == "__main__": main()')
    code = RUN.sub("\n", code)
    rule = "=" * len(title)
    head = f'"""\n{rule}\n{title}\n{rule}\n\n{answer}\n\n{shown}\n"""\n'
    if SHARED.search(code):
        style = (SCRIPTS / "_style.py").read_text(encoding="utf-8")
        style = re.sub(r'\A"""(.*?)"""\n', "", style, flags=re.DOTALL)
        style = style.replace("Path(__file__).parent", 'Path(".")')
        head += "# %%\n# What scripts of the gallery share: colors, intervals, saving a picture.\n"
        head += f"{style.strip()}\n\n"
        code = SHARED.sub("", code)
    code = code.replace("__file__", repr(path.name).replace("'", '"')).strip()
    run = "# %%\n# The run: it prints the numbers and writes the picture above.\nfound = main()\n"
    return f"{head}# %%\n# The question as code.\n\n{code}\n\n\n{run}"


def write_scripts(folder: Path, execute: bool) -> None:
    """Write all scripts, and what goes above them, into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = {"GALLERY_HEADER.rst"}
    for path in scripts():
        name = f"images/sphx_glr_{path.stem}_001.png"
        write_if_changed(folder / path.name, standalone(path, name))
        kept.add(path.name)
        if not execute:
            pictures = folder.parent / "gallery" / "images"
            pictures.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path.with_suffix(".png"), pictures / Path(name).name)
    write_if_changed(folder / "GALLERY_HEADER.rst", HEADER)
    for path in folder.glob("*.py"):
        if path.name not in kept:
            path.unlink()


HEADER = """Gallery
=======

Each script asks one question, measures the answer over many seeds, prints it with 95 % intervals
and draws one picture. Where a statement holds under conditions only, the script says which. Every
page has its script and a notebook to download, which need covey and matplotlib and nothing else;
``make gallery`` runs them all. The first questions are those of a course, whose slides
:doc:`/course` follows.

"""


class InOrderOfQuestions:
    """Sorts scripts as docs/gallery/README.md asks their questions; others come last."""

    def __init__(self, src_dir: str) -> None:
        index = (SCRIPTS / "README.md").read_text(encoding="utf-8")
        self.order = re.findall(r"\]\((\w+\.py)\)", index)

    def __call__(self, filename: str) -> tuple[int, str]:
        known = filename in self.order
        return (self.order.index(filename) if known else len(self.order), filename)


class PictureScraper:
    """Takes the PNG files that a script has written as its pictures."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def __repr__(self) -> str:
        return "PictureScraper"

    def __call__(self, block, block_vars, gallery_conf) -> str:
        folder = Path(block_vars["src_file"]).parent
        paths = block_vars["image_path_iterator"]
        for picture in sorted(folder.glob("*.png")):
            if picture.stem == Path(block_vars["src_file"]).stem:
                shutil.move(picture, next(paths))
        return ""  # the page shows the picture at its top
