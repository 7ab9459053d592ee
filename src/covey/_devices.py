"""The place where a fit is computed: the CPU by NumPy, or the device of PyTorch's tensors."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from array_api_compat import is_torch_array
from sklearn import get_config

from covey._names import extra

# With fewer numbers, rows x features x classes, a search takes longer on an accelerator, which has
# too little to compute at once.
_TOO_FEW = 1_000_000


@dataclass(frozen=True)
class HostDevice:
    """NumPy, on the host."""

    name: str = "this machine"

    def is_worth(self, n_numbers: int) -> bool:
        """Return False: the rows are already on the host, and are not sent."""
        return False

    def send(self, array: Any) -> Any:
        """Return the array where the fit is computed."""
        return array

    def free_bytes(self) -> int | None:
        """Return how much memory there is left; None if that is not known."""
        return _host_bytes()

    itemsize = 8  # bytes of a number
    smaller = "use fewer rows, or covey.dask, which keeps a part of them in memory at a time"


@dataclass(frozen=True)
class OnDevice:
    """PyTorch, on one of its devices, with numbers of one ``dtype``."""

    device: Any
    dtype: Any

    @property
    def name(self) -> str:
        """The device's name in PyTorch."""
        return str(self.device)

    def is_worth(self, n_numbers: int) -> bool:
        """Return whether a search of n rows x features x classes is sent there."""
        return self.device.type == "cpu" or n_numbers > _TOO_FEW

    def send(self, array: Any) -> Any:
        """Return the array where the fit is computed."""
        import torch

        return torch.asarray(np.ascontiguousarray(array), dtype=self.dtype, device=self.device)

    def free_bytes(self) -> int | None:
        """Return how much memory there is left; None if that is not known."""
        import torch

        if self.device.type != "cuda":
            return _host_bytes()
        torch.cuda.empty_cache()
        return torch.cuda.mem_get_info(self.device)[0]

    @property
    def itemsize(self) -> int:
        """Bytes of a number."""
        return self.dtype.itemsize

    @property
    def smaller(self) -> str:
        """The advice for a fit that needs too much memory."""
        return "give X as float32, use fewer rows, or device=None"


def device_of(
    device: Any, X: Any, y: Any = None, sample_weight: Any = None
) -> HostDevice | OnDevice:
    """Return where a fit of these data is to be computed; for None, where X lies."""
    tensors = {
        name: array
        for name, array in (("X", X), ("y", y), ("sample_weight", sample_weight))
        if is_torch_array(array)
    }
    for name, tensor in tensors.items():
        _check_tensor(name, tensor)
        first, other = next(iter(tensors.items()))
        if tensor.device != other.device:
            raise ValueError(
                f"{first} lies on {other.device} and {name} on {tensor.device}; move them to one "
                f"device: {name}.to({first}.device)."
            )
    if device is None or (isinstance(device, str) and device == "cpu" and "X" not in tensors):
        return OnDevice(X.device, _precision(X)) if "X" in tensors else HostDevice()
    with extra(f"device={device!r} (other than None) needs", "gpu"):
        import torch
    try:
        wanted = torch.device(device)
    except (RuntimeError, TypeError):
        raise ValueError(
            f"device must be the name of a device of PyTorch such as 'cuda' or 'cuda:1', "
            f"got {device!r}."
        ) from None
    _check_available(torch, wanted, device)
    if wanted.type == "cuda" and wanted.index is None:
        wanted = torch.device("cuda", torch.cuda.current_device())
    if "X" in tensors and (X.device.type, X.device.index or 0) != (wanted.type, wanted.index or 0):
        raise ValueError(
            f"X lies on {X.device}, but device={device!r}; leave device out, or move X there."
        )
    return OnDevice(wanted, _precision(X))


