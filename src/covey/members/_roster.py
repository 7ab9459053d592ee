"""The base of ensembles of given models: their members' names and parameters, and their folds."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from covey._blocks import as_table
from covey._devices import returned
from covey._folds import Folds, check_cv_parameter
from covey._models import classifies, fit_on_rows, fit_with, regresses, weight_parameters
from covey._state import refuse
from covey._validation import check_labels, check_one_target, check_sample_weight
from covey.fusers import Fuser, Predictions
from covey.fusers._fixed import make_fuser, make_value_fuser
from covey.fusers._outputs import common_kind, gather, member_output, member_values
from covey.members._ensemble import check_numbers, check_two_classes, range_of_numbers

# -- names and parameters ------------------------------------------------------------------------


def is_dropped(member: Any) -> bool:
    """Return whether "drop" stands for a member, which is then left out."""
    return isinstance(member, str) and member == "drop"


def kept(pairs: Iterable[tuple[str, Any]]) -> Pairs:
    """Return the members that are not dropped."""
    return [pair for pair in pairs if not is_dropped(pair[1])]


@dataclass(frozen=True)
class Roster:
    """The members that a parameter of an ensemble lists, with or without names.

    ``models`` is their kind, ``words`` are texts that stand for some. With ``layered`` the list
    may be one of lists of members, whose names differ across all of them.
    """

    owner: Any
    models: Any
    parameter: str = "estimators"
    words: Collection[str] = ()
    layered: bool = False

    @property
    def given(self) -> Any:
        """The parameter as it is."""
        return getattr(self.owner, self.parameter)

    def has_layers(self, kind: Callable[[Iterable[bool]], bool] = any) -> bool:
        """Return whether any entry of the list, or all of them, are layers."""
        given = self.given if self.layered and isinstance(self.given, list | tuple) else []
        return len(given) > 0 and kind(isinstance(entry, list) for entry in given)

    def _listed(self) -> Any:
        """The members of all layers in one list."""
        return list(itertools.chain(*self.given)) if self.has_layers(all) else self.given

    def _list_again(self, listed: list[Any]) -> None:
        """Put other members in the place of those that are listed."""
        if self.has_layers(all):
            entries = iter(listed)
            listed = [[next(entries) for _ in layer] for layer in self.given]
        setattr(self.owner, self.parameter, listed)

    def entries(self) -> Pairs:
        """Return the members as (name, estimator) pairs, unchecked; names default to the class."""
        listed = self._listed()
        pairs: Pairs = []
        for entry in listed if isinstance(listed, list | tuple) else []:
            if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str):
                pairs.append(entry)
                continue
            kind = entry if isinstance(entry, type) else type(entry)
            known = entry if isinstance(entry, str) else kind.__name__.lower()
            taken = {name for name, _ in pairs}
            names = itertools.chain([known], (f"{known}-{n}" for n in itertools.count(2)))
            pairs.append((next(name for name in names if name not in taken), entry))
        return pairs

    def checked(self) -> Pairs:
        """Return the members as (name, estimator) pairs, those that are dropped included."""
        listed, own = self._listed(), self.owner._get_param_names()
        if not isinstance(listed, list | tuple) or not len(listed):
            raise ValueError(
                f"{self.parameter} must be a non-empty list of (name, estimator) pairs or "
                f"estimators, got {listed!r}."
            )
        pairs = self.entries()
        for entry, (name, member) in zip(listed, pairs, strict=True):
            if is_dropped(entry):
                raise ValueError("A member that is dropped needs its name: give (name, 'drop').")
            if not (is_dropped(member) or self._accepts(member)):
                raise ValueError(f"The member {name!r} is not a {self.models.noun}: {member!r}.")
            if "__" in name or name in own:
                raise ValueError(
                    f"The member name {name!r} must not contain '__', nor be a parameter of "
                    f"{type(self.owner).__name__}."
                )
        names = [name for name, _ in pairs]
        repeated = {name for name in names if names.count(name) > 1}
        if repeated:
            raise ValueError(f"The member names must differ, but {repeated.pop()!r} is repeated.")
        if not kept(pairs):
            raise ValueError(f"All {self.parameter} are dropped; at least one must be left.")
        return pairs

    def _accepts(self, member: Any) -> bool:
        return member in self.words if isinstance(member, str) else self.models.accepts(member)

    def named(self) -> Bunch:
        """Return the members by name, as they are given."""
        named = Bunch()
        named.update(self.entries())
        return named

    def params(self) -> dict[str, Any]:
        """Return the members by name, and their parameters by name__parameter."""
        own, params = set(self.owner._get_param_names()), {}
        for name, member in self.entries():
            if name in own:  # refused by fit
                continue
            params[name] = member
            if hasattr(member, "get_params") and not isinstance(member, type):
                for key, value in member.get_params(deep=True).items():
                    params[f"{name}__{key}"] = value
        return params

    def set_members(self, params: dict[str, Any]) -> dict[str, Any]:
        """Set the list and members by name, and return the other parameters."""
        if self.parameter in params:
            setattr(self.owner, self.parameter, params.pop(self.parameter))
        own = set(self.owner._get_param_names())
        for position, (name, _) in enumerate(self.entries()):
            if name in params and name not in own:
                replaced = list(self._listed())
                # The name is written down, so that it does not change with the class.
                replaced[position] = (name, params.pop(name))
                self._list_again(replaced)
        members = dict(self.entries())
        for key in params:
            name, _, parameter = key.partition("__")
            if parameter and name not in own and isinstance(members.get(name), str):
                dropped = is_dropped(members[name])
                what = "dropped" if dropped else "a name, and has no parameters"
                raise ValueError(
                    f"{key} cannot be set: the member {name!r} is {what}; give an estimator "
                    + (f"as {name} too." if dropped else "of your own in its place.")
                )
        return params

    def take_fitted(self, fitted: Sequence[Any]) -> None:
        """Put the fitted members of a file in the place of those that were given."""
        given = self._listed()
        proper = isinstance(given, list) and len(given) == len(fitted)
        proper = proper and all(len(one) == 2 for one in given if isinstance(one, tuple))
        refuse(self.parameter, "are not those that were given.", proper)
        pairs = zip(given, fitted, strict=True)
        self._list_again(
            [(entry[0], one) if isinstance(entry, tuple) else one for entry, one in pairs]
        )


def by_name(pairs: Pairs, fitted: Iterable[Any]) -> Bunch:
    """Return fitted members by name, and "drop" where one is dropped."""
    members, named = iter(fitted), Bunch()
    named.update((name, one if is_dropped(one) else next(members)) for name, one in pairs)
    return named


def take_tags(tags: Any, members: Iterable[Any]) -> Any:
    """Return tags of an ensemble, as the tags of the members allow that read its rows."""
    inner = [get_tags(member) for member in members if hasattr(member, "fit")]
    for name in ("sparse", "allow_nan", "categorical"):
        takes = bool(inner) and all(getattr(tag.input_tags, name) for tag in inner)
        setattr(tags.input_tags, name, takes)
    tags.transformer_tags.preserves_dtype = []
    return tags


def check_fitted(name: str, member: Any, instead: str) -> None:
    """Refuse a member that must be fitted and is not; ``instead`` says what to do instead."""
    try:
        check_is_fitted(member)
    except NotFittedError:
        raise NotFittedError(f"The member {name!r} is not fitted; fit it, or {instead}.") from None
    except (AttributeError, TypeError):
        pass  # it is not scikit-learn's: it will predict, or raise its own error


# -- methods of all ensembles of models that a user lists, by layers or not ---------------------


def named_estimators(self: Any) -> Bunch:
    """The members of all layers by name, as they are given."""
    return self._roster.named()


def get_metadata_routing(self: Any) -> MetadataRouter:
    """Return which metadata members, splitter and all else that is fitted request.

    A number of folds requests groups: then no group is split.

    Returns
    -------
    routing : MetadataRouter
    """
    members, parts = self._parts()
    return routing_of(self, members | parts)


def transform(self: Any, X: Any) -> Any:
    """Return the members' predictions, as columns for a model that comes after.

    For a stack these are all columns that the model on top sees.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

    Returns
    -------
    columns : array or sparse matrix of shape (n_samples, n_columns)
        ``get_feature_names_out`` names them.
    """
    return returned(self._by_blocks(self._as_columns, self._check_rows(X)), X)


def get_feature_names_out(self: Any, input_features: ArrayLike | None = None) -> np.ndarray:
    """Return the names of the columns of ``transform``: of this class, member and class.

    Parameters
    ----------
    input_features : array-like of str, optional
        The names of the columns of X, if it had none when this was fitted.

    Returns
    -------
    names : ndarray of str objects
    """
    check_is_fitted(self, "fuser_")
    input_names = _check_feature_names_in(self, input_features)
    return np.array(self._column_names(input_names), dtype=object)


def column_names(owner: Any, labels: Iterable[Any] | None) -> list[str]:
    """Return a name for each member of an ensemble and label, or for each member."""
    kind = type(owner).__name__.lower()
    if labels is None:
        return [f"{kind}_{name}" for name in owner._names()]
    return [f"{kind}_{name}_{label}" for name in owner._names() for label in labels]


# -- out of fold, by the ``cv``, ``n_jobs`` and ``verbose`` of an ensemble -----------------------


def member_folds(owner: Any, X: Any, y: np.ndarray, split: dict[str, Any]) -> Folds:
    """Return the folds of ``cv``, given the parameters of its ``split``, that hold a row out."""
    check_cv_parameter(owner.cv)
    splitter = _splitter(owner, y, split.get("groups"))
    try:
        folds = list(splitter.split(X, y, **split))
    except ValueError as error:
        raise ValueError(f"{cv_name(owner.cv)} cannot split these rows: {error}") from None
    folds = [(train, np.arange(len(y))[test]) for train, test in folds]
    folds = [(train, test) for train, test in folds if len(test)]
    if not folds:
        raise ValueError(
            f"{cv_name(owner.cv)} yields no out-of-fold row to learn from; give a splitter that "
            "holds rows out."
        )
    return folds


def _splitter(owner: Any, y: np.ndarray, groups: Any) -> Any:
    """Return the splitter of ``cv``; a number of folds keeps groups whole, if there are any."""
    cv, classifier = owner.cv, is_classifier(owner)
    if groups is not None and (cv is None or isinstance(cv, Integral)):
        # scikit-learn's own default is 5 folds.
        return (StratifiedGroupKFold if classifier else GroupKFold)(5 if cv is None else cv)
    return check_cv(cv, y, classifier=classifier)


def cv_name(cv: Any) -> str:
    """Return the name of a splitter in messages."""
    known = isinstance(cv, int) or hasattr(cv, "split")
    return f"cv={cv!r}" if known else "The given cv"


def fit_all(
    owner: Any, pairs: Pairs, X: Any, y: np.ndarray, parameters: dict[str, dict[str, Any]]
) -> list[Any]:
    """Return the members, fitted on all rows."""
    jobs = [
        (f"{name}, all rows", fit_with, clone(member), X, y, parameters[name])
        for name, member in pairs
    ]
    return _in_parallel(owner, jobs)


def fit_folds(
    owner: Any,
    pairs: Pairs,
    folds: Folds,
    X: Any,
    y: np.ndarray,
    parameters: dict[str, dict[str, Any]],
) -> list[list[Any]]:
    """Return the members of each fold, fitted without the rows that it holds out."""
    jobs = []
    for number, (train, _) in enumerate(folds, start=1):
        for name, member in pairs:
            line = f"{name}, fold {number} of {len(folds)}"
            given = X, y, parameters[name], train, number
            jobs.append((line, fit_on_rows, member, name, *given))
    fitted = iter(_in_parallel(owner, jobs))
    return [[next(fitted) for _ in pairs] for _ in folds]


def _in_parallel(owner: Any, jobs: list[tuple[Any, ...]]) -> list[Any]:
    """Return the results of fits, given as a line to print, a function and its arguments."""
    name = f"[{type(owner).__name__}] " if owner.verbose else None
    return Parallel(n_jobs=owner.n_jobs)(delayed(_timed)(name, *job) for job in jobs)


def _timed(owner: str | None, line: str, fit: Callable[..., Any], *args: Any) -> Any:
    """Return the result of a fit; if an owner is given, print a line with its seconds."""
    before = perf_counter()
    fitted = fit(*args)
    if owner is not None:
        print(f"{owner}{line}: {perf_counter() - before:.1f} s", flush=True)
    return fitted


def rows_held_out(
    cv: Any, folds: Folds, n_rows: int, learner: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows that a fold holds out, and the first position of each among all folds'."""
    rows, first = np.unique(np.concatenate([test for _, test in folds]), return_index=True)
    if len(rows) < n_rows:
        warnings.warn(
            f"{n_rows - len(rows)} of {n_rows} rows have no out-of-fold prediction under "
            f"{cv_name(cv)}; {learner} from the other {len(rows)}.",
            UserWarning,
            stacklevel=5,
        )
    return rows, first


