"""Run every script of the gallery, one after another: ``python docs/gallery/run_all.py``."""

import subprocess
import sys
from pathlib import Path
from time import perf_counter


def main():
    here = Path(__file__).resolve()
    failed = []
    for script in sorted(here.parent.glob("*.py")):
        if script == here or script.name.startswith("_"):
            continue
        print(f"== {script.stem}", flush=True)
        start = perf_counter()
        if subprocess.run([sys.executable, str(script)], check=False).returncode:
            failed.append(script.name)
        print(f"   {perf_counter() - start:.1f} s\n", flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
