"""Synthetic measurements in the workflow's own format, with planted effects."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from maa.domains.ctdg.statistics import STATISTICS as TARGETS
from maa.files import write_table

DATASETS = ("lastfm", "mooc", "wikipedia")
BACKBONES = ("craft", "dygformer", "graphmixer", "tgat")
SEEDS = (7, 17, 29)
MEASURES = {
    "auc_unseen": 0.86,
    "auc_random": 0.88,
    "auc_historical": 0.70,
    "context_margin": 0.54,
    "context_margin_absolute": 0.90,
    "context_margin_probability": 0.45,
}
PROBES = {
    "r2_linear_z": 0.45,
    "r2_linear_zc": 0.50,
    "r2_extratrees_z": 0.55,
    "r2_extratrees_zc": 0.58,
}
QUANTITIES = [(measure, "") for measure in MEASURES] + [
    (probe, target) for probe in PROBES for target in TARGETS
]
ALL_HOMOPHILY = frozenset((dataset, "homophily") for dataset in DATASETS)


def make_measurements(
    effects: Mapping[tuple[str, str], float] | None = None,
    *,
    datasets: Sequence[str] = DATASETS,
    backbones: Sequence[str] = BACKBONES,
    seeds: Sequence[int] = SEEDS,
    constant: Collection[tuple[str, str]] = ALL_HOMOPHILY,
    jitter: float = 0.0005,
    domain: str = "ctdg",
    seed: int = 0,
) -> pd.DataFrame:
    """Make measurements of p1.00 and p1.10 on a whole grid.

    Args:
        effects: planted mean effect of a (measure, target); others have none.
        datasets: names of the data sets.
        backbones: names of the backbones.
        seeds: run seeds.
        constant: (data set, target) pairs that are constant (R2 = 1 in both arms).
        jitter: standard deviation of an effect around its planted mean.
        domain: name of the domain.
        seed: of the noise.
    """
    effects = effects or {}
    rng = np.random.default_rng(seed)
    rows = []
    runs = itertools.product(datasets, backbones, seeds, QUANTITIES)
    for dataset, backbone, run_seed, (measure, target) in runs:
        flat = (dataset, target) in constant
        level = MEASURES.get(measure, PROBES.get(measure, 0.0)) + rng.normal(0, 0.02)
        change = effects.get((measure, target), 0.0) + rng.normal(0, jitter)
        values = (1.0, 1.0) if flat else (level, level + change)
        for operator, value in zip(("p1.00", "p1.10"), values, strict=True):
            key = (domain, dataset, backbone, operator, run_seed)
            rows.append((*key, measure, target, value, flat))
    names = "domain dataset backbone operator seed measure target value constant"
    return pd.DataFrame(rows, columns=names.split())


def write_run_files(measurements: pd.DataFrame, root: Path) -> list[Path]:
    """Write measurements as the files that the runs' own steps would leave."""
    paths = []
    keys = ["domain", "dataset", "backbone", "operator", "seed"]
    for key, rows in measurements.groupby(keys):
        folder = root.joinpath(*map(str, key))
        plain = rows["target"] == ""
        paths.append(folder / "scores.parquet")
        scores = rows.loc[plain, ["measure", "value"]].assign(queries=100)
        write_table(paths[-1], scores)
        probe = rows[~plain].rename(columns={"value": "r2"})
        parts = probe["measure"].str.split("_", expand=True)
        probe = probe.assign(probe=parts[1], inputs=parts[2])
        paths.append(folder / "probe.parquet")
        columns = ["probe", "inputs", "target", "r2", "constant"]
        write_table(paths[-1], probe[columns])
    return paths
