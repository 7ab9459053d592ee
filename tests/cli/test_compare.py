"""``covey compare``."""

from .conftest import as_json


def test_compare_is_a_table_on_the_same_rows(folder, run):
    said = as_json(
        run(
            *("compare", "patients.csv", "--target", "outcome", "--json", "--models", "fast"),
            *("--models", "commonest", "--models", "SVC"),
            cwd=folder,
        )
    )
    names = [one["name"] for one in said["scores"]]
    assert set(names) == {"covey, fast", "commonest class", "RBF SVC, tuned"}
    assert names[-1] == "commonest class"
    # It has no probabilities, and JSON has no NaN.
    assert {one["name"]: one["log_loss"] for one in said["scores"]}["RBF SVC, tuned"] is None
    assert said["scores"][0]["difference_from_best"] == [0, 0, 0]
    values = [one["accuracy"] for one in said["scores"]]
    assert values == sorted(values, reverse=True)
