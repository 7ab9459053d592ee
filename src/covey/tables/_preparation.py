"""From a table of anything to columns of numbers, each of which remembers where it is from."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from covey.tables._columns import as_frame, as_kind, check_width, look, width_of_array

# The last part of a date as skrub has it; in days its size is more like that of other numbers.
_SECONDS = "total_seconds"
_SECONDS_OF_A_DAY = 86_400.0


class TablePreparation(TransformerMixin, BaseEstimator):
    """Makes numbers of a table, without gaps, and remembers which column each is from.

    Numbers stay as they are. Categories, text and dates become numbers by skrub's
    ``TableVectorizer``: one column for each of a few categories, the leading directions of the
    n-grams of text, the parts of a date. Gaps are filled with the median of the column, and
    where there were some, a column says so. Columns that say nothing (constant, empty, or
    different in every row) are left out.

    Parameters
    ----------
    columns : mapping from column to kind, optional
        The columns to use, each with its kind: "number", "text" or "date". By default `look`
        decides.
    max_categories : int, default=40
        Text with fewer different values is taken as categories.
    n_text_components : int, default=10
        How many numbers are made of other text.
    random_state : int or None, default=None
        For the directions of text.

    Attributes
    ----------
    kinds_ : dict
        The columns in use and their kinds.
    feature_names_in_ : ndarray of shape (n_columns,)
        The columns in use: those that a table must have.
    n_features_in_ : int
    column_of_ : list of str
        For each column that comes out the one that it was made of.
    feature_groups_ : dict
        The columns that become several, and which: the one-hot columns of one variable.
    medians_ : ndarray
        What gaps are filled with.

    Examples
    --------
    >>> import pandas as pd
    >>> from covey.tables import TablePreparation
    >>> table = pd.DataFrame({"age": [31, None, 54], "town": ["Rome", "Oslo", "Bath"]})
    >>> preparation = TablePreparation().fit(table)
    >>> print(preparation.transform(table).to_string(index=False))
     age  age is missing  town = Bath  town = Oslo  town = Rome
    31.0             0.0          0.0          0.0          1.0
    42.5             1.0          0.0          1.0          0.0
    54.0             0.0          1.0          0.0          0.0
    """

    def __init__(
        self, *, columns=None, max_categories=40, n_text_components=10, random_state=None
    ):
        self.columns = columns
        self.max_categories = max_categories
        self.n_text_components = n_text_components
        self.random_state = random_state

    # -- fit -------------------------------------------------------------------------------

    def fit(self, X, y=None):
        """Learn categories, text and medians.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)
        y : ignored

        Returns
        -------
        self : TablePreparation
        """
        table = as_frame(X)
        if len(table) < 2:
            raise ValueError("The table has 1 sample; nothing can be learnt from one row.")
        if self.columns is None:
            kinds = {column.name: column.kind for column in look(table) if not column.drop}
        else:
            kinds = dict(self.columns)
        if not kinds:
            raise ValueError(
                "The table has no column that differs between rows; nothing to learn."
            )
        self.feature_names_in_ = np.array(list(kinds), dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        self.kinds_ = kinds
        self._width = width_of_array(X)
        self._check_columns(table)
        self._names, self._dates = {}, []
        self._steps, made = self._vectorised(table)
        numbers = [name for name, kind in kinds.items() if kind == "number"]
        block = _as_block(table, numbers)
        self._names.update({name: [name] for name in numbers})
        # Of text that these rows have none of nothing is made, though others may have some.
        self._outputs = {name: self._names[name] for name in kinds if name in self._names}
        medians = {name: _medians(values) for name, values in made.items()}
        medians.update(zip(numbers, _medians(block)[:, None], strict=True))
        gaps = {name for name, values in made.items() if np.isnan(values).any()}
        gaps.update(np.array(numbers, dtype=object)[np.isnan(block).any(axis=0)])
        self._gaps = [name for name in self._outputs if name in gaps]
        self.medians_ = np.concatenate([np.empty(0), *(medians[name] for name in self._outputs)])
        self._set_names()
        return self

    def _vectorised(self, table):
        """The steps of each column that is not numbers, and the numbers made of it."""
        made = {}
        rest = [
            _for_skrub(as_kind(table[name], kind), kind)
            for name, kind in self.kinds_.items()
            if kind != "number"
        ]
        if not rest:
            return {}, made
        import pandas as pd

        skrub = _skrub()
        vectorizer = skrub.TableVectorizer(
            cardinality_threshold=self.max_categories,
            high_cardinality=skrub.StringEncoder(
                n_components=self.n_text_components, random_state=self.random_state
            ),
        )
        with warnings.catch_warnings():
            # Text of a few n-grams has fewer directions; that is all right.
            warnings.simplefilter("ignore")
            numbers = vectorizer.fit_transform(pd.concat(rest, axis=1))
        steps = {}
        for name, outputs in vectorizer.input_to_outputs_.items():
            if not outputs:
                continue
            # The last step only casts to single precision.
            steps[name] = vectorizer.all_processing_steps_[name][:-1]
            made[name] = numbers[outputs].to_numpy(dtype=np.float64)
            if outputs[-1] == f"{name}_{_SECONDS}":
                self._dates.append(name)
                made[name][:, -1] /= _SECONDS_OF_A_DAY
            categories = vectorizer.column_to_kind_[name] == "low_cardinality"
            self._names[name] = _readable(name, outputs, categories)
        return steps, made

    def _set_names(self):
        self._feature_names, self.column_of_ = [], []
        gaps = set(self._gaps)
        for name, outputs in self._outputs.items():
            own = list(outputs)
            if name in gaps:
                own.append(f"{name} is missing")
            self._feature_names += own
            self.column_of_ += [name] * len(own)
        if len(set(self._feature_names)) < len(self._feature_names):
            # A column whose name reads like another's category.
            self._feature_names = [
                f"{column} ({place}) {name}"
                for place, (column, name) in enumerate(
                    zip(self.column_of_, self._feature_names, strict=True)
                )
            ]
        groups = {}
        for column, name in zip(self.column_of_, self._feature_names, strict=True):
            groups.setdefault(column, []).append(name)
        # A number and the word that it is missing may come and go alone, so that a table of
        # numbers has no groups and a search may make products.
        several = any(len(outputs) > 1 for outputs in self._outputs.values())
        self.feature_groups_ = (
            {column: names for column, names in groups.items() if len(names) > 1}
            if several
            else {}
        )
        self._all_groups = groups

    # -- transform -------------------------------------------------------------------------

    def _check_columns(self, table):
        absent = [name for name in self.kinds_ if name not in table.columns]
        if absent:
            listed = ", ".join(repr(name) for name in absent[:5])
            more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
            word = "columns" if len(absent) > 1 else "column"
            raise ValueError(f"The table lacks the {word} {listed}{more}, which the model needs.")

    def transform(self, X):
        """The numbers of a table; its columns may stand in any order, others are ignored.

        Parameters
        ----------
        X : data frame or array of shape (n_rows, n_columns)

        Returns
        -------
        numbers : data frame of shape (n_rows, n_made)
            Without gaps.
        """
        import pandas as pd

        check_is_fitted(self, "medians_")
        table = as_frame(X)
        check_width(self, X)
        self._check_columns(table)
        # Columns of numbers all at once: there may be thousands.
        plain = [name for name in self._outputs if name not in self._steps]
        block = dict(zip(plain, _as_block(table, plain).T[:, :, None], strict=True))
        numbers = np.empty((len(table), len(self._feature_names)))
        with_gaps = set(self._gaps)
        place = median = 0
        for name, outputs in self._outputs.items():
            values = block[name] if name in block else self._numbers_of(name, table[name])
            width = len(outputs)
            gaps = np.isnan(values)
            fill = self.medians_[median : median + width]
            numbers[:, place : place + width] = np.where(gaps, fill, values)
            place, median = place + width, median + width
            if name in with_gaps:
                numbers[:, place] = gaps.any(axis=1)
                place += 1
        return pd.DataFrame(numbers, index=table.index, columns=self._feature_names)

    def _numbers_of(self, name, values):
        steps = self._steps[name]
        values = _for_skrub(as_kind(values, self.kinds_[name]), self.kinds_[name])
        with warnings.catch_warnings():
            # A category that was never seen is none of those known, and that is all right.
            warnings.simplefilter("ignore")
            for step in steps:
                frame = isinstance(step, OneHotEncoder)
                values = step.transform(values.to_frame() if frame else values)
        numbers = np.array(values, dtype=np.float64).reshape(len(values), -1)
        if name in self._dates:
            numbers[:, -1] /= _SECONDS_OF_A_DAY
        return numbers

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        # A data frame of double precision, whatever comes in.
        tags.transformer_tags.preserves_dtype = []
        return tags

    def get_feature_names_out(self, input_features=None):
        """The names of the columns that come out.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self, "medians_")
        return np.array(self._feature_names, dtype=object)

    def categories(self):
        """For each column of categories those that were there when it was fitted."""
        check_is_fitted(self, "medians_")
        return {
            name: steps[-1].categories_[0].tolist()
            for name, steps in self._steps.items()
            if isinstance(steps[-1], OneHotEncoder)
        }

    def groups(self):
        """For each column in use the names of what is made of it."""
        check_is_fitted(self, "medians_")
        return self._all_groups


