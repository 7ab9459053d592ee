"""A fitted flock on one page."""

from __future__ import annotations

import os
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from covey._files import write_file
from covey._judgement import Judgement
from covey._templates import Markup, environment, escaped
from covey.reporting import _words as words
from covey.reporting._class_facts import ClassFacts
from covey.reporting._facts import Facts
from covey.reporting._inputs import Details, check_inputs
from covey.reporting._sections import FOR_EXPERTS, FOR_PEOPLE, Section
from covey.reporting._value_facts import ValueFacts

# How tall a report is in a notebook, in pixels.
_NOTEBOOK_HEIGHT = 720
# What templates may do to what they show.
_FILTERS = (
    words.count,
    words.counted,
    words.interval,
    words.listed,
    words.name,
    words.number,
    words.number_interval,
    words.one_line,
    words.percent,
    words.quoted,
    words.rough,
    words.shortened,
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
        """What notebooks show: the page in a frame of its own."""
        return (
            f'<iframe srcdoc="{escaped(self.html)}" title="covey report" loading="lazy" '
            'sandbox="allow-scripts" '
            f'style="width:100%;height:{_NOTEBOOK_HEIGHT}px;border:1px solid #8884"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Report({len(self.html.encode()) / 1024:.0f} KiB; save(path) writes it)"


def build_report(
    model: Any,
    X: Any,
    y: Any,
    *,
    title: str | None = None,
    target: str | None = None,
    task: str | None = None,
    baselines: list[dict] | None = None,
    data_health: list[dict] | None = None,
    command: str | None = None,
    judgement: Judgement | None = None,
    row_names: ArrayLike | None = None,
    caution: str | None = None,
) -> Report:
    """One self-contained page about a fitted flock: how right it is, what it looks at, and why.

    It begins with what anybody can read: how right the model is and against what, the columns
    that matter with what their values do, where it errs, a threshold to move, and rows that are
    wrong with what spoke for and against. The rest, members and gates, calibration, diversity,
    oracle and guarantees, is behind a fold for experts.

    The page loads nothing from anywhere, follows the reader's light or dark theme, prints, and
    is the same to the byte for the same model and rows. Sections that do not apply to a model
    are left out.

    Parameters
    ----------
    model : FlockClassifier, FusionRegressor or other ensemble of covey, or Pipeline
        Fitted. A pipeline must end with such an ensemble.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows that the model was **not** trained on: everything on the page is measured on them.
    y : array-like of shape (n_samples,)
        Their labels, or their values for a regressor.
    title : str, optional
        The page's title.
    target : str, optional
        What is predicted, such as the name of the column.
    task : str, optional
        What the model is for, in words.
    baselines : list of dict, optional
        What to compare with: ``name``, ``accuracy`` (for a regressor ``r2``), and where known
        ``low`` and ``high`` (its interval), ``log_loss`` (``rmse``, ``mae``) and ``seconds``. A
        regressor is compared with a tuned ridge, cross-fitted on these rows, by default.
    data_health : list of dict, optional
        What the columns were like: ``column``, and where known ``kind``, ``missing`` (how many,
        or a share) and ``note``. By default what can be seen in ``X``.
    command : str, optional
        The command that made the page, to show there.
    judgement : Judgement, optional
        What was predicted of these rows by models that were fitted without them. The model itself
        may then have been fitted on them: how good it is, the page has from the judgement alone.
    row_names : array-like of shape (n_samples,), optional
        What to call the rows, such as a column that names them. By default the index of a data
        frame, else their positions from 0.
    caution : str, optional
        What a reader must know before all numbers, such as that some rows were trained on.

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
    texts = {
        "title": title,
        "target": target,
        "task": task,
        "command": command,
        "caution": caution,
    }
    for what, given in texts.items():
        if given is not None and not isinstance(given, str):
            raise TypeError(f"{what} must be text, got {type(given).__name__}.")
    _check_records(baselines, "baselines", ("name",))
    _check_records(data_health, "data_health", ("column",))
    inputs = check_inputs(model, X, y, judgement, row_names)
    regression = inputs.classes is None
    _check_baselines(baselines, *(("r2", -np.inf) if regression else ("accuracy", 0.0)))
    details = Details(**texts, baselines=baselines, data_health=data_health)
    return Report(_page((ValueFacts if regression else ClassFacts)(inputs, details)))


def _page(facts: Facts) -> str:
    templates = environment("covey.reporting")
    templates.filters.update({function.__name__: function for function in _FILTERS})

    def rendered(sections: tuple[Section, ...], heading: str) -> list[dict]:
        found = []
        for section in sections:
            context = section.context(facts) if facts.task in section.tasks else None
            if context is not None:
                template = templates.get_template(f"sections/{section.key}.html")
                found.append(
                    {
                        "key": section.key,
                        "short": section.short,
                        "title": context.get("title", section.title),
                        "heading": heading,
                        "context": context,
                        "body": Markup(
                            template.render(facts=facts, details=facts.details, **context)
                        ),
                    }
                )
        return found

    title, target = facts.details.title, facts.details.target
    if title is None:
        title = f"Predicting “{words.one_line(target)}”" if target else "A flock, looked into"
    people = rendered(FOR_PEOPLE, "h2")
    verdict = templates.get_template("verdict.html").render(facts=facts, **people[0]["context"])
    script = templates.get_template("script.js").render()
    return templates.get_template("page.html").render(
        title=words.one_line(title),
        facts=facts,
        verdict=Markup(verdict),
        people=people,
        experts=rendered(FOR_EXPERTS, "h3"),
        script=Markup(script),
        script_hash=f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}",
    )


def _check_records(records: Any, what: str, needed: tuple[str, ...]) -> None:
    if records is None:
        return
    if not isinstance(records, list | tuple):
        raise TypeError(f"{what} must be a list of dictionaries, got {type(records).__name__}.")
    for position, record in enumerate(records):
        if not isinstance(record, dict):
            raise TypeError(
                f"{what} must be a list of dictionaries, but entry {position} is "
                f"{type(record).__name__}."
            )
        for key in needed:
            if key not in record:
                raise ValueError(
                    f"{what} must have {key!r} in every entry; entry {position} lacks it."
                )


def _check_baselines(baselines: list[dict] | None, measure: str, least: float) -> None:
    """Refuse baselines whose measure or limits are none; accuracies are 0 to 1, R2 1 at most."""
    _check_records(baselines, "baselines", (measure,))
    between = "between 0 and 1" if least == 0 else "of at most 1"
    for position, record in enumerate(baselines or ()):
        for key in (measure, "low", "high"):
            value = record.get(key)
            if value is None and key != measure:
                continue
            if not isinstance(value, int | float | np.number) or not least <= value <= 1:
                raise ValueError(
                    f"baselines must have {key!r} {between}, but entry {position} has {value!r}."
                )
        if (record.get("low") is None) != (record.get("high") is None):
            raise ValueError(
                f"baselines must have both 'low' and 'high' or neither; entry {position} has one."
            )
