"""What stacks of several layers share: names, folds, and columns beside members' outputs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Bunch, check_array, get_tags
from sklearn.utils.metadata_routing import process_routing

from covey import _state as stored
from covey._blocks import take_rows
from covey._columns import chosen_columns
from covey._models import fit_with, parameters_of_rows
from covey._state import refuse
from covey._validation import check_number, fitted_alone
from covey.fusers import Predictions, Stacking
from covey.fusers.encoding import (
    CLASS_OUTPUTS,
    VALUE_OUTPUTS,
    KnownNumbers,
    encode_outputs,
    join_columns,
    learn_ranks,
    outputs_by_member,
)
from covey.members import FitParameters, NamedMembers
from covey.members._stored import check_fuser, check_member, try_row

Folds = list[tuple[np.ndarray, np.ndarray]]


class Layered(NamedMembers):
    """What both share: layers of members, their folds, and columns beside their outputs.

    A subclass sets ``kind_`` and ``_choices`` (the encodings) and writes ``_predict_layer``.
    """

    final_estimator: stored.Parameter(BaseEstimator)
    features: stored.Parameter(BaseEstimator)
    outputs_: stored.ListOf(stored.ListOf(stored.OneOf(*CLASS_OUTPUTS, *VALUE_OUTPUTS)), "L")
    _columns: stored.OrNone(stored.Index("B", "F"))
    features_: stored.OrNone(stored.Model())
    _n_made: stored.OrAbsent(stored.Whole(1))
    _ranks: stored.ListOf(stored.OrNone(stored.ListOf(stored.Record(KnownNumbers))), "L-1")
    fuser_: stored.Model(Stacking)

    def _restored(self) -> None:
        members = iter(self._fitted_members())
        self.layers_ = [list(islice(members, len(layer))) for layer in self.outputs_]
        sizes = [len(layer) for layer in self.layers_]
        fits = all(sizes) and sizes == [len(layer) for layer in self.outputs_]
        refuse("outputs", "are not those of the members.", fits and not list(members))
        known = {output for layer in self.outputs_ for output in layer}
        refuse("outputs", "are of the other task.", known <= set(self._choices))
        of_numbers = self.kind_ == "value"
        fits = [len(ranks or ()) for ranks in self._ranks] == (
            sizes[:-1] if of_numbers else [0] * len(self._ranks)
        )
        refuse("ranks", "are not those of the members.", fits)
        self.estimators_ = self.layers_[-1]
        for number, layer in enumerate(self.layers_):
            for member in layer:
                check_member(self, member, None if number else self.n_features_in_)
        transforms = self.features_ is None or hasattr(self.features_, "transform")
        refuse("features", "is no transformer.", transforms)
        names, classes = self._names(), getattr(self, "classes_", None)
        check_fuser(self.fuser_, lambda fuser: self._models.blank(fuser, names, classes), None)
        if self._is_prefit():
            self._take_fitted()
            self.features = self.features_
        try_row(self)

    @fitted_alone
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **metadata: Any,
    ) -> Self:
        """Learn the model on top out of fold, and fit the members on all rows.

        Parameters
        ----------
        X, y, sample_weight, groups, **metadata
            As for `FusionClassifier.fit`; X is passed to the members of the first layer. With
            ``enable_metadata_routing``, a ``final_estimator`` and ``features`` get what they
            request, and the default model on top gets the weights.
        """
        given, layers = self._check_layers()
        X, y, weight = self._check_training_table(X, y, sample_weight)
        self._keep_seen(X, weight)
        self._keep_rows(X, y, weight)
        if self._models.noun == "regressor":
            used = y if weight is None else y[weight > 0]
            self._keep_y_range(used.min(), used.max(), len(used))
        prefit = self._is_prefit()
        classes = self._models.classes(type(self).__name__, layers[0], y, prefit)
        if classes is not None:
            self.classes_ = classes
        parameters = self._fit_parameters(weight, groups, metadata)
        predicted, beside, rows = self._learn_layers(layers, X, y, parameters)
        members = [member for layer in self.layers_ for member in layer]
        self.named_estimators_ = self._by_name(given, members)
        fuser = Stacking(
            self.final_estimator, self.outputs_[-1], passthrough=beside is not None, clip=self.clip
        )
        P = self._as_predictions(predicted)
        of_final = parameters_of_rows(parameters.parts["final_estimator"], rows, len(y))
        self.fuser_ = fuser.fit(P, y[rows], beside, **of_final)
        members = predicted[:, :, 0] if self.kind_ == "value" else predicted
        columns = self.fuser_._columns(P, beside)
        self.out_of_fold_ = Bunch(rows=rows, columns=columns, members=members)
        return self

    _instead_of_prefit = "give cv a number of folds"

    def _is_prefit(self) -> bool:
        """Whether the members are fitted already."""
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _members_to_fit(self) -> list[tuple[str, Any]]:
        return [] if self._is_prefit() else self._kept(self._entries())

    def _parts(self) -> dict[str, Any]:
        final = {"final_estimator": Stacking(self.final_estimator)}
        takes_features = self.features is not None and not self._is_prefit()
        return final | {"features": self.features} if takes_features else final

    def predict(self, X: Any, **parameters: Any) -> Any:
        """What the model on top predicts, (n_samples,).

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        **parameters
            Of the ``predict`` of the model on top, such as ``return_std``; the result is then its
            own. With ``enable_metadata_routing``, what it requests (``set_predict_request``).
        """
        if not parameters:
            return super().predict(X)
        X = self._check_rows(X)
        if get_config()["enable_metadata_routing"]:
            parameters = process_routing(self, "predict", **parameters)["final_estimator"][
                "predict"
            ]
        return self.final_estimator_.predict(self._by_blocks(self._as_columns, X), **parameters)

    @property
    def final_estimator_(self) -> Any:
        """The fitted model on top."""
        return self.fuser_.final_estimator_

    def _final(self) -> Any:
        """The model on top, to be fitted."""
        # A forest has a length, so that an unfitted one is neither true nor false.
        final = self.final_estimator
        return Stacking.default_final(self.kind_) if final is None else final

    # -- names and parameters ----------------------------------------------------------------

    def _has_layers(self, kind: Callable = any) -> bool:
        """Whether any entry, or all entries, of ``estimators`` are layers."""
        given = self.estimators if isinstance(self.estimators, list | tuple) else []
        return len(given) > 0 and kind(isinstance(entry, list) for entry in given)

    def _listed(self) -> Any:
        """The members of all layers in one list."""
        if not self._has_layers(all):
            return self.estimators
        return [entry for layer in self.estimators for entry in layer]

    def _list_again(self, listed: list) -> None:
        entries = iter(listed)
        if self._has_layers(all):
            listed = [[next(entries) for _ in layer] for layer in self.estimators]
        self.estimators = listed

    def _given_rows(self) -> list[tuple[str, Any]]:
        """The members of the first layer."""
        return self._entries()[: len(self.estimators[0]) if self._has_layers(all) else None]

    def _layers(self) -> list[list[tuple[str, Any]]]:
        """The layers as lists of (name, estimator) pairs."""
        if not self._has_layers():
            return [self._named()]
        for number, layer in enumerate(self.estimators, start=1):
            if not isinstance(layer, list) or not layer:
                raise ValueError(
                    "estimators must be a list of members or a list of non-empty lists of them, "
                    f"but layer {number} is {layer!r}."
                )
        pairs = iter(self._named())
        return [[next(pairs) for _ in layer] for layer in self.estimators]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if self.passthrough is not False or self.features is not None:
            # Later layers and the final model see those columns as they are.
            later = self._kept(self._entries()[len(self._given_rows()) :])
            for model in [*(member for _, member in later), self._final()]:
                other = get_tags(model).input_tags
                tags.input_tags.allow_nan &= other.allow_nan
                tags.input_tags.sparse &= other.sparse
                tags.input_tags.categorical &= other.categorical
        return tags

    def _check_layers(self) -> tuple[list[tuple[str, Any]], list[list[tuple[str, Any]]]]:
        """All members, and layers of those not dropped, checked before anything is fitted."""
        given = self._layers()
        everyone = [pair for layer in given for pair in layer]
        layers = [self._kept(layer) for layer in given]
        if isinstance(self.cv, str) and not self._is_prefit():
            raise ValueError(
                "cv must be an int, a splitter, a list of splits, or 'prefit' for members "
                f"that are fitted already, got {self.cv!r}."
            )
        if self._is_prefit():
            for name, member in (pair for layer in layers for pair in layer):
                self._check_fitted(name, member)
            if self.features is not None:
                self._check_fitted("features", self.features)
        if not all(layers):
            raise ValueError(
                f"All members of layer {1 + layers.index([])} are dropped; at least one of each "
                "layer must be left."
            )
        final = self.final_estimator
        if final is not None and not self._models.accepts(final):
            raise ValueError(f"final_estimator must be a {self._models.noun}, got {final!r}.")
        if self.features is not None and (
            isinstance(self.features, type) or not hasattr(self.features, "transform")
        ):
            raise TypeError(f"features must be a transformer, got {self.features!r}.")
        names = [name for name, _ in everyone]
        listed = outputs_by_member(self.outputs, names, self._choices)
        wanted = dict(zip(names, listed, strict=True))
        self.outputs_ = [
            [self._output_of(name, member, wanted[name]) for name, member in layer]
            for layer in layers
        ]
        check_number(self.clip, "clip", low=0, high=0.5, closed="neither")
        return everyone, layers

    def _output_of(self, name: str, member: Any, wanted: str) -> str:
        """The encoding of what a member predicts; one that it cannot give is refused."""
        return wanted

    # -- columns beside the members' outputs -------------------------------------------------

    def _find_columns(self, X: Any) -> np.ndarray | None:
        """Positions of the columns that are passed through, or None."""
        wanted = self.passthrough
        names = getattr(self, "feature_names_in_", None)
        if wanted is False or wanted is None or X.shape[1] == 0:
            return None
        wanted = slice(None) if wanted is True else wanted
        positions = chosen_columns(wanted, "passthrough", X, names)
        return np.array(positions) if positions else None

    def _passed_through(self, X: Any) -> Any:
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

    def _beside(self, X: Any) -> Any:
        """The columns beside the members' outputs, for rows to predict."""
        made = None if self.features_ is None else _numbers(self.features_.transform(X))
        return self._joined(X, made)

    def _joined(self, X: Any, made: Any) -> Any:
        """The columns that are passed through, and those that are made; None without any."""
        passed = self._passed_through(X)
        return None if made is None and passed is None else join_columns(passed, made)

    # -- fit ---------------------------------------------------------------------------------

    def _learn_layers(
        self, layers: list, X: Any, y: np.ndarray, parameters: FitParameters
    ) -> tuple[np.ndarray, Any, np.ndarray]:
        """Fit all layers, or take those that are fitted already.

        The result is what the last layer predicts, (n_rows, n_members, width), out of fold or by
        layers fitted elsewhere; the columns beside it or None; and whose rows these are.
        """
        self._columns, self.features_ = self._find_columns(X), self.features
        rows, prefit = np.arange(len(y)), self._is_prefit()
        if prefit:
            beside = self._beside(X)
            if self.features is not None:
                made = self.features_.transform(take_rows(X, np.arange(1)))
                self._n_made = _numbers(made).shape[1]
        else:
            folds = [(rows[train], test) for train, test in self._folds(X, y, parameters.split)]
            of_features = parameters.parts.get("features", {})
            beside = self._beside_out_of_fold(folds, X, y, of_features)
            if self.features is not None:
                self.features_ = fit_with(clone(self.features), X, y, of_features)
        weight = parameters.parts["final_estimator"].get("sample_weight")
        self.layers_, self._ranks, inputs = [], [], X
        for number, pairs in enumerate(layers):
            names, members, outputs = *map(list, zip(*pairs, strict=True)), self.outputs_[number]
            if prefit:
                self.layers_.append(members)
                predicted = self._predict_layer(names, members, inputs, outputs)
            else:
                of_members = {
                    name: parameters_of_rows(parameters.members[name], rows, len(y))
                    for name in names
                }
                inner = _folds_within(folds, rows, len(y))
                if not inner:
                    raise ValueError(
                        f"{self._cv_name()} yields no out-of-fold row to learn layer {number + 1} "
                        "from; give a splitter with more folds."
                    )
                held_out, _ = self._rows_held_out(inner, len(rows), "what comes after learns")
                fitted = self._fit_folds(pairs, inner, inputs, y[rows], of_members)
                blocks = [
                    self._predict_layer(names, of_fold, take_rows(inputs, test), outputs)
                    for (_, test), of_fold in zip(inner, fitted, strict=True)
                ]
                # The members that predict are fitted on all rows that this layer has.
                self.layers_.append(self._fit_all(pairs, inputs, y[rows], of_members))
                predicted = _averaged(inner, held_out, np.concatenate(blocks))
                rows = rows[held_out]
            if number < len(layers) - 1:
                self._ranks.append(self._learn_ranks(predicted, _at(weight, rows)))
                inputs = join_columns(self._encode(predicted, number), _at(beside, rows))
        self.estimators_ = self.layers_[-1]
        return predicted, _at(beside, rows), rows

    def _learn_ranks(self, predicted: np.ndarray, weight: np.ndarray | None) -> Any:
        if self.kind_ != "value":
            return None
        return learn_ranks(predicted, np.ones(len(predicted)) if weight is None else weight)

    def _encode(self, predicted: np.ndarray, number: int) -> np.ndarray:
        """Predictions of a layer as columns for the next."""
        outputs, ranks = self.outputs_[number], self._ranks[number]
        return encode_outputs(predicted, outputs, self.clip, ranks).reshape(len(predicted), -1)

    def _beside_out_of_fold(
        self, folds: Folds, X: Any, y: np.ndarray, of_features: dict[str, Any]
    ) -> Any:
        """Columns beside the outputs, for all rows; generated ones are out of fold too."""
        made = None
        if self.features is not None:
            blocks = [
                _numbers(
                    fit_with(
                        clone(self.features),
                        take_rows(X, train),
                        y[train],
                        parameters_of_rows(of_features, train, len(y)),
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
            self._n_made = widths[0]
            stack = sparse.vstack if any(map(sparse.issparse, blocks)) else np.concatenate
            made = _averaged(folds, np.arange(len(y)), stack(blocks))
        return self._joined(X, made)

    # -- predict -----------------------------------------------------------------------------

    def _forward(self, X: Any) -> tuple[Predictions, Any]:
        """What the last layer predicts of rows, and the columns beside it."""
        beside = self._beside(X)
        names, inputs = iter(super()._names()), X
        for number, members in enumerate(self.layers_):
            named = [next(names) for _ in members]
            predicted = self._predict_layer(named, members, inputs, self.outputs_[number])
            if number < len(self.layers_) - 1:
                inputs = join_columns(self._encode(predicted, number), beside)
        return self._as_predictions(predicted), beside

    def _as_predictions(self, predicted: np.ndarray) -> Predictions:
        return Predictions(predicted, getattr(self, "classes_", None), self._names(), self.kind_)

    def _names(self) -> list[str]:
        """The names of the last layer's members."""
        return super()._names()[-len(self.estimators_) :]

    def _predictions(self, X: Any) -> Predictions:
        return self._forward(X)[0]

    def _as_columns(self, X: Any) -> Any:
        """What the model on top sees."""
        return self.fuser_._columns(*self._forward(X))

    def _column_names(self, input_names: np.ndarray) -> list[str]:
        classes = getattr(self, "classes_", None)
        # Of two classes the first is left out.
        names = self._names_of(None if classes is None or len(classes) == 2 else classes)
        if self._columns is not None:
            names += list(input_names[self._columns])
        if self.features_ is not None:
            names += [f"features__{name}" for name in self._names_of_made(input_names)]
        return names

    def _names_of_made(self, input_names: np.ndarray) -> list[str]:
        try:
            return list(self.features_.get_feature_names_out(input_names))
        except AttributeError:  # it has no names, or a step of it has none
            return [str(column) for column in range(self._n_made)]

    def _fused(self, X: Any) -> np.ndarray:
        return self._bounded(self.fuser_.fuse(*self._forward(X)))

    def _importance(self, X: Any) -> np.ndarray:
        return self.fuser_.importance(*self._forward(X))


def _numbers(made: Any) -> Any:
    """What a transformer has made, as an array or sparse matrix."""
    return made.tocsr() if hasattr(made, "tocsr") else np.asarray(made, dtype=np.float64)


def _at(numbers: Any, rows: np.ndarray) -> Any:
    return None if numbers is None else numbers[rows]


def _folds_within(folds: Folds, rows: np.ndarray, n_rows: int) -> Folds:
    """Folds by positions in ``rows``; those without a row to learn from or hold out are none."""
    position = np.full(n_rows, -1)
    position[rows] = np.arange(len(rows))
    inner = [tuple(position[part][position[part] >= 0] for part in fold) for fold in folds]
    return [(train, test) for train, test in inner if len(train) and len(test)]


def _averaged(folds: Folds, rows: np.ndarray, stacked: Any) -> Any:
    """What the folds give, one after another, as a mean for each of some rows.

    Rows that no fold holds out get zeros.
    """
    tests = np.concatenate([test for _, test in folds])
    times = np.bincount(tests, minlength=rows.max() + 1)
    position = np.full(len(times), -1)
    position[rows] = np.arange(len(rows))
    mean = sparse.csr_array(
        (1.0 / times[tests], (position[tests], np.arange(len(tests)))),
        shape=(len(rows), len(tests)),
    )
    if sparse.issparse(stacked):
        return sparse.csr_array(mean @ stacked)
    return (mean @ stacked.reshape(len(tests), -1)).reshape(len(rows), *stacked.shape[1:])
