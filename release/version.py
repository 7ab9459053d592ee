"""The version, and whether everything that names one agrees: ``python release/version.py``.

It is written in one place, ``src/covey/__init__.py``. The changelog, CITATION.cff and the recipe
for conda-forge name the version that they are about; ``--tag v0.2.0`` compares a tag, too.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def version():
    """The version of the package."""
    text = (ROOT / "src" / "covey" / "__init__.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)[1]


def named():
    """The versions that other files name, by file."""
    places = {
        "CHANGELOG.md": r"^## \[(\d[^\]]*)\]",
        "CITATION.cff": r"^version: (.+)$",
        "release/conda/recipe.yaml": r'^  version: "(.+)"$',
    }
    found = {}
    for path, pattern in places.items():
        match = re.search(pattern, (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
        found[path] = match[1] if match else None
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tag", help="the tag of a release, such as v0.2.0")
    options = parser.parse_args()
    others = named()
    if options.tag:
        others["the tag"] = options.tag.removeprefix("v")
    wrong = [f"{path} says {other}" for path, other in others.items() if other != version()]
    if wrong:
        sys.exit(f"covey is {version()}, but {'; '.join(wrong)}.")
    print(version())


if __name__ == "__main__":
    main()
