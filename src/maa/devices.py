"""Where PyTorch computes, and with how many threads."""

import os

import torch

from maa.errors import UserError


def use(name: str, threads: int = 1) -> torch.device:
    """Set the number of threads and return the device called ``name``.

    On a GPU, PyTorch is told to take deterministic algorithms only, so that the same
    run twice gives the same numbers there too.

    Args:
        name: ``cpu`` or ``cuda``.
        threads: CPU threads of one operation, 1 or more.

    Raises:
        UserError: if ``name`` is neither, or no GPU can be used.
    """
    torch.set_num_threads(threads)
    if name == "cpu":
        return torch.device("cpu")
    if name != "cuda":
        raise UserError(f"device: {name!r} is unknown; choose cpu or cuda")
    if not torch.cuda.is_available():
        raise UserError(
            "device: cuda was asked for, but PyTorch finds no GPU here; set device: "
            "cpu or run where a GPU and its driver are visible"
        )
    # cuBLAS needs a fixed workspace to be deterministic, set before its first use.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    return torch.device("cuda")
