"""A planted representation."""

import numpy as np

from maa.probes.recovery import ProbeData

QUERIES = 400


def planted(seed: int = 0) -> ProbeData:
    """Targets: linear in z, held by c alone, noise, constant."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(QUERIES, 5)).astype(np.float32)
    c = rng.normal(size=(QUERIES, 2)).astype(np.float32)
    linear = 3 * z[:, 0] - z[:, 1] + rng.normal(size=QUERIES)
    targets = np.stack(
        [linear, c[:, 1], rng.normal(size=QUERIES), np.full(QUERIES, 0.1)], axis=1
    )
    names = ("linear", "coordinate", "noise", "constant")
    return ProbeData(z, c, targets.astype(np.float64), names)
