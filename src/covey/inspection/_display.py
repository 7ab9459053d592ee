"""What all displays share: matplotlib when it is needed, axes, colours."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from covey.members._fused import FusedClassifier
from covey.members._fused_regression import FusedRegressor

BLUE, ORANGE, INK, PALE, GREY = "#3b6ea5", "#d9822b", "#22272e", "#e9edf2", "#8a95a3"
COLOURS = (BLUE, ORANGE, "#4f9d69", "#b5557a", "#7a6bb0", "#3aa0a8", "#a08a4b", GREY)
MARKERS = "o^sDvP*X"

# More names than this have no room along an axis.
MOST_NAMES = 30


class Display:
    """What all displays share."""

    @classmethod
    def _pyplot(cls):
        """matplotlib, which is needed for drawing and for nothing else."""
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError(
                f"{cls.__name__} draws and needs matplotlib: pip install matplotlib"
            ) from None
        return plt

    def _start(self, ax):
        """The axes to draw on, a new one if none is given."""
        plt = self._pyplot()
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def colours_of(number):
    """So many colours, the house's own while they last."""
    if number <= len(COLOURS):
        return list(COLOURS[:number])
    import matplotlib as mpl

    return [mpl.colormaps["turbo"](share) for share in np.linspace(0.05, 0.95, number)]


def check_flock(estimator, *, regressors=False):
    known = (FusedClassifier, FusedRegressor) if regressors else FusedClassifier
    if not isinstance(estimator, known):
        raise TypeError(
            "estimator must be a fitted ensemble of covey, such as SubsetEnsembleClassifier or "
            f"FusionClassifier, got {type(estimator).__name__}; wrap other models in a "
            "FusionClassifier with prefit=True."
        )
    check_is_fitted(estimator, "fuser_")
