"""``covey fuse`` of numbers: what regressors predict."""

from __future__ import annotations

from typing import Any

import numpy as np

from covey._intervals import r2_interval
from covey.cli._console import CommandError, Console
from covey.cli._writing import table_writer

_N_FOLDS = 5


def fuse_numbers(
    console: Console,
    saved: list[np.ndarray],
    paths: list[str],
    rule: str,
    truth: np.ndarray | None,
    made: dict[str, Any],
    out: str | None,
    raw: bool,
) -> None:
    """Write one number a row, after the columns in ``made``, and say how good each file is."""
    import pandas as pd

    fused, judged, learns = _fused(np.column_stack(saved), rule, truth)
    frame = pd.DataFrame({**made, "prediction": fused})
    if out or not console.as_json:
        with table_writer(out, raw) as write:
            write(frame)
    result: dict[str, Any] = {"rows": len(frame), "rule": rule, "out": out}
    if truth is not None:
        names = [*paths, f"fused ({rule}{', cross-fitted' if learns else ''})"]
        errors = [(one - truth) ** 2 for one in (*saved, judged)]
        for name, squared in zip(names, errors, strict=True):
            value, low, high = r2_interval(truth, squared)
            off = float(np.sqrt(squared.mean()))
            console.note(f"{name}: R2 {value:.3f} ({low:.3f} to {high:.3f}), RMSE {off:.4g}")
        result["rmse"] = [float(np.sqrt(one.mean())) for one in errors[:-1]]
        result["fused_rmse"] = float(np.sqrt(errors[-1].mean()))
        result["fused_r2"] = r2_interval(truth, errors[-1]).value
    if out:
        console.note(f"Wrote {len(frame):,} rows to {out}.")
    else:
        result["predictions"] = frame.to_dict("records")
    console.emit(**result)


def _fused(
    values: np.ndarray, rule: str, truth: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Fused numbers of (n, n_files); the same by rules that did not learn from a row; if any did.

    A rule that learns is judged by what it fuses of rows that it did not learn from.
    """
    from sklearn.base import clone
    from sklearn.model_selection import KFold

    from covey.fusers import FUSERS, Predictions, make_fuser

    known = [name for name in sorted(FUSERS) if _takes_numbers(name)]
    try:
        fuser = make_fuser(rule, "--rule")
    except ValueError as error:
        raise CommandError(str(error).replace(", a Fuser or a function", "")) from None
    if rule not in known:
        raise CommandError(
            f"--rule: {rule!r} does not fuse numbers; use one of {', '.join(known)}, or --task "
            "classes if these are classes."
        )
    P = Predictions(values[:, :, None], None, kind="value")
    if not fuser.learns:
        fused = np.ravel(fuser.fuse(P))
        return fused, fused, False
    if truth is None:
        raise CommandError(
            f"--rule: {rule!r} learns from true numbers; give --truth and --target."
        )
    judged = np.zeros(len(values))
    for train, test in KFold(min(_N_FOLDS, len(values)), shuffle=True, random_state=0).split(
        values
    ):
        part = clone(fuser).fit(
            Predictions(values[train, :, None], None, kind="value"), truth[train]
        )
        judged[test] = np.ravel(part.fuse(Predictions(values[test, :, None], None, kind="value")))
    return np.ravel(clone(fuser).fit(P, truth).fuse(P)), judged, True


def _takes_numbers(name: str) -> bool:
    """Whether a rule fuses numbers, and needs nothing but predictions for it."""
    from covey.fusers import FUSERS

    fuser = FUSERS[name]()
    return (
        "value" in fuser.kinds
        and not getattr(fuser, "needs_X", False)
        and name not in ("gate", "oracle")
    )
