"""The summary of ``covey fit`` and ``covey report``: the answers first, in plain words."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Sequence

from covey._number_words import rough, signed
from covey.cli._console import Console
from covey.evaluation import Evaluation
from covey.evaluation import _sentences as sentences

# The width of the questions, which answers stand beside, and of a line.
_WIDTH, _LINE = 24, 99
_MOST_COLUMNS_SHOWN = _MOST_GROUPS = 10


def show_answers(console: Console, one: Evaluation, verbose: bool = False) -> None:
    """Show the answers to a reader's questions about a model, and the scores."""
    console.result(*_wrapped(f"{sentences.heading(one)} {sentences.size(one)}".strip(), _LINE), "")
    for question, said in sentences.answers(one):
        if question == sentences.LOOKS_AT:
            # Shares stand below each other.
            said = [
                f"{' ' * (4 - line.find('%')) if '%' in line[:5] else ''}{line}" for line in said
            ]
        lines = [part for line in said for part in _wrapped(line, _LINE - _WIDTH)]
        for number, line in enumerate(lines):
            console.result(f"{question if not number else '':{_WIDTH}}{line}")
    measures = sentences.measures_of(one, verbose)
    if one.scores:
        heads = [sentences.head_of(name) for name in measures]
        heads[0] += " (95 %)"
        rows = [
            [score.name, *(sentences.score_text(score, name) for name in measures)]
            + ([f"{score.seconds:.1f}" if score.seconds is not None else "-"] if verbose else [])
            for score in one.scores
        ]
        console.result("")
        console.table(["", *heads, *(["fit, s"] if verbose else [])], rows)
    for column in one.by_group:
        heads, cells = sentences.group_table(one, column)
        console.result("")
        console.table(heads, [[text for text, _ in row] for row in cells[:_MOST_GROUPS]])
        if len(cells) > _MOST_GROUPS:
            console.result(f"and {len(cells) - _MOST_GROUPS} more groups (all are on the page)")
        console.result(*_wrapped(" ".join(sentences.group_sentences(one, column)), _LINE))
    if verbose:
        _for_experts(console, one)


def show_fit(
    console: Console,
    one: Evaluation,
    *,
    model: str,
    report: str | None = None,
    seconds: float,
    command: Sequence[str] = (),
    of_model: Sequence[str] = (),
    verbose: bool = False,
) -> None:
    """Show what was learned, where it was saved, and what may be done next.

    ``command`` are the words of the command without options of the model, if it can be given again
    with others, and ``of_model`` those options.
    """
    show_answers(console, one, verbose)
    console.result("", f"Saved {model}, fitted on all rows ({seconds:.1f} s in all).")
    if report:
        console.result(f"Wrote {report}.")
    _next_steps(console, one, model, report, command, of_model)
    console.emit(
        target=one.target,
        task=one.task,
        classes=one.classes or None,
        rows=one.n_rows,
        held_out=one.how,
        scores=[sentences.flat(score) for score in one.scores],
        verdict=one.verdict,
        importances={column.name: column.share for column in one.used},
        answers={question: " ".join(said) for question, said in sentences.answers(one)},
        members=one.n_members,
        terms=one.n_terms,
        evaluation=one.without_rows().as_dict(),
        model=model,
        report=report,
        seconds=seconds,
    )


def _wrapped(line: str, width: int) -> list[str]:
    """Return a line in pieces of a width; a number stays with its unit."""
    bound = line.replace(" %", "\xa0%").replace(" million", "\xa0million")
    return [
        part.replace("\xa0", " ") for part in textwrap.wrap(bound, width, break_on_hyphens=False)
    ]


def _for_experts(console: Console, one: Evaluation) -> None:
    console.result("", f"Rows were held out by {one.how}.")
    for gap in one.differences:
        shown = [
            f"{sentences.head_of(name)} {signed(found.value)} "
            f"({signed(found.low)} to {signed(found.high)})"
            for name, found in gap.measures.items()
            if name in ("accuracy", "auc", "log_loss", "r2", "mae", "deviance")
        ]
        console.result(f"From {gap.name}: {', '.join(shown)}.")
    console.result("")
    rows = [
        (column.name, column.kind, rough(column.share))
        for column in one.used[:_MOST_COLUMNS_SHOWN]
    ]
    console.table(("column", "kind", "share"), rows)
    if len(one.used) > _MOST_COLUMNS_SHOWN:
        console.result(f"and {len(one.used) - _MOST_COLUMNS_SHOWN} more columns")


def _next_steps(
    console: Console,
    one: Evaluation,
    model: str,
    report: str | None,
    command: Sequence[str],
    of_model: Sequence[str],
) -> None:
    """Return one line to type for each next step of a reader."""
    again = ("covey", "fit", *command)
    steps: list[tuple[Sequence[str], str]] = []
    if command and one.verdict in ("linear is better", "as linear"):
        why = "better" if one.verdict == "linear is better" else "simpler"
        steps.append(((*again, "--linear"), f"take the linear model, which is {why}"))
    if command:
        row, what = "1", "why row 1 is predicted as it is, and what would change it"
        if one.wrong and one.task == "classes":
            row = one.wrong[0].row
            what = f"why row {row} was wrong, and what would change it"
        steps.append((("covey", "explain", model, command[0], "--row", row), what))
    predict = ("covey", "predict", model, "new.csv")
    if one.rare is not None and not any(each.chosen == each.alarms for each in one.thresholds[:1]):
        call = (*predict, "--find", "80%", "--class", str(one.rare))
        steps.append((call, f"predict other rows so that 80 % of '{one.rare}' are found"))
    steps.append((predict, "predict other rows"))
    if report is None and command:
        steps.append(((*again, *of_model, "--report", "page.html"), "see it all on a page"))
    lines = [(shlex.join(words), what) for words, what in steps]
    width = max(len(line) for line, _ in lines)
    console.result("Next:")
    for line, what in lines:
        console.result(f"  {line:{width}}  {what}")
