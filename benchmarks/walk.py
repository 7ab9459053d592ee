"""How far a reader must walk to follow `fit` and `predict_proba`: functions, files and depth.

    python benchmarks/walk.py

Profiles the default on the wine data and counts the functions of covey that run, the files that
they stand in, and how deep covey's own calls are nested.
"""

import sys
from pathlib import Path

from sklearn.datasets import load_wine

import covey

HOME = str(Path(covey.__file__).parent)


class Walk:
    """Counts what runs while it is entered."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()
        self.deepest = 0
        self._depth = 0

    def __enter__(self) -> "Walk":
        sys.setprofile(self._note)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)

    def _note(self, frame, event, argument) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(HOME):
            return
        if event == "call":
            self._depth += 1
            self.deepest = max(self.deepest, self._depth)
            if not code.co_name.startswith("<"):
                self.functions.add((code.co_filename, code.co_qualname))
        elif event == "return":
            self._depth -= 1

    def __str__(self) -> str:
        files = {name for name, _ in self.functions}
        return f"{len(self.functions)} functions in {len(files)} files, {self.deepest} deep"


def main() -> None:
    """Print the walk of a fit and of a prediction."""
    X, y = load_wine(return_X_y=True)
    flock = covey.FlockClassifier(random_state=0)
    flock.fit(X, y).predict_proba(X)  # so that nothing is imported for the first time below
    with Walk() as fit:
        flock.fit(X, y)
    with Walk() as predict:
        flock.predict_proba(X)
    print(f"fit: {fit}")
    print(f"predict_proba: {predict}")


if __name__ == "__main__":
    main()
