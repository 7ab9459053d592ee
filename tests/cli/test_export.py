import numpy as np
import pandas as pd
import pytest

from covey.members import FlockClassifier
from covey.persistence import save


@pytest.mark.parametrize("double", [False, True])
def test_export_counts_infinities_as_missing_and_computes_in_double_if_asked(
    double, tmp_path, run
):
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    random = np.random.default_rng(0)
    # Seconds since 1970, of one day: single precision has them in steps of two minutes.
    seconds = 1.7e9 + random.integers(0, 86_400, 200)
    table = pd.DataFrame(
        {
            "seconds": seconds,
            "size": np.where(np.arange(200) < 20, np.nan, random.normal(size=200)),
            "town": random.choice(["Rome", "Oslo", "Bath"], 200),
        }
    )
    flock = FlockClassifier(n_estimators=2, effort="fast", random_state=0)
    model = flock.fit(table, seconds > np.median(seconds))
    save(model, tmp_path / "flock.covey")
    more = ("--double",) if double else ()
    result = run("export", "flock.covey", "--onnx", "flock.onnx", *more, cwd=tmp_path)
    assert result.exit_code == 0, result.output
    session = runtime.InferenceSession(tmp_path / "flock.onnx", providers=["CPUExecutionProvider"])
    table.loc[:3, "size"] = [np.inf, -np.inf, np.nan, 1e30]
    kind = np.float64 if double else np.float32
    feed = {name: table[[name]].to_numpy(kind) for name in ("seconds", "size")}
    feed["town"] = table[["town"]].to_numpy(dtype=object)
    (probabilities,) = session.run(["probabilities"], feed)
    rows = table.replace([np.inf, -np.inf], np.nan)
    furthest = np.abs(probabilities - model.predict_proba(rows)).max()
    assert furthest < 1e-9 if double else 1e-4 < furthest < 0.05


@pytest.fixture(scope="module")
def additive(tmp_path_factory, run):
    """A folder with a table, more rows of it, and a model of one member without products."""
    folder = tmp_path_factory.mktemp("additive")
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {"age": random.integers(20, 90, 400), "town": random.choice(["Rome", "Oslo"], 400)}
    )
    risk = table["age"] / 15 - 4 + (table["town"] == "Rome") + random.logistic(size=400)
    table["ill"] = np.where(risk > 0, "yes", "no")
    table[:200].to_csv(folder / "rows.csv", index=False)
    table[200:].to_csv(folder / "new.csv", index=False)
    fit = ("fit", "rows.csv", "--target", "ill", "--effort", "fast", "--max-members", "1")
    assert run(*fit, cwd=folder).exit_code == 0
    return folder


@pytest.mark.parametrize("name", ["card.html", "card.xlsx"])
def test_export_writes_a_scorecard_of_rows_given(additive, name, run):
    result = run("export", "flock.covey", "--scorecard", name, "--table", "new.csv", cwd=additive)
    assert result.exit_code == 0, result.output
    assert "Made from 200 rows" in " ".join(result.stderr.split())
    if name.endswith("html"):
        assert "age" in (additive / name).read_text()
    else:
        assert list(pd.read_excel(additive / name, engine="calamine")["column"][:1]) == ["age"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "give one of --onnx and --scorecard."),
        (["--onnx", "a.onnx", "--scorecard", "a.html"], "give one of --onnx and --scorecard."),
        (["--scorecard", "a.html"], "--scorecard needs --table, rows with the target"),
        (["--onnx", "a.onnx", "--table", "new.csv"], "--scorecard needs --table, rows"),
        (["--scorecard", "a.pdf", "--table", "new.csv"], "write to .html, .htm, .xlsx."),
        (["--scorecard", "a.html", "--table", "none.csv"], "none.csv"),
        (["--scorecard", "a.html", "--table", "part.csv"], "lacks the column 'age'"),
        (["--scorecard", "a.html", "--table", "one.csv"], "needs rows of both classes"),
    ],
)
def test_scorecards_that_cannot_be_written_get_one_sentence(additive, options, sentence, run):
    new = pd.read_csv(additive / "new.csv")
    new.drop(columns="age").to_csv(additive / "part.csv", index=False)
    new[new["ill"] == "yes"].to_csv(additive / "one.csv", index=False)
    result = run("export", "flock.covey", *options, cwd=additive)
    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.split())
    assert not (additive / "a.html").exists()
