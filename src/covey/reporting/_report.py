"""A fitted flock on one page."""

import os
import tempfile
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np

from covey.reporting import _data, _errors, _features, _flock, _results, _rows
from covey.reporting._facts import Facts
from covey.reporting._inputs import check_asked
from covey.reporting._markup import escaped, fill, joined, tag
from covey.reporting._words import (
    count,
    counted,
    interval,
    name,
    number,
    one_line,
    percent,
    strong,
)

# How tall a report is in a notebook, in pixels.
_NOTEBOOK_HEIGHT = 720

_OF_BASELINE = ("name", "accuracy")
_OF_HEALTH = ("column",)


class Report:
    """A page about a fitted flock, as `build_report` makes it.

    Notebooks show it in a frame of its own.

    Parameters
    ----------
    html : str
        The page, whole.

    Attributes
    ----------
    html : str
        The same.

    Examples
    --------
    >>> from covey.reporting import Report
    >>> Report("<!doctype html><title>A page</title>").html[:15]
    '<!doctype html>'
    """

    def __init__(self, html):
        self.html = html

    def save(self, path):
        """Write the page to a file; an older one stays until the new one is complete.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        path : Path
            Where it is.
        """
        path = Path(path)
        if path.is_dir():
            raise IsADirectoryError(f"{str(path)!r} is a folder; name a file to save the report.")
        if not path.absolute().parent.is_dir():
            raise FileNotFoundError(
                f"There is no folder {str(path.parent)!r} to save the report in; make it first."
            )
        handle, draft = tempfile.mkstemp(
            prefix=f".{path.name}.", suffix=".part", dir=path.absolute().parent
        )
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as page:
                page.write(self.html)
            os.chmod(draft, _usual_mode())
            os.replace(draft, path)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
        return path

    def _repr_html_(self):
        """What notebooks show: the page in a frame of its own."""
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="covey report" loading="lazy" '
            'sandbox="allow-scripts" '
            f'style="width:100%;height:{_NOTEBOOK_HEIGHT}px;border:1px solid #8884"></iframe>'
        )

    def __repr__(self):
        return f"Report({len(self.html.encode()) / 1024:.0f} KiB; save(path) writes it)"


