"""Held-out R2 of the probes (paper, section 4.1): shared and beyond-posthoc recovery.

Shared recovery reads the representation z; beyond-posthoc recovery reads z and c, the
coordinates of the normaliser that the attention computed on the way. A control that is
not in the paper reads z and n, the log of how many keys the attention had. Which
targets are constant depends on the targets and the split alone, so all operators of a
data set leave out the same ones.
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

INPUTS = ("z", "zc")
PLAN = {
    "test": (
        *(("linear", inputs) for inputs in ("z", "zc", "zn")),
        *(("extratrees", inputs) for inputs in INPUTS),
    ),
    "validation": (("linear", "z"),),
}
"""Which probes read which inputs, on test queries and on those that choices rest on."""


@dataclass(frozen=True, eq=False)
class ProbeData:
    """What a probe reads and what it is asked, for the queries of one part.

    Attributes:
        z: float [queries, d], the frozen representation; queries in time order, each
            event followed by its negative.
        c: float [queries, k], the coordinates of the normaliser.
        keys: float [queries, e], how many keys the attention had.
        targets: float64 [queries, targets].
        names: the targets' names.
    """

    z: NDArray[np.float32]
    c: NDArray[np.float32]
    keys: NDArray[np.float32]
    targets: NDArray[np.float64]
    names: Sequence[str]

    def inputs(self, name: str) -> NDArray[np.float64]:
        """Return the inputs "z", "zc" (z and c) or "zn" (z and log(1 + keys))."""
        beside = {"z": [], "zc": [self.c], "zn": [np.log1p(self.keys)]}[name]
        return np.concatenate([self.z, *beside], axis=1).astype(np.float64)


def measure_recovery(
    data: ProbeData,
    settings: ProbeSettings,
    seed: int,
    threads: int = 1,
    part: str = "test",
) -> pd.DataFrame:
    """Return the R2 of a part's probes (see `PLAN`) for every target.

    Args:
        data: inputs and targets of the part's queries.
        settings: how to split and fit.
        seed: seed of the trees.
        threads: CPU threads; the result does not depend on it.
        part: "test" or "validation".

    Returns:
        One row a probe, inputs and target: ``part``, ``probe`` (linear, extratrees),
        ``inputs`` (z, zc, zn), ``target``, ``r2`` and ``constant``. Without
        ``settings.forest`` no row is of extratrees. R2 is not clipped. A constant
        target (see `maa.probes.split.constant_targets`) has the value of scikit-learn's
        ``r2_score`` (1 for an exact prediction of a constant) and belongs in no mean.

    Raises:
        UserError: if the queries cannot be split.
    """
    cut = split_at(len(data.targets), settings.train_fraction)
    constant = constant_targets(data.targets, cut)
    tables = []
    for probe, name in PLAN[part]:
        if probe == "extratrees" and not settings.forest:
            continue
        inputs = data.inputs(name)
        r2 = recover(probe, inputs, data.targets, settings, seed, threads)
        table = {"target": list(data.names), "r2": r2, "constant": constant}
        key = {"part": part, "probe": probe, "inputs": name}
        tables.append(pd.DataFrame({**key, **table}))
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
