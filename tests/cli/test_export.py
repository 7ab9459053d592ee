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
