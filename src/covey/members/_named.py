"""What ensembles of given models share: their names, their parameters, their folds."""

from __future__ import annotations

import itertools
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral
from time import perf_counter
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import TransformerMixin, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from covey._devices import returned
from covey._folds import check_cv_parameter
from covey._models import fit_on_rows, fit_with
from covey._state import Named, Parameter, refuse
from covey.members._given import GivenModels, Pairs
from covey.members._routing import RoutesMetadata

Folds = list[tuple[np.ndarray, np.ndarray]]


def is_dropped(member: Any) -> bool:
    """Whether "drop" stands for a member, which is then left out."""
    return isinstance(member, str) and member == "drop"


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str)


def _timed(owner: str | None, line: str, fit: Callable[..., Any], *args: Any) -> Any:
    """What a fit returns; if an owner is given, a line says how long it took."""
    before = perf_counter()
    fitted = fit(*args)
    if owner is not None:
        print(f"{owner}{line}: {perf_counter() - before:.1f} s", flush=True)
    return fitted


class NamedParameters:
    """A mixin for ensembles one of whose parameters is a list of members, with or without names.

    A subclass sets ``_models`` to the kind of models that it takes.
    """

    _list_name = "estimators"

    def _listed(self) -> Any:
        return getattr(self, self._list_name)

    def _list_again(self, listed: list) -> None:
        """Take other members in the place of those that ``_listed`` gives."""
        setattr(self, self._list_name, listed)

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
        own = set(self._get_param_names())
        for position, (name, _) in enumerate(self._entries()):
            if name in params and name not in own:
                replaced = list(self._listed())
                # The name is written down, lest it change with the class.
                replaced[position] = (name, params.pop(name))
                self._list_again(replaced)
        members = dict(self._entries())
        for key in params:
            name, _, parameter = key.partition("__")
            if parameter and name not in own and isinstance(members.get(name), str):
                dropped = is_dropped(members[name])
                what = "dropped" if dropped else "a name, and has no parameters"
                raise ValueError(
                    f"{key} cannot be set: the member {name!r} is {what}; give an estimator "
                    + (f"as {name} too." if dropped else "of your own in its place.")
                )
        return super().set_params(**params)


class NamedMembers(GivenModels, NamedParameters, RoutesMetadata, TransformerMixin):
    """A mixin for ensembles with ``estimators``, ``cv``, ``n_jobs`` and ``verbose``.

    They are transformers too: a subclass writes ``_as_columns`` and ``_column_names``.
    """

    # What is given to fit is requested by parts; this estimator has no request of its own.
    __metadata_request__fit = {"sample_weight": UNUSED, "groups": UNUSED}  # noqa: RUF012

    estimators: Parameter(members=True)
    named_estimators_: Named("E", make=Bunch, dropped="drop")

    _instead_of_prefit = "use prefit=False"

    def _fitted_members(self) -> list[Any]:
        """The members that are not dropped."""
        return [one for one in self.named_estimators_.values() if not is_dropped(one)]

    def _take_fitted(self) -> None:
        """Put the fitted members of a file in the place of those that were given."""
        given, fitted = self._listed(), list(self.named_estimators_.values())
        proper = isinstance(given, list) and len(given) == len(fitted)
        proper = proper and all(len(one) == 2 for one in given if isinstance(one, tuple))
        refuse("estimators", "are not those that were given.", proper)
        pairs = zip(given, fitted, strict=True)
        self._list_again(
            [(entry[0], one) if isinstance(entry, tuple) else one for entry, one in pairs]
        )

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
        inner = [get_tags(member) for _, member in self._given_rows() if hasattr(member, "fit")]
        tags.input_tags.sparse = bool(inner) and all(tag.input_tags.sparse for tag in inner)
        for name in ("allow_nan", "categorical"):
            takes = bool(inner) and all(getattr(tag.input_tags, name) for tag in inner)
            setattr(tags.input_tags, name, takes)
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _given_rows(self) -> Pairs:
        """The members that are given the rows of X."""
        return self._entries()

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

    def _names(self) -> list[str]:
        named = self.named_estimators_
        return [name for name in named if not is_dropped(named[name])]

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
        jobs = [
            (f"{name}, all rows", fit_with, clone(member), X, y, parameters[name])
            for name, member in pairs
        ]
        return self._in_parallel(jobs)

    def _fit_folds(
        self,
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
        fitted = iter(self._in_parallel(jobs))
        return [[next(fitted) for _ in pairs] for _ in folds]

    def _in_parallel(self, jobs: list[tuple[Any, ...]]) -> list:
        """What fits return that are given as a line to print, a function and its arguments."""
        owner = f"[{type(self).__name__}] " if self.verbose else None
        return Parallel(n_jobs=self.n_jobs)(delayed(_timed)(owner, *job) for job in jobs)

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

    # -- what members predict, as columns -----------------------------------------------------

    @abstractmethod
    def _as_columns(self, X: Any) -> Any:
        """The columns of validated rows."""

    @abstractmethod
    def _column_names(self, input_names: np.ndarray) -> list[str]:
        """Their names, where the columns of X have these."""

    def transform(self, X: Any) -> Any:
        """What the members predict, as columns for a model that comes after.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        columns : array or sparse matrix of shape (n_samples, n_columns)
            ``get_feature_names_out`` names them.
        """
        return returned(self._by_blocks(self._as_columns, self._check_rows(X)), X)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """The names of the columns that ``transform`` gives: of this class, member and class.

        Parameters
        ----------
        input_features : array-like of str, optional
            The names of the columns of X, if it had none when this was fitted.

        Returns
        -------
        names : ndarray of str objects
        """
        check_is_fitted(self, "fuser_")
        names = _check_feature_names_in(self, input_features)
        return np.array(self._column_names(names), dtype=object)

    def _names_of(self, labels: Iterable[Any] | None) -> list[str]:
        """A name for each member and label, or for each member."""
        owner = type(self).__name__.lower()
        if labels is None:
            return [f"{owner}_{name}" for name in self._names()]
        return [f"{owner}_{name}_{label}" for name in self._names() for label in labels]
