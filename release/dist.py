"""Builds and tries what would be released: ``python release/dist.py``; ``make dist``.

Builds the sdist and from it the wheel, lets twine check them, looks into both, and installs them
into clean environments where ``smoke.py`` runs: the wheel without and with each extra, the sdist
without and with all of them. ``gpu`` is left out, since PyTorch is several GB; ``make test-torch``
tries it.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
# Extras for those who work on covey, and one that is too large.
NOT_TRIED = {
    *("bench", "docs", "gpu", "release", "reproduction", "test", "test-integrations"),
    "test-torch",
}


def extras():
    """The extras that users install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [name for name in project["optional-dependencies"] if name not in NOT_TRIED]


def run(*command, **options):
    subprocess.run([str(part) for part in command], check=True, **options)


def build():
    """The wheel and the sdist, fresh."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT)  # the wheel is built from the sdist
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    return wheel, sdist


def check_contents(wheel, sdist):
    """Both hold every module of covey, and nothing that is private to a machine."""
    modules = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "covey").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    in_wheel = set(zipfile.ZipFile(wheel).namelist())
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    in_sdist = {name.removeprefix("src/") for name in names if name.startswith("src/")}
    for where, found in (("wheel", in_wheel), ("sdist", in_sdist)):
        if missing := modules - found:
            sys.exit(f"The {where} lacks {sorted(missing)[0]} and {len(missing) - 1} more.")
    wanted = {"LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml"}
    if missing := wanted - set(names):
        sys.exit(f"The sdist lacks {sorted(missing)[0]}.")
    if strange := [name for name in names if "_build/" in name or ".venv" in name]:
        sys.exit(f"The sdist holds {strange[0]}, which belongs to this machine.")
    sizes = ", ".join(f"{path.name} {path.stat().st_size / 1e6:.1f} MB" for path in (wheel, sdist))
    print(f"{len(modules)} files of covey in both: {sizes}")


def try_in_clean_environment(artifact, chosen):
    """Install into an environment that has nothing else, and run the smoke test there."""
    start = perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "venv", folder)
        python = Path(folder) / "bin" / "python"
        wanted = f"{artifact}[{','.join(chosen)}]" if chosen else str(artifact)
        pip = (python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install")
        run(*pip, wanted, stderr=subprocess.DEVNULL)
        shutil.copy(ROOT / "release" / "smoke.py", folder)
        # No repository, no user's packages.
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        run(python, Path(folder) / "smoke.py", *chosen, cwd=folder, env=clean)
    kind = "wheel" if artifact.suffix == ".whl" else "sdist"
    print(f"  {kind}, {perf_counter() - start:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--build-only", action="store_true", help="build and check, install nothing"
    )
    options = parser.parse_args()
    start = perf_counter()
    wheel, sdist = build()
    check_contents(wheel, sdist)
    if not options.build_only:
        try_in_clean_environment(wheel, [])
        for extra in extras():
            try_in_clean_environment(wheel, [extra])
        try_in_clean_environment(sdist, [])
        try_in_clean_environment(sdist, extras())
    print(f"{wheel.name} and {sdist.name} can be released; {perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
