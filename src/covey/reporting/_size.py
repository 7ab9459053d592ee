"""The section about how many members are enough."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from covey.fusers import make_fuser
from covey.reporting._charts import Curve, line_chart
from covey.reporting._facts import Facts
from covey.reporting._words import described, number_cell

# How many members a curve goes to.
_MOST_CURVE = 60


def size(facts: Facts) -> dict | None:
    """What more members bring; None for a single one, or on rows that members were fitted on."""
    if facts.n_members < 2 or not facts.all_available or facts.held_out:
        return None
    fuser = facts.flock.fuser_
    given = fuser.get_params()
    weights = given.get("weights")
    # Weights of all members are weights of the first few too, unless the first has none.
    weighted = weights is not None and np.asarray(weights)[0] > 0
    own = not fuser.learns and given.get("k") is None and (weights is None or weighted)
    rule = fuser if own else make_fuser(facts.plain_rule)
    shown = min(facts.n_members, _MOST_CURVE)
    rows = facts.flock._check_rows(facts.seen) if rule.needs_X else None
    fused = []
    for k in range(1, shown + 1):
        first = clone(rule).set_params(weights=weights[:k]) if own and weighted else rule
        fused.append(facts.score(first.fuse(facts.P.first(k), rows)))
    oracle = facts.staged_oracle()[:shown].tolist()
    rule_name = type(rule).__name__.lower()
    whole = facts.sample_score
    entries = [
        ("First member alone", fused[0]),
        (f"All {shown}, by {rule_name}", fused[-1]),
        *([] if own else [("The model as fitted", whole)]),
        ("Oracle", oracle[-1]),
    ]
    drawing = line_chart(
        "size-lines",
        [
            Curve("oracle", oracle, "limit"),
            Curve(f"by {rule_name}", fused, "own" if own else "other"),
        ],
        x_name="number of members K",
        level=("first member", fused[0]),
        mark=None if own else ("as fitted", whole),
        show=facts.show,
        highest=facts.highest,
        title=f"{facts.measure} of the first K members",
        description=described((label, facts.show(value)) for label, value in entries),
    )
    return {
        "drawing": drawing,
        "rows": [[label, number_cell(value, facts.show)] for label, value in entries],
        "own": own,
        "rule": rule_name,
        "shown": shown,
        "first": facts.show(fused[0]),
        "fused": facts.show(fused[-1]),
        "oracle": facts.show(oracle[-1]),
        "whole": facts.show(whole),
        "trained_to_share": hasattr(facts.flock, "basis_"),
    }
