"""What ensembles of given models share: their members' names and parameters, and their folds."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv
from sklearn.utils import Bunch, get_tags
from sklearn.utils.validation import check_is_fitted

from covey._folds import check_cv_parameter
from covey._models import fit_on_rows, fit_with
from covey._state import refuse
from covey.members._given import Pairs

Folds = list[tuple[np.ndarray, np.ndarray]]


# -- names and parameters ------------------------------------------------------------------------


def is_dropped(member: Any) -> bool:
    """Return whether "drop" stands for a member, which is then left out."""
    return isinstance(member, str) and member == "drop"


def kept(pairs: Iterable[tuple[str, Any]]) -> Pairs:
    """The members that are not dropped."""
    return [pair for pair in pairs if not is_dropped(pair[1])]


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str)


@dataclass(frozen=True)
class Roster:
    """The members that a parameter of an ensemble lists, with or without names.

    ``models`` is the kind that they are, ``words`` are texts that stand for some. With ``layered``
    the list may be one of lists of members, whose names differ across all of them.
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

    def _list_again(self, listed: list) -> None:
        """Take other members in the place of those that are listed."""
        if self.has_layers(all):
            entries = iter(listed)
            listed = [[next(entries) for _ in layer] for layer in self.given]
        setattr(self.owner, self.parameter, listed)

    def entries(self) -> Pairs:
        """The members as (name, estimator) pairs, unchecked; without a name, by their class."""
        listed = self._listed()
        pairs: Pairs = []
        for entry in listed if isinstance(listed, list | tuple) else []:
            if _is_pair(entry):
                pairs.append(entry)
                continue
            kind = entry if isinstance(entry, type) else type(entry)
            known = entry if isinstance(entry, str) else kind.__name__.lower()
            taken = {name for name, _ in pairs}
            names = itertools.chain([known], (f"{known}-{n}" for n in itertools.count(2)))
            pairs.append((next(name for name in names if name not in taken), entry))
        return pairs

    def checked(self) -> Pairs:
        """The members as (name, estimator) pairs; those that are dropped are among them."""
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
        """The members by name, as they are given."""
        named = Bunch()
        named.update(self.entries())
        return named

    def params(self) -> dict[str, Any]:
        """The members by name, and their parameters by name__parameter."""
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
                # The name is written down, lest it change with the class.
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
    """Fitted members by name, and "drop" where one is dropped."""
    members, named = iter(fitted), Bunch()
    named.update((name, one if is_dropped(one) else next(members)) for name, one in pairs)
    return named


def take_tags(tags: Any, members: Iterable[Any]) -> Any:
    """Tags of an ensemble, as those of the members say that are given its rows."""
    inner = [get_tags(member) for member in members if hasattr(member, "fit")]
    for name in ("sparse", "allow_nan", "categorical"):
        takes = bool(inner) and all(getattr(tag.input_tags, name) for tag in inner)
        setattr(tags.input_tags, name, takes)
    tags.transformer_tags.preserves_dtype = []
    return tags


def check_fitted(name: str, member: Any, instead: str) -> None:
    """Refuse a member that is to be fitted and is not; ``instead`` says what else will do."""
    try:
        check_is_fitted(member)
    except NotFittedError:
        raise NotFittedError(f"The member {name!r} is not fitted; fit it, or {instead}.") from None
    except (AttributeError, TypeError):
        pass  # no estimator of scikit-learn's kind: it will predict, or raise its own error


def column_names(owner: Any, labels: Iterable[Any] | None) -> list[str]:
    """A name for each member of an ensemble and label, or for each member."""
    kind = type(owner).__name__.lower()
    if labels is None:
        return [f"{kind}_{name}" for name in owner._names()]
    return [f"{kind}_{name}_{label}" for name in owner._names() for label in labels]


# -- out of fold, by the ``cv``, ``n_jobs`` and ``verbose`` of an ensemble -----------------------


def member_folds(owner: Any, X: Any, y: np.ndarray, split: dict[str, Any]) -> Folds:
    """The folds of ``cv``, given the parameters of its ``split``, that hold a row out."""
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
    """Return what ``cv`` stands for; a number of folds keeps groups whole, where there are any."""
    cv, classifier = owner.cv, is_classifier(owner)
    if groups is not None and (cv is None or isinstance(cv, Integral)):
        # scikit-learn's own default is 5 folds.
        return (StratifiedGroupKFold if classifier else GroupKFold)(5 if cv is None else cv)
    return check_cv(cv, y, classifier=classifier)


def cv_name(cv: Any) -> str:
    """Return what messages call a splitter."""
    known = isinstance(cv, int) or hasattr(cv, "split")
    return f"cv={cv!r}" if known else "The given cv"


def fit_all(
    owner: Any, pairs: Pairs, X: Any, y: np.ndarray, parameters: dict[str, dict[str, Any]]
) -> list:
    """The members, fitted on all rows."""
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
) -> list[list]:
    """The members of each fold, fitted without the rows that it holds out."""
    jobs = []
    for number, (train, _) in enumerate(folds, start=1):
        for name, member in pairs:
            line = f"{name}, fold {number} of {len(folds)}"
            given = X, y, parameters[name], train, number
            jobs.append((line, fit_on_rows, member, name, *given))
    fitted = iter(_in_parallel(owner, jobs))
    return [[next(fitted) for _ in pairs] for _ in folds]


def _in_parallel(owner: Any, jobs: list[tuple[Any, ...]]) -> list:
    """Return what fits return that are given as a line to print, a function and its arguments."""
    name = f"[{type(owner).__name__}] " if owner.verbose else None
    return Parallel(n_jobs=owner.n_jobs)(delayed(_timed)(name, *job) for job in jobs)


def _timed(owner: str | None, line: str, fit: Callable[..., Any], *args: Any) -> Any:
    """Return what a fit returns; if an owner is given, a line says how long it took."""
    before = perf_counter()
    fitted = fit(*args)
    if owner is not None:
        print(f"{owner}{line}: {perf_counter() - before:.1f} s", flush=True)
    return fitted


def rows_held_out(
    cv: Any, folds: Folds, n_rows: int, learner: str
) -> tuple[np.ndarray, np.ndarray]:
    """The rows that a fold holds out, and the first position of each among all folds'."""
    rows, first = np.unique(np.concatenate([test for _, test in folds]), return_index=True)
    if len(rows) < n_rows:
        warnings.warn(
            f"{n_rows - len(rows)} of {n_rows} rows have no out-of-fold prediction under "
            f"{cv_name(cv)}; {learner} from the other {len(rows)}.",
            UserWarning,
            stacklevel=5,
        )
    return rows, first
