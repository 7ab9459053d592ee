"""Why not fit the weights of a stack on the rows that its members were fitted on?

Because the member that has memorised those rows looks perfect there and takes all the weight,
however little it knows of other rows. Fitted on out-of-fold predictions, weights follow what
members know, and the stack is better than the mean of its members.

Ten variables, two of which matter in a straight line and one in a wave, and noise: 150 rows to
train on and 2,000 to test, drawn anew for each seed. A ridge regression, the mean of the 15
nearest rows and a tree grown to single rows are joined by weights that are not negative and
sum to one, found both ways by the same least squares.

In every draw the naive weights are the tree's alone, and so is the test error, nearly twice
that of the others. Out of fold the tree keeps a tenth of the weight, and the error is below
the mean's. The tree is no use to either way: what differs is who notices.
"""

import numpy as np
from _style import BLUE, GRAY, HERE, INK, ORANGE, interval, label, panels, save, title
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from covey import FusionRegressor

NAIVE, HELD_OUT, MEAN = "on training rows", "out of fold", "the mean"
COLOURS = {NAIVE: ORANGE, HELD_OUT: BLUE, MEAN: GRAY}
N_ROWS = 150


def noisy_rows(n_rows, rng):
    X = rng.normal(size=(n_rows, 10))
    signal = X[:, 0] + 0.7 * X[:, 1] + np.sin(2 * X[:, 2])
    return X, signal + rng.normal(size=n_rows)


def members():
    return [
        ("ridge", Ridge()),
        ("15 nearest", KNeighborsRegressor(15)),
        ("deep tree", DecisionTreeRegressor(random_state=0)),
    ]


def one_draw(rng):
    """Weights found both ways, and squared errors on new rows."""
    X, y = noisy_rows(N_ROWS, rng)
    X_test, y_test = noisy_rows(2000, rng)
    every = np.arange(N_ROWS)
    # Naive is a "fold" that learns from all rows and then predicts the same rows.
    stacks = {
        NAIVE: FusionRegressor(members(), "linear_stacking", cv=[(every, every)]).fit(X, y),
        HELD_OUT: FusionRegressor(members(), "linear_stacking").fit(X, y),
    }
    weights = {way: stack.fuser_.weights_ for way, stack in stacks.items()}
    predicted = stacks[HELD_OUT].member_predictions(X_test)
    tried = weights | {MEAN: np.full(3, 1 / 3)}
    errors = {way: np.mean((predicted @ weight - y_test) ** 2) for way, weight in tried.items()}
    return weights, errors | {"gain over the mean": errors[MEAN] - errors[HELD_OUT]}


def bars(ax, positions, values, color, width):
    ax.bar(positions, values.mean, width, yerr=values.half, color=color, ecolor=INK, capsize=3)
    for position, mean, high in np.broadcast(positions, values.mean, values.high):
        label(ax, position, high, f"{mean:.2f}", INK, offset=(0, 7), ha="center")


def draw(out, weights, errors):
    figure, (left, right) = panels(1, 2, size=(8.5, 3.6), width_ratios=(1.5, 1))
    for number, (way, values) in enumerate(weights.items()):
        bars(left, np.arange(3) + 0.38 * (number - 0.5), values, COLOURS[way], 0.36)
        left.text(0.5, 0.72 - 0.08 * number, f"fitted {way}", color=COLOURS[way], fontsize=9.5,
                  ha="center", transform=left.transAxes)  # fmt: skip
    left.set_xticks(range(3), [name for name, _ in members()])
    left.set_ylim(0, 1.12)
    title(left, "weights of the members")

    for number, (way, color) in enumerate(COLOURS.items()):
        bars(right, number, errors[way], color, 0.66)
    right.axhline(1, color=INK, lw=1.2, ls=":")
    label(right, 2.4, 1, "noise", INK, offset=(3, 7))
    right.set_ylim(0, 1.12 * errors[NAIVE].high)
    right.set_xticks(range(3), ["fitted on\ntraining rows", "fitted\nout of fold", MEAN])
    right.set_xlim(-0.5, 2.95)
    title(right, "squared error on new rows")
    return save(figure, out, __file__)


def main(out=HERE, quick=False):
    draws = [one_draw(np.random.default_rng(seed)) for seed in range(4 if quick else 20)]
    weights = {way: interval([each[way] for each, _ in draws]) for way in draws[0][0]}
    errors = {way: interval([each[way] for _, each in draws]) for way in draws[0][1]}
    for way, values in weights.items():
        print(f"weights fitted {way}")
        for (name, _), mean, half in zip(members(), *values, strict=True):
            print(f"    {name:<20} {mean:.3f} ± {half:.3f}")
    print("squared error on new rows")
    for way, value in errors.items():
        print(f"    {way:<20} {value.text()}")
    draw(out, weights, errors)
    return {"weights": weights, "errors": errors}


if __name__ == "__main__":
    main()
