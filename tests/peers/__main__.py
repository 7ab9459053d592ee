"""Run peers' tests on our equivalents, and write docs/peers.md: ``make test-peers``.

Each suite's results are kept in a folder; the page is made of the results that are there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.peers.page import page_of, summary_of
from tests.peers.suites import SUITES

_PAGE = Path(__file__).parents[2] / "docs" / "peers.md"


def results_of(name: str) -> list[dict[str, Any]]:
    """A record for each test of a suite in which ours take part."""
    suite = SUITES[name]
    folder = Path(find_spec(suite.package).origin).parent
    with tempfile.TemporaryDirectory() as temporary:
        results = Path(temporary) / "results.jsonl"
        results.touch()
        options = ["-p", "tests.peers.replacing", "-p", "no:cacheprovider", "-q", "-c", os.devnull]
        files = [str(folder / file) for file in suite.files]
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *files],
            env={**os.environ, "PEER_SUITE": name, "PEER_RESULTS": str(results)},
            stdout=subprocess.DEVNULL,
            check=False,
        )
        if ended.returncode not in (0, 1):  # some tests may fail, but all must have run
            sys.exit(f"The tests of {name} did not run to their end.")
        found = [json.loads(line) for line in results.read_text().splitlines()]
    return [one for one in found if one["ours"] and one["outcome"] != "skipped"]


def main() -> None:
    """Run the suites that are named, or all, and write the page if all have results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", help="parts of names of suites; by default all")
    parser.add_argument("--results", type=Path, default=Path(".peers"))
    parser.add_argument("--page-only", action="store_true", help="run nothing")
    given = parser.parse_args()
    given.results.mkdir(exist_ok=True)
    kept = {
        name: given.results / f"{name.replace(': ', '-').replace(' ', '-')}.json"
        for name in SUITES
    }
    for name, file in kept.items():
        if given.page_only or not all(part in name for part in given.suites):
            continue
        tests = results_of(name)
        peer = f"{SUITES[name].distribution} {version(SUITES[name].distribution)}"
        file.write_text(json.dumps({"peer": peer, "tests": tests}))
        print(summary_of(name, tests), flush=True)
    if all(file.exists() for file in kept.values()):
        found = {name: json.loads(file.read_text()) for name, file in kept.items()}
        page, unexplained = page_of(found)
        _PAGE.write_text(page)
        if unexplained:
            sys.exit(f"{unexplained} failures have no reason in tests/peers/reasons.py.")


if __name__ == "__main__":
    main()
