"""The package as a whole: names, imports, version."""

import re
import subprocess
import sys
from pathlib import Path

import mypy.api
import pytest

import covey

ROOT = Path(__file__).parent.parent

# What most users need. Whatever else is public is imported from the module that it lives in.
NAMES = """
    FlockClassifier FlockQuantiles FlockRegressor FusionClassifier FusionRegressor
    MultiviewClassifier
    SubsetEnsembleClassifier SubsetEnsembleRegressor members_of out_of_bag
    Fuser Gate GreedySelection LinearStacking Predictions Stacking fuse
    GeneralStackingClassifier GeneralStackingRegressor
    CodeBookClassifier SubsetSelector
    ConsensusClustering consensus Evaluation evaluate GroupTimeSplit check
    Report build_report load save
    to_onnx make_quarter_circle
"""


def seconds(statement):
    """The processor time of the fastest of five fresh imports."""
    script = f"import time; t = time.process_time(); {statement}; print(time.process_time() - t)"
    return min(
        float(
            subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout
        )
        for _ in range(5)
    )


def test_every_public_name_is_importable_and_documented():
    for name in covey.__all__:
        assert getattr(covey, name).__doc__ if name != "__version__" else covey.__version__
    assert set(covey.__all__) <= set(dir(covey))
    with pytest.raises(AttributeError, match="no attribute 'Flok'"):
        covey.Flok  # noqa: B018


def test_public_names_are_those_that_most_users_need():
    assert sorted(covey.__all__) == sorted(["__version__", *NAMES.split()])


@pytest.mark.parametrize("module", ["fusers", "rivals", "utils", "members", "tables"])
def test_modules_are_attributes_without_an_import_of_their_own(module, monkeypatch):
    monkeypatch.delattr(covey, module, raising=False)
    assert module in dir(covey)
    assert getattr(covey, module).__doc__


@pytest.mark.slow
def test_import_is_light():
    linear_model = seconds("import sklearn.linear_model")
    assert seconds("import covey") < 2 * linear_model
    assert seconds("from covey import FlockClassifier") < 2 * linear_model


USER_CODE = """
import numpy as np
import covey
X, y = np.zeros((10, 2)), np.zeros(10)
flock = covey.FlockClassifier().fit(X, y)
fitted: covey.FlockClassifier = flock
probabilities: np.ndarray = flock.predict_proba(X)
reasons: list[dict[str, object]] = flock.explain(X)
held_out: covey.Evaluation = covey.evaluate(flock, X, y)
wrong: str = flock.predict(X)
covey.Gate(pool="geometric")
covey.FlockClassifier(efort="best")
flock.predict_set(X, 0.9, by_clas=True)
covey.inspection.diversity(flock.member_predictions(X)).value
"""


@pytest.mark.slow
def test_type_checkers_see_what_users_call(tmp_path, monkeypatch):
    """Five lines are wrong; none of the others is, and none of covey's own."""
    monkeypatch.setenv("MYPYPATH", str(ROOT / "src"))
    (tmp_path / "user.py").write_text(USER_CODE)
    how = ("--config-file=", "--ignore-missing-imports", f"--cache-dir={tmp_path / 'cache'}")
    report, _, _ = mypy.api.run([*how, str(tmp_path / "user.py")])
    errors = re.findall(r"^(\S+):(\d+): error", report, re.M)
    assert [int(line) for _, line in errors] == list(range(10, 15)), report


def test_mathematics_does_not_import_scikit_learn():
    script = "import covey._core.algorithm1.trainer, sys; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.slow
def test_readme_examples_run(capsys):
    readme = (ROOT / "README.md").read_text()
    examples = [part.split("```")[0] for part in readme.split("```python\n")[1:]]
    names = {}
    exec(compile(examples[0], "README.md", "exec"), names)
    printed = float(capsys.readouterr().out.split()[0])
    assert printed == names["flock"].score(names["X_test"], names["y_test"])
    for example in examples[1:]:
        exec(compile(example, "README.md", "exec"), names)
    assert names["fused"].score(names["X_test"], names["y_test"]) > 0.9


@pytest.mark.slow
def test_importing_what_explains_loads_nothing_that_draws():
    script = (
        "import sys, covey.inspection; from covey.members import FlockClassifier; "
        "assert not any('display' in name for name in sys.modules if name.startswith('covey'))"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
