"""The rows that views learn from, and how any classifier is fitted on them."""

import numpy as np
from joblib import Parallel, delayed
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from covey._blocks import take_rows
from covey._models import fit_member
from covey.fusers import align_classes
from covey.members._view_columns import label_of, missing_values


class Lesson:
    """The rows that views learn from, and the members that have learnt from them.

    Parameters
    ----------
    X : list of tables
        One a view.
    codes : ndarray of shape (n,)
        -1 where there is no label.
    present : ndarray of shape (n, V), bool
    weight : ndarray of shape (n,) or None
        None: members are fitted without weights, unless they must have some.
    classes : ndarray
    views : list of str
    recipes : list of lists of classifiers
        The unfitted members of each view.
    n_jobs : int or None
    """

    def __init__(self, X, codes, present, weight, classes, views, recipes, n_jobs):
        self.X = X
        self.codes = codes
        self.present = present
        self.weight = weight
        self.weight_of = np.ones(len(codes)) if weight is None else weight
        self.classes = classes
        self.views = views
        self.recipes = recipes
        self.n_jobs = n_jobs
        self.fitted = [[None] * len(recipe) for recipe in recipes]

    def of_rows(self, rows, unlabeled_weight):
        """The lesson of some rows, of which those without a label weigh less (or more)."""
        whole = len(rows) == len(self.codes)
        part = Lesson(
            self.X if whole else [take_rows(view, rows) for view in self.X],
            self.codes[rows],
            self.present[rows],
            None,
            self.classes,
            self.views,
            self.recipes,
            self.n_jobs,
        )
        part.weight_of = self.weight_of[rows] * np.where(part.codes < 0, unlabeled_weight, 1.0)
        part.weight = None if (part.weight_of == 1).all() else part.weight_of
        return part

    def check_classes(self, rows):
        """Refuse views whose members would see fewer than two classes."""
        for position, view in enumerate(self.views):
            seen = np.unique(self.codes[rows & self.present[:, position]])
            if len(seen) < 2:
                raise ValueError(
                    f"The view {view!r} has labelled rows of {len(seen)} class(es), "
                    f"{self.classes[seen].tolist()}, where it is not absent; it needs two."
                )

    def without_poor_views(self, rows):
        """The lesson where views that see fewer than two classes in these rows are absent."""
        poor = [
            len(np.unique(self.codes[rows][self.present[rows, position]])) < 2
            for position in range(len(self.views))
        ]
        if not any(poor):
            return self
        return Lesson(
            self.X,
            self.codes,
            self.present & ~np.array(poor),
            self.weight,
            self.classes,
            self.views,
            self.recipes,
            self.n_jobs,
        )

    def fit_labelled(self):
        """Fit every view on its labelled rows."""
        jobs = [
            (position, np.flatnonzero((self.codes >= 0) & self.present[:, position]))
            for position in range(len(self.views))
        ]
        tasks = [
            (position, number, rows)
            for position, rows in jobs
            if len(rows)
            for number in range(len(self.recipes[position]))
        ]
        members = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit)(
                self.recipes[position][number],
                self.views[position],
                take_rows(self.X[position], rows),
                self.classes[self.codes[rows]],
                None if self.weight is None else self.weight[rows],
            )
            for position, number, rows in tasks
        )
        for (position, number, _), member in zip(tasks, members, strict=True):
            self.fitted[position][number] = member

    def teach(self, position, rows, codes, weight):
        """Fit a view's members; the mean of what they say of all rows that have the view."""
        said = np.zeros((len(self.codes), len(self.classes)))
        if not len(rows):
            return said
        table, labels = take_rows(self.X[position], rows), self.classes[codes]
        # Rows that count alike need no weights, and not every member takes them.
        alike = (weight == 1).all()
        self.fitted[position] = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit)(recipe, self.views[position], table, labels, None if alike else weight)
            for recipe in self.recipes[position]
        )
        asked = np.flatnonzero((self.codes < 0) & self.present[:, position])
        if len(asked):
            table = take_rows(self.X[position], asked)
            for member in self.fitted[position]:
                try:
                    output = np.asarray(member.predict_proba(table))
                except ValueError as error:
                    raise explained(error, table, self.views[position]) from error
                said[asked] += align_classes(output, member.classes_, self.classes)[0]
            said /= len(self.fitted[position])
        return said


def seeded(member, seed, number):
    """A copy whose random states that are None are a function of the ensemble's seed."""
    member = clone(member)
    if not hasattr(member, "get_params"):
        return member
    unset = sorted(
        name
        for name, value in member.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    )
    states = np.random.SeedSequence([seed, number]).generate_state(max(1, len(unset)))
    return member.set_params(
        **{name: int(state % 2**31) for name, state in zip(unset, states, strict=False)}
    )


def takes_weight(member):
    """Whether a classifier, or a pipeline's last step, can be fitted with weights."""
    if isinstance(member, Pipeline):
        routed = get_config()["enable_metadata_routing"]
        return routed or takes_weight(member[-1])
    return has_fit_parameter(member, "sample_weight")


def takes_nan(member):
    """Whether missing values pass through a classifier, or are imputed in a pipeline."""
    if not isinstance(member, Pipeline):
        return get_tags(member).input_tags.allow_nan
    for _, step in member.steps:
        if step is None or isinstance(step, str):
            continue
        if not takes_nan(step):
            return False
        if type(step).__module__.startswith("sklearn.impute"):
            break
    return True


def _fit(recipe, view, X, y, weight):
    """A fitted copy; all steps of a pipeline get the weights, if they take any."""
    member = clone(recipe)
    try:
        if (
            weight is None
            or not isinstance(member, Pipeline)
            or get_config()["enable_metadata_routing"]
        ):
            return fit_member(member, view, X, y, weight)
        weighed = [
            name
            for name, step in member.steps
            if hasattr(step, "fit") and has_fit_parameter(step, "sample_weight")
        ]
        return member.fit(X, y, **{f"{name}__sample_weight": weight for name in weighed})
    except ValueError as error:
        raise explained(error, X, view) from error


def explained(error, table, view):
    """The error of a member, with the view's name; and the culprit, if it is a missing value."""
    missing = missing_values(table)
    if missing is None or "NaN" not in str(error):
        return ValueError(f"A member of the view {view!r} cannot work with these rows: {error}")
    names = getattr(table, "columns", None)
    column = int(missing.any(axis=0).argmax())
    label = f"its column {column}" if names is None else f"column {label_of(column, list(names))}"
    return ValueError(
        f"The view {view!r} holds NaN in {label}, but not in all of its columns, and a member of "
        "it takes no NaN; impute it first (a Pipeline), or set the whole view to NaN where it is "
        "absent."
    )
