"""Divergences between all heads against SciPy's, row by row.

    python benchmarks/pairs_of_heads.py [--heads 270] [--keys 256] [--rows 8]

A user would take `scipy.spatial.distance.pdist` with its compiled Jensen-Shannon
distance, once a row. Both start from the same logits, one thread each; that they agree
is checked first.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform
from scipy.special import softmax
from torch import Tensor

from maa.attention.rows.pairwise import pairwise


def by_row(logits: Tensor) -> NDArray[np.float64]:
    """Return the divergences of all pairs, summed over rows, (H, H), by SciPy."""
    weights = softmax(logits.double().numpy(), -1)
    return sum(squareform(pdist(row, "jensenshannon") ** 2) for row in weights)


def seconds(task: Callable[[], object], repeats: int = 3) -> float:
    """Return the time of the fastest of some repeats."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        taken.append(time.perf_counter() - start)
    return min(taken)


def main() -> None:
    """Compare, and print a ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heads", type=int, default=270)
    parser.add_argument("--keys", type=int, default=256)
    parser.add_argument("--rows", type=int, default=8)
    options = parser.parse_args()
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    shape = options.rows, options.heads, options.keys
    logits = 3 * torch.randn(shape, generator=generator)
    ours = pairwise("js", logits).sum(0).numpy()
    np.testing.assert_allclose(ours, by_row(logits), atol=1e-9)
    here = seconds(lambda: pairwise("js", logits).sum(0))
    there = seconds(lambda: by_row(logits))
    print(f"{options.heads} heads, {options.rows} rows of {options.keys} keys")
    print(
        f"in blocks: {here:.2f} s, SciPy by row: {there:.2f} s ({there / here:.1f} x)"
    )


if __name__ == "__main__":
    main()
