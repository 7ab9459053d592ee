"""What an outcome may be: a right answer, or a refusal in one sentence of a check."""

import pickle
import re
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

import covey


class OutcomeError(AssertionError):
    """An outcome that is neither; ``kind`` says what it is instead."""

    def __init__(self, kind, what):
        super().__init__(f"{kind}: {what}")
        self.kind = kind


# Words in which NumPy, SciPy, compiled code and Python itself speak of what they cannot do.
_INSIDE = re.compile(
    r"did not converge|must not contain infs|out of bounds|cannot convert|singular matrix"
    r"|dimension exceeded|array is too big|broadcast|cannot reshape|zero-size|setting an array"
    r"|inhomogeneous|truth value|unhashable|unsupported operand|has no attribute|subscriptable"
    r"|unexpected keyword|positional argument|not supported between|values to unpack|ufunc"
    r"|overflow encountered|empty slice|division by zero|not iterable|only finite values"
)
_HOME = str(Path(covey.__file__).parent)
_PACKAGES = ("covey", "sklearn")
_MOST_SENTENCES = 2
_LONGEST = 400


def wrong_refusal(error, *inputs):
    """Why an error is no refusal, or None if it is one: a clear sentence of a check.

    It is a ValueError or a TypeError, of one or two sentences, and not in the words of what
    failed inside. What scikit-learn says where it checks a table, and what its models say of
    themselves as members, is theirs; but nobody who has given none may be told of NaN.
    """
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(_HOME)]
    kind, text = type(error), str(error).strip()
    if not ours and any("/sklearn/" in frame.filename for frame in frames):
        return None  # a model of scikit-learn that the case itself has fitted
    if kind not in (ValueError, TypeError) and kind.__module__.split(".")[0] not in _PACKAGES:
        return kind.__name__
    if not isinstance(error, ValueError | TypeError):
        return kind.__name__
    if (wrong := wrong_words(text)) is not None:
        return wrong
    if "contains NaN" in text and not any(_has_nan(part) for part in inputs):
        return "NaN that nobody has given"
    file, line = frames[-1].filename, frames[-1].line or ""
    if not ours or file.startswith(_HOME):
        return None if line.startswith("raise") else "not a check"
    # Texts that are not numbers are refused where NumPy converts them for a check.
    beyond = [frame.filename for frame in frames[frames.index(ours[-1]) + 1 :]]
    checks = any(name.endswith("sklearn/utils/validation.py") for name in beyond)
    is_theirs = "/sklearn/" in file and (checks or line.startswith("raise"))
    return None if is_theirs else "not a check"


def wrong_words(text):
    """What is wrong with the words of a refusal, if anything is."""
    if not text:
        return "no sentence"
    if _INSIDE.search(text):
        return "words from inside"
    # A list of all names that there are is not what makes a sentence long.
    told = re.sub(r"'\w+', ", "", text.splitlines()[0])
    if len(re.findall(r"[.!?](?= +[A-Z]|$)", told)) > _MOST_SENTENCES or len(told) > _LONGEST:
        return "too many words"
    return None


def _has_nan(part):
    values = part.toarray() if sparse.issparse(part) else part
    with np.errstate(all="ignore"):
        return bool(pd.isna(np.asarray(values, dtype=object)).any())


def _content(part):
    """What must stay as it is of an input; pickles of frames differ by what they have cached."""
    if sparse.issparse(part):
        part = part.tocoo()
        return part.shape, part.data.tobytes(), part.row.tobytes(), part.col.tobytes()
    values = np.asarray(part)
    kind = type(part), values.dtype, values.shape
    return kind, values.tobytes() if values.dtype != object else pickle.dumps(values.tolist())


def attempt(call, *inputs):
    """The answer, or None if it is refused; raises `OutcomeError` for anything else."""
    before = [_content(part) for part in inputs]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = call()
    except (KeyboardInterrupt, TimeoutError, OutcomeError):
        raise
    except BaseException as error:
        if (wrong := wrong_refusal(error, *inputs)) is not None:
            raise OutcomeError(wrong, repr(error)[:300]) from error
        answer = None
    if before != [_content(part) for part in inputs]:
        raise OutcomeError("input changed", "a table or target is not what it was")
    return answer


def check_probabilities(found, n_rows, n_classes):
    """Finite, one row each, and rows sum to one."""
    if found.shape != (n_rows, n_classes):
        raise OutcomeError(
            "shape", f"probabilities {found.shape} for {n_rows} rows, {n_classes} classes"
        )
    check_finite(found)
    if (found < 0).any() or not np.allclose(found.sum(axis=1), 1.0, atol=1e-6):
        raise OutcomeError("no probabilities", f"rows sum to {found.sum(axis=1)[:5]}")


def check_finite(found):
    """Numbers, all of them."""
    if np.asarray(found).dtype.kind == "f" and not np.isfinite(found).all():
        raise OutcomeError("not finite", "a prediction is NaN or infinite")


def check_same(one, other, what):
    """The same to the bit."""
    one, other = (part.toarray() if sparse.issparse(part) else part for part in (one, other))
    if not np.array_equal(one, other):
        raise OutcomeError("not repeatable", what)
