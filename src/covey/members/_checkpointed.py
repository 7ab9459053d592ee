"""Fits that keep a journal, and go on from it after a kill."""

import pickle
from itertools import chain

import joblib

from covey import __version__
from covey._checkpoint import Journal


class Checkpointed:
    """A mixin for grown ensembles with the parameter ``checkpoint``.

    During a fit ``_journal`` is the journal, or None; whatever takes long is given it.
    """

    def _prepare(self, X, codes, weight, groups):
        self._journal = None
        if self.checkpoint is None:
            return
        parameters = self.get_params(deep=False)
        for name in ("checkpoint", "device", "n_jobs", "verbose", "random_state"):
            parameters.pop(name, None)
        seed = None if self.random_state is None else self._seed
        data = X, codes, self.classes_, weight, groups
        try:
            key = joblib.hash((__version__, parameters, seed, *data))
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise ValueError(
                "A checkpoint needs parameters that can be compared with a later fit's, but one "
                f"of them cannot be pickled: {error}"
            ) from error
        self._journal = Journal(self.checkpoint, key, self._seed)
        self._seed = self._journal.seed

    def _kept_folds(self, make):
        """The folds; those of the fit that began, since a splitter may draw others each time."""
        if self._journal is None:
            return make()
        task = self._journal.begin()
        if task.result is None:
            folds = make()
            task.finish({f"{place}": part for place, part in enumerate(chain(*folds))})
            return folds
        parts = [task.result[f"{place}"] for place in range(len(task.result))]
        return list(zip(parts[::2], parts[1::2], strict=True))

    def _let_go(self):
        self.__dict__.pop("_journal", None)
