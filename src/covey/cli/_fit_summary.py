"""What ``covey fit`` shows in the end, wherever the rows lay: the answer first, in plain words."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from covey._intervals import Interval
from covey._judgement import Judgement
from covey.cli import _answers as answers
from covey.cli._console import Console

_MOST_COLUMNS_SHOWN = 10
# The names of models that read no column.
_SIMPLEST = ("the mean", "commonest class")
# The width of the questions, which answers stand beside, and of a line.
_WIDTH, _LINE = 24, 99


def show_fit(
    console: Console,
    problem: Any,
    fitted: Any,
    scores: list,
    *,
    how: str,
    n_rows: int,
    rows: Any,
    model: str,
    report: str | None,
    seconds: float,
    command: Sequence[str] = (),
    gap: Interval | None = None,
    loss_gap: Interval | None = None,
    over_simplest: Interval | None = None,
    loss_over_simplest: Interval | None = None,
    linear_tells: bool = True,
    price: dict[str, Interval] | None = None,
    judgement: Judgement | None = None,
    verbose: bool = False,
) -> None:
    """Show what was learned: scores of the model, of the simplest one and of others.

    ``gap`` and ``over_simplest`` are the differences of the accuracies (or R2) from the linear and
    the simplest model, ``loss_gap`` and ``loss_over_simplest`` those of the log-loss, with their
    intervals; ``linear_tells`` is whether the linear model itself is better than the simplest;
    ``price`` is what a simple flock costs against a full one; ``how`` are words for
    how rows were held out; ``rows`` some rows of the table, and ``command`` the words of the
    command but for options, if it can be given again with others.
    """
    regression = problem.regression
    looks_at = answers.effects(fitted, problem, rows)
    columns = [one.column for one in looks_at]
    sure = wrong_class = wrong_part = None
    if judgement is not None:
        sure = answers.sureness(judgement)
        wrong_class = answers.worst_class(judgement)
        wrong_part = answers.worst_part(judgement, problem, columns, rows)
    verdict = _verdict(gap, loss_gap, over_simplest, loss_over_simplest, linear_tells, scores)
    lines = {
        "How right is it?": [
            *_how_right(scores, regression, problem),
            *_comparison(verdict, gap),
        ],
        "How sure is it?": _how_sure(sure, regression),
        "What does it look at?": _looks_at(looks_at, regression),
        "When is it wrong?": _when_wrong(wrong_class, wrong_part, regression),
        "What would change it?": _changes(looks_at),
        "May I trust it?": _trust(scores, problem, n_rows, judgement),
    }
    what = "a quantity" if regression else f"{len(fitted.classes_)} classes"
    console.result(
        f"{problem.target}: {what}, {n_rows:,} rows, "
        f"{len(problem.kinds)} of {len(problem.columns)} columns.",
        "",
    )
    for question, said in lines.items():
        wrapped = [part for line in said for part in _wrapped(line)]
        for number, line in enumerate(wrapped):
            console.result(f"{question if not number else '':{_WIDTH}}{line}")
    console.result("")
    _table(console, scores, regression, verbose)
    if price is not None:
        console.result("", _price(price, regression))
    if verbose:
        _for_experts(console, problem, fitted, gap, loss_gap, how)
    size = _size(fitted.estimator_)
    console.result("", f"Saved {model}, fitted on all rows: {size} ({seconds:.1f} s in all).")
    if report:
        console.result(f"Wrote {report}.")
    _next_steps(console, model, report, command, verdict, judgement)
    shares = zip(fitted.feature_names_in_, fitted.feature_importances_.tolist(), strict=True)
    console.emit(
        target=problem.target,
        task="numbers" if regression else "classes",
        classes=None if regression else fitted.classes_,
        rows=n_rows,
        held_out=how,
        scores=[one.as_record(regression) for one in scores],
        difference_from_linear=gap,
        difference_from_simplest=over_simplest,
        verdict=verdict,
        price=price,
        columns=problem.health,
        importances=dict(sorted(shares, key=lambda pair: -pair[1])),
        effects=[asdict(one) for one in looks_at],
        sure=None if sure is None else asdict(sure),
        wrong={"class": wrong_class, "part": None if wrong_part is None else asdict(wrong_part)},
        answers={question: " ".join(said) for question, said in lines.items()},
        members=int(fitted.estimator_.n_estimators_),
        terms=getattr(fitted.estimator_, "n_terms_", None),
        model=model,
        report=report,
        seconds=seconds,
    )


def _wrapped(line: str) -> list[str]:
    """A line in pieces that fit beside the questions; a number stays with its unit."""
    bound = line.replace(" %", "\xa0%")
    return [part.replace("\xa0", " ") for part in textwrap.wrap(bound, _LINE - _WIDTH)]


# -- how right ---------------------------------------------------------------------------------


def _verdict(
    gap: Interval | None,
    loss_gap: Interval | None,
    over_simplest: Interval | None,
    loss_over_simplest: Interval | None,
    linear_tells: bool,
    scores: list,
) -> str:
    """In a word how the model compares with simpler ones."""
    if not scores:
        return "unknown"
    if gap is not None and linear_tells and _is_worse(gap, loss_gap):
        return "linear is better"
    if over_simplest is not None and over_simplest.low <= 0:
        if loss_over_simplest is not None and loss_over_simplest.high < 0:
            return "not more often right"
        return "useless" if over_simplest.value <= 0 else "perhaps useless"
    if gap is None:
        return "better"
    better = gap.low > 0 or (loss_gap is not None and loss_gap.high < 0 and gap.value >= 0)
    return "better" if better else "as linear"


def _is_worse(gap: Interval, loss_gap: Interval | None) -> bool:
    """Whether it is worse than the linear model by its answers, or by its probabilities."""
    return gap.high < 0 or (loss_gap is not None and loss_gap.low > 0 and gap.value <= 0)


def _how_right(scores: list, regression: bool, problem: Any) -> list[str]:
    if not scores:
        return ["That is not known: it was stopped before it was judged."]
    own = scores[0]
    # A fit that was stopped may lack it.
    simplest = next((one for one in scores if one.name in _SIMPLEST), None)
    if regression:
        explained = _share(own.value) if own.value > 0 else "nothing"
        said = (
            f"It explains {explained} of the differences in {problem.target} on rows that "
            f"it had not seen (likely {100 * own.low:.0f} to {_share(own.high)}). It is off by "
            f"{_mean_error(own, problem):.3g} on average"
        )
        if simplest is not None:
            off = _mean_error(simplest, problem)
            said += f"; always saying the mean would be off by {off:.3g}"
        return [f"{said}."]
    said = (
        f"On {100 * own.value:.1f} % of rows that it had not seen (likely {100 * own.low:.0f} to "
        f"{100 * own.high:.0f} %)."
    )
    if simplest is not None:
        said += (
            f" Always saying the commonest class would be right on {100 * simplest.value:.1f} %."
        )
    return [said]


def _mean_error(score: Any, problem: Any) -> float:
    """How far off predictions are; the root of the mean square where these are not here."""
    if not len(score.predictions):
        return score.loss
    return float(abs(score.predictions - problem.y[score.rows]).mean())


def _comparison(verdict: str, gap: Interval | None) -> list[str]:
    """How it compares with simpler models."""
    if verdict == "useless":
        return [
            "That is no better than not looking at all: these columns may tell nothing about it."
        ]
    if verdict == "perhaps useless":
        return ["That may be chance: these rows are too few to tell it from not looking at all."]
    if verdict == "not more often right":
        return [
            "It is not right more often than that, but its percentages tell more: judge it by the "
            "rows that it finds."
        ]
    if gap is None:
        return []
    words = {
        "linear is better": "A linear model is better"
        if gap.high < 0
        else "A linear model is better: its percentages are closer to the truth",
        "as linear": "A linear model does as well",
        "better": "It is better than a linear model",
    }[verdict]
    return [f"{words} ({_points(gap)})."]


def _points(gap: Interval) -> str:
    return f"{100 * gap.value:+.1f} points, likely {100 * gap.low:+.1f} to {100 * gap.high:+.1f}"


def _share(value: float) -> str:
    return f"{100 * value:.0f} %"


# -- the other questions -----------------------------------------------------------------------


def _how_sure(sure: Any, regression: bool) -> list[str]:
    if sure is None:
        return ["That is not known: no row was held out to see."]
    if regression:
        return [
            f"Half of its predictions are off by less than {sure.half:.3g}, nine of ten by less "
            f"than {sure.nine_of_ten:.3g}."
        ]
    if sure.right_unsure != sure.right_unsure:
        return [f"It is equally sure of all rows, and right on {_share(sure.right_sure)}."]
    return [
        f"Where it gives its answer {_share(sure.level)} or more ({_share(sure.share_sure)} of "
        f"rows) it is right on {_share(sure.right_sure)},",
        f"elsewhere on {_share(sure.right_unsure)}.",
    ]


def _looks_at(looks_at: list, regression: bool) -> list[str]:
    if not looks_at:
        return ["At nothing: it predicts the same for every row."]
    return [
        f"{_share(one.share)} {one.column}: {_what_it_does(one, regression)}" for one in looks_at
    ]


def _what_it_does(effect: Any, regression: bool) -> str:
    shown = f"{{:.{4 if regression else 2}g}}" if regression else "{:.0%}"
    low, high = (shown.format(one).replace("%", " %") for one in (effect.low, effect.high))
    if low == high:
        return "hardly anything by itself; it counts together with others"
    if effect.direction == "category":
        return f"{effect.outcome} {low} for {effect.at_low}, {high} for {effect.at_high}"
    moves = "rises" if effect.high > effect.low else "falls"
    return f"{effect.outcome} {moves} from {low} at {effect.at_low} to {high} at {effect.at_high}"


def _when_wrong(wrong_class: Any, part: Any, regression: bool) -> list[str]:
    said = []
    if wrong_class is not None:
        missed = wrong_class["rows"] - wrong_class["right"]
        are = "is missed" if missed == 1 else "are missed, most of them"
        said.append(
            f"Most often on {wrong_class['class']}: {missed:,} of {wrong_class['rows']:,} rows "
            f"{are} taken for {wrong_class['taken_for']}."
        )
    if part is not None and regression:
        said.append(
            f"Most where {part.words}: off by {part.error:.3g} on average, "
            f"{part.elsewhere:.3g} elsewhere."
        )
    elif part is not None:
        said.append(
            f"More often where {part.words}: {_share(part.error)} of rows are wrong, "
            f"{_share(part.elsewhere)} elsewhere."
        )
    return said or ["No kind of row stands out among those that it had not seen."]


def _changes(looks_at: list) -> list[str]:
    if not looks_at:
        return ["Nothing: no column counts."]
    names = " and ".join(one.column for one in looks_at[:2])
    return [f"Other values of {names}, before all; for one row, see below."]


def _trust(scores: list, problem: Any, n_rows: int, judgement: Judgement | None) -> list[str]:
    if not scores:
        return ["Not yet: no row was held out to see how right it is."]
    own = scores[0]
    if problem.regression:
        low, high = max(0.0, own.low), max(0.0, own.high)
        expected = f"{100 * low:.0f} to {_share(high)} explained"
    else:
        expected = f"{100 * own.low:.0f} to {100 * own.high:.0f} of 100 right"
    if judgement is None:
        held_out = "a quarter of them was held out"
    elif len(judgement.y) == n_rows:
        held_out = "each was held out once"
    else:
        held_out = f"{len(judgement.y):,} were held out"
    said = f"On new rows that come as these {n_rows:,} did ({held_out}): expect {expected}."
    if problem.times is not None:
        return [f"{said} Later rows were held out, as new ones will be."]
    if problem.groups is not None and not problem.copies:
        return [f"{said} Rows of one group were held out together, as new groups will be."]
    return [
        f"{said} Not if new rows come from another place or time, or if several rows belong to "
        "one person or day: then use --group or --time."
    ]


# -- tables ------------------------------------------------------------------------------------


def _table(console: Console, scores: list, regression: bool, verbose: bool) -> None:
    if not scores:
        return
    head = ["", ("R2" if verbose else "explained") if regression else "right"]
    head[1] += " (95 %)"
    head += ["RMSE" if regression else "log-loss", "fit, s"] if verbose else []
    rows = []
    for one in scores:
        more = [f"{one.loss:.4g}", f"{one.seconds:.1f}"] if verbose else []
        rows.append([one.name, one.text(regression), *more])
    console.table(head, rows)


def _price(price: dict[str, Interval], regression: bool) -> str:
    value, loss = price["value"], price["loss"]
    of = "of R2" if regression else "of accuracy"
    name = "squared error" if regression else "log-loss"
    return (
        f"The price of being simple: {100 * value.value:+.1f} points {of} "
        f"({100 * value.low:+.1f} to {100 * value.high:+.1f}), {name} {loss.value:+.3g}, against "
        "the full flock."
    )


def _for_experts(
    console: Console,
    problem: Any,
    fitted: Any,
    gap: Interval | None,
    loss_gap: Interval | None,
    how: str,
) -> None:
    console.result("", f"Rows were held out by {how}.")
    if gap is not None:
        console.result(
            f"The flock is {100 * gap.value:+.1f} points from the linear model "
            f"({100 * gap.low:+.1f} to {100 * gap.high:+.1f} on the same rows)."
        )
    if loss_gap is not None:
        console.result(
            f"Its log-loss is {loss_gap.value:+.3g} from the linear model's "
            f"({loss_gap.low:+.3g} to {loss_gap.high:+.3g})."
        )
    shares = zip(fitted.feature_names_in_, fitted.feature_importances_.tolist(), strict=True)
    importances = sorted(shares, key=lambda pair: -pair[1])
    console.result("")
    console.table(
        ("column", "kind", "share"),
        [
            (name, problem.kinds[name], f"{100 * share:.0f} %")
            for name, share in importances[:_MOST_COLUMNS_SHOWN]
        ],
    )
    if len(importances) > _MOST_COLUMNS_SHOWN:
        console.result(f"and {len(importances) - _MOST_COLUMNS_SHOWN} more columns")


def _next_steps(
    console: Console,
    model: str,
    report: str | None,
    command: Sequence[str],
    verdict: str,
    judgement: Judgement | None,
) -> None:
    """One line to type for each thing that a reader may want next."""
    from covey.cli import _COMMANDS

    again = ("covey", "fit", *command)
    steps: list[tuple[Sequence[str], str]] = []
    if not command:
        pass
    elif verdict == "linear is better":
        steps.append(((*again, "--linear"), "take the linear model, which is better"))
    elif verdict == "as linear":
        steps.append(((*again, "--linear"), "take the linear model, which is simpler"))
    if "explain" in _COMMANDS and command:
        row, what = 1, "why row 1 is predicted as it is, and what would change it"
        if judgement is not None and judgement.classes is not None:
            wrong = judgement.numbers[~judgement.correct]
            if len(wrong):
                row = int(wrong[0])
                what = f"why row {row} was wrong, and what would change it"
        steps.append((("covey", "explain", model, command[0], "--row", str(row)), what))
    steps.append((("covey", "predict", model, "new.csv"), "predict other rows"))
    if report is None and command:
        steps.append(((*again, "--report", "page.html"), "see it all on a page"))
    lines = [(shlex.join(words), what) for words, what in steps]
    width = max(len(line) for line, _ in lines)
    console.result("Next:")
    for line, what in lines:
        console.result(f"  {line:{width}}  {what}")


def _size(flock: Any) -> str:
    """How much there is to read; of members of several kinds, how much each counts."""
    if hasattr(flock, "weights_"):
        kinds = zip(flock.named_estimators_, flock.weights_, strict=True)
        return ", ".join(f"{name} {100 * weight:.0f} %" for name, weight in kinds)
    words = f"{flock.n_estimators_} member{'' if flock.n_estimators_ == 1 else 's'}"
    if hasattr(flock, "n_terms_"):
        words += f", {flock.n_terms_:,} term{'' if flock.n_terms_ == 1 else 's'}"
    return words
