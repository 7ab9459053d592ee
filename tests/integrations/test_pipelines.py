"""Pipelines of skrub and imbalanced-learn, and a study of optuna."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

from tests.integrations.conftest import small


def test_a_flock_ends_a_pipeline_of_skrub(classes):
    skrub = pytest.importorskip("skrub")
    X, y = classes
    town = np.array(["Rome", "Oslo", None], dtype=object)[np.arange(len(X)) % 3]
    table = X.assign(town=town, texture=X["texture"].where(X["texture"] > 12))
    pipeline = skrub.tabular_pipeline(small())
    assert cross_val_score(pipeline, table, y, cv=2).mean() > 0.8
    fitted = skrub.TableVectorizer().fit(table)
    flock = small().fit(fitted.transform(table).fillna(0), y)
    assert "town_Rome" in flock.feature_names_in_


@pytest.mark.parametrize("sampler", ["RandomOverSampler", "RandomUnderSampler", "SMOTE"])
def test_a_flock_ends_a_pipeline_of_imbalanced_learn(sampler, classes):
    over, under = pytest.importorskip("imblearn.over_sampling"), pytest.importorskip("imblearn")
    X, y = classes
    few = np.r_[np.flatnonzero(y == "ill")[:20], np.flatnonzero(y == "well")]
    kind = getattr(over, sampler, None) or getattr(under.under_sampling, sampler)
    pipeline = under.pipeline.make_pipeline(kind(random_state=0), small())
    pipeline.fit(X.iloc[few], y.iloc[few])
    plain = small().fit(X.iloc[few], y.iloc[few])
    found = [(model.predict(X) == "ill").mean() for model in (pipeline, plain)]
    assert found[0] > found[1]  # rows are in balance, so that the rare class is predicted more
    assert pipeline[-1].feature_names_in_.tolist() == list(X.columns)
    sets = pipeline[-1].calibrate(X, y).predict_set(X)
    assert sets.shape == (len(X), 2)


def test_optuna_searches_a_flock(classes):
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def loss(trial):
        flock = small(
            alpha=trial.suggest_float("alpha", 1e-4, 1.0, log=True),
            max_features=trial.suggest_int("max_features", 1, 5),
        )
        return cross_val_score(flock, *classes, cv=2, scoring="neg_log_loss").mean()

    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0)
    )
    study.optimize(loss, n_trials=4)
    assert study.best_value == max(trial.value for trial in study.trials)
    best = small(**study.best_params).fit(*classes)
    assert best.support_.sum(axis=1).max() <= study.best_params["max_features"]


def test_frames_with_categories_go_through_skrub_and_back(classes):
    skrub = pytest.importorskip("skrub")
    X, y = classes
    table = pd.DataFrame({"size": X["radius"].round().astype(int).astype(str), "area": X["area"]})
    pipeline = skrub.tabular_pipeline(small()).fit(table, y)
    assert pipeline.score(table, y) > 0.75
    assert pipeline.predict(table.iloc[:1]).shape == (1,)