def build_report(
    model,
    X,
    y,
    *,
    title=None,
    target=None,
    task=None,
    baselines=None,
    data_health=None,
    command=None,
):
    """One self-contained page about a fitted flock: what it does, how well, and who decides.

    The page loads nothing from anywhere, follows the reader's light or dark theme, prints, and
    is the same to the byte for the same model and rows. Parts that a model has nothing to say
    about are left out.

    Parameters
    ----------
    model : SubsetEnsembleClassifier, FusionClassifier or other classifier of covey, or Pipeline
        Fitted. A pipeline must end with such a classifier.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        Rows that the model was **not** trained on: all that the page says is measured on them.
    y : array-like of shape (n_samples,)
        Their labels.
    title : str, optional
        The page's title.
    target : str, optional
        What is predicted, such as the name of the column.
    task : str, optional
        The question that the model answers, in words.
    baselines : list of dict, optional
        What to compare with: ``name`` and ``accuracy``, and where known ``low`` and ``high`` (its
        interval), ``log_loss`` and ``seconds``.
    data_health : list of dict, optional
        What the columns were like: ``column``, and where known ``kind``, ``missing`` (how many,
        or a share) and ``note``. By default what can be seen in ``X``.
    command : str, optional
        The command that made the page, to show there.

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
    baselines = _checked_records(baselines, "baselines", _OF_BASELINE)
    data_health = _checked_records(data_health, "data_health", _OF_HEALTH)
    _check_baselines(baselines)
    for given, what in (
        (title, "title"),
        (target, "target"),
        (task, "task"),
        (command, "command"),
    ):
        if given is not None and not isinstance(given, str):
            raise TypeError(f"{what} must be text, got {type(given).__name__}.")
    facts = Facts(check_asked(model, X, y))
    sections = [
        _data.asked(facts, target=target, task=task, command=command),
        _data.health(facts, data_health),
        _results.accuracy(facts, baselines),
        _results.size(facts),
        _features.co_selection(facts),
        _flock.members(facts),
        _flock.who_decides(facts),
        _errors.confusion(facts),
        _errors.calibration(facts),
        _flock.differ(facts),
        _results.bounds(facts),
        _rows.explained(facts),
        _rows.usage(facts),
    ]
    return Report(_page(facts, title, target, [s for s in sections if s is not None]))


def _page(facts, title, target, sections):
    script = _package_text("_script.js")
    if title is None:
        title = f"A flock for “{one_line(target)}”" if target else "A flock, looked into"
    return Template(_package_text("_page.html")).substitute(
        title=escaped(one_line(title)),
        script_hash=f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}",
        style=_package_text("_style.css"),
        script=script,
        contents=joined(
            tag("li", tag("a", section.short, href=f"#{section.key}")) for section in sections
        ),
        summary=_summary(facts),
        tiles=_tiles(facts),
        sections=joined(
            (
                tag(
                    "section",
                    tag("h2", section.title, id=f"{section.key}-h"),
                    section.body,
                    id=section.key,
                    aria_labelledby=f"{section.key}-h",
                )
                for section in sections
            ),
            "\n",
        ),
        footer=escaped(
            "Made by covey: small flocks of simple models, and who decided and why. This page is "
            "whole: it loads nothing."
        ),
    )


def _summary(facts):
    groups = getattr(facts.flock, "group_weights_", None)
    who = counted(facts.n_members, "model")
    if groups is not None and len(groups) > 1:
        who += f" in {counted(len(groups), 'group')}"
    if facts.n_members == 1:
        how = "{} decides between {}. On {} that it was not trained on it gets {} right."
    else:
        how = (
            "{} decide together between {}. On {} that none of them was trained on they get {} "
            "right."
        )
    return fill(
        how,
        who,
        counted(facts.n_classes, "class", "classes"),
        counted(facts.n_rows, "row"),
        strong(percent(facts.accuracy)),
    )


def _tiles(facts):
    common, share = facts.most_common
    tiles = [
        (
            "Accuracy",
            percent(facts.accuracy),
            f"95\u00a0% interval {interval(*facts.accuracy_limits)}",
        ),
        (
            "Without a model",
            percent(share),
            fill("always naming {}", name(facts.classes[common], 18)),
        ),
        ("Log-loss", number(facts.log_loss), f"even guess {number(np.log(facts.n_classes))}"),
        ("Members", count(facts.n_members), f"oracle {percent(facts.oracle_accuracy)}"),
    ]
    if facts.support is not None:
        used = facts.support.any(axis=0).sum()
        tiles.append(("Features in use", count(used), f"of {count(len(facts.features))}"))
    return tag(
        "dl",
        *[
            tag("div", tag("dt", term), tag("dd", said, tag("span", under, class_="under")))
            for term, said, under in tiles
        ],
        class_="tiles",
    )


def _package_text(file):
    return files("covey.reporting").joinpath(file).read_text(encoding="utf-8")


def _usual_mode():
    """What a new file may do; those of ``tempfile`` are for their owner alone."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _checked_records(records, what, needed):
    if records is None:
        return None
    if isinstance(records, dict | str):
        raise TypeError(f"{what} must be a list of dictionaries, got {type(records).__name__}.")
    records = list(records)
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
    return records


def _check_baselines(baselines):
    for position, record in enumerate(baselines or ()):
        for key in ("accuracy", "low", "high"):
            value = record.get(key)
            if value is None and key != "accuracy":
                continue
            if not isinstance(value, int | float | np.number) or not 0 <= value <= 1:
                raise ValueError(
                    f"baselines must have {key!r} between 0 and 1, but entry {position} has "
                    f"{value!r}."
                )
        if (record.get("low") is None) != (record.get("high") is None):
            raise ValueError(
                f"baselines must have both 'low' and 'high' or neither; entry {position} has one."
            )
