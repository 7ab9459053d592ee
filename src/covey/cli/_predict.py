"""``covey predict``."""

import json
import sys
from typing import Annotated

import typer

from covey.cli import _options as options
from covey.cli._console import CommandError, Console, as_json, guarded

_TOP_REASONS = 3

_EXAMPLE = options.example(
    "covey demo --table wine.csv",
    "covey fit wine.csv --target cultivar --effort fast",
    "covey predict flock.covey wine.csv --proba --explain --out answers.csv",
)


def add_to(app):
    """Add the command."""
    app.command("predict", short_help="Predict every row of a table.", epilog=_EXAMPLE)(
        guarded(predict)
    )


def predict(
    model: options.Model,
    table: options.Table,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="CSV or Parquet; by default CSV on stdout.")
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="A column of each class.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Who decided, with what weight, and why.")
    ] = False,
    copy: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Copy a column of the table; repeatable."),
    ] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
):
    """Predict every row of a table, in order, however long the table is.

    The table needs the columns that the model was fitted on, in any order; others are ignored.
    A value that is missing, or was never seen, is no reason to stop.
    """
    _predict_table(Console(quiet, as_json), model, table, out, proba, explain, copy or [])


def _predict_table(console, model_path, path, out, proba, explain, copy):
    """Predict a table piece by piece.

    Parameters
    ----------
    console : Console
    model_path, path, out, proba, explain, copy
        As the command's.
    """
    from covey.cli._models import check_needed, load_model, numbers_of
    from covey.cli._question import check_column
    from covey.cli._reading import read_pieces
    from covey.cli._writing import TABLE_ENDINGS, check_writable

    check_writable(out, TABLE_ENDINGS)
    model = load_model(model_path)
    if proba and not hasattr(model, "classes_"):
        raise CommandError("--proba: the model predicts numbers, which have no probabilities.")
    if explain and not hasattr(model.estimator_, "basis_"):
        raise CommandError(f"--explain: a {type(model.estimator_).__name__} does not say why.")
    needed = {*model.feature_names_in_, *copy}
    n_rows = 0
    strange, unseen = {}, {}
    known = model.preparation_.categories()
    stream = console.as_json and out is None
    with console.progress(None, "rows", out is None) as step, _writer(out, stream) as write:
        commas = getattr(model, "about_", {}).get("decimal_commas", [])
        pieces = read_pieces(path, numbers_of(model), needed, copy=copy, decimal_commas=commas)
        for piece, copies in pieces:
            if not n_rows:
                check_needed(model, piece.columns, path)
                for name in copy:
                    check_column(piece, name, "--copy")
            _count_strange(model, piece, strange)
            _count_unseen(known, piece, unseen)
            write(answers(model, piece, proba, explain, copies))
            n_rows += len(piece)
            step("rows", len(piece))
        if not n_rows:
            raise CommandError(f"{path} has a header but no rows.")
    for name, (count, example) in strange.items():
        said = "value is no number" if count == 1 else "values are no numbers"
        console.note(f"{name}: {count} {said} ({example!r}) and counted as missing.")
    for name, (count, example) in unseen.items():
        console.note(
            f"{name}: {count:,} of {n_rows:,} rows have a category that the model has not seen "
            f"({example!r})."
        )
    if out and not console.as_json and not console.quiet:
        console.note(f"Wrote {n_rows:,} rows to {out}.")
    if stream:
        print(f'], "rows": {n_rows}, "notes": {json.dumps(console.notes, ensure_ascii=False)}}}')
    else:
        console.emit(rows=n_rows, out=out)


def _writer(out, stream):
    from covey.cli._writing import table_writer

    return _JsonPieces() if stream else table_writer(out)


class _JsonPieces:
    """Writes frames as the records of one JSON object, which is closed by whoever knows more."""

    def __enter__(self):
        self._begun = False
        return self.write

    def __exit__(self, kind, error, trace):
        if error is not None and self._begun:
            error.half_said = "], "
        return False

    def write(self, frame):
        frame = frame.astype(object).where(frame.notna(), None)
        for record in frame.to_dict("records"):
            sys.stdout.write(", " if self._begun else '{"predictions": [')
            sys.stdout.write(as_json(record))
            self._begun = True


def _count_strange(model, piece, strange):
    """Notice what is no number in columns of numbers."""
    import pandas as pd

    from covey.cli._models import numbers_of

    for name in sorted(numbers_of(model).difference(piece.select_dtypes("number").columns)):
        lost = piece[name].notna() & pd.to_numeric(piece[name], errors="coerce").isna()
        if lost.any():
            count, example = strange.get(name, (0, piece[name][lost].iloc[0]))
            strange[name] = (count + int(lost.sum()), example)


def _count_unseen(known, piece, unseen):
    """Notice categories that were not there when the model was fitted."""
    from covey._kinds import as_kind

    for name, categories in known.items():
        values = as_kind(piece[name], "text")
        new = values[values.notna() & ~values.isin(categories)]
        if len(new):
            count, example = unseen.get(name, (0, new.iloc[0]))
            unseen[name] = (count + len(new), example)


def answers(model, piece, proba=False, explain=False, copies=None):
    """The predictions of a data frame as a data frame.

    Parameters
    ----------
    model : TableClassifier or TableRegressor
    piece : data frame
    proba, explain : bool
    copies : data frame, optional
        Columns to put before them.
    """
    import pandas as pd

    made = {} if copies is None else {name: copies[name] for name in copies.columns}
    if hasattr(model, "classes_"):
        probabilities = model.predict_proba(piece)
        made["prediction"] = model.classes_[probabilities.argmax(axis=1)]
        if proba:
            for place, label in enumerate(model.classes_.tolist()):
                made[f"probability_{label}"] = probabilities[:, place]
    else:
        made["prediction"] = model.predict(piece)
    if explain:
        records = model.explain(piece, top=_TOP_REASONS, max_members=1)
        first = [record["members"][0] for record in records]
        values = {name: piece[name].tolist() for name in model.feature_names_in_}
        made["decided_by"] = [f"member {member['member']}" for member in first]
        made["weight"] = [round(member["weight"], 4) for member in first]
        made["member_says"] = [member["prediction"] for member in first]
        made["because"] = [
            "; ".join(
                f"{name} = {_shown(values[name][row])} ({push:+.2g})"
                for name, push in member["because"]
            )
            for row, member in enumerate(first)
        ]
    return pd.DataFrame(made)


def _shown(value):
    if value is None or value != value:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
