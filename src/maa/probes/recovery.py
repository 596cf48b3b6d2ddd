"""Held-out R2 of the probes (paper, section 4.1): shared and beyond-posthoc recovery.

Shared recovery reads the representation z; beyond-posthoc recovery reads z and c, the
coordinates of the normaliser that the attention computed on the way. Which targets
are constant depends on the targets and the split alone, so all operators of a data
set leave out the same ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import r2_score
from sklearn.preprocessing import StandardScaler

from maa.probes.forest import predict_forest
from maa.probes.linear import predict_linear
from maa.probes.settings import ProbeSettings
from maa.probes.split import constant_targets, split_at

PROBES = ("linear", "extratrees")
INPUTS = ("z", "zc")


@dataclass(frozen=True, eq=False)
class ProbeData:
    """What a probe reads and what it is asked, for the queries of one part.

    Attributes:
        z: float [queries, d], the frozen representation; queries in time order, each
            event followed by its negative.
        c: float [queries, k], the coordinates of the normaliser.
        targets: float64 [queries, targets].
        names: the targets' names.
    """

    z: NDArray[np.float32]
    c: NDArray[np.float32]
    targets: NDArray[np.float64]
    names: Sequence[str]

    def inputs(self, name: str) -> NDArray[np.float64]:
        """Return the inputs called "z" or "zc" (z and c side by side)."""
        parts = [self.z] if name == "z" else [self.z, self.c]
        return np.concatenate(parts, axis=1).astype(np.float64)


def measure_recovery(
    data: ProbeData, settings: ProbeSettings, seed: int, threads: int = 1
) -> pd.DataFrame:
    """Return the R2 of both probes on both inputs for every target.

    Args:
        data: inputs and targets of the queries.
        settings: how to split and fit.
        seed: seed of the trees.
        threads: CPU threads; the result does not depend on it.

    Returns:
        One row a probe, inputs and target: ``probe`` (linear, extratrees), ``inputs``
        (z, zc), ``target``, ``r2`` and ``constant``. R2 is not clipped. A constant
        target (see `maa.probes.split.constant_targets`) has the value of scikit-learn's
        ``r2_score`` (1 for an exact prediction of a constant) and belongs in no mean.

    Raises:
        UserError: if the queries cannot be split.
    """
    cut = split_at(len(data.targets), settings.train_fraction)
    constant = constant_targets(data.targets, cut)
    tables = []
    for probe in PROBES:
        for name in INPUTS:
            r2 = recover(
                probe, data.inputs(name), data.targets, settings, seed, threads
            )
            table = {"target": list(data.names), "r2": r2, "constant": constant}
            tables.append(pd.DataFrame({"probe": probe, "inputs": name, **table}))
    return pd.concat(tables, ignore_index=True)


def recover(
    probe: str,
    inputs: NDArray[np.float64],
    targets: NDArray[np.float64],
    settings: ProbeSettings,
    seed: int,
    threads: int = 1,
) -> NDArray[np.float64]:
    """Return each target's R2 on the later queries, of a probe fitted on the earlier.

    Args:
        probe: "linear" or "extratrees".
        inputs: [queries, features], in time order.
        targets: [queries, targets].
        settings: how to split and fit.
        seed: seed of the trees.
        threads: CPU threads.
    """
    cut = split_at(len(targets), settings.train_fraction)
    truth = targets[cut:]
    predictions = predict(probe, inputs, targets[:cut], settings, seed, threads)
    scores: NDArray[np.float64] = r2_score(truth, predictions, multioutput="raw_values")
    return scores


def predict(
    probe: str,
    inputs: NDArray[np.float64],
    known: NDArray[np.float64],
    settings: ProbeSettings,
    seed: int,
    threads: int = 1,
) -> NDArray[np.float64]:
    """Fit on the first ``len(known)`` queries; return predictions for the others.

    Inputs are standardised by the queries that fit. A target that is constant there
    is predicted as that constant, exactly.
    """
    cut = len(known)
    scaler = StandardScaler().fit(inputs[:cut])
    train, test = scaler.transform(inputs[:cut]), scaler.transform(inputs[cut:])
    varying = (known != known[0]).any(axis=0)
    predictions = np.tile(known[0], (len(test), 1))
    if varying.any():
        predictions[:, varying] = (
            predict_linear(train, known[:, varying], test, settings)
            if probe == "linear"
            else predict_forest(train, known[:, varying], test, settings, seed, threads)
        )
    return predictions
