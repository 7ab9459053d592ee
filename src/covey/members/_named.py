"""What ensembles of given models share: their names, their parameters, their folds."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from covey._models import fit_on_rows

Folds = list[tuple[np.ndarray, np.ndarray]]


class NamedMembers:
    """A mixin for ensembles with the parameters ``estimators``, ``cv`` and ``n_jobs``.

    A subclass sets ``_models`` to the kind of models that it takes.
    """

    def _named(self) -> list[tuple[str, Any]]:
        """The members as (name, estimator) pairs; members without a name get their class's."""
        if not isinstance(self.estimators, list | tuple) or not len(self.estimators):
            raise ValueError(
                "estimators must be a non-empty list of (name, estimator) pairs or estimators, "
                f"got {self.estimators!r}."
            )
        pairs = []
        for entry in self.estimators:
            if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str):
                name, member = entry
            else:
                name, member = type(entry).__name__.lower(), entry
                taken = {other for other, _ in pairs}
                number = 2
                while name in taken:
                    name = f"{type(entry).__name__.lower()}-{number}"
                    number += 1
            if not self._models.accepts(member):
                raise ValueError(f"The member {name!r} is not a {self._models.noun}: {member!r}.")
            if "__" in name or name in self._get_param_names():
                raise ValueError(
                    f"The member name {name!r} must not contain '__', nor be a parameter of "
                    f"{type(self).__name__}."
                )
            pairs.append((name, member))
        names = [name for name, _ in pairs]
        repeated = {name for name in names if names.count(name) > 1}
        if repeated:
            raise ValueError(f"The member names must differ, but {repeated.pop()!r} is repeated.")
        return pairs

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of this estimator and, if ``deep``, of its named members."""
        params = super().get_params(deep=deep)
        if deep and isinstance(self.estimators, list | tuple):
            for entry in self.estimators:
                if (
                    isinstance(entry, tuple)
                    and len(entry) == 2
                    and hasattr(entry[1], "get_params")
                ):
                    name, member = entry
                    params[name] = member
                    for key, value in member.get_params(deep=True).items():
                        params[f"{name}__{key}"] = value
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator, its members (by name) or theirs (``name__x``)."""
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        given = self.estimators if isinstance(self.estimators, list | tuple) else []
        members = {
            entry[0]: position
            for position, entry in enumerate(given)
            if isinstance(entry, tuple) and len(entry) == 2
        }
        for key in list(params):
            if key in members:
                replaced = list(self.estimators)
                replaced[members[key]] = (key, params.pop(key))
                self.estimators = replaced
        own = {}
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if rest and name in members:
                self.estimators[members[name]][1].set_params(**{rest: value})
            else:
                own[key] = value
        super().set_params(**own)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        members = [
            entry[1] if isinstance(entry, tuple) else entry
            for entry in (self.estimators if isinstance(self.estimators, list | tuple) else [])
        ]
        inner = [get_tags(member) for member in members if hasattr(member, "fit")]
        tags.input_tags.sparse = bool(inner) and all(tag.input_tags.sparse for tag in inner)
        tags.input_tags.allow_nan = bool(inner) and all(tag.input_tags.allow_nan for tag in inner)
        return tags

    def _check_fitted(self, name: str, member: Any) -> Any:
        try:
            check_is_fitted(member)
        except NotFittedError:
            raise NotFittedError(
                f"The member {name!r} is not fitted; fit it, or use prefit=False."
            ) from None
        except (AttributeError, TypeError):
            pass  # no estimator of scikit-learn's kind: it will predict, or raise its own error
        return member

    # -- out of fold -------------------------------------------------------------------------

    def _folds(self, X: Any, y: np.ndarray, groups: Any) -> Folds:
        """The folds of ``cv`` that hold a row out."""
        splitter = self._splitter(y, groups)
        try:
            folds = list(splitter.split(X, y, groups))
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

    def _fit_folds(
        self, pairs: list, folds: Folds, X: Any, y: np.ndarray, weight: np.ndarray | None
    ) -> list[list]:
        """The members of each fold, fitted without the rows that it holds out."""
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(fit_on_rows)(member, name, X, y, weight, train, number)
            for number, (train, _) in enumerate(folds, start=1)
            for name, member in pairs
        )
        return [fitted[start : start + len(pairs)] for start in range(0, len(fitted), len(pairs))]

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
                stacklevel=4,
            )
        return rows, first

    def _cv_name(self) -> str:
        known = isinstance(self.cv, int) or hasattr(self.cv, "split")
        return f"cv={self.cv!r}" if known else "The given cv"