# -- The base of ensembles of models of any make, be they classifiers or regressors ------------

Pairs = list[tuple[str, Any]]


class Classifiers:
    """Models that predict classes: how they are checked, read and fused."""

    noun = "classifier"
    accepts = staticmethod(classifies)
    make_fuser = staticmethod(make_fuser)

    @staticmethod
    def check_target(y: ArrayLike) -> np.ndarray:
        """Check labels, one per row."""
        check_one_target(y)
        y = column_or_1d(y, warn=True)
        check_labels(y)
        return y

    @staticmethod
    def classes(owner: str, pairs: Pairs, y: np.ndarray, prefit: bool) -> np.ndarray:
        """Return all classes of y and of models that are already fitted."""
        fitted = [pair for pair in pairs if prefit or isinstance(pair[1], FrozenEstimator)]
        classes = _joint_classes(fitted, y) if fitted else np.unique(y)
        if not prefit:
            check_two_classes(owner, classes, np.ones(len(classes)))
        return classes

    @staticmethod
    def kind_for(fuser: Fuser, models: Sequence[Any], names: Sequence[str]) -> str:
        """Return the kind of the models' predictions for a fuser."""
        return common_kind(models, names, fuser)

    @staticmethod
    def predictions(
        models: Sequence[Any], names: Sequence[str], X: Any, kind: str, classes: np.ndarray
    ) -> Predictions:
        """Return the models' predictions of rows."""
        outputs = [
            member_output(model, X, classes, kind, name)
            for name, model in zip(names, models, strict=True)
        ]
        return gather(outputs, classes, names, kind)

    @staticmethod
    def blank(fuser: Fuser, names: Sequence[str], classes: np.ndarray) -> Predictions:
        """Return one row that such models could predict, to check a fuser's parameters."""
        if fuser.kinds[0] == "label":
            return Predictions(np.full((1, len(names)), classes[0]), classes, names)
        even = np.full((1, len(names), len(classes)), 1.0 / len(classes))
        return Predictions(even, classes, names)


