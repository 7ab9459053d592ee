"""The parts that all displays share: matplotlib when it is needed, axes, colors, names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
else:  # so that annotations need no matplotlib
    Axes = Any

BLUE, ORANGE, INK, PALE, GRAY = "#3b6ea5", "#d9822b", "#22272e", "#e9edf2", "#8a95a3"
COLORS = (BLUE, ORANGE, "#4f9d69", "#b5557a", "#7a6bb0", "#3aa0a8", "#a08a4b", GRAY)

_STYLE = {
    "font.size": 8,
    "legend.framealpha": 0.9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
}
# More names than this have no room along an axis.
MOST_NAMES = 30


class Display:
    """A picture that is made from results and drawn by `plot`."""

    ax_: Axes
    figure_: Any

    def plot(self, ax: Axes | None = None, **options: Any) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new one by default.
        **options
            Those of the display.

        Returns
        -------
        self : Display
            With ``ax_`` and ``figure_``, the axes and the figure that it was drawn on.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError(
                f"{type(self).__name__} draws and needs matplotlib: pip install matplotlib"
            ) from None
        self.ax_ = plt.subplots(layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        with plt.rc_context(_STYLE):
            self._draw(self.ax_, **options)
        return self

    def _draw(self, ax: Axes, **options: Any) -> None:
        raise NotImplementedError

    @staticmethod
    def _check_flock(
        estimator: Any, *, regressors: bool = False, why_no_oracle: str | None = None
    ) -> None:
        """Refuse what is no fitted ensemble; and the oracle, where there is a reason."""
        if not hasattr(estimator, "explain_fusion") or not (
            regressors or is_classifier(estimator)
        ):
            raise TypeError(
                "estimator must be a fitted ensemble of covey, such as FlockClassifier or "
                f"FusionClassifier, got {type(estimator).__name__}; wrap other models in a "
                "FusionClassifier with prefit=True."
            )
        check_is_fitted(estimator, "fuser_")
        if why_no_oracle is not None and estimator.fuser_.needs_y:
            raise ValueError(
                f"estimator is fused by the oracle, which {why_no_oracle}; fit it with another "
                "fuser."
            )


def add_color_bar(ax: Axes, image: Any, label: str) -> Any:
    """A bar beside the axes that shows the values of the image's colors."""
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.03)
    bar.set_label(label)
    bar.outline.set_visible(False)
    return bar


def colors_of(number: int) -> list[Any]:
    """So many colors: those of `COLORS` if they are enough, else of a color map."""
    if number <= len(COLORS):
        return list(COLORS[:number])
    import matplotlib as mpl

    return [mpl.colormaps["turbo"](share) for share in np.linspace(0.05, 0.95, number)]
