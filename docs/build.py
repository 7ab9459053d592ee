"""Builds the site: ``python docs/build.py [--quick]``; ``make docs`` and ``make docs-quick``.

Stages the repository's pages, writes those of the API, of the commands and of the gallery, runs
Sphinx with warnings as errors, and checks every link of what came out. A quick build runs no
example.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from time import perf_counter

from _site.built import check_site
from _site.command_pages import write_commands
from _site.gallery_scripts import write_scripts
from _site.public_names import public_names, without_documentation, without_example
from _site.reference import write_reference
from _site.staging import stage_pages, write_if_changed

BUILD = Path(__file__).resolve().parent / "_build"


def stage(quick):
    """Everything that Sphinx reads, in a folder below docs/_build."""
    source = BUILD / ("source-quick" if quick else "source")
    written = stage_pages(source)

    def write(path, text):
        write_if_changed(path, text)
        written.add(path)

    write_reference(source / "api", write)
    write_commands(source / "start" / "commands.md", write)
    write_scripts(source / "gallery_scripts", execute=not quick)
    for path in source.rglob("*"):
        made_here = path.parts[len(source.parts)] in ("gallery", "gallery_scripts")
        if path.is_file() and path not in written and not made_here:
            path.unlink()  # a page that is gone
    return source


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="run no example")
    parser.add_argument("--clean", action="store_true", help="begin anew")
    options = parser.parse_args()
    start = perf_counter()
    missing = {"documentation": without_documentation(), "an example": without_example()}
    for what, names in missing.items():
        if names:
            sys.exit(f"Public names without {what}: {', '.join(names)}.")
    print(f"{len(public_names())} public names, all with documentation and an example.")
    if options.clean:
        shutil.rmtree(BUILD, ignore_errors=True)
    source = stage(options.quick)
    out = BUILD / ("quick" if options.quick else "html")
    # Pages run commands, which are beside this Python.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    mode = "quick" if options.quick else "full"
    own = {"PATH": path, "COVEY_DOCS": mode, "COVEY_DOCS_SOURCE": str(source)}
    environment = {**os.environ, **own}
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-c", str(BUILD.parent), "-W"]
    command += ["--keep-going", "-q", "-j", "2", "-d", str(BUILD / f"doctrees-{out.name}")]
    done = subprocess.run([*command, str(source), str(out)], check=False, env=environment)
    if done.returncode:
        sys.exit("The site was not built; what is wrong is said above.")
    faults, counted = check_site(out)
    for fault in faults:
        print(fault, file=sys.stderr)
    print(
        f"{counted['pages']} pages, {counted['links']} links within it, {len(faults)} broken "
        f"or from elsewhere; built in {perf_counter() - start:.0f} s: {out / 'index.html'}"
    )
    if faults:
        sys.exit(1)


if __name__ == "__main__":
    main()
