"""The default, search and all, against tuned rivals."""

import problems
from results import compared
from timing import SETTLE, on_threads, on_workers, plain, race

import rivals

OURS = "covey"
SVC = "RBF SVC, 5 x 5 grid, 5 folds"
SMALL_SVC = "RBF SVC, 4 x 3 grid, 3 folds"
MODELS = {
    SVC: lambda jobs: rivals.svc(rivals.WIDE_GRID, 5, jobs),
    SMALL_SVC: lambda jobs: rivals.svc(rivals.SMALL_GRID, 3, jobs),
    "logistic regression CV": rivals.logistic_cv,
    "forest of 500": rivals.forest,
    "LightGBM": rivals.boosting,
}
IN_THREADS = ("forest of 500", "LightGBM")
# An SVC's grid on the large tables would take longer than everything else together; and so would
# the other rivals on all rows of the longest.
WITHOUT_SVC = tuple(name for name in MODELS if name not in (SVC, SMALL_SVC))
TABLES = (problems.SEGMENT, problems.ABALONE, *problems.BUNDLED)
LARGE = (problems.WIDEST, problems.LONG, problems.GENES)
MOST_ROWS = 10_000


def _entry(name, X, y, jobs):
    """All cores for each; where they are processes, the BLAS threads in each are to be found."""
    make = MODELS[name]
    if name in IN_THREADS:
        return plain(lambda: make(jobs).fit(X, y), f"n_jobs {jobs}")
    return on_workers(lambda jobs: lambda: make(jobs).fit(X, y), [jobs])


def tuned(options):
    """Seconds to fit and accuracy on rows held out, on small and middling tables."""
    tables = [problems.ABALONE, "wine"] if options.quick else [*TABLES, *LARGE]
    for name in tables:
        if options.quick and name not in problems.BUNDLED:
            problem = problems.load(name, 800)
        else:
            problem = problems.load(name, MOST_ROWS)
        X, y = problem.X, problem.y
        others = WITHOUT_SVC if name in LARGE else tuple(MODELS)
        entries = {OURS: on_threads(lambda X=X, y=y: rivals.default().fit(X, y))}
        for other in others:
            entries[other] = _entry(other, X, y, options.jobs)
        timings = race(entries, options.repeats, settle=SETTLE, budget=15 if options.quick else 40)
        scores = {model: problem.accuracy(timing.value) for model, timing in timings.items()}
        for other in others:
            yield compared("default", problem.name, timings, OURS, other, scores)
