"""covey: grow small flocks of simple models, fuse them, and see who decided and why.

- *grow*: `SubsetEnsembleClassifier` trains members one after another, each on its own
  features, each drawn to the samples that the earlier ones get wrong.
- *fuse*: `Product` and `Oracle` make one decision out of many.
- *explain*: ``explain_fusion``, ``support_`` and ``history_`` say who decided and why.
"""

from importlib import import_module

__version__ = "0.1.0"

# Where each public name lives. They are imported on first use, to keep `import covey` light.
_HOMES = {
    "Fuser": "covey.fusers",
    "GrownClassifier": "covey.members",
    "LinearMember": "covey.members",
    "Oracle": "covey.fusers",
    "Predictions": "covey.fusers",
    "Product": "covey.fusers",
    "SubsetEnsembleClassifier": "covey.members",
    "make_quarter_circle": "covey.datasets",
}
_SUBPACKAGES = ("datasets", "fusers", "members")

__all__ = ["__version__", *_HOMES]


def __getattr__(name):
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _SUBPACKAGES:
        return import_module(f"covey.{name}")
    raise AttributeError(f"module 'covey' has no attribute {name!r}")


def __dir__():
    return sorted([*__all__, *_SUBPACKAGES])
