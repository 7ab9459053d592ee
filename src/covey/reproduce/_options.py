"""The options of a call, and the sizes that follow from them."""

from __future__ import annotations

from dataclasses import dataclass

from covey.reproduce._data import load
from covey.reproduce._ensembles import Constants


@dataclass(frozen=True)
class Options:
    """The command line, checked."""

    runs: int = 100  # training sets or splits of each case of Figure 1 and Table 2
    quick: bool = False  # fewer sizes, settings and cases
    seed: int = 0
    iemocap: str | None = None  # a user's table of IEMOCAP features
    speech: tuple[str, ...] = ()  # tables that stand in for it

    # Splits of a setting of the grid; for the speech tables, which cost more, and for covey's
    # default, a fit of which takes seconds. Runs of a case of the sparsity study.
    @property
    def calibration_runs(self) -> int:
        return min(self.runs, 5 if self.quick else 10)

    @property
    def speech_calibration_runs(self) -> int:
        return min(self.runs, 5)

    @property
    def default_runs(self) -> int:
        return min(self.runs, 2 if self.quick else 20)

    @property
    def sparsity_runs(self) -> int:
        return min(self.runs, 10 if self.quick else 40)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows of each class in Figure 1."""
        return (3, 10, 50, 200) if self.quick else (3, 5, 10, 20, 50, 100, 200, 500)

    @property
    def grid(self) -> list[Constants]:
        """The settings of (thr, eta) that are tried; those of ``paper()`` among them."""
        thrs = (0.0, -0.002, -0.005) if self.quick else (0.0, -0.001, -0.002, -0.005, -0.01)
        etas = (0.5, 1.5) if self.quick else (0.15, 0.5, 1.5, 3.0)
        return [Constants(thr, eta) for thr in thrs for eta in etas]

    @property
    def sources(self) -> list[str]:
        """The tables, as `covey.reproduce._data.load` takes them."""
        iemocap = [] if self.iemocap is None else [f"iemocap:{self.iemocap}"]
        return ["abalone", "segment", *iemocap, *(f"speech:{path}" for path in self.speech)]

    def splits(self) -> list[tuple[str, str]]:
        """Pairs of source and way to split: speech also by speaker, where speakers are known."""
        pairs = []
        for source in self.sources:
            pairs.append((source, "random"))
            if load(source).speakers is not None:
                pairs.append((source, "speaker"))
        return pairs
