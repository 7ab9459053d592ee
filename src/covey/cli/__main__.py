"""``python -m covey.cli``."""

from covey.cli import main

if __name__ == "__main__":
    main()
