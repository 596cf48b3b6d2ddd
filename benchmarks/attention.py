"""Mass-aware attention against torch's own, forward and backward, by length.

    python benchmarks/attention.py [--lengths 128 1024 8192] [--threads 1 2] [--causal]

Both are timed in turn, and a ratio is the median over these pairs, so that what else
runs on the machine meets both alike. It should be at most 1.7 times the time of
`scaled_dot_product_attention`, which has one pass over the scores where ours needs two
powers of each. From length 4,096 on, the peak memory of a forward and backward pass may
lie above torch's own, which keeps no weights, by less than a matrix of all weights of
one of the heads.
"""

import argparse
import functools
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable

import torch
from measured import measure
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from maa.attention import mass_aware_attention

LIMIT = 1.7
LONG = 4096
HEADS, WIDTH = 8, 64
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


def inputs(length: int) -> list[Tensor]:
    """Return queries, keys and values of one batch."""
    shape = (1, HEADS, length, WIDTH)
    return [torch.randn(shape, requires_grad=True) for _ in range(3)]


def passes(attend: Attend, given: list[Tensor]) -> tuple[float, float, float]:
    """Return the seconds of a forward pass, of a backward pass and of both."""
    for tensor in given:
        tensor.grad = None
    start = time.perf_counter()
    out = attend(*given)
    middle = time.perf_counter()
    out.backward(torch.ones_like(out))
    end = time.perf_counter()
    return middle - start, end - middle, end - start


def ratio(ours: Attend, theirs: Attend, length: int) -> float:
    """Print the times at a length; return how many times theirs ours takes."""
    given = inputs(length)
    for attend in (theirs, ours):
        passes(attend, given)
    repeats = max(3, min(30, 2**24 // length**2))
    pairs = [(passes(ours, given), passes(theirs, given)) for _ in range(repeats)]
    seconds = medians(own for own, _ in pairs)
    forward, backward, both = medians(
        [a / b for a, b in zip(*pair, strict=True)] for pair in pairs
    )
    print(
        f"{length:5d} keys, {torch.get_num_threads()} threads: "
        f"forward {seconds[0] * 1e3:8.1f} ms ({forward:.2f} times), "
        f"backward {seconds[1] * 1e3:8.1f} ms ({backward:.2f} times), "
        f"both {both:.2f} times",
        flush=True,
    )
    return both


def medians(rows: Iterable[Iterable[float]]) -> list[float]:
    """Return the median of each column."""
    return [statistics.median(column) for column in zip(*rows, strict=True)]


def peak(arguments: argparse.Namespace, length: int, once: str) -> float:
    """Return the peak memory of a process that attends once at a length, MiB."""
    command = [sys.executable, __file__, "--lengths", str(length), "--once", once]
    command += ["--threads", str(max(arguments.threads)), "--p", str(arguments.p)]
    command += ["--causal"] if arguments.causal else []
    return measure(command, os.environ).gibibytes * 1024


def memory(arguments: argparse.Namespace, length: int) -> float:
    """Print both peaks at a length; return the excess in a head's weight matrices."""
    ours, theirs = (
        peak(arguments, length, once) - peak(arguments, 128, once)
        for once in ("ours", "theirs")
    )
    matrix = length**2 * 4 / 2**20
    print(
        f"memory at {length} keys: {ours:.0f} MiB more than at 128, torch's own "
        f"{theirs:.0f} MiB; inputs and gradients of {HEADS} heads included; all "
        f"weights of one head are {matrix:.0f} MiB",
        flush=True,
    )
    return (ours - theirs) / matrix


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--lengths", type=int, nargs="+", default=[128, 512, 1024, 2048, 4096, 8192]
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--p", type=float, default=1.1)
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--once", choices=["ours", "theirs"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    ours = functools.partial(
        mass_aware_attention, p=arguments.p, causal=arguments.causal
    )
    theirs = functools.partial(scaled_dot_product_attention, is_causal=arguments.causal)
    if arguments.once:
        torch.set_num_threads(*arguments.threads)
        passes(ours if arguments.once == "ours" else theirs, inputs(*arguments.lengths))
        return
    failed = []
    for threads in arguments.threads:
        torch.set_num_threads(threads)
        for length in arguments.lengths:
            if ratio(ours, theirs, length) > LIMIT:
                failed.append(f"more than {LIMIT} times at {length}, {threads} threads")
    for length in filter(LONG.__le__, arguments.lengths):
        if memory(arguments, length) > 1:
            failed.append(f"a matrix of all weights more than torch at {length}")
    if failed:
        raise SystemExit("error: " + "; ".join(failed))


if __name__ == "__main__":
    main()