def _as_block(table, names):
    """Columns of numbers as one array (n_rows, n_names), gaps as NaN."""
    types = dict(zip(table.columns, table.dtypes, strict=True))
    simple = [isinstance(types[name], np.dtype) and types[name].kind in "fiub" for name in names]
    if all(simple):
        block = table[names].to_numpy(dtype=np.float64)
        return np.where(np.isinf(block), np.nan, block)
    block = np.empty((len(table), len(names)))
    for place, name in enumerate(names):
        block[:, place] = as_kind(table[name], "number")
    return block


def _medians(values):
    """The medians of columns, 0 of those without values."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)
        return np.nan_to_num(np.nanmedian(values, axis=0))


def _skrub():
    try:
        import skrub
    except ImportError:
        raise ImportError(
            "Tables with text, categories or dates need skrub; install it with: pip install "
            '"covey[cli]".'
        ) from None
    return skrub


def _for_skrub(values, kind):
    """Text as categories, lest skrub take 01234 for a number; dates as they are."""
    return values.astype("category") if kind == "text" else values


def _readable(name, outputs, categories):
    """Names that a user understands: ``town = Rome``, ``town is missing``, ``when: year``."""
    if outputs == [name]:
        return outputs
    prefix = f"{name}_"
    rests = [output.removeprefix(prefix) for output in outputs]
    if not categories:
        return [f"{name}: {'days' if rest == _SECONDS else rest}" for rest in rests]
    # A gap is the last category; text that says so was read as one.
    return [f"{name} is missing" if rest == "nan" else f"{name} = {rest}" for rest in rests]
