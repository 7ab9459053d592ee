"""Compares the recipe with what grayskull makes of the sdist: ``make conda-recipe``.

conda-smithy's linter does not come from the package index, so this is what can be checked without
conda: what is required, the entry points, and what the recipe says about the package.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def made_by_grayskull(sdist):
    """Grayskull's recipe of an sdist, without its templates."""
    program = Path(sys.executable).with_name("grayskull")
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "pypi", sdist, "--output", folder, "--no-use-v1-format"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        text = (Path(folder) / "covey" / "meta.yaml").read_text(encoding="utf-8")
    version = re.search(r'set version = "(.+)"', text)[1]
    text = re.sub(r"\{%.*?%\}\n", "", text)
    return yaml.safe_load(
        text.replace("{{ version }}", f'"{version}"').replace("{{ PYTHON }}", "python")
    )


def main():
    sdists = sorted((ROOT / "dist").glob("*.tar.gz"))
    if not sdists:
        sys.exit("There is no sdist in dist/; run: make dist.")
    made = made_by_grayskull(sdists[-1])
    ours = yaml.safe_load((HERE / "recipe.yaml").read_text(encoding="utf-8"))
    compared = {
        "version": (ours["context"]["version"], made["package"]["version"]),
        "what runs": (
            sorted(_plain(line, ours) for line in ours["requirements"]["run"]),
            sorted(made["requirements"]["run"]),
        ),
        "entry points": (ours["build"]["python"]["entry_points"], made["build"]["entry_points"]),
        "noarch": (ours["build"]["noarch"], made["build"]["noarch"]),
        "license": (ours["about"]["license"], made["about"]["license"]),
        "summary": (ours["about"]["summary"], made["about"]["summary"]),
    }
    wrong = [f"{what}: {a}, grayskull has {b}" for what, (a, b) in compared.items() if a != b]
    if wrong:
        sys.exit("; ".join(wrong))
    print(f"the recipe has what grayskull makes of {sdists[-1].name}: {', '.join(compared)}")


def _plain(line, recipe):
    return line.replace("${{ python_min }}", recipe["context"]["python_min"])


if __name__ == "__main__":
    main()
