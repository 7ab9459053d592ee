"""``python -m covey.reproduce``."""

import sys

from covey.reproduce import main

if __name__ == "__main__":
    sys.exit(main())
