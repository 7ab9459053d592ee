"""What a fit may find on a machine: nothing else, busy processes, one core, a quota.

A condition is a context that gives the words to put before a command. One that this machine
cannot make raises ``UnavailableError`` with the reason.
"""

import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path

SETTLE = 0.3  # seconds until busy processes have started
PERIOD = 100_000  # microseconds of a quota's period
# Ends by itself should its parent have died.
SPIN = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(10**6):
        pass
"""


class UnavailableError(Exception):
    """This machine cannot make a condition."""


@contextmanager
def beside(n_processes):
    """So many processes that each want a whole core."""
    running = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(n_processes)]
    try:
        time.sleep(SETTLE)
        yield ()
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait()


@contextmanager
def one_core():
    """One core to run on while ``os.cpu_count()`` still says how many the machine has."""
    if not shutil.which("taskset"):
        raise UnavailableError("taskset is not installed")
    yield ("taskset", "--cpu-list", str(min(os.sched_getaffinity(0))))


@contextmanager
def quota(cores=1, roots=(Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))):
    """The time of so many cores, by a group of cgroup v2, while all cores are visible."""
    root = next((root for root in roots if (root / "cgroup.subtree_control").exists()), None)
    if root is None:
        raise UnavailableError("there is no cgroup v2")
    if "cpu" not in (root / "cgroup.subtree_control").read_text().split():
        raise UnavailableError("cgroup v2 does not control processor time here")
    group = root / f"covey-busy-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        raise UnavailableError("cgroup v2 is not writable") from error
    try:
        (group / "cpu.max").write_text(f"{cores * PERIOD} {PERIOD}")
        enter = f'echo $$ > "{group}/cgroup.procs" && exec "$@"'
        yield ("sh", "-c", enter, "sh")
    finally:
        group.rmdir()


IDLE, TWO_BUSY = "idle", "beside two busy processes"
CONDITIONS = {
    IDLE: partial(beside, 0),
    "beside one busy process": partial(beside, 1),
    TWO_BUSY: partial(beside, 2),
    "on one core of those visible": one_core,
    "quota of one core": quota,
}
