"""Options that several commands share."""

from typing import Annotated, Literal

import typer

# What comes between a file and the name of its sheet or table.
PART = "::"


def example(*lines: str) -> str:
    """Lines to type in an empty folder, one after another, for the end of a command's help."""
    return "\b\nTry it:\n" + "\n".join(f"  {line}" for line in lines)


Table = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help='CSV, TSV, Parquet, xlsx, JSON lines, SQLite or DuckDB file, or "-" for stdin.',
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        "--sheet",
        "--table-name",
        metavar="NAME",
        help="The sheet of a spreadsheet, by name or number from 1 on, or the table of a "
        "database; book.xlsx::NAME is the same.",
    ),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A file that covey fit has saved.")]
Target = Annotated[str, typer.Option(metavar="COLUMN", help="The column to predict.")]
Out = Annotated[
    str | None, typer.Option(metavar="FILE", help="CSV or Parquet; by default CSV on stdout.")
]
Group = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Rows of one value belong together (a patient, a speaker): they are held out "
        "together. Several columns are joined by +, as age+sex.",
    ),
]
Time = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="When a row was made: later rows are held out."),
]
Drop = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Leave a column out; repeatable.")
]
Keep = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Use a column even if it looks like an id; repeatable."),
]
Task = Annotated[
    Literal["auto", "classes", "numbers"],
    typer.Option(help="The kind of target; by default inferred from its values."),
]
Seed = Annotated[int, typer.Option(help="The same seed gives the same result.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
Raw = Annotated[
    bool,
    typer.Option(
        "--raw",
        help="Write text to CSV as it is, also where a spreadsheet would take it for a formula; "
        "by default an apostrophe comes before.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress.")]
MaxFeatures = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help="The most features that a member may read: a whole number such as 5, or a share of "
        "all such as 0.3. Each value of a category is a feature of its own.",
    ),
]
MaxMembers = Annotated[
    int | None, typer.Option(metavar="NUMBER", help="The most members that the flock may have.")
]
MaxTerms = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER",
        help="The most terms that a person must read: columns in members and gates, all together.",
    ),
]


def part_of(table: str, sheet: str | None) -> str:
    """Return a table with the sheet that is named by an option of its own."""
    return table if sheet is None else f"{table}{PART}{sheet}"
