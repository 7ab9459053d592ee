"""The command: ``python -m reproduction TARGET``."""

from __future__ import annotations

import argparse
import csv
import io
import shlex
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from covey._files import write_file
from reproduction.data import InputError, load, require

if TYPE_CHECKING:
    from reproduction.jobs import Options
    from reproduction.page import Section
    from reproduction.results import Results

TARGETS = ("figure1", "figure2", "table2", "speech", "sparsity", "claims", "all")
# What each target is made of.
_EXPERIMENTS = {
    "figure1": ("figure1",),
    "figure2": ("figure2",),
    "table2": ("table2", "sensitivity", "limits"),
    "speech": ("speech",),
    "sparsity": ("sparsity",),
    "claims": ("table2", "figure1", "figure2", "sensitivity", "limits"),
    "all": ("table2", "figure1", "figure2", "sensitivity", "limits", "speech", "sparsity"),
}


# The sections of each target's page, where these are not the target itself.
_SECTIONS = {
    "all": (
        *("table2", "figure1", "figure2", "claims", "sensitivity", "limits", "speech"),
        "sparsity",
    ),
    "table2": ("table2", "sensitivity", "limits"),
    "claims": ("claims", "table2", "figure1", "figure2", "sensitivity", "limits"),
}


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence, like every other bad input."""

    def error(self, message: str) -> None:
        raise InputError(f"{message[0].upper()}{message[1:]}; --help lists what there is.")


def _parser() -> _Parser:
    parser = _Parser(
        prog="python -m reproduction",
        description="Reproduce the paper: figures, Table 2, its claims, and when it helps.",
        epilog="A table of speech features is a CSV file with a header: a column 'target' (or "
        "'label', 'emotion', 'class'), if possible 'speaker', and numbers.",
    )
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--runs", type=int, help="training sets or splits (100; 10 with --quick)")
    parser.add_argument("--quick", action="store_true", help="10 runs, fewer sizes and settings")
    parser.add_argument("--jobs", type=int, help="processes (all cores); changes no result")
    parser.add_argument("--out", default="reproduction/out", help="folder for what is made")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--iemocap", metavar="FILE", help="your table of IEMOCAP features")
    parser.add_argument(
        "--speech", metavar="FILE", action="append", default=[], help="a stand-in; repeatable"
    )
    return parser


def main(argv: list[str] | None = None) -> int:
    """Reproduce the paper.

    Parameters
    ----------
    argv : list of str, optional
        Arguments; by default those of the process.

    Returns
    -------
    status : int
        0 if all went well, 2 for bad input, 130 if it was interrupted.

    Examples
    --------
    >>> from reproduction import main
    >>> main(["figure2", "--quick", "--out", "reproduction/out"])  # doctest: +SKIP
    0
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        _reproduce(_parser().parse_args(arguments), arguments)
    except SystemExit as end:  # --help
        return int(end.code or 0)
    except InputError as error:
        print(f"reproduction: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nreproduction: interrupted; the same command goes on from here.", file=sys.stderr)
        return 130
    return 0


def _checked_options(parsed: argparse.Namespace) -> Options:
    """Everything that can be wrong, found before anything is written or takes time."""
    from reproduction.jobs import Options

    require("jinja2", "markdown_it", "matplotlib", "pandas", "threadpoolctl")
    runs = (10 if parsed.quick else 100) if parsed.runs is None else parsed.runs
    for name, value, least in (("--runs", runs, 3), ("--jobs", parsed.jobs, 1)):
        if value is not None and value < least:
            raise InputError(f"{name} is {value}; it must be at least {least}.")
    if parsed.seed < 0:
        raise InputError(f"--seed is {parsed.seed}; it must be at least 0.")
    options = Options(
        runs=runs,
        quick=parsed.quick,
        seed=parsed.seed,
        iemocap=parsed.iemocap,
        speech=tuple(parsed.speech),
    )
    if parsed.target == "speech" and len(options.splits()) == len(options.sources):
        raise InputError(
            "speech needs a table with a column 'speaker'; give one by --speech or --iemocap."
        )
    if parsed.target not in ("figure1", "figure2"):
        names = [load(source).name for source in options.sources]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"Two tables are called {name!r}; rename one of the files.")
        _check_names(options)
        _check_splits(options, _EXPERIMENTS[parsed.target])
    return options


def _check_names(options: Options) -> None:
    """Refuse a table that would be taken for another data set in the results."""
    from reproduction import figure1, sparsity

    for path in options.speech:
        name = load(f"speech:{path}").name
        if name.lower() == "iemocap":
            raise InputError(f"{path} is called {name!r}; give it by --iemocap, or rename it.")
        if name == sparsity.DATASET or name.startswith(figure1.DATASET):
            raise InputError(f"{path} is called {name!r}, as synthetic data are here; rename it.")


def _splits_made(
    options: Options, experiments: tuple[str, ...]
) -> Iterator[tuple[str, str, str, int]]:
    """Everything that is split: source, way, purpose, and how often."""
    for source, by in options.splits():
        if "table2" in experiments:
            yield source, by, "table2", options.runs
        if by == "random" and "sensitivity" in experiments:
            yield source, by, "sensitivity", options.calibration_runs
        if by == "random" and "sparsity" in experiments:
            yield source, by, "sparsity", options.sparsity_runs


