"""Files that can run code, for users who trust their makers: the format of skops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from covey._names import extra
from covey._plain_words import first_line
from covey.persistence._refusals import ModelFileError

# The entry that identifies such a file.
SKOPS_ENTRY = "schema.json"


def _skops() -> Any:
    with extra("Models of other classes than covey's need", "io"):
        import skops.io
    return skops.io


def dumps_trusted(estimator: Any) -> bytes:
    """Return the bytes of any estimator in skops' format."""
    skops_io = _skops()
    try:
        data = skops_io.dumps(estimator)
        # If it cannot be read again, such as a lambda, that is better known now. These bytes are
        # ours.
        skops_io.loads(data, trusted=skops_io.get_untrusted_types(data=data))
    except Exception as error:
        raise ModelFileError(
            f"This {type(estimator).__name__} cannot be saved, since something in it has no name "
            f"or no state that could be read again: {first_line(error)}"
        ) from error
    return data


def loads_trusted(data: bytes, trusted: Sequence[str | type] | None) -> Any:
    """Return the object in such a file, if its types are trusted."""
    if trusted is None:
        raise ModelFileError(
            "it is in the format of skops, which can run code; if you trust whoever made it, pass "
            "trusted=[], or trusted=[...] with the names of types that belong to others."
        )
    skops_io = _skops()
    named = {
        one if isinstance(one, str) else f"{one.__module__}.{one.__qualname__}" for one in trusted
    }
    try:
        found = set(skops_io.get_untrusted_types(data=data))
        unknown = sorted(one for one in found - named if not one.startswith("covey."))
        if unknown:
            raise ModelFileError(
                f"it holds types that are not trusted: {', '.join(unknown)}; if you trust them, "
                "name them in trusted=[...]."
            )
        return skops_io.loads(data, trusted=sorted(found | named))
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(f"it is damaged: {first_line(error)}") from error


def trusted_types(estimator: Any) -> list[str]:
    """List the classes of covey and scikit-learn in a model that skops asks about.

    It is for tools that keep models in the format of skops, and must be told which classes they
    may make again, such as mlflow. Foreign classes in the model are not named: a user who trusts
    them adds them.

    Parameters
    ----------
    estimator : estimator
        Fitted or not.

    Returns
    -------
    names : list of str

    Examples
    --------
    >>> from covey import FlockClassifier
    >>> from covey.persistence import trusted_types
    >>> trusted_types(FlockClassifier())
    ['covey.members._flock.FlockClassifier']
    >>> mlflow.sklearn.log_model(flock, name="flock",
    ...                          skops_trusted_types=trusted_types(flock))  # doctest: +SKIP
    """
    skops_io = _skops()
    found = skops_io.get_untrusted_types(data=skops_io.dumps(estimator))
    return sorted(name for name in found if name.startswith(("covey.", "sklearn.")))