def _check_available(torch: Any, wanted: Any, device: Any) -> None:
    if wanted.type not in ("cpu", "cuda"):
        raise ValueError(f"device must be 'cpu' or 'cuda', got {device!r}.")
    if wanted.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if count == 0:
            raise ValueError(
                f"device={device!r} is not available: PyTorch {torch.__version__} sees no CUDA "
                "device; use device=None, or install a build of PyTorch for CUDA."
            )
        if wanted.index is not None and wanted.index >= count:
            raise ValueError(
                f"device={device!r} is not available: PyTorch sees {count} CUDA device(s), "
                "counted from 0."
            )


def _precision(X: Any) -> Any:
    """Return single precision for single precision, and double for all else."""
    import torch

    dtype = str(getattr(X, "dtype", "float64")).removeprefix("torch.")
    return torch.float32 if dtype == "float32" else torch.float64


def _check_tensor(name: str, tensor: Any) -> None:
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype in ("float16", "bfloat16", "complex64", "complex128"):
        raise ValueError(
            f"{name} has dtype {dtype}, which cannot be used; give float32 or float64."
        )
    if str(tensor.layout) != "torch.strided":
        raise ValueError(
            f"{name} is a sparse tensor; give a matrix of scipy.sparse, or {name}.to_dense()."
        )


def to_numpy(array: Any, name: str = "X") -> Any:
    """Return a tensor as NumPy's array, and anything else as it is."""
    if not is_torch_array(array):
        return array
    _check_tensor(name, array)
    if array.device.type not in ("cpu", "cuda"):
        raise ValueError(
            f"{name} lies on {array.device}, where nothing can be computed; move it to 'cpu' or "
            "'cuda'."
        )
    return array.detach().cpu().numpy()


def returned(values: np.ndarray, X: Any) -> Any:
    """Return results for rows X, as tensors on their device where scikit-learn dispatches."""
    if not is_torch_array(X) or not get_config()["array_api_dispatch"]:
        return values
    if values.dtype.kind not in "fiub":
        return values  # labels that are words
    import torch

    return torch.asarray(values, device=X.device)


def check_memory(
    device: HostDevice | OnDevice, X: Any, n_classes: int, flips: bool, *, n_matrices: int = 0
) -> None:
    """Refuse a fit that cannot fit into memory, before it starts.

    It needs X once more, sorted and standardised, for every row the logits of the candidates of a
    step and a few weights, and as many matrices of pairs of features.
    """
    n_rows, n_features = X.shape
    if hasattr(X, "tocsr"):
        table = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    else:
        table = n_rows * n_features * device.itemsize
    # Slopes are computed for a part of a long table only.
    step = n_rows * device.itemsize * (n_classes * (2 if flips else 1) + 8)
    step += n_matrices * 8 * (n_features + 1) ** 2
    free = device.free_bytes()
    if free is not None and table + step > free:
        raise MemoryError(
            f"A fit on {n_rows} x {n_features} with {n_classes} classes needs about "
            f"{_gigabytes(table + step)} on {device.name} ({_gigabytes(table)} for X, "
            f"{_gigabytes(step)} for a step), but {_gigabytes(free)} are free; {device.smaller}."
        )


def _gigabytes(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.3g} GB"


def _host_bytes() -> int | None:
    """Return the memory that the system and the control group of this process leave free."""
    return min((n for n in (_system_bytes(), _group_bytes()) if n is not None), default=None)


def _system_bytes() -> int | None:
    try:
        import psutil
    except ImportError:
        try:
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
        except (AttributeError, OSError, ValueError):
            return None
    return psutil.virtual_memory().available


def _group_bytes() -> int | None:
    """Return the memory that a container's limit leaves; psutil knows only the whole system."""
    group = Path("/sys/fs/cgroup")
    try:
        limit = (group / "memory.max").read_text().strip()
        if limit == "max":
            return None
        used = int((group / "memory.current").read_text())
        for line in (group / "memory.stat").read_text().splitlines():
            if line.startswith("inactive_file "):
                used -= int(line.split()[1])  # cached files are dropped when memory is needed
        return max(0, int(limit) - used)
    except (OSError, ValueError):
        return None
