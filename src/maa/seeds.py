"""Independent random streams from one run seed.

A run's data order, negatives, initialisation, dropout and what a regulariser draws each
have a stream of their own, so that two runs that differ in the operator alone share all
the others.
"""

import zlib

import numpy as np

STREAMS = ("order", "negatives", "initialisation", "dropout", "regulariser")


def derive(seed: int, stream: str) -> int:
    """Return a 63-bit seed for one named stream of a run."""
    sequence = np.random.SeedSequence([seed, zlib.crc32(stream.encode())])
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))


def generator(seed: int, stream: str) -> np.random.Generator:
    """Return a NumPy generator for one named stream of a run."""
    return np.random.default_rng(derive(seed, stream))
