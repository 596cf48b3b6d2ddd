"""A planted representation."""

import numpy as np

from maa.probes.recovery import ProbeData

QUERIES = 400


def planted(seed: int = 0) -> ProbeData:
    """Targets: linear in z, held by c alone, noise, constant, held by n alone."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(QUERIES, 5)).astype(np.float32)
    c = rng.normal(size=(QUERIES, 2)).astype(np.float32)
    keys = (
        np.random.default_rng(seed + 1)
        .integers(0, 20, size=(QUERIES, 1))
        .astype(np.float32)
    )
    linear = 3 * z[:, 0] - z[:, 1] + rng.normal(size=QUERIES)
    noise, constant = rng.normal(size=QUERIES), np.full(QUERIES, 0.1)
    length = 2 * np.log1p(keys[:, 0])
    targets = np.stack([linear, c[:, 1], noise, constant, length], axis=1)
    names = ("linear", "coordinate", "noise", "constant", "length")
    return ProbeData(z, c, keys, targets.astype(np.float64), names)
