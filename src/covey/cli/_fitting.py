"""Models of a question, fitted on some of its rows, their folds as its groups and times want."""

import warnings
from itertools import pairwise

import numpy as np

from covey.cli._console import CommandError
from covey.cli._question import check_choice

EFFORTS = ("fast", "balanced", "best")
# Folds of a search by groups are stratified up to so many groups; beyond, that takes too long.
_MOST_GROUPS_TO_STRATIFY = 4_000


def flock(question, *, effort="balanced", fuser="gate", seed=0):
    """An unfitted flock for a question."""
    check_choice(effort, "--effort", EFFORTS)
    if question.numbers:
        from covey.fusers import make_value_fuser as check
        from covey.members import FlockRegressor as Flock
        from covey.members import SubsetEnsembleRegressor as Ensemble
    else:
        from covey.fusers import make_fuser as check
        from covey.members import FlockClassifier as Flock
        from covey.members import SubsetEnsembleClassifier as Ensemble
    if fuser == "gate":
        return Flock(effort=effort, random_state=seed)
    try:
        check(fuser, "--fuser")
    except ValueError as error:
        raise CommandError(str(error).replace(" or a Fuser", "")) from None
    if fuser == "oracle":
        raise CommandError("--fuser: the oracle reads the truth and cannot predict.")
    return Ensemble(fuser=fuser, random_state=seed)


def table_model(question, estimator, seed=0):
    """An unfitted model of the question's table around an estimator."""
    from covey.tables import TableClassifier, TableRegressor

    kind = TableRegressor if question.numbers else TableClassifier
    return kind(estimator, columns=question.kinds, random_state=seed)


def fit_rows(model, question, rows, checkpoint=None):
    """Fit a model on some rows; whatever it tunes, it tunes by groups or forward in time too.

    With a checkpoint, a fit that was killed goes on from that file.
    """
    from sklearn.base import clone

    model = clone(model)
    table, y = question.table.iloc[rows], question.y[rows]
    before = {name: model.estimator.get_params()[name] for name in _folds_of(model.estimator)}
    if before and (question.groups is not None or question.times is not None):
        folds = tuning_folds(question, rows, model.random_state)
        if folds:
            model.estimator.set_params(**dict.fromkeys(before, folds))
        elif hasattr(model.estimator, "effort"):
            # Before anything is written to a checkpoint, which another effort could not read.
            model.estimator.set_params(effort="fast")
            question.note(f"flock: {_no_folds(question)}, so it is fitted with --effort fast.")
        else:
            question.note(f"tuned models: {_no_folds(question)}; they are tuned on any rows.")
    if checkpoint is not None:
        before["checkpoint"] = None
        model.estimator.set_params(checkpoint=checkpoint)
    model.fit(table, y)
    # The folds are of these rows alone; whoever fits the model again has others.
    for estimator in (model.estimator, model.estimator_):
        estimator.set_params(**before)
    return model


def _folds_of(estimator):
    """The parameters by which an estimator is told its folds, if it tunes anything."""
    if hasattr(estimator, "effort"):
        return ["cv"] if estimator.effort != "fast" else []
    return [name for name in estimator.get_params() if name.rpartition("__")[2] == "cv"]


def _no_folds(question):
    what = "groups" if question.times is None else "times"
    return f"the rows have too few {what} to choose by any of them that are held out"


def tuning_folds(question, rows, seed=0):
    """Folds within some rows that keep groups together, or go forward in time.

    Parameters
    ----------
    question : Question
    rows : ndarray
    seed : int or None

    Returns
    -------
    folds : list of (ndarray, ndarray)
        Places in ``rows``; every class is in each part that is fitted on. Empty if there are
        no such folds.
    """
    y = question.y[rows]
    n_classes = 0 if question.numbers else len(np.unique(y))

    def whole(train):
        return question.numbers or len(np.unique(y[train])) == n_classes

    if question.times is not None:
        return [fold for fold in _forward(question.times[rows]) if whole(fold[0])]
    groups = np.unique(question.groups[rows], return_inverse=True)[1]
    n_groups = groups.max() + 1
    # Few groups may hold all rows of a class: fewer folds then.
    for n_folds in (5, 3, 2):
        if n_folds <= n_groups:
            folds = group_folds(n_folds, y, groups, question.numbers, seed)
            if all(whole(train) and len(test) for train, test in folds):
                return folds
    return []


def group_folds(n_folds, y, groups, numbers, seed):
    """Folds that keep groups together, stratified where there are classes."""
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

    if numbers or len(np.unique(groups)) > _MOST_GROUPS_TO_STRATIFY:
        splitter = GroupKFold(n_folds)
    else:
        splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # Of classes with fewer rows than folds; they are told apart as well as they can be.
        warnings.simplefilter("ignore")
        return list(splitter.split(y, y, groups))


def _forward(ranks, n_folds=5):
    """Pairs of earlier rows and the rows that come next."""
    cuts = np.quantile(ranks, np.arange(1, n_folds + 2) / (n_folds + 1), method="lower")
    cuts = np.unique(cuts)
    for low, high in pairwise(cuts):
        yield np.flatnonzero(ranks <= low), np.flatnonzero((ranks > low) & (ranks <= high))


def forward_splits(question):
    """Splits of all rows that hold out later ones, with two classes at least to train on."""
    splits = [
        (train, test)
        for train, test in _forward(question.times)
        if question.numbers or len(np.unique(question.y[train])) > 1
    ]
    if not splits:
        raise CommandError(
            "--time: the earlier rows have one value of the target only, so later ones cannot be "
            "predicted from them; leave --time out."
        )
    return splits
