"""Options that several commands share."""

from typing import Annotated, Any, Literal

import typer

# The sign between a file and the name of its sheet or table.
PART = "::"


# The lines before an example that needs a model.
FITTED = "covey demo --table wine.csv", "covey fit wine.csv --target cultivar --effort fast"


def example(*lines: str) -> str:
    """Return lines to type in an empty folder, in this order, for the end of a command's help."""
    return "\b\nTry it:\n" + "\n".join(f"  {line}" for line in lines)


def option(help: str, *names: str, **how: Any) -> Any:
    """Return an option with its help and its names; its type is beside it."""
    return typer.Option(*names, help=help, **how)


Table = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help='CSV, TSV, Parquet, xlsx, JSON lines, SQLite or DuckDB file, or "-" for stdin.',
    ),
]
_SHEET = option(
    "The sheet of a spreadsheet, by name or number from 1 on, or the table of a "
    "database; book.xlsx::NAME is the same.",
    "--sheet",
    "--table-name",
    metavar="NAME",
)
Sheet = Annotated[str | None, _SHEET]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A file that covey fit has saved.")]
Target = Annotated[str, option("The column to predict.", metavar="COLUMN")]
Out = Annotated[str | None, option("CSV or Parquet; by default CSV on stdout.", metavar="FILE")]
_GROUP = option(
    "Rows with the same value belong together (a patient, a speaker) and are held out together. "
    "Join several columns by +, as age+sex.",
    metavar="COLUMN",
)
Group = Annotated[str | None, _GROUP]
_TIME = option("The time of a row: later rows are held out.", metavar="COLUMN")
Time = Annotated[str | None, _TIME]
_BY = option("Errors for each value of a column, or range of it; repeatable.", metavar="COLUMN")
By = Annotated[list[str] | None, _BY]
Drop = Annotated[list[str] | None, option("Leave a column out; repeatable.", metavar="COLUMN")]
_KEEP = option("Use a column even if it looks like an id; repeatable.", metavar="COLUMN")
Keep = Annotated[list[str] | None, _KEEP]
_GAP = option(
    "Values of a column that stand for a gap, as age=96,98 or job=unknown; repeatable.",
    metavar="COLUMN=VALUE",
)
Gap = Annotated[list[str] | None, _GAP]
_TASK = option("The kind of target; by default inferred from its values.")
Task = Annotated[Literal["auto", "classes", "numbers"], _TASK]
Seed = Annotated[int, option("The same seed gives the same result.", min=0, max=2**32 - 1)]
Json = Annotated[bool, option("One JSON object on stdout.", "--json")]
_RAW = option(
    "Write text to CSV unchanged, even if a spreadsheet would read it as a formula; by default "
    "an apostrophe is put before it.",
    "--raw",
)
Raw = Annotated[bool, _RAW]
Quiet = Annotated[bool, option("No notes and no progress.", "--quiet", "-q")]
_MAX_FEATURES = option(
    "The most features that a member may read: a whole number such as 5, or a share of "
    "all such as 0.3. Each value of a category is a feature of its own.",
    metavar="NUMBER",
)
MaxFeatures = Annotated[str | None, _MAX_FEATURES]
_MAX_MEMBERS = option("The most members that the flock may have.", metavar="NUMBER")
MaxMembers = Annotated[int | None, _MAX_MEMBERS]
_MAX_TERMS = option(
    "The most terms that a person must read: columns in members and gates, all together.",
    metavar="NUMBER",
)
MaxTerms = Annotated[int | None, _MAX_TERMS]


def part_of(table: str, sheet: str | None) -> str:
    """Return a table with the sheet that is named by an option of its own."""
    return table if sheet is None else f"{table}{PART}{sheet}"
