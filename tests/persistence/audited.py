"""Load model files, changed ones too, and predict, while Python reports what they do.

    python -m tests.persistence.audited 60

prints each event of the interpreter that files must not cause: a file that is written or removed,
a process, a connection, code that is compiled, a module that is loaded.
"""

import os
import sys
import tempfile
import warnings

import numpy as np

from covey.persistence import load
from tests.persistence import fuzz

FORBIDDEN = (
    "compile",
    "ctypes",
    "exec",
    "import",
    "marshal",
    "os.chmod",
    "os.exec",
    "os.fork",
    "os.link",
    "os.mkdir",
    "os.posix_spawn",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.spawn",
    "os.symlink",
    "os.system",
    "os.truncate",
    "pickle",
    "shutil",
    "signal",
    "socket",
    "subprocess",
    "sys.settrace",
)


def predict_all():
    """Load every golden file, and predict its rows."""
    for path in fuzz.GOLDEN:
        load(path).predict(fuzz.rows_for(path))


def load_changed(paths):
    """Load files that were changed at random; those that are refused are no matter."""
    for path, rows in paths:
        try:
            load(path).predict(rows)
        except ValueError:
            continue


def main():
    """Do all of it once, so that what it needs is imported, and then once more, watched."""
    warnings.simplefilter("ignore")
    seen, watching = [], False

    def hook(event, args):
        if not watching:
            return
        writes = event == "open" and isinstance(args[2], int) and args[2] & os.O_ACCMODE
        if writes or event.startswith(FORBIDDEN):
            seen.append(f"{event}: {args!r}"[:200])

    with tempfile.TemporaryDirectory() as folder:
        changed = []
        for seed in range(int(sys.argv[1])):
            golden = fuzz.GOLDEN[seed % len(fuzz.GOLDEN)]
            path = os.path.join(folder, f"{seed}.covey")
            with open(path, "wb") as file:
                file.write(fuzz.changed(golden, np.random.default_rng(seed)))
            changed.append((path, fuzz.rows_for(golden)))
        predict_all()
        load_changed(changed)
        sys.addaudithook(hook)
        watching = True
        predict_all()
        load_changed(changed)
        with open(os.devnull, "w"):  # what would be seen is seen
            watching = False
    assert "open: " in seen.pop()
    print(*sorted(set(seen)), sep="\n", end="")


if __name__ == "__main__":
    main()
