"""covey: grow small flocks of simple models, fuse them, and see who decided and why.

- *grow*: `FlockClassifier` searches for a few groups of linear members, each member on its own
  features; `SubsetEnsembleClassifier.paper()` is the algorithm of the paper behind it.
- *fuse*: `FusionClassifier` makes one decision out of any models, `fuse` out of saved
  predictions, by votes, ranks, probabilities or dynamic selection.
- *explain*: ``explain_fusion``, ``support_`` and ``history_`` show who decided and why.
"""

from covey._names import lazy_names

__version__ = "0.2.0"

_names, __getattr__, __dir__ = lazy_names("covey")
__all__ = ["__version__", *_names]
