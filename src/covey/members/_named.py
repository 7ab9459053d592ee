"""What ensembles of given models share: their names, their parameters, their folds."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from numbers import Integral
from time import perf_counter
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv
from sklearn.utils import Bunch, get_tags
from sklearn.utils.validation import check_is_fitted

from covey._folds import check_cv_parameter
from covey._models import fit_on_rows, fit_with
from covey.members._routing import RoutesMetadata

Folds = list[tuple[np.ndarray, np.ndarray]]
Pairs = list[tuple[str, Any]]


def is_dropped(member: Any) -> bool:
    """Whether "drop" stands for a member, which is then left out."""
    return isinstance(member, str) and member == "drop"


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str)


def _timed(line: str | None, fit: Callable[..., Any], *args: Any) -> Any:
    """What a fit returns; if there is a line, it is printed with the time that the fit took."""
    before = perf_counter()
    fitted = fit(*args)
    if line is not None:
        print(f"{line}: {perf_counter() - before:.1f} s", flush=True)
    return fitted


class NamedParameters:
    """A mixin for ensembles one of whose parameters is a list of members, with or without names.

    A subclass sets ``_models`` to the kind of models that it takes.
    """

    _list_name = "estimators"

    def _listed(self) -> Any:
        return getattr(self, self._list_name)

    def _accepts(self, member: Any) -> bool:
        return self._models.accepts(member)

    def _entries(self) -> Pairs:
        """The members as (name, estimator) pairs, unchecked; without a name, by their class."""
        given = self._listed() if isinstance(self._listed(), list | tuple) else []
        pairs: Pairs = []
        for entry in given:
            if _is_pair(entry):
                pairs.append(entry)
                continue
            kind = entry if isinstance(entry, type) else type(entry)
            known = entry if isinstance(entry, str) else kind.__name__.lower()
            taken = {name for name, _ in pairs}
            names = itertools.chain([known], (f"{known}-{n}" for n in itertools.count(2)))
            pairs.append((next(name for name in names if name not in taken), entry))
        return pairs

    def _named(self) -> Pairs:
        """The members as (name, estimator) pairs; those that are dropped are among them."""
        listed = self._listed()
        if not isinstance(listed, list | tuple) or not len(listed):
            raise ValueError(
                f"{self._list_name} must be a non-empty list of (name, estimator) pairs or "
                f"estimators, got {listed!r}."
            )
        pairs = self._entries()
        for entry, (name, member) in zip(listed, pairs, strict=True):
            if is_dropped(entry):
                raise ValueError("A member that is dropped needs its name: give (name, 'drop').")
            if not (is_dropped(member) or self._accepts(member)):
                raise ValueError(f"The member {name!r} is not a {self._models.noun}: {member!r}.")
            if "__" in name or name in self._get_param_names():
                raise ValueError(
                    f"The member name {name!r} must not contain '__', nor be a parameter of "
                    f"{type(self).__name__}."
                )
        names = [name for name, _ in pairs]
        repeated = {name for name in names if names.count(name) > 1}
        if repeated:
            raise ValueError(f"The member names must differ, but {repeated.pop()!r} is repeated.")
        if all(is_dropped(member) for _, member in pairs):
            raise ValueError(f"All {self._list_name} are dropped; at least one must be left.")
        return pairs

    @staticmethod
    def _kept(pairs: Pairs) -> Pairs:
        """The members that are not dropped."""
        return [pair for pair in pairs if not is_dropped(pair[1])]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of this estimator and, if ``deep``, its members (by name) and theirs."""
        params = super().get_params(deep=deep)
        if not deep:
            return params
        own = set(self._get_param_names())
        for name, member in self._entries():
            if name in own:  # refused by fit
                continue
            params[name] = member
            if hasattr(member, "get_params") and not isinstance(member, type):
                for key, value in member.get_params(deep=True).items():
                    params[f"{name}__{key}"] = value
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator, its members (by name) or theirs (``name__x``).

        A member that is set to "drop" is left out.
        """
        if self._list_name in params:
            setattr(self, self._list_name, params.pop(self._list_name))
        names = [name for name, _ in self._entries()]
        own = set(self._get_param_names())
        for key in [key for key in params if key in names and key not in own]:
            replaced = list(self._listed())
            # The name is written down, lest it change with the class.
            replaced[names.index(key)] = (key, params.pop(key))
            setattr(self, self._list_name, replaced)
        members = dict(self._entries())
        of_members: dict[str, dict[str, Any]] = {}
        for key in list(params):
            name, _, parameter = key.partition("__")
            if parameter and name in members and name not in own:
                if isinstance(members[name], str):
                    dropped = is_dropped(members[name])
                    what = "dropped" if dropped else "a name, and has no parameters"
                    raise ValueError(
                        f"{key} cannot be set: the member {name!r} is {what}; give an estimator "
                        + (f"as {name} too." if dropped else "of your own in its place.")
                    )
                of_members.setdefault(name, {})[parameter] = params.pop(key)
        super().set_params(**params)
        for name, parameters in of_members.items():
            members[name].set_params(**parameters)
        return self


class NamedMembers(NamedParameters, RoutesMetadata):
    """A mixin for ensembles with ``estimators``, ``cv``, ``n_jobs`` and ``verbose``."""

    _instead_of_prefit = "use prefit=False"

    @property
    def named_estimators(self) -> Bunch:
        """The members by name, as they are given."""
        named = Bunch()
        named.update(self._entries())
        return named

    @staticmethod
    def _by_name(pairs: Pairs, fitted: Sequence[Any]) -> Bunch:
        """Fitted members by name, and "drop" where one is dropped."""
        members, named = iter(fitted), Bunch()
        named.update((name, one if is_dropped(one) else next(members)) for name, one in pairs)
        return named

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = [get_tags(member) for _, member in self._entries() if hasattr(member, "fit")]
        tags.input_tags.sparse = bool(inner) and all(tag.input_tags.sparse for tag in inner)
        for name in ("allow_nan", "categorical"):
            takes = bool(inner) and all(getattr(tag.input_tags, name) for tag in inner)
            setattr(tags.input_tags, name, takes)
        return tags

    def _check_fitted(self, name: str, member: Any) -> Any:
        try:
            check_is_fitted(member)
        except NotFittedError:
            raise NotFittedError(
                f"The member {name!r} is not fitted; fit it, or {self._instead_of_prefit}."
            ) from None
        except (AttributeError, TypeError):
            pass  # no estimator of scikit-learn's kind: it will predict, or raise its own error
        return member

    # -- out of fold -------------------------------------------------------------------------

    def _folds(self, X: Any, y: np.ndarray, split: dict[str, Any]) -> Folds:
        """The folds of ``cv``, given the parameters of its ``split``, that hold a row out."""
        check_cv_parameter(self.cv)
        splitter = self._splitter(y, split.get("groups"))
        try:
            folds = list(splitter.split(X, y, **split))
        except ValueError as error:
            raise ValueError(f"{self._cv_name()} cannot split these rows: {error}") from None
        folds = [(train, np.arange(len(y))[test]) for train, test in folds]
        folds = [(train, test) for train, test in folds if len(test)]
        if not folds:
            raise ValueError(
                f"{self._cv_name()} yields no out-of-fold row to learn from; give a splitter that "
                "holds rows out."
            )
        return folds

    def _splitter(self, y: np.ndarray, groups: Any) -> Any:
        """What ``cv`` stands for; a number of folds keeps groups whole, where there are any."""
        classifier = is_classifier(self)
        if groups is not None and (self.cv is None or isinstance(self.cv, Integral)):
            # scikit-learn's own default is 5 folds.
            by_group = StratifiedGroupKFold if classifier else GroupKFold
            return by_group(5 if self.cv is None else self.cv)
        return check_cv(self.cv, y, classifier=classifier)

    def _fit_all(
        self, pairs: Pairs, X: Any, y: np.ndarray, parameters: dict[str, dict[str, Any]]
    ) -> list:
        """The members, fitted on all rows."""
        return Parallel(n_jobs=self.n_jobs)(
            delayed(_timed)(
                self._line(name, "all rows"), fit_with, clone(member), X, y, parameters[name]
            )
            for name, member in pairs
        )

    def _fit_folds(
        self,
        pairs: Pairs,
        folds: Folds,
        X: Any,
        y: np.ndarray,
        parameters: dict[str, dict[str, Any]],
    ) -> list[list]:
        """The members of each fold, fitted without the rows that it holds out."""
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(_timed)(
                self._line(name, f"fold {number} of {len(folds)}"),
                fit_on_rows,
                member,
                name,
                X,
                y,
                parameters[name],
                train,
                number,
            )
            for number, (train, _) in enumerate(folds, start=1)
            for name, member in pairs
        )
        return [fitted[start : start + len(pairs)] for start in range(0, len(fitted), len(pairs))]

    def _line(self, name: str, rows: str) -> str | None:
        """What is printed when a member is fitted, if that is wanted."""
        return f"[{type(self).__name__}] {name}, {rows}" if self.verbose else None

    def _rows_held_out(
        self, folds: Folds, n_rows: int, learner: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """The rows that a fold holds out, and the first position of each among all folds'."""
        rows, first = np.unique(np.concatenate([test for _, test in folds]), return_index=True)
        if len(rows) < n_rows:
            warnings.warn(
                f"{n_rows - len(rows)} of {n_rows} rows have no out-of-fold prediction under "
                f"{self._cv_name()}; {learner} from the other {len(rows)}.",
                UserWarning,
                stacklevel=5,
            )
        return rows, first

    def _cv_name(self) -> str:
        known = isinstance(self.cv, int) or hasattr(self.cv, "split")
        return f"cv={self.cv!r}" if known else "The given cv"