class Regressors:
    """Models that predict numbers: how they are checked, read and fused."""

    noun = "regressor"
    accepts = staticmethod(regresses)
    make_fuser = staticmethod(make_value_fuser)
    check_target = staticmethod(check_numbers)

    @staticmethod
    def classes(owner: str, pairs: Pairs, y: np.ndarray, prefit: bool) -> None:
        """Return None: numbers have no classes."""

    @staticmethod
    def kind_for(fuser: Fuser, models: Sequence[Any], names: Sequence[str]) -> str:
        """Return the kind of the models' predictions for a fuser."""
        return "value"

    @staticmethod
    def predictions(
        models: Sequence[Any], names: Sequence[str], X: Any, kind: str, classes: None
    ) -> Predictions:
        """Return the models' predictions of rows."""
        return Predictions(member_values(models, names, X), names=names, kind=kind)

    @staticmethod
    def blank(fuser: Fuser, names: Sequence[str], classes: None) -> Predictions:
        """Return one row that such models could predict, to check a fuser's parameters."""
        return Predictions(np.zeros((1, len(names))), names=names, kind="value")


def _joint_classes(pairs: Pairs, y: np.ndarray) -> np.ndarray:
    """Return all classes of fitted models and of y; refuse a model that shares none with y."""
    labels = np.unique(y)
    given = [getattr(model, "classes_", None) for _, model in pairs]
    known = [labels if classes is None else np.asarray(classes) for classes in given]
    for (name, _), classes in zip(pairs, known, strict=True):
        comparable = classes.dtype.kind in "OUS" or labels.dtype.kind not in "OUS"
        if not (comparable and np.isin(classes, labels).any()):
            raise ValueError(
                f"The member {name!r} predicts the classes {classes.tolist()}, but y holds "
                f"{labels.tolist()}; give labels as the members know them."
            )
    return np.unique(np.concatenate([labels, *known]))


