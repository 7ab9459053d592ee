"""``covey fit --rising --falling --interactions``."""

import pytest

import covey
from covey.inspection import monotone_certificate
from tests.cli.conftest import as_json, patients


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("constraints")
    patients().to_csv(folder / "patients.csv", index=False)
    return folder


def fit(run, table, *options):
    command = ("fit", "patients.csv", "--target", "outcome", "--effort", "fast")
    return run(*command, *options, cwd=table)


def test_a_bounded_flock_is_saved_certified_and_its_price_is_told(run, table):
    options = ("--rising", "age", "--falling", "clinic", "--model", "bounded.covey")
    result = fit(run, table, *options)
    assert result.exit_code == 0, result.output
    assert "never falls with age and never rises with clinic" in " ".join(result.stderr.split())
    assert "The price of the constraints: " in " ".join(result.stdout.split())
    flock = covey.load(table / "bounded.covey")
    assert monotone_certificate(flock, "age", 1).holds
    assert monotone_certificate(flock, "clinic", -1).holds


def test_a_correction_that_breaks_a_constraint_is_told_and_shown(run, table):
    result = fit(run, table, "--rising", "age", "--model", "rising.covey")
    assert result.exit_code == 0, result.output
    shown = run("show", "rising.covey", cwd=table).stdout
    assert "never falls with age, whatever the others are" in shown
    broken = ("--effect", "age=30:0.1,60:-0.1", "--out", "broken.covey")
    result = run("edit", "rising.covey", *broken, cwd=table)
    assert result.exit_code == 0, result.output
    assert "Constraints: sometimes falls with age" in result.stderr
    assert "sometimes falls with age" in run("show", "broken.covey", cwd=table).stdout
    covey.save(covey.load(table / "rising.covey"), table / "plain.covey")
    result = run("edit", "plain.covey", "--drop", "age", "--out", "less.covey", cwd=table)
    assert result.exit_code == 0, result.output
    assert "Constraints" not in result.stderr


def test_an_additive_flock_says_so(run, table):
    said = as_json(fit(run, table, "--interactions", "none", "--json"))
    assert "Constraints: additive: no two columns meet." in said["notes"]
    assert "flock without constraints" in {one["name"] for one in said["scores"]}
    assert covey.load(table / "flock.covey").model_.is_additive


@pytest.mark.slow
def test_pairs_are_given_by_a_star(run, table):
    result = fit(run, table, "--interactions", "age*Größe", "--interactions", "age * town")
    assert result.exit_code == 0, result.output
    flock = covey.load(table / "flock.covey")
    assert flock.interactions == [("age", "Größe"), ("age", "town")]
    assert fit(run, table, "--interactions", "all").exit_code == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--rising", "ages"), "--rising: the table has no column 'ages'; did you mean 'age'?"),
        (("--falling", "outcome"), "--falling: the column 'outcome' is not learned from"),
        (("--rising", "unit"), "--rising: the column 'unit' is not learned from"),
        (("--rising", "town"), "--rising: nothing rises or falls with 'town'"),
        (("--rising", "visited"), "--rising: nothing rises or falls with 'visited'"),
        (("--rising", "age", "--falling", "age"), "--rising and --falling both name 'age'"),
        (("--interactions", "age"), "--interactions: 'age' is not a pair"),
        (("--interactions", "age*age"), "--interactions: 'age*age' is not a pair"),
        (("--interactions", "age*x"), "--interactions: the table has no column 'x'"),
        (("--interactions", "none", "--interactions", "all"), "--interactions: 'none' is not"),
        (("--rising", "age", "--interactions", "age*clinic"), "--interactions: 'age*clinic'"),
        (("--rising", "age", "--members", "mixed"), "--rising: it is not for"),
        (("--falling", "age", "--fuser", "mean"), "--falling: it is not for"),
        (("--interactions", "none", "--engine", "dask"), "--interactions: it is not for"),
        (("--rising", "age", "--linear"), "--rising: it is for flocks"),
    ],
    ids=str,
)
def test_constraints_that_cannot_be_kept_are_refused_by_the_name_of_the_option(
    run, table, options, said
):
    result = fit(run, table, *options)
    assert result.exit_code == 2
    assert f"covey: {said}" in result.stderr
    assert "Traceback" not in result.output


def test_three_classes_do_not_rise(run, table):
    options = ("--rising", "age", "--effort", "fast")
    result = run("fit", "patients.csv", "--target", "town", *options, cwd=table)
    assert result.exit_code == 2
    assert "'town' has more than two classes" in result.stderr