def _check_splits(options: Options, experiments: tuple[str, ...]) -> None:
    """Refuse a table of which some split would not train on every class."""
    import numpy as np

    from reproduction.data import split_rows

    for source, by, purpose, n_runs in _splits_made(options, experiments):
        table = load(source)
        for run in range(n_runs):
            rows, _, _ = split_rows(table, by, options.seed, purpose, run)
            if by == "random":
                counts = np.bincount(table.codes[rows], minlength=len(table.classes))
                least, what, advice = 1, "row(s)", "give more rows of it, or leave it out"
            else:
                # covey's default holds speakers out again: one must stay.
                pairs = {*zip(table.codes[rows], table.speakers[rows], strict=True)}
                counts = np.bincount([code for code, _ in pairs], minlength=len(table.classes))
                least, what = 2, "speaker(s)"
                advice = "give more speakers of it, or drop the column of speakers"
            if counts.min() < least:
                rare = table.classes[int(np.argmin(counts))]
                raise InputError(
                    f"{table.name}: a split of its {'rows' if by == 'random' else 'speakers'} "
                    f"leaves {counts.min()} {what} of class {rare!r} to train on; {advice}."
                )


def _check_folder(path: str) -> Path:
    """Create the folder for what is made, or raise why that cannot be."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".covey"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InputError(
            f"--out {path} cannot be written to ({error.strerror}); give another folder."
        ) from None
    return folder


def _reproduce(parsed: argparse.Namespace, arguments: list[str]) -> None:
    options = _checked_options(parsed)
    folder = _check_folder(parsed.out)

    import joblib

    from reproduction import table2
    from reproduction.jobs import Progress, finish
    from reproduction.results import Results

    experiments = _EXPERIMENTS[parsed.target]
    modules = [import_module(f"reproduction.{name}") for name in experiments]
    n_jobs = joblib.cpu_count() if parsed.jobs is None else parsed.jobs
    progress = Progress()
    tasks = [task for module in modules for task in module.tasks(options)]
    parts = finish(tasks, folder / "parts", n_jobs, progress)
    if "sensitivity" in experiments:
        # Which settings Table 2 is made again with is known only now.
        known = {task.key for task in tasks}
        found = table2.closest_by_rule(Results.of_parts(parts), options)
        more = [
            task
            for source, constants in dict.fromkeys((one, at.constants) for one, at in found)
            for task in table2.split_tasks(source, "random", constants, options.runs, options)
            if task.key not in known
        ]
        parts += finish(more, folder / "parts", n_jobs, progress)
    results = Results.of_parts(parts)
    files = _pages(parsed.target, results, options, arguments)
    files["results.csv"] = results.text()
    files["timings.csv"] = _timings(parts)
    for name, content in files.items():
        write_file(folder / name, content)
    progress.line(f"wrote {folder / 'reproduction.html'}, results.csv and figures beside it")


def _pages(
    target: str, results: Results, options: Options, arguments: list[str]
) -> dict[str, str | bytes]:
    """Every file of the page, by name."""
    from reproduction import table2
    from reproduction.page import markdown, page, rendered

    wanted = _SECTIONS.get(target, (target,))
    if len(options.splits()) == len(options.sources):
        # Without speakers there is nothing to say about them.
        wanted = tuple(name for name in wanted if name != "speech")
    makers = {name: import_module(f"reproduction.{name}") for name in wanted}
    sections = [maker.section(results, options) for maker in makers.values()]
    if "claims" in wanted:
        sections.insert(0, makers["claims"].summary(results, options))
    sections.append(_made(options, arguments))
    files, svgs = {}, {}
    for name, maker in makers.items():
        if not hasattr(maker, "draw"):
            continue
        more = {
            "table2": lambda: (options, table2.closest_by_table(results, options)),
            "speech": lambda: (options,),
        }.get(name, tuple)()
        svgs[name], files[f"{name}.png"] = rendered(maker.draw(results, *more))
        files[f"{name}.svg"] = svgs[name]
    return files | {
        "reproduction.md": markdown(sections),
        "reproduction.html": page(sections, svgs),
    }


def _made(options: Options, arguments: list[str]) -> Section:
    """How the page was made."""
    import covey
    from reproduction.page import filled

    # Results depend on neither, and paths are private.
    shown, skip = [], False
    for argument in arguments:
        if skip or argument.startswith(("--jobs=", "--out=")):
            skip = False
        elif argument in ("--jobs", "--out"):
            skip = True
        else:
            option, equals, path = argument.rpartition("=")
            shown.append(option + equals + path.rpartition("/")[2])
    command = shlex.join(["python", "-m", "reproduction", *shown])
    version, seed = covey.__version__, options.seed
    return filled("How this was made", "made", command=command, version=version, seed=seed)


def _timings(parts: list[dict]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["experiment", "dataset", "condition", "runs", "seconds", "cpu_seconds"])
    for part in parts:
        runs = len({run for run, _, _ in part["rows"]})
        case = part["experiment"], part["dataset"], part["condition"]
        times = (f"{part[name]:.3f}" for name in ("seconds", "cpu_seconds"))
        writer.writerow([*case, runs, *times])
    return out.getvalue()


if __name__ == "__main__":
    sys.exit(main())
