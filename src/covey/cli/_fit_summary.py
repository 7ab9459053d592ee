"""What ``covey fit`` shows in the end, wherever the rows lay."""

from __future__ import annotations

from typing import Any

from covey.cli._console import Console

_MOST_COLUMNS_SHOWN = 10


def show_fit(
    console: Console,
    problem: Any,
    fitted: Any,
    scores: list,
    *,
    gap: tuple[float, float, float] | None,
    how: str,
    n_rows: int,
    model: str,
    report: str | None,
    seconds: float,
    judgement: Any = None,
) -> None:
    """Show what was learned: scores of the flock, the simplest and the linear model.

    ``gap`` is the difference of the accuracies of flock and linear model, with its interval;
    ``how`` are words for how rows were held out.
    """
    regression = problem.regression
    what = "a quantity" if regression else f"{len(fitted.classes_)} classes"
    console.result(
        f"{problem.target}: {what}, {n_rows:,} rows, "
        f"{len(problem.kinds)} of {len(problem.columns)} columns. "
        f"On rows held out ({how}), with 95 % intervals:",
        "",
    )
    console.table(
        ("", *(("R2", "RMSE") if regression else ("accuracy", "log-loss")), "fit, s"),
        [
            (one.name, one.text(regression), f"{one.loss:.4g}", f"{one.seconds:.1f}")
            for one in scores
        ],
    )
    if gap is not None:
        console.result(
            "",
            f"The flock is {100 * gap[0]:+.1f} points from the linear model "
            f"({100 * gap[1]:+.1f} to {100 * gap[2]:+.1f} on the same rows).",
        )
    shares = zip(fitted.feature_names_in_, fitted.feature_importances_.tolist(), strict=True)
    importances = sorted(shares, key=lambda pair: -pair[1])
    console.result("", f"What it looks at ({_size(fitted.estimator_)}):")
    console.table(
        ("column", "kind", "share"),
        [
            (name, problem.kinds[name], f"{100 * share:.0f} %")
            for name, share in importances[:_MOST_COLUMNS_SHOWN]
        ],
    )
    if len(importances) > _MOST_COLUMNS_SHOWN:
        console.result(f"and {len(importances) - _MOST_COLUMNS_SHOWN} more columns")
    console.result("", f"Saved {model}, fitted on all rows ({seconds:.1f} s in all).")
    if report:
        console.result(f"Wrote {report}.")
    console.emit(
        target=problem.target,
        task="numbers" if regression else "classes",
        classes=None if regression else fitted.classes_,
        rows=n_rows,
        held_out=how,
        scores=[one.as_record(regression) for one in scores],
        difference_from_linear=gap,
        columns=problem.health,
        importances=dict(importances),
        members=int(fitted.estimator_.n_estimators_),
        terms=getattr(fitted.estimator_, "n_terms_", None),
        model=model,
        report=report,
        seconds=seconds,
    )


def _size(flock: Any) -> str:
    """How much there is to read; of members of several kinds, how much each counts."""
    if hasattr(flock, "weights_"):
        kinds = zip(flock.named_estimators_, flock.weights_, strict=True)
        return ", ".join(f"{name} {100 * weight:.0f} %" for name, weight in kinds)
    words = f"{flock.n_estimators_} member{'' if flock.n_estimators_ == 1 else 's'}"
    if hasattr(flock, "n_terms_"):
        words += f", {flock.n_terms_:,} term{'' if flock.n_terms_ == 1 else 's'}"
    return words
