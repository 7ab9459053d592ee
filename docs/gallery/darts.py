"""What do bias and variance look like?

Like darts. A dart is what one model predicts, fitted to one training set: the distance from the
center is its error. Darts that lie together beside the center are biased; darts that are spread
about the center vary from one training set to the next, and their mean hits it.

Progression of diabetes in a year for 442 patients, three learners, 50 training sets drawn with
replacement from three quarters of them. The errors of two patients who were never trained on are
the two directions of the board, the same two for all learners. One call measures, one call draws.

A tree of one question is biased and steady, a deep tree is scattered all over the board, and 50
deep trees of bootstrap samples, averaged, lie together and nearer to the center: averaging takes
the variance away and leaves the bias as it is.
"""

from _style import BLUE, HERE, INK, ORANGE, panels, save, title
from sklearn.datasets import load_diabetes
from sklearn.ensemble import BaggingRegressor
from sklearn.tree import DecisionTreeRegressor

from covey.inspection import DartsDisplay, bias_variance

LEARNERS = {
    "one question": DecisionTreeRegressor(max_depth=1),
    "deep tree": DecisionTreeRegressor(),
    "50 deep trees": BaggingRegressor(n_estimators=50),
}


def draw(out, results):
    figure, (left, right) = panels(1, 2, size=(9.5, 4.4), width_ratios=(1.5, 1))
    DartsDisplay.from_results(results, ax=left)
    names = list(results)
    bias = [result.bias_and_noise for result in results.values()]
    variance = [result.variance for result in results.values()]
    right.bar(names, bias, 0.6, color=BLUE)
    right.bar(names, variance, 0.6, bottom=bias, color=ORANGE)
    right.text(0.97, 0.95, "variance", color=ORANGE, ha="right", transform=right.transAxes)
    right.text(0.97, 0.88, "squared bias and noise", color=BLUE, ha="right",
               transform=right.transAxes)  # fmt: skip
    right.tick_params(axis="x", colors=INK)
    right.set_ylim(0, 1.25 * max(b + v for b, v in zip(bias, variance, strict=True)))
    title(right, "squared error of new patients")
    return save(figure, out, __file__)


def main(out=HERE, quick=False):
    X, y = load_diabetes(return_X_y=True)
    results = {
        name: bias_variance(learner, X, y, n_runs=12 if quick else 50, random_state=0)
        for name, learner in LEARNERS.items()
    }
    for name, result in results.items():
        print(f"{name:<14} bias and noise {result.bias_and_noise:6.0f}, "
              f"variance {result.variance:6.0f}")  # fmt: skip
    draw(out, results)
    return results


if __name__ == "__main__":
    main()
