"""``covey fit --loss poisson --exposure years``: rates of counts, weighted by exposures."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_poisson_deviance

import covey

from .conftest import as_json

N = 120
rng = np.random.default_rng(0)
AGE, YEARS = rng.integers(18, 80, N), rng.uniform(0.1, 2.0, N).round(2)
CLAIMS = rng.poisson(np.exp(1.0 - 0.03 * (AGE - 40)) * YEARS)
TABLE = pd.DataFrame({"age": AGE, "noise": rng.normal(size=N), "years": YEARS, "claims": CLAIMS})
FIT = ("fit", "table.csv", "--target", "claims", "--effort", "fast", "--quiet")
RATES = ("--loss", "poisson", "--exposure", "years")


def written(folder, **changes):
    TABLE.assign(**changes).to_csv(folder / "table.csv", index=False)


def test_a_rate_is_learnt_and_judged_by_its_exposure(tmp_path, run):
    written(tmp_path)
    said = as_json(run(*FIT, *RATES, "--json", cwd=tmp_path))
    model = covey.load(tmp_path / "flock.covey")
    assert model.feature_names_in_.tolist() == ["age", "noise"]
    assert said["evaluation"]["target"] == model.evaluation_.target == "claims per years"
    own, constant, _ = model.evaluation_.scores
    assert own.get("deviance").value < constant.get("deviance").value
    assert constant.get("r2").value == pytest.approx(0.0, abs=0.05)
    rates = covey.FlockRegressor(loss="poisson", effort="fast", random_state=0)
    rates.fit(TABLE[["age", "noise"]], CLAIMS / YEARS, sample_weight=YEARS)
    np.testing.assert_allclose(model.predict(TABLE), rates.predict(TABLE[["age", "noise"]]))
    # The constant of all rows is near those of the folds.
    mean = np.full(N, CLAIMS.sum() / YEARS.sum())
    expected = mean_poisson_deviance(CLAIMS / YEARS, mean, sample_weight=YEARS)
    assert constant.get("deviance").value == pytest.approx(expected, rel=0.05)


def test_groups_of_rows_count_by_their_exposure(tmp_path, run):
    written(tmp_path, years=YEARS * np.where(AGE > 50, 200, 100), sex=np.where(AGE % 2, "f", "m"))
    said = as_json(run(*FIT, *RATES, "--by", "sex", "--json", cwd=tmp_path))["evaluation"]
    years = YEARS * np.where(AGE > 50, 200, 100)
    groups = {one["label"]: one for one in said["by_group"]["sex"]}
    for sex, own in (("f", AGE % 2 == 1), ("m", AGE % 2 == 0)):
        rate = CLAIMS[own].sum() / years[own].sum()
        assert groups[sex]["found"][0] == pytest.approx(rate)
        assert groups[sex]["expected"] == pytest.approx(rate, rel=0.3)
    parts = [years[AGE % 2 == 1].sum(), years[AGE % 2 == 0].sum()]
    off = np.average([groups[sex]["right"][0] for sex in "fm"], weights=parts)
    assert off == pytest.approx(said["scores"][0]["measures"]["mae"][0])


def test_a_rate_is_refitted_by_its_exposure(tmp_path, run):
    written(tmp_path)
    assert run(*FIT, *RATES, cwd=tmp_path).exit_code == 0
    result = run("refit", "flock.covey", "table.csv", "--out", "new.covey", cwd=tmp_path)
    assert result.exit_code == 0, result.output
    old, new = (covey.load(tmp_path / f"{name}.covey") for name in ("flock", "new"))
    assert new.evaluation_.target == "claims per years"
    np.testing.assert_array_equal(new.predict(TABLE), old.predict(TABLE))
    TABLE.drop(columns="years").to_csv(tmp_path / "other.csv")
    result = run("refit", "flock.covey", "other.csv", cwd=tmp_path)
    assert result.exit_code == 2
    assert "the table has no column 'years'" in result.stderr


def test_a_report_of_a_rate_needs_the_rates(tmp_path, run):
    pytest.importorskip("jinja2")
    written(tmp_path)
    assert run(*FIT, *RATES, cwd=tmp_path).exit_code == 0
    counts = run(
        "report", "flock.covey", "table.csv", "--target", "claims", "--out", "a.html", cwd=tmp_path
    )
    assert counts.exit_code == 2
    assert "the model predicts 'claims per years'" in counts.stderr
    TABLE.assign(**{"claims per years": CLAIMS / YEARS}).to_csv(tmp_path / "new.csv")
    assert run("report", "flock.covey", "new.csv", "--out", "a.html", cwd=tmp_path).exit_code == 0
    assert "Deviance" in (tmp_path / "a.html").read_text()


@pytest.mark.parametrize(
    ("changes", "options", "named"),
    [
        ({"years": 0.0}, RATES, "column 'years' holds 0.0, but exposures are numbers above 0"),
        ({"years": np.where(AGE > 70, np.nan, 1)}, RATES, "column 'years' holds a gap"),
        ({"years": "long"}, RATES, "column 'years' holds 'long'"),
        ({"claims": CLAIMS - 1}, RATES, "poisson is for numbers from 0 on"),
        ({}, ("--loss", "gamma"), "gamma is for numbers above 0, but 'claims' holds 0"),
        ({}, ("--exposure", "yeers"), "did you mean 'years'?"),
        ({}, ("--loss", "tweedie", "--power", "2"), "--power: 2 is not of --loss tweedie"),
        ({}, ("--power", "1.5"), "--power: 1.5 is not of --loss tweedie"),
        ({}, ("--loss", "poisson", "--task", "classes"), "--loss: it is for quantities"),
        ({}, ("--loss", "poisson", "--linear"), "--loss: it is for flocks"),
    ],
)
def test_impossible_counts_and_exposures_are_refused_by_name(
    changes, options, named, tmp_path, run
):
    written(tmp_path, **changes)
    refused = run(*FIT, *options, cwd=tmp_path)
    assert refused.exit_code == 2
    assert named in " ".join(refused.stderr.split())
