"""A page about a fitted model, rendered from its evaluation."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from covey import _number_words as numbers
from covey._files import write_file
from covey._plain_words import one_line, shortened
from covey._templates import Markup, environment, escaped
from covey.evaluation import Evaluation, evaluate
from covey.evaluation import _sentences as sentences
from covey.reporting import _words as words
from covey.reporting._sections import FOR_EXPERTS, FOR_PEOPLE, Section

# The height of a report in a notebook, in pixels.
_NOTEBOOK_HEIGHT = 720
# The functions that templates may call.
_FILTERS = (
    numbers.count,
    numbers.counted,
    numbers.number,
    numbers.percent,
    numbers.quoted,
    numbers.rough,
    one_line,
    words.name,
    shortened,
)


class Report:
    """A page about a fitted flock, as `build_report` makes it.

    Notebooks show it in a frame of its own.

    Parameters
    ----------
    html : str
        The whole page, which is an attribute too.

    Examples
    --------
    >>> from covey.reporting import Report
    >>> Report("<!doctype html><title>A page</title>").html[:15]
    '<!doctype html>'
    """

    def __init__(self, html: str):
        self.html = html

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file; an older one stays until the new one is complete.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        path : Path
            The same as a path.
        """
        path = Path(path)
        if path.is_dir():
            raise IsADirectoryError(f"{str(path)!r} is a folder; name a file to save the report.")
        if not path.absolute().parent.is_dir():
            raise FileNotFoundError(
                f"There is no folder {str(path.parent)!r} to save the report in; make it first."
            )
        write_file(path, self.html)
        return path

    def _repr_html_(self) -> str:
        """Return what notebooks show: the page in a frame of its own."""
        return (
            f'<iframe srcdoc="{escaped(self.html)}" title="covey report" loading="lazy" '
            'sandbox="allow-scripts" '
            f'style="width:100%;height:{_NOTEBOOK_HEIGHT}px;border:1px solid #8884"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Report({len(self.html.encode()) / 1024:.0f} KiB; save(path) writes it)"


def build_report(
    model: Any,
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    title: str | None = None,
    command: str | None = None,
    **how: Any,
) -> Report:
    """Build one self-contained page about a fitted model: how right it is, and why.

    It begins with the parts for everybody: the answers to six questions, the most important
    columns with their effects, where it errs, a threshold to move, and rows that are wrong with
    the reasons for and against. The rest, members and gates, scores, calibration, is behind a fold
    for experts.

    The page loads nothing from anywhere, follows the reader's light or dark theme, can be printed,
    and is identical for the same evaluation. Sections that do not apply are left out.

    Parameters
    ----------
    model : fitted model, or Evaluation
        A result of `evaluate` is rendered as it is; for a model one is made first.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features), optional
        Rows that the model was **not** trained on: everything on the page is measured on them.
    y : array-like of shape (n_samples,), optional
        Their labels, or their values for a regressor.
    title : str, optional
        The page's title.
    command : str, optional
        The command that made the page, to show there.
    **how
        As in `covey.evaluate`: ``target``, ``rivals``, ``held_out``, ``groups``, ...

    Returns
    -------
    report : Report
        With ``html``, and ``save(path)``. Notebooks show it as it is.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import train_test_split
    >>> from covey import SubsetEnsembleClassifier
    >>> from covey.reporting import build_report
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> flock = SubsetEnsembleClassifier(4, fuser="product", random_state=0).fit(X_train, y_train)
    >>> report = build_report(flock, X_test, y_test, title="Which iris is it?")
    >>> "Which iris is it?" in report.html
    True
    """
    for what, given in {"title": title, "command": command}.items():
        if given is not None and not isinstance(given, str):
            raise TypeError(f"{what} must be text, got {type(given).__name__}.")
    if isinstance(model, Evaluation):
        if X is not None or how:
            raise TypeError("An evaluation is shown as it is; give no rows, or a model with them.")
        return Report(_page(model, title, command))
    if y is None and how.get("held_out") is None:
        raise TypeError("build_report takes X and y, rows to measure the model by.")
    return Report(_page(evaluate(model, X, y, **how), title, command))


def _page(one: Evaluation, title: str | None, command: str | None) -> str:
    templates = environment("covey.reporting")
    templates.filters.update({function.__name__: function for function in _FILTERS})

    def rendered(sections: tuple[Section, ...], heading: str) -> list[dict[str, Any]]:
        found = []
        for section in sections:
            context = section.context(one)
            if context is not None:
                template = templates.get_template(f"sections/{section.key}.html")
                html = template.render(one=one, command=command, **context)
                found.append(
                    {
                        "key": section.key,
                        "title": section.title,
                        "heading": heading,
                        "body": _bound(html),
                    }
                )
        return found

    if title is None:
        title = f"Predicting “{one.target}”" if one.target else "A model, looked into"
    script = templates.get_template("script.js").render()
    (_, (lead, *rest)), *_ = sentences.answers(one)
    first, dot, more = lead.partition(". ")
    verdict = templates.get_template("verdict.html").render(
        one=one,
        lead=_strong(first + dot.strip()),
        more=" ".join([more, *rest]).strip(),
        size=sentences.size(one),
        judged_by=sentences.judged_by(one),
    )
    return templates.get_template("page.html").render(
        title=one_line(title),
        verdict=_bound(verdict),
        people=rendered(FOR_PEOPLE, "h2"),
        experts=rendered(FOR_EXPERTS, "h3"),
        script=Markup(script),
        script_hash=f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}",
    )


def _bound(html: str) -> Markup:
    """Return HTML in which a number and its per cent stay on one line."""
    return Markup(re.sub(r"(?<=\d) %", "\u00a0%", html))


def _strong(sentence: str) -> Markup:
    """Return a sentence with its first number in large letters."""
    before, *rest = re.split(r"(\d(?:[\d.,]*\d)?(?: %| million| of 100)?)", sentence, maxsplit=1)
    return Markup("{}<strong>{}</strong>{}" if rest else "{}").format(before, *rest)
