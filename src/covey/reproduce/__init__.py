"""The paper reproduced by one command: ``python -m covey.reproduce all``.

`main` takes the arguments as a list and returns an exit status.
"""

from covey.reproduce._command import main

__all__ = ["main"]
