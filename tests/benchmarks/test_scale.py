"""Tables of every size, fits in processes of their own, and the report of both."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from benchmarks.scale import methods, process, report, run, tables

# -- tables ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["1000x30x2", "300x2325x2", "1080x1024x20", "2000x30x50"])
def test_a_table_has_its_shape_and_every_class(name):
    n_rows, n_columns, n_classes = tables.shape(name)
    X, y = tables.train(name, 0)
    assert X.shape == (n_rows, n_columns)
    np.testing.assert_array_equal(np.unique(y), np.arange(n_classes))


def test_a_longer_table_begins_with_the_rows_of_a_shorter():
    short, labels = tables.train("700x30x3", 0)
    long, more_labels = tables.train("2500x30x3", 0)
    np.testing.assert_allclose(long[:700], short)
    np.testing.assert_array_equal(more_labels[:700], labels)


def test_repeats_have_other_rows_and_the_same_test_rows():
    assert (tables.train("50x10x2", 0)[0] != tables.train("50x10x2", 1)[0]).all()
    first, again = (tables.held_out("50x10x2", repeat, 40)[0] for repeat in (0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != tables.train("50x10x2", 0)[0][:40]).all()


def test_at_least_two_fifths_of_the_columns_tell_nothing():
    known = tables.signal(30, 3)
    X, _ = tables.held_out("50x30x3", 0, 50)
    noise = np.setdiff1d(np.arange(30), known.chosen)
    assert len(noise) == 12
    X_other = X.copy()
    X_other[:, noise] = 7.0
    np.testing.assert_array_equal(known.logits(X), known.logits(X_other))


def test_each_part_has_a_quarter_of_the_variance():
    known = tables.signal(30, 6)
    X, _ = tables.held_out("9x30x6", 0, 20_000)
    parts = tables._parts(X[:, known.chosen], known.thresholds)
    logits = [part @ coef for part, coef in zip(parts, known.coef, strict=True)]
    spread = [(one - one.mean(axis=0)).std() for one in logits]
    np.testing.assert_allclose(spread, np.mean(spread), rtol=0.1)


def test_nothing_learned_beats_the_truth_and_trees_beat_a_line():
    name = "20000x10x2"
    (X, y), (X_test, y_test) = tables.train(name, 0), tables.held_out(name, 0)
    loss = {
        model: log_loss(y_test, model.fit(X, y).predict_proba(X_test))
        for model in (LogisticRegression(), HistGradientBoostingClassifier())
    }
    line, trees = loss.values()
    truth, accuracy = tables.truth(name)
    assert truth < trees < 0.9 * line
    assert 0.8 < accuracy < 0.95


# -- processes ---------------------------------------------------------------------------------


def script(tmp_path, *lines):
    path = tmp_path / "measured"
    start = f"""
import json, time
file = open({str(path)!r}, "a", buffering=1)
def say(**line): print(json.dumps(line), file=file)
"""
    return process.watched([sys.executable, "-c", start + "\n".join(lines)], path, limit=0.5)


def test_a_fit_beyond_the_limit_is_ended_and_said(tmp_path):
    line = script(tmp_path, "say(phase='fit')", "time.sleep(60)")
    assert line == {"error": "fit did not end in 0.5 s"}


def test_what_was_measured_before_the_limit_is_kept(tmp_path):
    line = script(
        tmp_path,
        "say(phase='fit')",
        "say(fit_seconds=2)",
        "say(phase='prediction')",
        "time.sleep(60)",
    )
    assert line == {"fit_seconds": 2, "error": "prediction did not end in 0.5 s"}


def test_the_limit_counts_from_the_start_of_the_fit(tmp_path):
    line = script(tmp_path, "time.sleep(0.7)", "say(phase='end')")
    assert line == {"error": ""}


def test_a_process_that_dies_is_an_error(tmp_path):
    line = script(tmp_path, "say(phase='fit')", "raise SystemExit(3)")
    assert line == {"error": "fit ended with status 3"}


def test_limits_of_threads_are_taken_away(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert "OMP_NUM_THREADS" not in process.environment()


@pytest.mark.slow
def test_a_fit_in_a_process_of_its_own_has_every_measure():
    line = process.fit("wine", methods.LOGISTIC, 0)
    assert line["error"] == ""
    assert set(run.MEASURES) - set(line) <= {"others_seconds"}
    assert line["accuracy"] > 0.9
    assert 0 < line["fit_seconds"] < 30


def test_what_did_not_end_is_not_tried_again(monkeypatch):
    tried = []

    def fit(*arguments):
        tried.append(arguments)
        return {"error": "fit did not end in 9 s"}

    monkeypatch.setattr(process, "fit", fit)
    earlier = [{"table": "t", "method": "known", "error": "fit did not end in 9 s"}]
    fits = run.Fits(9, earlier)
    assert fits("t", "known", 1) == {"error": "fit did not end in 9 s"}
    assert not tried
    fits("t", "new", 0)
    fits("t", "new", 1)
    assert tried == [("t", "new", 0, 9)]


# -- the report --------------------------------------------------------------------------------


def line(table, method, repeat, seconds, error=None):
    measured = dict.fromkeys(report.NUMBERS, seconds) | {"others_seconds": 0.5 * seconds}
    return {"table": table, "method": method, "repeat": repeat, "error": error} | measured


def frame(*lines):
    return pd.DataFrame(lines).astype({"error": "string"})


def test_ratios_are_taken_within_a_repeat():
    results = frame(
        *(line("a", methods.LIGHTGBM, repeat, s) for repeat, s in enumerate((1, 10, 100))),
        *(line("a", methods.COVEY, repeat, s) for repeat, s in enumerate((2, 30, 400))),
    )
    assert report.ratios(results, methods.LIGHTGBM)["a", methods.COVEY] == 3


def test_the_slope_is_the_power_of_the_rows():
    rows = np.array([1e4, 1e5, 1e6])
    assert report.slope(rows, 3e-5 * rows**1.25) == pytest.approx(1.25)


def test_others_are_counted_in_cores():
    assert report.others(frame(line("a", "b", 0, 2), line("a", "c", 0, 6))) == 0.5


@pytest.mark.slow
def test_a_fit_without_end_is_in_the_table_and_not_in_the_slope(tmp_path):
    lines = [
        line(name, method, 0, tables.shape(name)[0] / 1000)
        for name in tables.LONGER
        for method in methods.OF_SIZE
    ]
    longest = next(
        one for one in lines if (one["table"], one["method"]) == ("1000000x30x2", methods.COVEY)
    )
    longest |= dict.fromkeys(report.NUMBERS, np.nan) | {"error": "fit did not end in 300 s"}
    results = frame(*lines)
    text = "\n".join(report.compose(results, "make"))
    assert "| covey | fit did not end in 300 s |" in text
    assert "| covey | 100,000 | 1.00 |" in text
    assert "| LightGBM | 1,000,000 | 1.00 |" in text
    rows, limits = report.without_end(results, methods.COVEY)
    assert (rows.tolist(), limits.tolist()) == ([1e6], [300])
    report.draw(results, tmp_path / "rows.png")
    assert (tmp_path / "rows.png").stat().st_size > 10_000
