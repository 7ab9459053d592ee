"""What is released: one version, a changelog of names, workflows, recipe, extras."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest
import yaml

import covey

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# The public names of 0.1.0.
NAMES_OF_0_1 = [
    "Fuser",
    "LinearMember",
    "Oracle",
    "Predictions",
    "Product",
    "SubsetEnsembleClassifier",
    "make_quarter_circle",
]


def script(name):
    """A script of release/, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "release" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_version_is_stated_once_and_others_agree():
    assert "version" not in PROJECT
    assert PROJECT["dynamic"] == ["version"]
    version = script("version")
    assert version.version() == covey.__version__
    assert set(version.named().values()) == {covey.__version__}


def test_a_tag_that_is_not_the_version_is_refused(monkeypatch, capsys):
    version = script("version")
    monkeypatch.setattr("sys.argv", ["version.py", "--tag", "v9.9.9"])
    with pytest.raises(SystemExit, match=r"the tag says 9\.9\.9"):
        version.main()
    monkeypatch.setattr("sys.argv", ["version.py", "--tag", f"v{covey.__version__}"])
    version.main()
    assert capsys.readouterr().out == f"{covey.__version__}\n"


def test_the_changelog_keeps_its_form():
    headings = re.findall(r"^## (.+)$", CHANGELOG, re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    for heading in headings[1:]:
        assert re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", heading), heading
    kinds = set(re.findall(r"^### (.+)$", CHANGELOG, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert [line for line in CHANGELOG.splitlines() if len(line) > 110] == []


def test_a_citation_has_the_date_of_a_release_only_if_there_was_one():
    """A version that was never published has no date, neither here nor in a list of works."""
    about = CHANGELOG.partition(f"## [{covey.__version__}]")[2].partition("\n## ")[0]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == covey.__version__
    assert ("date-released" in citation) == ("Not published." not in about)


def test_the_changelog_names_every_name_that_came_or_went():
    public = [name for name in covey.__all__ if name != "__version__"]
    news = CHANGELOG.partition("## [0.1.0]")[0]
    said = set(re.findall(r"[A-Za-z_]\w+", news))
    assert [name for name in public if name not in (*NAMES_OF_0_1, *said)] == []
    assert [name for name in NAMES_OF_0_1 if name not in (*public, *said)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_can_be_read_and_calls_targets_that_exist(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            for target in re.findall(r"\bmake ([\w-]+)", step.get("run", "")):
                assert target in targets
            if "uses" in step:
                assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v1)", step["uses"])


def test_the_test_matrix_is_what_the_package_promises():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())["jobs"]
    pythons = jobs["suite"]["strategy"]["matrix"]["python"]
    promised = [line.rpartition(" ")[2] for line in PROJECT["classifiers"]]
    assert pythons == [line for line in promised if re.fullmatch(r"3\.\d+", line)]
    assert PROJECT["requires-python"] == f">={pythons[0]}"
    support = (ROOT / "SUPPORT.md").read_text()
    assert f"| Python | {pythons[0]} | {pythons[-1]} |" in support
    oldest = re.search(r"scikit-learn==(\d+\.\d+)", (ROOT / "tests" / "oldest.txt").read_text())
    assert f"| scikit-learn | {oldest[1]} |" in support


def test_publishing_needs_no_password():
    release = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
    publish = release["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["needs"] == "build"
    assert "secrets." not in (ROOT / ".github" / "workflows" / "release.yml").read_text()


def test_the_recipe_wants_what_the_package_wants():
    recipe = yaml.safe_load((ROOT / "release" / "conda" / "recipe.yaml").read_text())
    run = [line for line in recipe["requirements"]["run"] if not line.startswith("python ")]
    wanted = [re.sub(r"(>=|<|==)", r" \1", line) for line in PROJECT["dependencies"]]
    assert sorted(run) == sorted(wanted)
    assert recipe["build"]["python"]["entry_points"] == [
        f"{name} = {target}" for name, target in PROJECT["scripts"].items()
    ]
    assert recipe["about"]["summary"] == PROJECT["description"]


def test_every_extra_for_users_is_tried_in_a_clean_environment():
    dist = script("dist")
    assert {"cli", "dask", "io", "onnx"} <= set(dist.extras())
    assert not set(dist.extras()) & dist.NOT_TRIED
    known = set(PROJECT["optional-dependencies"])
    assert known >= dist.NOT_TRIED


def test_the_citation_says_what_the_package_says():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["license"] == PROJECT["license"]
    assert citation["abstract"] == PROJECT["description"]
