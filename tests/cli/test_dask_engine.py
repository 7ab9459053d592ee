"""``covey fit --engine dask``: real files, the real command; the plain engine is the reference."""

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from distributed import LocalCluster

from covey import (
    FlockClassifier,
    SubsetEnsembleClassifier,
    SubsetEnsembleRegressor,
)
from covey._core.random import Purpose, UniformRows
from covey.persistence import load
from covey.tables._known_columns import kinds_of

N_ROWS = 400
FLOCK = ("--target", "outcome", "--engine", "dask", "--fuser", "product")


def measured():
    """Numbers with gaps, a count of the rows, a constant, and rows without an answer."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 4))
    risk = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=N_ROWS)
    table = pd.DataFrame(X, columns=["age", "Größe", "pulse", "noise"])
    table["smokes"] = rng.random(N_ROWS) < 0.3
    table["row"] = np.arange(N_ROWS)
    table["unit"] = 1.5
    table["outcome"] = np.select([risk < -0.5, risk < 0.7], ["well", "ill"], "dead")
    table.loc[rng.choice(N_ROWS, 9, replace=False), "pulse"] = np.nan
    table.loc[rng.choice(N_ROWS, 7, replace=False), "outcome"] = None
    return table


@pytest.fixture(scope="session")
def lake(tmp_path_factory):
    """The table as Parquet files, one of them without rows, and as CSV files."""
    folder = tmp_path_factory.mktemp("lake")
    (folder / "rows").mkdir()
    (folder / "text").mkdir()
    table = measured()
    for place, (start, end) in enumerate(((0, 150), (150, 150), (150, 310), (310, N_ROWS))):
        part = table.iloc[start:end]
        part.to_parquet(folder / "rows" / f"{place}.parquet", index=False)
        if len(part):
            part.drop(columns="smokes").to_csv(
                folder / "text" / f"{place}.csv", index=False, na_rep="NA"
            )
    (folder / "rows" / "_SUCCESS").write_text("")
    return folder


@pytest.fixture(scope="session")
def fitted(lake, run):
    """What the command says of the Parquet files, without a cluster."""
    done = run("fit", "rows/*.parquet", *FLOCK, cwd=lake)
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture(scope="session")
def scheduler():
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        dashboard_address=":0",
    ) as cluster:
        yield cluster.scheduler_address


def process(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "covey", *arguments],
        cwd=cwd,
        capture_output=True,
        check=False,
        text=True,
    )


def plainly(rows, columns=("age", "Größe", "pulse", "noise", "smokes"), **how):
    """The plain engine's model of some rows."""
    kind = FlockClassifier if "effort" in how else SubsetEnsembleClassifier
    model = kind(random_state=0, **how)
    return model.fit(rows[list(columns)], rows["outcome"].to_numpy(dtype=str))


def assert_same(one, other):
    assert one.classes_.tolist() == other.classes_.tolist()
    np.testing.assert_array_equal(one.support_, other.support_)
    np.testing.assert_allclose(one.member_coef_, other.member_coef_, atol=1e-8)


def test_the_model_that_is_saved_is_the_plain_one(lake, fitted):
    model = load(lake / "flock.covey")
    assert type(model) is SubsetEnsembleClassifier
    assert_same(model, plainly(measured().dropna(subset="outcome")))


def test_accuracy_is_that_on_a_quarter_of_the_rows_by_their_own_draws(lake, fitted):
    table = measured()
    held = UniformRows(0, Purpose.HOLD_OUT, 0, 0, 1).read(0, N_ROWS)[:, 0] < 0.25
    known = table["outcome"].notna()
    train, test = table[known & ~held], table[known & held]
    scores = load(lake / "flock.covey").evaluation_.scores
    assert [one.name for one in scores] == ["flock", "commonest class", "one linear model"]
    assert f"a quarter of all, {len(test)} rows" in load(lake / "flock.covey").evaluation_.how
    truth = test["outcome"].to_numpy(dtype=str)
    for score, how in ((scores[0], {}), (scores[2], {"n_estimators": 1, "flip_probability": 0.0})):
        model = plainly(train, **how)
        assert score.main.value == np.mean(model.predict(test) == truth)
        said = model.predict_proba(test)[
            np.arange(len(test)), np.searchsorted(model.classes_, truth)
        ]
        assert score.get("log_loss").value == pytest.approx(-np.log(said).mean())
        assert score.main.low < score.main.value < score.main.high
    shares = train["outcome"].value_counts(normalize=True)
    assert scores[1].main.value == np.mean(truth == shares.index[0])
    assert scores[1].get("log_loss").value == pytest.approx(-np.log(shares[truth]).mean())