def check_training_table(
    owner: Any,
    models: Any,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    reset: bool = True,
) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Return unchanged rows for the models, their target, and weights if there are any."""
    X, y = as_table(X), models.check_target(y)
    check_consistent_length(X, y)
    validate_data(owner, X, reset=reset, skip_check_array=True)
    weight = None if sample_weight is None else check_sample_weight(sample_weight, len(y))
    return X, y, weight


def training_table_of(
    owner: Any, models: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Return such rows, after learning their typical values for the ensemble."""
    X, y, weight = check_training_table(owner, models, X, y, sample_weight)
    owner._keep_seen(X, weight)
    owner._keep_rows(X, y, weight)
    if models is Regressors:
        used = y if weight is None else y[weight > 0]
        owner.y_range_ = range_of_numbers(len(used), used.min(), used.max())
    return X, y, weight


# -- The metadata of a fit, such as weights and groups, that each part of an ensemble gets -----


class FitParameters(NamedTuple):
    """Parameters of the ``fit`` of members and of other parts, by name, and of ``split``."""

    members: dict[str, dict[str, Any]]
    parts: dict[str, dict[str, Any]]
    split: dict[str, Any]


def routing_of(owner: Any, parts: Mapping[str, Any]) -> MetadataRouter:
    """Return the metadata that the fitted parts of an ensemble request, and its splitter.

    A number of folds requests groups: then no group is split.
    """
    router = MetadataRouter(owner=type(owner).__name__).add_self_request(owner)
    for name, part in parts.items():
        methods = MethodMapping().add(caller="fit", callee="fit")
        if hasattr(owner, "partial_fit"):
            methods.add(caller="partial_fit", callee="partial_fit")
        if name == "final_estimator":
            methods.add(caller="predict", callee="predict")
        router.add(**{name: part}, method_mapping=methods)
    splitter = _splitter_asked(owner)
    if splitter is not None:
        splits = MethodMapping().add(caller="fit", callee="split")
        router.add(cv=splitter, method_mapping=splits)
    return router


