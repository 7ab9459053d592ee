"""Speech by speaker: who is compared with whom, on which rows, and what counts as which group."""

import numpy as np
import pytest

from covey import SubsetEnsembleClassifier
from reproduction import data, speech
from reproduction.__main__ import main
from reproduction.data import split_rows


@pytest.fixture(scope="module")
def voices(tmp_path_factory):
    """A table in which pitch alone tells the classes apart."""
    draw = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("speech") / "voices.csv"
    lines = ["speaker,target,f0_mean,f0_std,logE_mean,mfcc1_mean"]
    for row in range(240):
        label = row % 3
        numbers = [draw.normal(2.5 * label), *draw.normal(size=3)]
        lines.append(f"s{row % 12},{'abc'[label]}," + ",".join(f"{one:.6g}" for one in numbers))
    path.write_text("\n".join(lines))
    yield str(path)
    data.load.cache_clear()


def test_every_method_is_judged_and_the_flock_looks_at_pitch(voices):
    found = {name: value for _, name, value in speech.work(f"speech:{voices}", 0, [0])}
    for method in speech.METHODS:
        assert 0.6 < found[f"{method}_recall"] <= 1.0, method
    shares = {name: value for name, value in found.items() if name.startswith("importance_")}
    assert set(shares) == {"importance_f0", "importance_logE", "importance_mfcc1"}
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["importance_f0"] > 0.7


def test_no_speaker_is_heard_in_training_and_test(voices):
    table = data.load(f"speech:{voices}")
    for run in range(5):
        training, _, test = split_rows(table, "speaker", 0, speech.PURPOSE, run)
        assert not set(table.speakers[training]) & set(table.speakers[test])


def test_equal_weights_are_those_of_the_estimator(voices):
    table = data.load(f"speech:{voices}")
    grown = SubsetEnsembleClassifier.paper(n_estimators=4, select_size=None, random_state=0)
    grown.fit(table.X, table.codes)
    members = type("Grown", (), {"coef": grown.member_coef_, "intercept": grown.member_intercept_})
    np.testing.assert_array_equal(speech._fused(members, table.X, 4), grown.predict(table.X))


def test_the_mean_recall_counts_classes_alike():
    truth = np.array([0] * 8 + [1] * 2)
    assert speech._recall(np.zeros(10, dtype=int), truth) == 0.5


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("f0_semitone_mean", "pitch"),
        ("chroma_std", "pitch"),
        ("logE_p90", "energy"),
        ("rms_mean", "energy"),
        ("mfcc_3_std", "cepstrum"),
        ("dmfcc11_slope", "cepstrum"),
        ("logflatness_mean", "spectrum"),
        ("spectral_centroid_mean", "spectrum"),
        ("audio_duration", "time"),
        ("wind", "other"),
    ],
)
def test_features_are_known_by_their_names(name, group):
    assert speech.group_of(name) == group


def test_speech_without_speakers_is_refused_in_one_sentence(capsys):
    assert main(["speech"]) == 2
    assert "needs a table with a column 'speaker'" in capsys.readouterr().err