def test_fit_says_what_a_user_wants_to_know(fitted):
    assert "row: left out, since it names the rows" in fitted.stderr
    assert "unit: left out, since it has one value only" in fitted.stderr
    assert "outcome: 7 of 400 rows have no target and are left out" in fitted.stderr
    assert "outcome: 3 classes, 393 rows, 5 of 7 columns" in fitted.stdout
    assert re.search(r"linear model (is|may|does)|a linear model", fitted.stdout)
    assert "Saved flock.covey, fitted on all rows" in fitted.stdout


def test_other_commands_take_the_model(lake, fitted, run):
    pytest.importorskip("jinja2")
    pytest.importorskip("skl2onnx")
    said = run("predict", "flock.covey", "rows/2.parquet", "--proba", "--explain", cwd=lake)
    assert said.exit_code == 0, said.output
    assert len(said.stdout.splitlines()) == 161
    said = run("report", "flock.covey", "rows/2.parquet", "--out", "page.html", cwd=lake)
    assert said.exit_code == 0, said.output
    assert "rows were fitted on" in said.stderr
    said = run("export", "flock.covey", "--onnx", "flock.onnx", cwd=lake)
    assert said.exit_code == 0, said.output


@pytest.mark.slow
def test_on_a_cluster_it_is_the_same(tmp_path, run, scheduler):
    # Easy, so that few questions travel.
    x = np.random.default_rng(2).normal(size=(90, 2))
    table = pd.DataFrame(x, columns=["x", "z"]).assign(outcome=np.sign(x[:, 0]).astype(int))
    (tmp_path / "rows").mkdir()
    for start in (0, 40, 50):
        table.iloc[start : start + 40].to_parquet(tmp_path / "rows" / f"{start}.parquet")
    done = process(
        *("fit", "rows", *FLOCK, "--scheduler", scheduler, "--model", "far.covey"),
        *("--json", "--quiet"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    far = json.loads(done.stdout)
    result = run("fit", "rows", *FLOCK, "--model", "near.covey", "--json", cwd=tmp_path)
    near = json.loads(result.stdout)
    assert_same(load(tmp_path / "near.covey"), load(tmp_path / "far.covey"))
    assert far["classes"] == [-1, 1]
    for one, other in zip(near["scores"], far["scores"], strict=True):
        assert {**one, "seconds": 0} == pytest.approx({**other, "seconds": 0})


def test_text_files_are_read_with_their_gaps_block_by_block(lake, run, monkeypatch):
    monkeypatch.setattr("covey.cli._dask._BLOCK_SIZE", 5_000)
    arguments = ("fit", "text/*.csv", *FLOCK, "--model", "text.covey")
    said = run(*arguments, cwd=lake)
    assert said.exit_code == 0, said.output
    # A class may be called so, and the table's other classes are words.
    assert "outcome: 'NA' is taken as a class" in said.stderr
    table = measured()
    table["outcome"] = table["outcome"].fillna("NA")
    assert_same(
        load(lake / "text.covey"), plainly(table, columns=("age", "Größe", "pulse", "noise"))
    )


def test_text_of_any_encoding_and_separator_is_read(tmp_path, run, monkeypatch):
    monkeypatch.setattr("covey.cli._dask._BLOCK_SIZE", 9_000)
    table = measured().drop(columns="smokes")
    for name, rows, separator, encoding in (
        ("a.csv", slice(0, 150), ";", "latin-1"),
        ("b.csv", slice(150, 300), ",", "utf-16"),
        ("c.tsv", slice(300, None), "\t", "utf-8-sig"),
    ):
        table.iloc[rows].to_csv(tmp_path / name, sep=separator, encoding=encoding, index=False)
    (tmp_path / "d.csv").write_text("")
    said = run("fit", ".", *FLOCK, cwd=tmp_path)
    assert said.exit_code == 0, said.output
    assert "a.csv is not UTF-8, so it is read as Windows-1252 (Latin-1)" in said.stderr
    columns = ("age", "Größe", "pulse", "noise")
    assert_same(
        load(tmp_path / "flock.covey"), plainly(table.dropna(subset="outcome"), columns=columns)
    )
    with open(tmp_path / "c.tsv", "a") as file:
        file.write("1\t2\n")
    said = run("fit", ".", *FLOCK, cwd=tmp_path)
    assert said.exit_code == 2
    assert "c.tsv: record 102 has 2 fields, but the header has 7; quote" in said.stderr


def test_the_default_fusion_works(lake, run):
    command = ("fit", "rows", "--target", "outcome", "--engine", "dask", "--effort", "fast")
    result = run(*command, "--model", "gate.covey", cwd=lake)
    assert result.exit_code == 0, result.output
    table = measured().dropna(subset="outcome")
    model = load(lake / "gate.covey")
    plain = plainly(table, effort="fast")
    np.testing.assert_allclose(model.predict_proba(table), plain.predict_proba(table), atol=1e-2)


def test_a_fit_that_failed_goes_on_from_its_checkpoint(lake, run, fitted, monkeypatch):
    from covey import SubsetEnsembleClassifier as Flock

    fit, calls = Flock.fit, []

    def failing(self, X, y):
        calls.append(self.checkpoint)
        if len(calls) == 3:
            raise RuntimeError("The connection to the Dask scheduler is lost.")
        return fit(self, X, y)

    arguments = ("fit", "rows", *FLOCK, "--checkpoint", "kept", "--model", "kept.covey")
    with monkeypatch.context() as patched:
        patched.setattr(Flock, "fit", failing)
        said = run(*arguments, cwd=lake)
    assert said.exit_code == 1
    assert said.stderr.endswith("covey: The connection to the Dask scheduler is lost.\n")
    assert calls == ["kept.1", None, "kept"]
    assert (lake / "kept.1").exists()
    assert run(*arguments, cwd=lake).exit_code == 0
    assert not list(lake.glob("kept*[!y]"))
    assert_same(load(lake / "kept.covey"), load(lake / "flock.covey"))


def test_blocks_of_numbers_that_are_mostly_numbers(tmp_path, run):
    rng = np.random.default_rng(1)
    x = rng.normal(size=200)
    table = pd.DataFrame({"x": x, "z": rng.normal(size=200), "y": (x > 0).astype(int)})
    table["x"] = table["x"].astype(object)
    table.loc[[3, 150], "x"] = "low"
    table.iloc[:100].to_csv(tmp_path / "a.csv", index=False)
    table.iloc[100:].to_csv(tmp_path / "b.csv", index=False)
    said = run("fit", "*.csv", "--target", "y", *FLOCK[2:], cwd=tmp_path)
    assert said.exit_code == 0, said.output
    assert "2 of 200 values of x are not numbers ('low'), read as missing." in said.stderr
    assert load(tmp_path / "flock.covey").classes_.tolist() == [0, 1]


def test_a_quantity_is_learned_as_by_the_plain_engine(lake, run):
    command = ("fit", "rows", "--target", "age", "--drop", "outcome", "--engine", "dask")
    result = run(*command, "--fuser", "mean", "--model", "age.covey", "--json", cwd=lake)
    assert result.exit_code == 0, result.output
    assert "age: 400 different numbers look like a quantity" in result.stderr
    found = json.loads(result.stdout)
    assert found["task"] == "numbers"
    table, columns = measured(), ["Größe", "pulse", "noise", "smokes"]
    held = UniformRows(0, Purpose.HOLD_OUT, 0, 0, 1).read(0, N_ROWS)[:, 0] < 0.25

    def plain(rows):
        model = SubsetEnsembleRegressor(fuser="mean", random_state=0)
        return model.fit(rows[columns], rows["age"])

    model = load(lake / "age.covey")
    np.testing.assert_allclose(model.predict(table), plain(table).predict(table), atol=1e-6)
    test = table[held]
    errors = plain(table[~held]).predict(test) - test["age"]
    flock, mean, _ = found["scores"]
    assert flock["rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-5)
    total = np.mean((test["age"] - test["age"].mean()) ** 2)
    assert flock["r2"] == pytest.approx(1 - np.mean(errors**2) / total, abs=1e-5)
    off = np.mean((test["age"] - table["age"][~held].mean()) ** 2)
    assert mean["r2"] == pytest.approx(1 - off / total, abs=1e-9)
    assert flock["low"] < flock["r2"] < flock["high"]


def test_text_codes_and_dates_are_learned_as_by_the_plain_engine(tmp_path, run, monkeypatch):
    monkeypatch.setattr("covey.cli._dask._BLOCK_SIZE", 4_000)
    rng = np.random.default_rng(3)
    town = rng.choice(["Köln", "Oslo", "Bath", None], 300)
    place = rng.choice(["01234", "04711", "00815"], 300)
    table = pd.DataFrame()
    table["seen"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, 300), "D")
    table["price"] = [f"{value:.2f} €".replace(".", ",") for value in rng.gamma(2, 50, 300)]
    table["town"], table["place"] = town, place
    risk = (table["town"] == "Köln") + (table["place"] == "04711") + 0.3 * rng.normal(size=300)
    table["outcome"] = np.where(risk > 0.8, "yes", "no")
    table.loc[17, "outcome"] = "never"  # in one row of one block
    table.loc[18, "outcome"] = "never"
    for name, ending, write in (("text", "csv", "to_csv"), ("packed", "parquet", "to_parquet")):
        (tmp_path / name).mkdir()
        for start in (0, 130):
            part = table.iloc[start : start + (130 if not start else 170)]
            getattr(part, write)(tmp_path / name / f"{start}.{ending}", index=False)
        said = run("fit", name, *FLOCK, "--report", "page.html", cwd=tmp_path)
        assert said.exit_code == 0, said.output
        model = load(tmp_path / "flock.covey")
        kinds = {"seen": "date", "price": "number", "town": "text", "place": "text"}
        assert kinds_of(model) == kinds
        read = table.assign(seen=table["seen"].astype(str)) if name == "text" else table
        flock = SubsetEnsembleClassifier(fuser="product", random_state=0)
        plain = flock.set_params(categorical_features=kinds)
        plain.fit(read[list(kinds)], read["outcome"])
        assert model.classes_.tolist() == plain.classes_.tolist() == ["never", "no", "yes"]
        found, wanted = (one.predict_proba(read[list(kinds)]) for one in (model, plain))
        np.testing.assert_allclose(found, wanted, atol=1e-8)
        assert "What does it look at" in (tmp_path / "page.html").read_text()


def test_of_a_long_table_some_rows_are_looked_at_and_all_are_learned_from(
    tmp_path, run, monkeypatch
):
    monkeypatch.setattr("covey.cli._dask._MOST_ROWS_SHOWN", 100)
    monkeypatch.setattr("covey.cli._dask._MOST_ROWS_JUDGED", 50)
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.normal(size=(N_ROWS, 2)), columns=["x", "z"])
    table["count"] = np.arange(N_ROWS)
    table["outcome"] = np.where(table["x"] + 0.3 * rng.normal(size=N_ROWS) > 0, "yes", "no")
    table.loc[[7, 203], "outcome"] = "rare"
    for start in (0, 200):
        table.iloc[start : start + 200].to_csv(tmp_path / f"{start}.csv", index=False)
    said = run("fit", "*.csv", *FLOCK, cwd=tmp_path)
    assert said.exit_code == 0, said.output
    assert "of 400 rows, taken evenly" in said.stderr
    assert "count: left out, since it names the rows" in said.stderr
    model = load(tmp_path / "flock.covey")
    assert list(kinds_of(model)) == ["x", "z"]
    assert model.classes_.tolist() == ["no", "rare", "yes"]
    assert model.evaluation_.n_rows == N_ROWS
    assert 45 <= model.evaluation_.n_held_out <= 55  # of about 100 held out
    assert "of a quarter of all rows" in model.evaluation_.how
    own = SubsetEnsembleClassifier(fuser="product", random_state=0)
    own.fit(table[["x", "z"]], table["outcome"].to_numpy(str))
    np.testing.assert_allclose(model.member_coef_, own.member_coef_, atol=1e-8)


@pytest.fixture(scope="session")
def bad(lake, tmp_path_factory):
    """Tables with which something is wrong."""
    folder = tmp_path_factory.mktemp("bad")
    table = measured()
    table.to_parquet(folder / "good.parquet")
    table.drop(columns="outcome").to_parquet(folder / "numbers.parquet")
    table.head(5).to_parquet(folder / "short.parquet")
    table[["unit", "row", "outcome"]].to_parquet(folder / "nothing.parquet")
    table.assign(outcome=None).to_parquet(folder / "unknown.parquet")
    (folder / "empty").mkdir()
    for kind in ("parquet", "csv"):
        (folder / f"lacking-{kind}").mkdir()
        for name, part in (("a", table), ("b", table.drop(columns="noise"))):
            path = folder / f"lacking-{kind}" / f"{name}.{kind}"
            part.to_parquet(path) if kind == "parquet" else part.to_csv(path, index=False)
    return folder


OUTCOME = ("--target", "outcome")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("lacking-parquet", *OUTCOME), "b.parquet has no column 'noise', but"),
        (("lacking-csv", *OUTCOME), "b.csv has no column 'noise', but"),
        (("good.parquet", "--target", "outcom"), "did you mean 'outcome'?"),
        (("good.parquet", *OUTCOME, "--drop", "agee"), "did you mean 'age'?"),
        (("good.parquet", *OUTCOME, "--keep", "outcome"), "is the target"),
        (("good.parquet", *OUTCOME, "--group", "row"), "--group: with --engine dask"),
        (("good.parquet", *OUTCOME, "--time", "row"), "--time: with --engine dask"),
        (("good.parquet", *OUTCOME, "--by", "row"), "--by: with --engine dask"),
        (("good.parquet", *OUTCOME, "--task", "numbers"), "is not made of numbers"),
        (("good.parquet", *OUTCOME, "--fuser", "knora_e"), "--fuser: knora_e learns"),
        (("good.parquet", *OUTCOME, "--fuser", "gaet"), "--fuser must be one of"),
        (("good.parquet", *OUTCOME, "--effort", "great"), "'--effort': 'great' is not one of"),
        (("good.parquet", *OUTCOME, "--model", "flock.pkl"), "ending"),
        (("numbers.parquet", "--target", "age", "--task", "classes"), "names rows rather than"),
        (("numbers.parquet", "--target", "unit"), "has the one value 1.5"),
        (("unknown.parquet", *OUTCOME), "0 rows with a target are too few"),
        (("short.parquet", *OUTCOME), "too few to learn from"),
        (("nothing.parquet", *OUTCOME), "no column is left to learn from"),
        (("none.parquet", *OUTCOME), "there is no file none.parquet"),
        (("none/*.csv", *OUTCOME), "there is no file none/*.csv"),
        (("empty", *OUTCOME), "the folder empty holds no Parquet or CSV file"),
        ((".", *OUTCOME), "holds Parquet files and text files"),
        (("-", *OUTCOME), "standard input is gone after the first time"),
        (("gopher://rows", *OUTCOME), "not a kind of address"),
        (("good.parquet", *OUTCOME, "--scheduler", "no/address"), "is not an address"),
    ],
)
def test_bad_input_is_one_sentence(bad, run, arguments, said):
    result = run("fit", *arguments, "--engine", "dask", cwd=bad)
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert "Traceback" not in result.output
    assert result.stderr.strip().splitlines()[-1].startswith("covey: ")


