"""Runs the notebooks: ``python docs/run_notebooks.py`` keeps their outputs, ``--check`` only runs.

Each runs in an empty folder, so that it uses nothing of the repository but covey itself.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

FOLDER = Path(__file__).resolve().parent / "notebooks"


def run(path):
    """A notebook with the outputs of a fresh run."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            notebook,
            timeout=300,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
            record_timing=False,
        ).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="leave the files as they are")
    options = parser.parse_args()
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    failed = []
    for path in sorted(FOLDER.glob("*.ipynb")):
        start = perf_counter()
        try:
            notebook = run(path)
        except CellExecutionError as error:
            failed.append(path.name)
            print(f"{path.name}: {error}", file=sys.stderr)
            continue
        if not options.check:
            nbformat.write(notebook, path)
        print(f"{path.name}: ran in {perf_counter() - start:.0f} s")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
