"""Dynamic selection against DESlib 0.3.7, row by row."""

from pathlib import Path

import numpy as np
import pytest

from covey import Predictions
from covey.fusers import make_fuser

from .deslib.problems import LOADERS, N_MEMBERS, problem

LABELS = np.load(Path(__file__).parent / "deslib" / "labels.npz")
EXACT = ("ola", "lca", "knora_e", "knora_u", "knop", "des_p", "des_knn")


def predictions(pool, X):
    return Predictions(np.stack([member.predict_proba(X) for member in pool], axis=1))


@pytest.fixture(scope="module", params=LOADERS)
def case(request):
    pool, (X, y), (X_test, y_test) = problem(request.param)
    return request.param, predictions(pool, X), y, X, predictions(pool, X_test), X_test, y_test


def region_is_tied(fuser, P, X):
    """Whether another sample is as far away as the last neighbour: who is in the region?"""
    if not fuser.needs_X:
        index, rows = fuser._profile_index, fuser._profiles(P)
    else:
        index, rows = fuser._index, fuser._scaler.transform(X)
    distances, _ = index.kneighbors(rows, n_neighbors=fuser.n_neighbors + 1)
    gaps = np.diff(distances, axis=1)
    return (gaps < 1e-9 * (1 + distances[:, 1:])).any(axis=1)


def selection_is_tied(fuser, P, X):
    """Whether DES-KNN's two hurdles cut between members that are equal there."""
    region = fuser._region(P, X)
    right = fuser.right_[region]  # (n, k, K)
    accuracy = right.mean(axis=1)
    wrong = (~right).astype(float)
    together = np.einsum("nka,nkb->nab", wrong, wrong)
    faults = together.sum(axis=2) - np.einsum("naa->na", together)
    n_accurate, n_diverse = N_MEMBERS // 2, int(np.ceil(0.3 * N_MEMBERS))
    ordered = -np.sort(-accuracy, axis=1)
    tied = ordered[:, n_accurate - 1] == ordered[:, n_accurate]
    for row in np.flatnonzero(~tied):
        kept = np.argsort(-accuracy[row])[:n_accurate]
        among = np.sort(faults[row, kept])
        tied[row] = among[n_diverse - 1] == among[n_diverse]
    return tied


def votes_are_tied(fused):
    top = np.sort(fused, axis=1)
    return top[:, -1] - top[:, -2] < 1e-12


def nobody_is_competent(fuser, P, X):
    """DESlib divides nought by nought here and answers with the first class."""
    return ~fuser.competence(P, fuser._region(P, X)).any(axis=1)


@pytest.mark.parametrize("method", EXACT)
def test_method_agrees_with_deslib_row_by_row(case, method):
    name, known, y, X, P, X_test, _ = case
    fuser = make_fuser(method).fit(known, y, X)
    fused = fuser.fuse(P, X_test)
    theirs = LABELS[f"{name}-{method}"]
    differs = fused.argmax(axis=1) != theirs
    excused = region_is_tied(fuser, P, X_test) | votes_are_tied(fused)
    if method == "des_knn":
        excused |= selection_is_tied(fuser, P, X_test)
    if method in ("knora_u", "knop"):
        excused |= nobody_is_competent(fuser, P, X_test)
    print(f"{name} {method}: {differs.sum()} of {len(theirs)} rows differ, all of them ties")
    assert not (differs & ~excused).any()
    assert differs.mean() < 0.1, "ties are the exception"


def test_meta_des_is_as_accurate_as_deslibs(case):
    name, known, y, X, P, X_test, y_test = case
    fused = make_fuser("meta_des").fit(known, y, X).fuse(P, X_test)
    ours = (fused.argmax(axis=1) == y_test).mean()
    theirs = (LABELS[f"{name}-meta_des"] == y_test).mean()
    print(f"{name} meta_des: {ours:.4f}, DESlib {theirs:.4f}")
    assert abs(ours - theirs) <= 0.01
