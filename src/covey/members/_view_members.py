"""The unfitted members of each view: from what the user gives, seeded, named and checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from covey._models import classifies, requesting_weights
from covey.members._ranges import check_range

# The square of this, and of its inverse, is a float with some room for sums.
_LARGEST = 1e150
# scikit-learn's MaxAbsScaler takes a column for zeros if nothing in it is as large as this.
_SMALLEST_SPARSE = 10 * float(np.finfo(np.float64).eps)


def members_by_view(
    given: Any, views: Iterable[str], *, sparse: bool, seed: int
) -> dict[str, list]:
    """The unfitted members of each view; those without a seed get one."""
    if given is None:
        given = make_pipeline(
            SimpleImputer(keep_empty_features=True),
            MaxAbsScaler() if sparse else requesting_weights(StandardScaler()),
            requesting_weights(LogisticRegression(max_iter=1000)),
        )
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in views]
        lacking = [name for name in views if name not in given]
        if unknown or lacking:
            problem = f"names {unknown[0]!r}" if unknown else f"lacks {lacking[0]!r}"
            raise ValueError(
                f"estimator {problem}; it must have members for each of the views "
                f"{', '.join(map(repr, views))}."
            )
    found: dict[str, list] = {}
    number = 0
    for view in views:
        members = given[view] if isinstance(given, Mapping) else given
        members = list(members) if isinstance(members, list | tuple) else [members]
        if not members:
            raise ValueError(f"estimator has no member for the view {view!r}.")
        found[view] = []
        for member in members:
            if not classifies(member):
                raise ValueError(
                    f"estimator must be classifiers, but for the view {view!r} it has {member!r}."
                )
            found[view].append(_seeded(member, seed, number))
            number += 1
    return found


def check_default_range(
    X: Any, feature_names: np.ndarray | None, views: Mapping[str, np.ndarray]
) -> None:
    """Refuse columns that the default member cannot scale."""
    columns = np.concatenate(list(views.values()))
    if hasattr(X, "tocsr"):
        check_range(
            X,
            feature_names,
            smallest=_SMALLEST_SPARSE,
            largest=np.inf,
            reader="the default member of sparse rows",
            columns=columns,
        )
        return
    try:
        numbers = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return  # the members will refuse these columns by themselves
    check_range(
        numbers,
        feature_names,
        smallest=1 / _LARGEST,
        largest=_LARGEST,
        reader="the default member, which squares them,",
        columns=columns,
    )


def listed_members(given: Any) -> list:
    """All members that a user has given, in one list."""
    entries = given.values() if isinstance(given, Mapping) else [given]
    return [
        member
        for entry in entries
        for member in (entry if isinstance(entry, list | tuple) else [entry])
    ]


def member_names(members_by_view: Mapping[str, list]) -> tuple[list[str], list[str]]:
    """Names of the members, and of their views."""
    names, owners = [], []
    for view, members in members_by_view.items():
        alone = len(members) == 1
        names += [view] if alone else [f"{view} {k}" for k in range(1, len(members) + 1)]
        owners += [view] * len(members)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"Two members would be called {twice!r}; give the views names that differ by more "
            "than a number."
        )
    return names, owners


def _seeded(member: Any, seed: int, number: int) -> Any:
    """A copy whose random states that are None are a function of the ensemble's seed."""
    member = clone(member)
    if not hasattr(member, "get_params"):
        return member
    unset = sorted(
        name
        for name, value in member.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    )
    states = np.random.SeedSequence([seed, number]).generate_state(max(1, len(unset)))
    return member.set_params(
        **{name: int(state % 2**31) for name, state in zip(unset, states, strict=False)}
    )


def check_members(
    members: Mapping[str, list], method: str, weighted: bool, unlabeled_weight: float
) -> None:
    """Refuse members that cannot be used by the method that unlabelled rows are used by."""
    names, _ = member_names(members)
    pairs = list(zip(names, (member for view in members.values() for member in view), strict=True))
    needs_weight = weighted
    if method != "supervised":
        if len(members) < 2:
            raise ValueError(
                f"method={method!r} lets views teach each other and needs two or more, got "
                "one view; use method='supervised', or more views."
            )
        for name, member in pairs:
            if not hasattr(member, "predict_proba"):
                raise ValueError(
                    f"method={method!r} compares how sure views are, but the member {name!r} has "
                    "no predict_proba; calibrate it, or use method='supervised'."
                )
        needs_weight |= method == "co_em" or unlabeled_weight != 1
    for name, member in pairs:
        if needs_weight and not takes_weight(member):
            why = ""
            if not weighted and method == "co_em":
                why = ", which co-EM needs"
            elif not weighted:
                why = f", which unlabeled_weight={unlabeled_weight} needs; use 1"
            raise TypeError(f"The member {name!r} cannot be fitted with sample_weight{why}.")


def takes_weight(member: Any) -> bool:
    """Whether a classifier, or a pipeline's last step, can be fitted with weights."""
    if isinstance(member, Pipeline):
        routed = get_config()["enable_metadata_routing"]
        return routed or takes_weight(member[-1])
    return has_fit_parameter(member, "sample_weight")


def takes_nan(member: Any) -> bool:
    """Whether missing values pass through a classifier, or are imputed in a pipeline."""
    if not isinstance(member, Pipeline):
        return get_tags(member).input_tags.allow_nan
    for _, step in member.steps:
        if step is None or isinstance(step, str):
            continue
        if not takes_nan(step):
            return False
        if type(step).__module__.startswith("sklearn.impute"):
            break
    return True
