"""Options that several commands share."""

from typing import Annotated, Any, Literal

import typer

# What comes between a file and the name of its sheet or table.
PART = "::"


# What comes before an example that needs a model.
FITTED = "covey demo --table wine.csv", "covey fit wine.csv --target cultivar --effort fast"


def example(*lines: str) -> str:
    """Lines to type in an empty folder, one after another, for the end of a command's help."""
    return "\b\nTry it:\n" + "\n".join(f"  {line}" for line in lines)


def option(kind: Any, help: str, *names: str, **how: Any) -> Any:
    """Return the annotation of an option: what it holds, what it is for, and how it is called."""
    return Annotated[kind, typer.Option(*names, help=help, **how)]


Table = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help='CSV, TSV, Parquet, xlsx, JSON lines, SQLite or DuckDB file, or "-" for stdin.',
    ),
]
Sheet = option(
    str | None,
    "The sheet of a spreadsheet, by name or number from 1 on, or the table of a "
    "database; book.xlsx::NAME is the same.",
    "--sheet",
    "--table-name",
    metavar="NAME",
)
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A file that covey fit has saved.")]
Target = option(str, "The column to predict.", metavar="COLUMN")
Out = option(str | None, "CSV or Parquet; by default CSV on stdout.", metavar="FILE")
Group = option(
    str | None,
    "Rows of one value belong together (a patient, a speaker): they are held out "
    "together. Several columns are joined by +, as age+sex.",
    metavar="COLUMN",
)
Time = option(str | None, "When a row was made: later rows are held out.", metavar="COLUMN")
Drop = option(list[str] | None, "Leave a column out; repeatable.", metavar="COLUMN")
Keep = option(
    list[str] | None, "Use a column even if it looks like an id; repeatable.", metavar="COLUMN"
)
Gap = option(
    list[str] | None,
    "Values of a column that stand for a gap, as age=96,98 or job=unknown; repeatable.",
    metavar="COLUMN=VALUE",
)
Task = option(
    Literal["auto", "classes", "numbers"],
    "The kind of target; by default inferred from its values.",
)
Seed = option(int, "The same seed gives the same result.", min=0, max=2**32 - 1)
Json = option(bool, "One JSON object on stdout.", "--json")
Raw = option(
    bool,
    "Write text to CSV as it is, also where a spreadsheet would take it for a formula; "
    "by default an apostrophe comes before.",
    "--raw",
)
Quiet = option(bool, "No notes and no progress.", "--quiet", "-q")
MaxFeatures = option(
    str | None,
    "The most features that a member may read: a whole number such as 5, or a share of "
    "all such as 0.3. Each value of a category is a feature of its own.",
    metavar="NUMBER",
)
MaxMembers = option(int | None, "The most members that the flock may have.", metavar="NUMBER")
MaxTerms = option(
    int | None,
    "The most terms that a person must read: columns in members and gates, all together.",
    metavar="NUMBER",
)


def part_of(table: str, sheet: str | None) -> str:
    """Return a table with the sheet that is named by an option of its own."""
    return table if sheet is None else f"{table}{PART}{sheet}"
