"""What an outcome may be: a right answer, or a refusal in one sentence of a check."""

import linecache
import pickle
import warnings

import numpy as np
from scipy import sparse


class OutcomeError(AssertionError):
    """An outcome that is neither; ``kind`` says what it is instead."""

    def __init__(self, kind, what):
        super().__init__(f"{kind}: {what}")
        self.kind = kind


def is_refusal(error):
    """Whether an error is a sentence that a check has written, not a failure further inside.

    What models of scikit-learn say of rows that they are given as members is theirs.
    """
    if not isinstance(error, ValueError | TypeError | NotImplementedError | ImportError):
        return False
    if not str(error).strip():
        return False
    frames, trace = [], error.__traceback__
    while trace is not None:
        frames.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    file, line = frames[-1]
    if linecache.getline(file, line).strip().startswith("raise") and "/covey/" in file:
        return True
    last = max((k for k, (name, _) in enumerate(frames) if "/covey/" in name), default=-1)
    beyond = [name for name, _ in frames[last + 1 :] if "/sklearn/" in name]
    # Texts that are no numbers are refused where NumPy converts them for a check.
    if any("/sklearn/utils/" not in name or name.endswith("validation.py") for name in beyond):
        return True
    return bool(beyond) and linecache.getline(file, line).strip().startswith("raise")


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
        if not is_refusal(error):
            raise OutcomeError(type(error).__name__, repr(error)[:300]) from error
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
