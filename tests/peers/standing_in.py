"""What the classes that stand in for a peer's share."""

from __future__ import annotations

from typing import Any

# The classes of ours that the test at hand has made or fitted.
TOUCHED: set[str] = set()


class StandsIn:
    """A mixin that notes that a class of ours takes part in a test."""

    def __new__(cls, *args: Any, **how: Any) -> Any:
        """Note that one is made."""
        TOUCHED.add(cls.__name__)
        return super().__new__(cls)

    def __getattribute__(self, name: str) -> Any:
        """Note that one is fitted that was made when the tests were collected."""
        if name.startswith(("fit", "partial_fit")):
            TOUCHED.add(type(self).__name__)
        return super().__getattribute__(name)
