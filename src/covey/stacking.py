"""Stacks of any models below any model, in one layer or several, learnt out of fold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import islice
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import softmax
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    RegressorMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils import Bunch, check_array, get_tags
from sklearn.utils.metadata_routing import UNUSED, process_routing

from covey import _state as stored
from covey._blocks import take_columns, take_rows
from covey._folds import Folds
from covey._models import fit_with, parameters_of_rows
from covey._state import refuse
from covey._typing import available_if
from covey._validation import check_number, fitted_alone
from covey.fusers import Predictions, Stacking
from covey.fusers._outputs import member_output, member_values
from covey.fusers._stacking import (
    CLASS_OUTPUTS,
    VALUE_OUTPUTS,
    KnownNumbers,
    encode_outputs,
    join_columns,
    learn_ranks,
    outputs_by_member,
    ranks_of_classes,
)
from covey.members import _roster as roster
from covey.members._ensemble import Ensemble
from covey.members._stored import check_fuser, check_member, try_row
from covey.tables._columns import chosen_columns

__all__ = ["GeneralStackingClassifier", "GeneralStackingRegressor"]
_OUTPUT = stored.OneOf(*CLASS_OUTPUTS, *VALUE_OUTPUTS)
_RANKS = stored.ListOf(stored.Record(KnownNumbers))


class Layered(TransformerMixin, Ensemble):
    """The base of both: layers of members, their folds, and columns beside their outputs.

    A subclass sets ``kind_`` and ``_choices`` (the encodings) and writes ``_predict_layer``.
    """

    estimators: Annotated[list[Any], stored.Parameter(members=True)]
    final_estimator: Annotated[Any, stored.Parameter(BaseEstimator)]
    features: Annotated[Any, stored.Parameter(BaseEstimator)]
    named_estimators_: Annotated[Bunch, stored.Named("E", make=Bunch, dropped="drop")]
    outputs_: Annotated[list[list[str]], stored.ListOf(stored.ListOf(_OUTPUT), "L")]
    _columns: Annotated[np.ndarray | None, stored.Index("B", "F")]
    features_: Annotated[BaseEstimator | None, stored.Model()]
    _n_made: Annotated[int, stored.OrAbsent(stored.Whole(1))]
    _ranks: Annotated[list[list[KnownNumbers] | None], stored.ListOf(stored.OrNone(_RANKS), "L-1")]
    fuser_: Annotated[Stacking, stored.Model(Stacking)]

    _roster = property(lambda self: roster.Roster(self, self._models, layered=True))
    named_estimators = property(roster.named_estimators)
    get_metadata_routing, transform = roster.get_metadata_routing, roster.transform
    get_feature_names_out = roster.get_feature_names_out

    # The metadata of fit are requested by parts; this estimator has no request of its own.
    __metadata_request__fit = dict.fromkeys(("sample_weight", "groups"), UNUSED)

    def _restored(self) -> None:
        members = iter([one for _, one in roster.kept(self.named_estimators_.items())])
        self.layers_ = [list(islice(members, len(layer))) for layer in self.outputs_]
        sizes = [len(layer) for layer in self.layers_]
        fits = all(sizes) and sizes == [len(layer) for layer in self.outputs_]
        refuse("outputs", "are not those of the members.", fits and not list(members))
        known = {output for layer in self.outputs_ for output in layer}
        refuse("outputs", "are of the other task.", known <= set(self._choices))
        sizes = sizes[:-1] if self.kind_ == "value" else [0] * len(self._ranks)
        fits = [len(ranks or ()) for ranks in self._ranks] == sizes
        refuse("ranks", "are not those of the members.", fits)
        self.estimators_ = self.layers_[-1]
        for number, layer in enumerate(self.layers_):
            for member in layer:
                check_member(self, member, None if number else self.n_features_in_)
        transforms = self.features_ is None or hasattr(self.features_, "transform")
        refuse("features", "is not a transformer.", transforms)
        of = {"names": self._names(), "classes": getattr(self, "classes_", None)}
        check_fuser(self.fuser_, partial(self._models.blank, **of), None)
        if self._is_prefit():
            self._roster.take_fitted(list(self.named_estimators_.values()))
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
            As in `FusionClassifier.fit`; X is passed to the members of the first layer. With
            ``enable_metadata_routing``, a ``final_estimator`` and ``features`` get what they
            request, and the default model on top gets the weights.
        """
        given, layers = self._check_layers()
        X, y, weight = roster.training_table_of(self, self._models, X, y, sample_weight)
        prefit = self._is_prefit()
        classes = self._models.classes(type(self).__name__, layers[0], y, prefit)
        if classes is not None:
            self.classes_ = classes
        parameters = roster.fit_parameters(self, *self._parts(), weight, groups, metadata)
        predicted, beside, rows = self._learn_layers(layers, X, y, parameters)
        members = [member for layer in self.layers_ for member in layer]
        self.named_estimators_ = roster.by_name(given, members)
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

    def _is_prefit(self) -> bool:
        """Return whether the members are already fitted."""
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _parts(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the parts that are fitted: the members and all else; nothing is checked."""
        parts = {"final_estimator": Stacking(self.final_estimator)}
        if self._is_prefit():
            return {}, parts
        if self.features is not None:
            parts["features"] = self.features
        return dict(roster.kept(self._roster.entries())), parts

    def predict(self, X: Any, **parameters: Any) -> Any:
        """Return the predictions of the model on top, (n_samples,).

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        **parameters
            Parameters for the ``predict`` of the model on top, such as ``return_std``; the result
            is then its own. With ``enable_metadata_routing``, those that it requests
            (``set_predict_request``).
        """
        if not parameters:
            return super().predict(X)
        X = self._check_rows(X)
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "predict", **parameters)
            parameters = routed["final_estimator"]["predict"]
        return self.final_estimator_.predict(self._by_blocks(self._as_columns, X), **parameters)

    @property
    def final_estimator_(self) -> Any:
        """The fitted model on top."""
        return self.fuser_.final_estimator_

    def _final(self) -> Any:
        """Return the unfitted model on top."""
        # A forest has a length, so that an unfitted one is neither true nor false.
        final = self.final_estimator
        return Stacking.default_final(self.kind_) if final is None else final

    # -- names and parameters ----------------------------------------------------------------

    def _layers(self) -> list[list[tuple[str, Any]]]:
        """Return the layers as lists of (name, estimator) pairs."""
        if not self._roster.has_layers():
            return [self._roster.checked()]
        for number, layer in enumerate(self.estimators, start=1):
            if not isinstance(layer, list) or not layer:
                raise ValueError(
                    "estimators must be a list of members or a list of non-empty lists of them, "
                    f"but layer {number} is {layer!r}."
                )
        pairs = iter(self._roster.checked())
        return [[next(pairs) for _ in layer] for layer in self.estimators]

    def __sklearn_tags__(self) -> Any:
        layered = self._roster.has_layers(all)
        given = self._roster.entries()[: len(self.estimators[0]) if layered else None]
        tags = roster.take_tags(super().__sklearn_tags__(), [member for _, member in given])
        if self.passthrough is not False or self.features is not None:
            # Later layers and the final model see those columns unchanged.
            later = roster.kept(self._roster.entries()[len(given) :])
            for model in [*(member for _, member in later), self._final()]:
                other = get_tags(model).input_tags
                tags.input_tags.allow_nan &= other.allow_nan
                tags.input_tags.sparse &= other.sparse
                tags.input_tags.categorical &= other.categorical
        return tags

    def _check_layers(self) -> tuple[list[tuple[str, Any]], list[list[tuple[str, Any]]]]:
        """Return all members, and layers of those not dropped, checked before any fit."""
        given = self._layers()
        everyone = [pair for layer in given for pair in layer]
        layers = [roster.kept(layer) for layer in given]
        if self._is_prefit():
            for name, member in (pair for layer in layers for pair in layer):
                roster.check_fitted(name, member, "give cv a number of folds")
            if self.features is not None:
                roster.check_fitted("features", self.features, "give cv a number of folds")
        elif isinstance(self.cv, str):
            raise ValueError(
                "cv must be an int, a splitter, a list of splits, or 'prefit' for members "
                f"that are fitted already, got {self.cv!r}."
            )
        if not all(layers):
            raise ValueError(
                f"All members of layer {1 + layers.index([])} are dropped; at least one of each "
                "layer must be left."
            )
        final, made = self.final_estimator, self.features
        if final is not None and not self._models.accepts(final):
            raise ValueError(f"final_estimator must be a {self._models.noun}, got {final!r}.")
        if made is not None and (isinstance(made, type) or not hasattr(made, "transform")):
            raise TypeError(f"features must be a transformer, got {made!r}.")
        names = [name for name, _ in everyone]
        wanted = dict(
            zip(names, outputs_by_member(self.outputs, names, self._choices), strict=True)
        )
        self.outputs_ = [
            [self._output_of(name, member, wanted[name]) for name, member in layer]
            for layer in layers
        ]
        check_number(self.clip, "clip", low=0, high=0.5, closed="neither")
        return everyone, layers

    def _output_of(self, name: str, member: Any, wanted: str) -> str:
        """Return the encoding of a member's predictions; refuse one that it cannot give."""
        return wanted

    # -- columns beside the members' outputs -------------------------------------------------

    def _find_columns(self, X: Any) -> np.ndarray | None:
        """Return positions of the columns that are passed through, or None."""
        wanted, names = self.passthrough, getattr(self, "feature_names_in_", None)
        if wanted is False or wanted is None or X.shape[1] == 0:
            return None
        wanted = slice(None) if wanted is True else wanted
        positions = chosen_columns(wanted, "passthrough", X, names)
        return np.array(positions) if positions else None

    def _passed_through(self, X: Any) -> Any:
        if self._columns is None:
            return None
        how = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": "allow-nan"}
        try:
            return check_array(take_columns(X, self._columns), ensure_min_features=0, **how)
        except (ValueError, TypeError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(
                "passthrough takes columns of numbers; make numbers of others by features=, or "
                f"leave them out: {error}"
            ) from None

    def _beside(self, X: Any) -> Any:
        """Return the columns beside the members' outputs, for rows to predict."""
        made = None if self.features_ is None else _numbers(self.features_.transform(X))
        return self._joined(X, made)

    def _joined(self, X: Any, made: Any) -> Any:
        """Join columns that are passed through and columns that are made; None without any."""
        passed = self._passed_through(X)
        return None if made is None and passed is None else join_columns(passed, made)

    # -- fit ---------------------------------------------------------------------------------

    def _learn_layers(
        self,
        layers: list[list[tuple[str, Any]]],
        X: Any,
        y: np.ndarray,
        parameters: roster.FitParameters,
    ) -> tuple[np.ndarray, Any, np.ndarray]:
        """Fit all layers, or use those that are already fitted.

        The results are the last layer's predictions, (n_rows, n_members, width), out of fold or by
        layers fitted elsewhere; the columns beside them or None; and the numbers of these rows.
        """
        self._columns, self.features_ = self._find_columns(X), self.features
        rows, prefit = np.arange(len(y)), self._is_prefit()
        if prefit:
            beside = self._beside(X)
            if self.features is not None:
                made = self.features_.transform(take_rows(X, np.arange(1)))
                self._n_made = _numbers(made).shape[1]
        else:
            folds = roster.member_folds(self, X, y, parameters.split)
            folds = [(rows[train], test) for train, test in folds]
            beside = self._beside_out_of_fold(folds, X, y, parameters.parts.get("features", {}))
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
                        f"{roster.cv_name(self.cv)} yields no out-of-fold row to learn layer "
                        f"{number + 1} from; give a splitter with more folds."
                    )
                held_out, _ = roster.rows_held_out(
                    self.cv, inner, len(rows), "what comes after learns"
                )
                fitted = roster.fit_folds(self, pairs, inner, inputs, y[rows], of_members)
                blocks = [
                    self._predict_layer(names, of_fold, take_rows(inputs, test), outputs)
                    for (_, test), of_fold in zip(inner, fitted, strict=True)
                ]
                # The members that predict are fitted on all rows that this layer has.
                self.layers_.append(roster.fit_all(self, pairs, inputs, y[rows], of_members))
                predicted = _averaged(inner, held_out, np.concatenate(blocks))
                rows = rows[held_out]
            if number < len(layers) - 1:
                of_rows = np.ones(len(rows)) if weight is None else weight[rows]
                ranks = learn_ranks(predicted, of_rows) if self.kind_ == "value" else None
                self._ranks.append(ranks)
                inputs = join_columns(self._encode(predicted, number), _at(beside, rows))
        self.estimators_ = self.layers_[-1]
        return predicted, _at(beside, rows), rows

    def _encode(self, predicted: np.ndarray, number: int) -> np.ndarray:
        """Encode predictions of a layer as columns for the next."""
        outputs, ranks = self.outputs_[number], self._ranks[number]
        return encode_outputs(predicted, outputs, self.clip, ranks).reshape(len(predicted), -1)

    def _beside_out_of_fold(
        self, folds: Folds, X: Any, y: np.ndarray, given: dict[str, Any]
    ) -> Any:
        """Return columns beside the outputs, for all rows; generated ones are out of fold, too."""
        if self.features is None:
            return self._joined(X, None)

        def fitted(rows: np.ndarray) -> Any:
            of_rows = parameters_of_rows(given, rows, len(y))
            return fit_with(clone(self.features), take_rows(X, rows), y[rows], of_rows)

        blocks = [_numbers(fitted(train).transform(take_rows(X, test))) for train, test in folds]
        widths = sorted({block.shape[1] for block in blocks})
        if len(widths) > 1:
            raise ValueError(
                f"features makes {widths[0]} columns in one fold and {widths[-1]} in another; "
                "give a transformer that always makes the same."
            )
        self._n_made = widths[0]
        self.features_ = fit_with(clone(self.features), X, y, given)
        stack = sparse.vstack if any(map(sparse.issparse, blocks)) else np.concatenate
        return self._joined(X, _averaged(folds, np.arange(len(y)), stack(blocks)))

    # -- predict -----------------------------------------------------------------------------

    def _to_fuse(self, X: Any) -> tuple[Predictions, Any]:
        """Return the last layer's predictions of rows, and the columns beside them."""
        beside = self._beside(X)
        names, inputs = iter(self._all_names()), X
        for number, members in enumerate(self.layers_):
            named = [next(names) for _ in members]
            predicted = self._predict_layer(named, members, inputs, self.outputs_[number])
            if number < len(self.layers_) - 1:
                inputs = join_columns(self._encode(predicted, number), beside)
        return self._as_predictions(predicted), beside

    def _as_predictions(self, predicted: np.ndarray) -> Predictions:
        return Predictions(predicted, getattr(self, "classes_", None), self._names(), self.kind_)

    def _all_names(self) -> list[str]:
        return [name for name, _ in roster.kept(self.named_estimators_.items())]

    def _names(self) -> list[str]:
        """Return the names of the last layer's members."""
        return self._all_names()[-len(self.estimators_) :]

    def _predictions(self, X: Any, kind: str | None = None) -> Predictions:
        return self._to_fuse(X)[0]

    def _as_columns(self, X: Any) -> Any:
        """Return the columns that the model on top sees."""
        return self.fuser_._columns(*self._to_fuse(X))

    def _column_names(self, input_names: np.ndarray) -> list[str]:
        classes = getattr(self, "classes_", None)
        # Of two classes, the first is left out.
        names = roster.column_names(
            self, None if classes is None or len(classes) == 2 else classes
        )
        if self._columns is not None:
            names += list(input_names[self._columns])
        if self.features_ is not None:
            try:
                made = self.features_.get_feature_names_out(input_names)
            except AttributeError:  # it has no names, or a step of it has none
                made = range(self._n_made)
            names += [f"features__{name}" for name in made]
        return names


def _numbers(made: Any) -> Any:
    """Return the columns of a transformer, as an array or sparse matrix."""
    return made.tocsr() if hasattr(made, "tocsr") else np.asarray(made, dtype=np.float64)


def _at(numbers: Any, rows: np.ndarray) -> Any:
    return None if numbers is None else numbers[rows]


def _folds_within(folds: Folds, rows: np.ndarray, n_rows: int) -> Folds:
    """Return folds by positions in ``rows``, without those that miss rows on either side."""
    position = np.full(n_rows, -1)
    position[rows] = np.arange(len(rows))
    inner = [tuple(position[part][position[part] >= 0] for part in fold) for fold in folds]
    return [(train, test) for train, test in inner if len(train) and len(test)]


def _averaged(folds: Folds, rows: np.ndarray, stacked: Any) -> Any:
    """Return the results of the folds, one after another, as a mean for each of some rows.

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


# -- the estimators -------------------------------------------------------------------------------


def _final_has(*methods: str) -> Callable[[Any], bool]:
    """Return a check whether the model on top, fitted or to be, has one of some methods."""

    def check(self: Any) -> bool:
        final = self.final_estimator_ if hasattr(self, "fuser_") else self._final()
        return any(hasattr(final, method) for method in methods)

    return check


@dataclass(eq=False, repr=False)
class GeneralStackingClassifier(Layered, ClassifierMixin, BaseEstimator):
    r"""Any classifier on top of any classifiers, learnt from out-of-fold outputs.

    .. math:: f(x) = A_\theta\big(z(f_1(x)), \ldots, z(f_K(x)), x_S, t(x)\big)

    z encodes a member's predictions (``outputs``), :math:`x_S` are chosen columns
    (``passthrough``) and t generated ones (``features``). :math:`\theta` is learnt from the
    outputs of members, and of t, that were fitted without the row; they are then fitted again on
    all rows. It is Wolpert's (1992) stacked generalisation.

    With probabilities (or scores of two classes), one layer and folds that are a partition, this
    equals scikit-learn's `StackingClassifier` up to rounding, which also drops the first of two
    classes. It adds: any splitter (`TimeSeriesSplit`, repeated or overlapping folds), outputs for
    each member, chosen and generated columns, members that lack a class in a fold, layers whose
    members ``set_params`` knows by name, and who decided.

    *Layers.* The members of a layer see the outputs of the layer before and the columns beside
    them, not X. All layers use the same folds: a member of layer 2 that predicts a fold is fitted
    on the out-of-fold predictions of layer 1 for the other folds' rows. Layer 1 was then fitted
    with the held-out fold among its rows, so a trace of its labels remains, as in every scheme
    that does not nest folds in folds; no model ever predicts a row that it was itself fitted on.

    *Rows.* Rows without an out-of-fold output are left out, with a warning; under a time-ordered
    splitter, each layer loses one more block. Several outputs for a row are averaged.

    Take it if members are strong and many rows are there to learn from. With few rows, or to know
    who decided, weights are safer: `FusionClassifier` with ``fuser="linear_stacking"``.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples, of estimators, or of lists of those
        The members, or layers of members, the first one on X. Names differ across layers. Names
        and "drop" are as in `FusionClassifier`.
    final_estimator : classifier, optional
        A; by default a `LogisticRegression`. There are probabilities only if it has
        ``predict_proba``.
    outputs : str, list of str or dict from members' names, default="auto"
        How each member's output is encoded: "probabilities", "scores" (its ``decision_function``,
        less its mean over the classes), "one_hot" (needs only ``predict``), "logits" or "ranks"
        (average ranks of the classes; needs ``predict_proba`` or ``decision_function``). "auto":
        the first of these that the member can give. A list has one entry per member, over all
        layers, dropped ones included; members that a dict does not name have "auto".
    passthrough : bool, column, list of columns, mask, slice or callable, default=False
        The columns of X that later layers and A see, too: True is all of them, others by name or
        position, or by a selector such as scikit-learn's `make_column_selector`. They must be
        numbers.
    features : transformer, optional
        Makes further columns of X for later layers and A. It is fitted without the rows for which
        it makes them, so it may look at y; it gets sample weights if its ``fit`` accepts them. Its
        columns must have the same meaning in each fold, which principal components, whose signs
        are arbitrary, do not have.
    clip : float, default=1e-6
        Probabilities are kept this far from 0 and 1 before logits are taken.
    cv : int, splitter, iterable or "prefit", default=5
        How out-of-fold outputs are made. "prefit": all members, and ``features``, are already
        fitted and used as they are, and the rows given to ``fit``, from which A learns, must be
        **held out** from them.
    n_jobs : int or None, default=None
        Processes that fit the members.
    verbose : int, default=0
        As for `FusionClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    layers_ : list of lists of estimators
        All members, fitted: the first layer on all rows, others on out-of-fold outputs.
    estimators_ : list of estimators
        The last layer, whose outputs A reads.
    named_estimators_ : Bunch
        The members of all layers by name; "drop" for those that are dropped.
    outputs_ : list of lists of str
        How each member's output is encoded, by layer.
    features_ : transformer or None
        Fitted on all rows.
    fuser_ : Stacking
        The fitted fuser.
    final_estimator_ : classifier
        A, fitted.
    out_of_fold_ : Bunch
        The training data of A: ``rows`` (their numbers), ``columns`` (n_rows, n_columns), named by
        ``get_feature_names_out``, and ``members`` (n_rows, n_members, n_classes), the last layer's
        predictions of these rows. Not in saved files.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from covey.stacking import GeneralStackingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> stack = GeneralStackingClassifier(
    ...     [[GaussianNB(), DecisionTreeClassifier(random_state=0)], [LogisticRegression()]],
    ...     outputs={"gaussiannb": "ranks"},
    ...     passthrough=[2, 3],
    ... )
    >>> stack.fit(X, y).predict(X[::50])
    array([0, 1, 2])
    """

    estimators: list[Any]
    final_estimator: Any = None
    _: KW_ONLY
    outputs: str | list[str] | Mapping[str, str] = "auto"
    passthrough: Any = False
    features: Any = None
    clip: float = 1e-6
    cv: Any = 5
    n_jobs: int | None = None
    verbose: int = 0

    kind_ = "probability"
    _models = roster.Classifiers
    _choices = ("auto", *CLASS_OUTPUTS)

    def _output_of(self, name: str, member: Any, wanted: str) -> str:
        if wanted == "auto":
            return next(output for output in _METHODS_FOR if _can_give(member, output))
        if not _can_give(member, wanted):
            raise ValueError(
                f"outputs={wanted!r} needs the {' or '.join(_METHODS_FOR[wanted])} of each "
                f"member, which {name!r} does not have; calibrate it, or use outputs='auto' for "
                "it."
            )
        return wanted

    def _predict_layer(
        self, names: list[str], members: list[Any], X: Any, outputs: list[str]
    ) -> np.ndarray:
        predicted = []
        for name, member, output in zip(names, members, outputs, strict=True):
            self._output_of(name, member, output)  # a fitted one may lack what it promised
            predicted.append(_probabilities(member, X, self.classes_, output, name))
        values = np.stack(predicted, axis=1)
        Predictions(values, self.classes_, names, "probability").check_probabilities()
        return values

    predict_proba = available_if(_final_has("predict_proba"))(Ensemble.predict_proba)
    predict_log_proba = available_if(_final_has("predict_proba"))(Ensemble.predict_log_proba)

    @available_if(_final_has("predict_proba", "decision_function"))
    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Return log-odds, or logarithms of probabilities, or scores of a model without any."""
        if hasattr(self, "predict_proba"):
            return super().decision_function(X)
        return self._by_blocks(self._scores, self._check_rows(X))

    def _scores(self, X: Any) -> np.ndarray:
        final, columns = self.final_estimator_, self._as_columns(X)
        scores, _ = member_output(final, columns, self.classes_, "score", "final_estimator")
        if len(self.classes_) == 2:
            return (scores[:, 1] - scores[:, 0]) / 2
        # A class that the model on top never saw comes last.
        return np.maximum(scores, np.finfo(np.float64).min)


# The methods for each encoding; "auto" is the first that a member has.
_METHODS_FOR = {
    "probabilities": ("predict_proba",),
    "scores": ("decision_function",),
    "one_hot": ("predict",),
    "logits": ("predict_proba",),
    "ranks": ("predict_proba", "decision_function"),
}


def _can_give(member: Any, output: str) -> bool:
    return any(hasattr(member, method) for method in _METHODS_FOR[output])


def _probabilities(member: Any, X: Any, classes: np.ndarray, output: str, name: str) -> np.ndarray:
    """Return a member's predictions as numbers that sum to one over the classes.

    An encoding of less than probabilities gives what is left of them: a one for the class that the
    member decides for, or shares in the order of its scores. Scores can be recovered from the
    logarithms of shares that are proportional to their exponentials.
    """
    if output == "scores":
        scores, seen = member_output(member, X, classes, "decision", name)
        # A class that the member never saw is as unlikely as its last.
        last = scores[:, seen].min(axis=1, keepdims=True)
        return softmax(np.where(seen, scores, last).astype(np.float64), axis=1)
    if output == "one_hot":
        codes, _ = member_output(member, X, classes, "label", name)
        return np.eye(len(classes))[codes]
    if output == "ranks" and not hasattr(member, "predict_proba"):
        scores, _ = member_output(member, X, classes, "score", name)
        ranks = ranks_of_classes(scores)
        return ranks / ranks.sum(axis=1, keepdims=True)
    return member_output(member, X, classes, "probability", name)[0]


@dataclass(eq=False, repr=False)
class GeneralStackingRegressor(Layered, RegressorMixin, BaseEstimator):
    r"""Any regressor on top of any regressors, learnt from out-of-fold predictions.

    .. math:: f(x) = A_\theta\big(z(f_1(x)), \ldots, z(f_K(x)), x_S, t(x)\big)

    The sibling of `GeneralStackingClassifier`, which explains how layers, folds, chosen and
    generated columns work. With one layer, values and folds that are a partition this equals
    scikit-learn's `StackingRegressor` up to rounding, within ``y_range_``.

    Take it if regressors are strong and rows are many; with few rows ``FusionRegressor(...,
    fuser="linear_stacking")`` is safer.

    Parameters
    ----------
    estimators
        As in `GeneralStackingClassifier`.
    final_estimator : regressor, optional
        A; by default a `RidgeCV`.
    outputs : str, list of str or dict from members' names, default="values"
        How each member's output is encoded. "values": as it is. "ranks": the (weighted) share of
        the member's own out-of-fold predictions that are lower, ties by half; an extreme
        prediction then counts no more than the highest one.
    passthrough, features, cv, n_jobs, verbose
        As in `GeneralStackingClassifier`.

    Attributes
    ----------
    layers_, estimators_, named_estimators_, outputs_, features_, out_of_fold_
        As in `GeneralStackingClassifier`.
    final_estimator_, n_features_in_, feature_names_in_
        As in `GeneralStackingClassifier`.
    y_range_ : ndarray of shape (2,)
        The least and the greatest number that is predicted, as in `FlockRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from covey.stacking import GeneralStackingRegressor
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> stack = GeneralStackingRegressor(
    ...     [LinearRegression(), KNeighborsRegressor(20)], passthrough=["bmi"]
    ... )
    >>> stack.fit(X, y).explain_fusion(X[:1], as_frame=True).round(1)
       linearregression  kneighborsregressor
    0               0.6                  0.4
    """

    estimators: list[Any]
    final_estimator: Any = None
    _: KW_ONLY
    outputs: str | list[str] | Mapping[str, str] = "values"
    passthrough: Any = False
    features: Any = None
    cv: Any = 5
    n_jobs: int | None = None
    verbose: int = 0

    kind_ = "value"
    _models = roster.Regressors
    _choices = VALUE_OUTPUTS
    clip = 1e-6  # numbers have no logits

    def _predict_layer(
        self, names: list[str], members: list[Any], X: Any, outputs: list[str]
    ) -> np.ndarray:
        return member_values(members, names, X)[:, :, None]
