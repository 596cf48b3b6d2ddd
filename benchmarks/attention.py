"""Mass-aware attention against torch's own, forward and backward, by length.

    python benchmarks/attention.py [--lengths 128 1024 8192] [--causal]

Times are the fastest of some repeats. From length 4,096 on it should take at most 1.7
times the time of `scaled_dot_product_attention`, which has one pass over the scores
where ours needs two powers of each. The memory of one forward and backward pass at the
longest length, beyond that at 128 keys, has to be less than a matrix of all weights of
one head, inputs and gradients of all heads included.
"""

import argparse
import functools
import os
import sys
import time
from collections.abc import Callable

import torch
from measured import measure
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from maa.attention import mass_aware_attention

LIMIT = 1.7
HEADS, WIDTH = 8, 64
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


def inputs(length: int) -> list[Tensor]:
    """Return queries, keys and values of one batch."""
    shape = (1, HEADS, length, WIDTH)
    return [torch.randn(shape, requires_grad=True) for _ in range(3)]


def passes(attend: Attend, given: list[Tensor]) -> tuple[float, float]:
    """Return the seconds of a forward and a backward pass."""
    for tensor in given:
        tensor.grad = None
    start = time.perf_counter()
    out = attend(*given)
    middle = time.perf_counter()
    out.backward(torch.ones_like(out))
    return middle - start, time.perf_counter() - middle


def peak(length: int) -> float:
    """Return the peak memory of a process that attends once at a length, MiB."""
    command = [sys.executable, __file__, "--lengths", str(length), "--once"]
    return measure(command, os.environ).gibibytes * 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--lengths", type=int, nargs="+", default=[128, 512, 1024, 2048, 4096, 8192]
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--p", type=float, default=1.1)
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    ours = functools.partial(
        mass_aware_attention, p=arguments.p, causal=arguments.causal
    )
    if arguments.once:
        passes(ours, inputs(*arguments.lengths))
        return
    theirs = functools.partial(scaled_dot_product_attention, is_causal=arguments.causal)
    slow = []
    for length in arguments.lengths:
        repeats = max(2, min(30, 2**24 // length**2))
        given = inputs(length)
        times = {
            name: [passes(attend, given) for _ in range(repeats)]
            for name, attend in (("warm", theirs), ("theirs", theirs), ("ours", ours))
        }
        best = {
            name: [min(x) for x in zip(*t, strict=True)] for name, t in times.items()
        }
        ratios = [a / b for a, b in zip(best["ours"], best["theirs"], strict=True)]
        whole = sum(best["ours"]) / sum(best["theirs"])
        print(
            f"{length:5d} keys: forward {best['ours'][0] * 1e3:8.1f} ms "
            f"({ratios[0]:.2f} times), backward {best['ours'][1] * 1e3:8.1f} ms "
            f"({ratios[1]:.2f} times), both {whole:.2f} times",
            flush=True,
        )
        if length >= 4096 and whole > LIMIT:
            slow.append(length)
    longest = max(arguments.lengths)
    matrix = longest**2 * 4 / 2**20
    taken = peak(longest) - peak(128)
    print(
        f"memory at {longest} keys: {taken:.0f} MiB more than at 128, inputs and "
        f"gradients of {HEADS} heads included; all weights of one head are "
        f"{matrix:.0f} MiB"
    )
    if longest >= 4096 and taken > matrix:
        raise SystemExit("error: as much memory as a matrix of all weights")
    if slow:
        raise SystemExit(f"error: more than {LIMIT} times at {slow}")


if __name__ == "__main__":
    main()
