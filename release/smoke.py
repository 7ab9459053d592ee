"""Tries an installed covey, and what its extras bring: ``python smoke.py [EXTRA ...]``.

It runs where nothing but covey is installed, so it imports nothing of the repository. Without an
extra it sees to it that what needs one says which.
"""

import re
import subprocess
import sys
import sysconfig
import tempfile
from importlib import import_module, metadata
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

import covey

ADDRESS = re.compile(r"http://\S+/")
PROGRAM = str(Path(sysconfig.get_path("scripts")) / "covey")


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout


def plain(X, y, flock, folder):
    """What every installation does."""
    assert covey.__version__ == metadata.version("covey")
    assert flock.score(X, y) > 0.9
    assert flock.explain(X[:1])
    assert "member" in flock.summary()
    covey.save(flock, folder / "flock.covey")
    again = covey.load(folder / "flock.covey")
    assert (again.predict_proba(X) == flock.predict_proba(X)).all()
    fused = covey.FusionClassifier([flock], fuser="mean").fit(X, y)
    assert fused.score(X, y) > 0.9
    assert (Path(covey.__file__).parent / "py.typed").exists()


def refused(X, y, flock, folder):
    """Without extras: one sentence that names the one that is missing."""
    for extra, attempt in {
        "onnx": lambda: covey.to_onnx(flock),
        "cli": lambda: flock.report(X, y),
    }.items():
        try:
            attempt()
        except ImportError as error:
            said = str(error)
        else:
            raise AssertionError(f"this environment has what the extra {extra!r} brings")
        assert extra in said, f"the error for {extra!r} does not name it: {said}"
    done = subprocess.run([PROGRAM, "fit"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'pip install "covey[cli]"' in done.stderr, done.stderr


def cli(X, y, flock, folder):
    assert run(PROGRAM, "--version").strip() == f"covey {covey.__version__}"
    run(PROGRAM, "demo", "--table", "wine.csv", cwd=folder)
    fit = ("fit", "wine.csv", "--target", "cultivar", "--effort", "fast")
    run(PROGRAM, *fit, "--model", "wine.covey", "--report", "wine.html", cwd=folder)
    run(PROGRAM, "predict", "wine.covey", "wine.csv", "--out", "answers.csv", cwd=folder)
    assert (folder / "answers.csv").read_text().count("\n") == 179
    assert "<html" in (folder / "wine.html").read_text()


def io(X, y, flock, folder):
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    fused = covey.FusionClassifier([LinearDiscriminantAnalysis()], fuser="mean").fit(X, y)
    covey.save(fused, folder / "trusted.covey", trusted=True)
    known = covey.persistence.trusted_types(fused)
    again = covey.load(folder / "trusted.covey", trusted=known)
    assert (again.predict(X) == fused.predict(X)).all()


def onnx(X, y, flock, folder):
    import onnxruntime

    graph = covey.to_onnx(flock).SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    _, probabilities = session.run(None, {"X": X.astype(np.float32)})
    assert abs(probabilities - flock.predict_proba(X)).max() < 1e-4


def dask(X, y, flock, folder):
    import dask.array as da

    blocks = da.from_array(X, chunks=(50, 4)), da.from_array(y, chunks=50)
    far = covey.SubsetEnsembleClassifier(3, random_state=0).fit(*blocks)
    near = covey.SubsetEnsembleClassifier(3, random_state=0).fit(X, y)
    assert abs(far.predict_proba(X) - near.predict_proba(X)).max() < 1e-6


def serve(X, y, flock, folder):
    from urllib.request import urlopen

    cli(X, y, flock, folder)
    command = [PROGRAM, "serve", "wine.covey", "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=folder, **pipes) as server:
        try:
            address = next(found[0] for line in server.stdout if (found := ADDRESS.search(line)))
            with urlopen(f"{address}health", timeout=60) as answer:
                assert answer.status == 200
        finally:
            server.terminate()
            said, _ = server.communicate(timeout=60)  # a pipe that nobody reads would be an error
    assert server.returncode == 0, said


def imports(extra):
    """For an extra without a function here: what it requires can be imported, under some name."""
    wanted = [
        line.split(";")[0]
        for line in metadata.requires("covey") or ()
        if line.replace('"', "'").endswith(f"extra == '{extra}'")
    ]
    assert wanted, f"covey has no extra {extra!r}"
    for line in wanted:
        name = line.split("[")[0].split(">")[0].split("=")[0].split("<")[0].strip()
        modules = metadata.distribution(name).read_text("top_level.txt") or name.replace("-", "_")
        import_module(modules.split()[0])


def main():
    extras = sys.argv[1:]
    X, y = load_iris(return_X_y=True)
    flock = covey.FlockClassifier(effort="fast", random_state=0).fit(X, y)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain(X, y, flock, folder)
        if not extras:
            refused(X, y, flock, folder)
        for extra in extras:
            tried = globals().get(extra)
            tried(X, y, flock, folder) if callable(tried) else imports(extra)
    print(f"covey {covey.__version__} with {', '.join(extras) or 'no extra'}: well")


if __name__ == "__main__":
    main()