def test_engines_are_known_by_name_and_a_scheduler_needs_one(bad, run):
    result = run("fit", "good.parquet", *OUTCOME, "--engine", "spark", cwd=bad)
    assert result.exit_code == 2
    assert "'--engine': 'spark' is not one of 'plain', 'dask'" in result.stderr
    result = run("fit", "good.parquet", *OUTCOME, "--scheduler", "tcp://127.0.0.1:1", cwd=bad)
    assert result.exit_code == 2
    assert "--scheduler: it is for --engine dask" in result.stderr


def test_nobody_at_the_address_and_a_scheduler_without_workers(bad, run, monkeypatch):
    monkeypatch.setattr("covey.cli._dask._TIMEOUT", 0.5)
    command = ("fit", "good.parquet", *OUTCOME, "--engine", "dask", "--scheduler")
    result = run(*command, "tcp://127.0.0.1:1", cwd=bad)
    assert result.exit_code == 1
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in result.stderr
    with LocalCluster(
        n_workers=0, processes=False, protocol="tcp", dashboard_address=":0"
    ) as cluster:
        result = run(*command, cluster.scheduler_address, cwd=bad)
    assert result.exit_code == 1
    assert "has no workers" in result.stderr


def test_addresses_say_what_to_install(bad, run, monkeypatch):
    from fsspec.registry import known_implementations

    # One that nobody has installed, unlike s3:// and s3fs.
    monkeypatch.setitem(known_implementations, "lake", {"class": "lakefs.FileSystem"})
    result = run("fit", "lake://rows/*.parquet", *OUTCOME, "--engine", "dask", cwd=bad)
    assert result.exit_code == 1
    assert result.stderr == "covey: reading from lake:// needs lakefs; " + (
        "install it with: pip install lakefs.\n"
    )


def test_addresses_are_read_through_fsspec(lake, run, fitted):
    import fsspec

    memory = fsspec.filesystem("memory")
    for file in (lake / "rows").glob("*.parquet"):
        memory.pipe(f"/lake/{file.name}", file.read_bytes())
    result = run(*("fit", "memory://lake/*.parquet", *FLOCK, "--model", "memory.covey"), cwd=lake)
    assert result.exit_code == 0, result.output
    assert_same(load(lake / "memory.covey"), load(lake / "flock.covey"))