def _splitter_asked(owner: Any) -> Any:
    """Return the splitter that may request groups; a list of splits is none."""
    cv = getattr(owner, "cv", ())
    if cv is None or isinstance(cv, Integral):
        return StratifiedGroupKFold()
    # Text has a method split, too.
    return cv if hasattr(cv, "split") and not isinstance(cv, str) else None


def fit_parameters(
    owner: Any,
    members: Mapping[str, Any],
    parts: Mapping[str, Any],
    weight: np.ndarray | None,
    groups: Any,
    metadata: dict[str, Any],
    method: str = "fit",
) -> FitParameters:
    """Return the part of the metadata of a method, such as ``fit``, that each part gets.

    With scikit-learn's ``enable_metadata_routing`` every part gets what it requests. Without,
    all get the weights, and the splitter gets the groups.
    """
    given = {"sample_weight": weight, "groups": groups, **metadata}
    given = {name: value for name, value in given.items() if value is not None}
    if get_config()["enable_metadata_routing"]:
        routed = process_routing(owner, method, **given)
        return FitParameters(
            {name: dict(routed[name][method]) for name in members},
            {name: dict(routed[name][method]) for name in parts},
            {} if _splitter_asked(owner) is None else dict(routed["cv"]["split"]),
        )
    if metadata:
        raise ValueError(
            f"Passing {', '.join(metadata)} to the parts of {type(owner).__name__} is only "
            "supported if enable_metadata_routing=True, which sklearn.set_config sets."
        )
    weights = {} if weight is None else {"sample_weight": weight}
    return FitParameters(
        {name: weight_parameters(member, name, weight) for name, member in members.items()},
        {
            name: weights if has_fit_parameter(part, "sample_weight") else {}
            for name, part in parts.items()
        },
        {} if groups is None else {"groups": groups},
    )


def parameters_of_estimator(
    owner: Any,
    estimator: Any,
    weight: np.ndarray | None,
    groups: Any,
    metadata: dict[str, Any],
    method: str = "fit",
) -> dict[str, Any]:
    """Return the part of the metadata that the one ``estimator`` of an ensemble gets."""
    of = {"estimator": estimator}, dict[str, Any](), weight, groups, metadata, method
    given = fit_parameters(owner, *of)
    # Without routing, the estimator gets what a splitter would get.
    return given.members["estimator"] | given.split
