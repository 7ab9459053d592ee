"""The methods of the benchmarks of size and of busy machines, each as a user takes it.

Every method may use all cores, as its defaults have it. Those that need scaled columns get them.
"""

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from benchmarks.accuracy import rivals
from benchmarks.scale import tables


def lightgbm(seed):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=seed, verbosity=-1)


def histogram_boosting(seed):
    return HistGradientBoostingClassifier(random_state=seed)


def logistic(seed):
    return rivals.scaled(LogisticRegression(max_iter=1000))


def mlp(seed):
    return rivals.scaled(MLPClassifier(random_state=seed))


COVEY, FAST = "covey", "covey, fast"
LIGHTGBM, HISTOGRAM = "LightGBM", "HistGradientBoosting"
LOGISTIC, SVC, MLP = "logistic regression", "RBF SVC, tuned", "MLP"
METHODS = {
    COVEY: rivals.covey_default,
    FAST: rivals.covey_fast,
    LIGHTGBM: lightgbm,
    HISTOGRAM: histogram_boosting,
    LOGISTIC: logistic,
    SVC: rivals.rbf_svc,
    MLP: mlp,
}
OF_SIZE = (COVEY, FAST, LIGHTGBM, HISTOGRAM, LOGISTIC)


def of_table(name):
    """The methods that are compared on a table; a tuned SVC ends in seconds on small ones only."""
    return (*OF_SIZE, SVC) if name in tables.REAL else OF_SIZE


def make(name, seed):
    return METHODS[name](seed)
