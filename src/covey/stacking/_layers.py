"""What stacks of several layers share: names, folds, and columns beside members' outputs."""

from copy import copy

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import has_fit_parameter

from covey._blocks import take_rows
from covey._models import fit_member
from covey.fusers._model_stacking import join_columns, outputs_by_member
from covey.members._columns import column_positions, positions_of_slice
from covey.members._named import NamedMembers


class Layered(NamedMembers):
    """What both kinds share: layers of members, their folds, and columns beside their outputs.

    A subclass writes ``_say`` (what members say of rows), ``_encode`` (that as columns),
    ``_learn_encoding`` and ``_importance``.
    """

    # -- names and parameters ----------------------------------------------------------------

    def _has_layers(self, kind=any):
        """Whether any entry, or all entries, of ``estimators`` are layers."""
        given = self.estimators if isinstance(self.estimators, list | tuple) else []
        return len(given) > 0 and kind(isinstance(entry, list) for entry in given)

    def _flat(self):
        """The same estimator with all members in one list; the members are shared."""
        flat = copy(self)
        flat.estimators = [entry for layer in self.estimators for entry in layer]
        return flat

    def _layers(self):
        """The layers as lists of (name, estimator) pairs."""
        if not self._has_layers():
            return [self._named()]
        for number, layer in enumerate(self.estimators, start=1):
            if not isinstance(layer, list) or not layer:
                raise ValueError(
                    "estimators must be a list of members or a list of non-empty lists of them, "
                    f"but layer {number} is {layer!r}."
                )
        pairs = iter(self._flat()._named())
        return [[next(pairs) for _ in layer] for layer in self.estimators]

    def get_params(self, deep=True):
        """Parameters of this estimator and, if ``deep``, of the named members of all layers."""
        if not (deep and self._has_layers(all)):
            return super().get_params(deep=deep)
        return self._flat().get_params(deep=True) | {"estimators": self.estimators}

    def set_params(self, **params):
        """Set parameters of this estimator, its members (by name) or theirs (``name__x``)."""
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        if not self._has_layers(all):
            return super().set_params(**params)
        before, given, flat = self._flat().estimators, self.estimators, self._flat()
        vars(self).update(vars(flat.set_params(**params)))
        if any(one is not other for one, other in zip(before, flat.estimators, strict=True)):
            entries = iter(flat.estimators)
            given = [[next(entries) for _ in layer] for layer in given]
        self.estimators = given
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        later = []
        if self._has_layers(all):
            first, *rest = self.estimators
            flat = copy(self)
            flat.estimators = first
            tags.input_tags = get_tags(flat).input_tags
            later = [entry[1] if isinstance(entry, tuple) else entry for x in rest for entry in x]
        if self.passthrough is not False or self.features is not None:
            # Later layers and the final model see those columns as they are.
            later.append(self.final_estimator or self._default_final())
            for other in (get_tags(model).input_tags for model in later):
                tags.input_tags.allow_nan &= other.allow_nan
                tags.input_tags.sparse &= other.sparse
        return tags

    def _check_layers(self):
        """Layers and their outputs, refused before anything is fitted."""
        layers = self._layers()
        final = self.final_estimator
        if final is not None and not self._can_be_member(final):
            raise ValueError(f"final_estimator must be a {self._member_kind}, got {final!r}.")
        if self.features is not None and (
            isinstance(self.features, type) or not hasattr(self.features, "transform")
        ):
            raise TypeError(f"features must be a transformer, got {self.features!r}.")
        names = [name for layer in layers for name, _ in layer]
        outputs = iter(outputs_by_member(self.outputs, names, self._choices))
        self.outputs_ = [[next(outputs) for _ in layer] for layer in layers]
        return layers

    # -- columns beside the members' outputs -------------------------------------------------

    def _find_columns(self, X):
        """Positions of the columns that are passed through, or None."""
        wanted = self.passthrough
        n_features = X.shape[1]
        names = getattr(self, "feature_names_in_", None)
        if wanted is False or wanted is None or n_features == 0:
            return None
        if wanted is True:
            wanted = slice(None)
        if callable(wanted):
            wanted = wanted(X)
        if isinstance(wanted, slice):
            wanted = positions_of_slice(wanted, "passthrough", n_features, names)
        if not isinstance(wanted, str) and np.asarray(wanted).dtype == bool:
            if np.shape(wanted) != (n_features,):
                raise ValueError(
                    f"passthrough is a mask of shape {np.shape(wanted)}, but X has {n_features} "
                    "columns; give one bool a column."
                )
            wanted = np.flatnonzero(wanted)
        positions = column_positions(wanted, "passthrough", n_features, names)
        return np.array(positions) if positions else None

    def _passed_through(self, X):
        if self._columns is None:
            return None
        if hasattr(X, "iloc"):
            part = X.iloc[:, self._columns]
        else:
            part = (X.tocsr() if hasattr(X, "tocsr") else X)[:, self._columns]
        try:
            return check_array(
                part,
                accept_sparse="csr",
                dtype=np.float64,
                ensure_all_finite="allow-nan",
                ensure_min_features=0,
            )
        except (ValueError, TypeError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(
                "passthrough takes columns of numbers; make numbers of others by features=, or "
                f"leave them out: {error}"
            ) from None

    def _beside(self, X, transformer):
        """What stands beside the members' outputs for rows that a transformer has not seen."""
        made = None if transformer is None else _numbers(transformer.transform(X))
        passed = self._passed_through(X)
        return None if made is None and passed is None else join_columns(passed, made)

    # -- fit ---------------------------------------------------------------------------------

    def _fit_layers(self, layers, X, y, weight, groups):
        """Fit all layers.

        Returns
        -------
        said : ndarray of shape (n_rows, n_members, ...)
            What the last layer says out of fold.
        beside : array or sparse matrix of shape (n_rows, n_columns), or None
        rows : ndarray of shape (n_rows,)
            Whose rows these are.
        """
        self._columns = self._find_columns(X)
        everyone = np.arange(len(y))
        folds = [(everyone[train], test) for train, test in self._folds(X, y, groups)]
        beside = self._beside_out_of_fold(folds, X, y, weight)
        self.features_ = None if self.features is None else self._fit_features(X, y, weight)
        self.layers_, inputs, rows = [], X, everyone
        for number, pairs in enumerate(layers):
            names = [name for name, _ in pairs]
            labels, weights = y[rows], None if weight is None else weight[rows]
            here = _folds_within(folds, rows, len(y))
            if not here:
                raise ValueError(
                    f"{self._cv_name()} yields no out-of-fold row to learn layer {number + 1} "
                    "from; give a splitter with more folds."
                )
            held_out, _ = self._rows_held_out(here, len(rows), "what comes after learns")
            fitted = self._fit_folds(pairs, here, inputs, labels, weights)
            blocks = [
                self._say(names, members, take_rows(inputs, test), self.outputs_[number])
                for (_, test), members in zip(here, fitted, strict=True)
            ]
            # The members that predict are fitted on all rows that this layer has.
            members = Parallel(n_jobs=self.n_jobs)(
                delayed(fit_member)(clone(member), name, inputs, labels, weights)
                for name, member in pairs
            )
            self.layers_.append(members)
            said = _averaged(here, held_out, np.concatenate(blocks))
            rows = rows[held_out]
            self._learn_encoding(said, None if weight is None else weight[rows])
            if number < len(layers) - 1:
                inputs = join_columns(self._encode(said, number), _at(beside, rows))
        self.estimators_ = self.layers_[-1]
        names = [name for pairs in layers for name, _ in pairs]
        members = [member for layer in self.layers_ for member in layer]
        self.named_estimators_ = dict(zip(names, members, strict=True))
        return said, _at(beside, rows), rows

    def _fit_features(self, X, y, weight):
        if weight is not None and has_fit_parameter(self.features, "sample_weight"):
            return clone(self.features).fit(X, y, sample_weight=weight)
        return clone(self.features).fit(X, y)

    def _beside_out_of_fold(self, folds, X, y, weight):
        """Columns beside the outputs, for all rows; generated ones by who has not seen them."""
        made = None
        if self.features is not None:
            blocks = [
                _numbers(
                    self._fit_features(
                        take_rows(X, train), y[train], None if weight is None else weight[train]
                    ).transform(take_rows(X, test))
                )
                for train, test in folds
            ]
            widths = sorted({block.shape[1] for block in blocks})
            if len(widths) > 1:
                raise ValueError(
                    f"features makes {widths[0]} columns in one fold and {widths[-1]} in another; "
                    "give a transformer that always makes the same."
                )
            stack = sparse.vstack if any(map(sparse.issparse, blocks)) else np.concatenate
            made = _averaged(folds, np.arange(len(y)), stack(blocks))
        passed = self._passed_through(X)
        return None if made is None and passed is None else join_columns(passed, made)

    # -- predict -----------------------------------------------------------------------------

    def _forward(self, X):
        """What the last layer says of rows, and what stands beside it."""
        beside = self._beside(X, self.features_)
        names, inputs = iter(self.named_estimators_), X
        for number, members in enumerate(self.layers_):
            named = [next(names) for _ in members]
            said = self._say(named, members, inputs, self.outputs_[number])
            if number < len(self.layers_) - 1:
                inputs = join_columns(self._encode(said, number), beside)
        return said, beside

    def _names(self):
        """The names of the last layer's members."""
        return list(self.named_estimators_)[-len(self.estimators_) :]

    def explain_fusion(self, X, *, as_frame=False):
        """How much each member of the last layer had to say: see `covey.fusers.Stacking`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        as_frame : bool, default=False
            Whether to return a pandas data frame with the members' names.

        Returns
        -------
        importance : ndarray or DataFrame of shape (n_samples, n_members)
            Non-negative, rows sum to one.
        """
        importance = self._by_blocks(self._importance, self._check_rows(X))
        if not as_frame:
            return importance
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("as_frame=True makes a data frame and needs pandas.") from None
        index = X.index if hasattr(X, "iloc") else None
        return pd.DataFrame(importance, index=index, columns=self._names())


def _numbers(made):
    """What a transformer has made, as an array or sparse matrix."""
    return made.tocsr() if hasattr(made, "tocsr") else np.asarray(made, dtype=np.float64)


def _at(beside, rows):
    return None if beside is None else beside[rows]


def _folds_within(folds, rows, n_rows):
    """Folds by positions in ``rows``; those without a row to learn from or hold out are none."""
    place = np.full(n_rows, -1)
    place[rows] = np.arange(len(rows))
    inner = [tuple(place[part][place[part] >= 0] for part in fold) for fold in folds]
    return [(train, test) for train, test in inner if len(train) and len(test)]


def _averaged(folds, rows, stacked):
    """What the folds say, one after another, as a mean for each of some rows.

    Rows that no fold holds out get zeros.
    """
    tests = np.concatenate([test for _, test in folds])
    times = np.bincount(tests, minlength=rows.max() + 1)
    place = np.full(len(times), -1)
    place[rows] = np.arange(len(rows))
    mean = sparse.csr_array(
        (1.0 / times[tests], (place[tests], np.arange(len(tests)))), shape=(len(rows), len(tests))
    )
    if sparse.issparse(stacked):
        return sparse.csr_array(mean @ stacked)
    return (mean @ stacked.reshape(len(tests), -1)).reshape(len(rows), *stacked.shape[1:])
