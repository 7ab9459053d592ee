"""How far a reader must walk: functions, files and depth of common calls; code lines a package.

    python -m benchmarks.walk            # all of it
    python -m benchmarks.walk --sizes    # code lines and files of each package alone

Profiles the default on the wine data and counts the functions of covey that run, the files they
stand in, and how deep covey's own calls are nested. A code line is one with a token in it that
is neither a comment nor part of a docstring.
"""

import argparse
import ast
import contextlib
import io
import sys
import tempfile
import tokenize
from collections import Counter
from pathlib import Path

import covey

HOME = Path(covey.__file__).parent
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Walk:
    """Counts the functions, files and depth of what runs while it is entered.

    ``calls`` are the pairs of files of which one calls the other, above the search's own engine.
    """

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()
        self.calls: set[tuple[str, str]] = set()
        self.deepest = 0
        self._depth = self._n_searches = 0

    def __enter__(self) -> "Walk":
        sys.setprofile(self._note)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)

    def _note(self, frame, event, argument) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(str(HOME)):
            return
        if event == "call":
            self._depth += 1
            self.deepest = max(self.deepest, self._depth)
            if not code.co_name.startswith("<"):
                self.functions.add((code.co_filename, code.co_qualname))
            caller = frame.f_back.f_code.co_filename
            if not self._n_searches and caller.startswith(str(HOME)):
                self.calls.add((caller, code.co_filename))
            self._n_searches += code.co_qualname == "Search.run"
        elif event == "return":
            self._depth -= 1
            self._n_searches -= code.co_qualname == "Search.run"

    def mutual(self) -> set[tuple[str, str]]:
        """Return the files that call each other in both directions, by their names."""
        both = {pair for pair in self.calls if pair[::-1] in self.calls and pair[0] < pair[1]}
        return {tuple(str(Path(one).relative_to(HOME)) for one in pair) for pair in both}

    def __str__(self) -> str:
        files = {name for name, _ in self.functions}
        return f"{len(self.functions)} functions in {len(files)} files, {self.deepest} deep"


def code_lines(text: str) -> int:
    """Return how many lines hold code: neither blank, nor comment, nor docstring."""
    documentation: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            first = node.body[0]
            documentation.update(range(first.lineno, first.end_lineno + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - documentation)


def sizes(home: Path = HOME) -> dict[str, tuple[int, int]]:
    """Return files and code lines of each package; "." holds the modules beside the packages."""
    files, lines = Counter(), Counter()
    for path in sorted(home.rglob("*.py")):
        package = path.relative_to(home).parts[:-1]
        name = package[0] if package else "."
        files[name] += 1
        lines[name] += code_lines(path.read_text(encoding="utf-8"))
    return {name: (files[name], lines[name]) for name in sorted(files)}


def walks() -> dict[str, Walk]:
    """Return the walks of a fit, a prediction and ``covey fit``, each after one to warm up."""
    from sklearn.datasets import load_wine

    from covey.cli import main as command

    X, y = load_wine(return_X_y=True)
    flock = covey.FlockClassifier(random_state=0)
    found = {}

    def walked(name, function):
        function()  # so that nothing is imported for the first time below
        with Walk() as found[name]:
            function()

    walked("fit", lambda: flock.fit(X, y))
    walked("predict_proba", lambda: flock.predict_proba(X))
    with tempfile.TemporaryDirectory() as folder:
        rows, model = str(Path(folder) / "wine.csv"), str(Path(folder) / "wine.covey")
        load_wine(as_frame=True).frame.to_csv(rows, index=False)

        def fit_table():
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
                command(["fit", rows, "--target", "target", "--model", model, "--quiet"])

        walked("covey fit", fit_table)
    return found


def main() -> None:
    """Print sizes and walks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", action="store_true", help="code lines and files only")
    given = parser.parse_args()
    found = sizes()
    for name, (files, lines) in found.items():
        print(f"{name:14} {files:4} files {lines:7,} code lines")
    files, lines = (sum(column) for column in zip(*found.values(), strict=True))
    print(f"{'all':14} {files:4} files {lines:7,} code lines")
    if not given.sizes:
        for name, walk in walks().items():
            print(f"{name}: {walk}")


if __name__ == "__main__":
    main()
