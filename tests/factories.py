"""Synthetic measurements in the workflow's own format, with planted effects."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from maa.domains.ctdg.statistics import STATISTICS as TARGETS
from maa.files import write_table
from maa.inference.sets import all_runs, sets_from

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


STUDY = {
    "core": {
        "datasets": ["enron", "uci", "wikipedia"],
        "backbones": list(BACKBONES),
        "operators": ["p1.00", "p1.02", "p1.05", "p1.10", "p1.20", "p1.30", "p2.00"],
        "seeds": list(SEEDS),
    },
    "controls": {
        "cells": [
            {"dataset": "enron", "backbone": "craft"},
            {"dataset": "uci", "backbone": "tgat"},
            {"dataset": "wikipedia", "backbone": "dygformer"},
            {"dataset": "enron", "backbone": "graphmixer"},
        ],
        "operators": [
            *("p1.00", "p1.10", "p1.00-l2", "p1.10-l2"),
            *("p1.10-uniform", "p1.10-length", "cpa-scaled"),
        ],
        "seeds": list(SEEDS),
    },
    "official": {
        "datasets": ["wikipedia"],
        "backbones": ["tgat-official"],
        "operators": ["p1.00", "p1.10"],
        "seeds": list(SEEDS),
    },
}
PLAN = {
    "baseline": "p1.00",
    "treatment": "p1.10",
    "draws": 200,
    "seed": 0,
    "sets": {"ctdg": STUDY},
    "selection": {
        "grid": ["p1.00", "p1.02", "p1.05", "p1.10", "p1.20", "p1.30"],
        "utility_tolerance": 0,
    },
}
FOREST_OPERATORS = ("p1.00", "p1.10")
STUDY_MEASURES = {**MEASURES, "validation_auc": 0.87}
STUDY_PROBES = {**PROBES, "r2_linear_zn": 0.52, "validation_r2_linear_z": 0.44}


def make_study(
    effects: Mapping[tuple[str, str, str], float] | None = None,
    *,
    sets: Mapping[str, Mapping[str, Any]] = STUDY,
    jitter: float = 0.0005,
    domain: str = "ctdg",
    seed: int = 0,
) -> pd.DataFrame:
    """Make measurements of all runs of a study; homophily is constant on wikipedia.

    Args:
        effects: planted mean effect of an (operator, measure, target) against p1.00.
        sets: the study's sets of runs, as in the settings of the inference.
        jitter: standard deviation of an effect around its planted mean.
        domain: name of the domain.
        seed: of the noise.
    """
    effects = effects or {}
    rng = np.random.default_rng(seed)
    levels = {(measure, ""): level for measure, level in STUDY_MEASURES.items()}
    for probe, target in itertools.product(STUDY_PROBES, TARGETS):
        levels[probe, target] = STUDY_PROBES[probe]
    rows = []
    base: dict[tuple[object, ...], float] = {}
    for run in all_runs(sets_from({domain: sets})):
        _, dataset, backbone, operator, run_seed = run
        for (measure, target), level in levels.items():
            if "extratrees" in measure and operator not in FOREST_OPERATORS:
                continue
            cell = (dataset, backbone, run_seed, measure, target)
            start = base.setdefault(cell, level + rng.normal(0, 0.02))
            planted = effects.get((operator, measure, target), 0.0)
            noise = 0.0 if operator == "p1.00" else rng.normal(0, jitter)
            flat = target == "homophily" and dataset == "wikipedia"
            value = 1.0 if flat else start + planted + noise
            rows.append((*run, measure, target, value, flat))
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
        validation = probe["measure"].str.startswith("validation_")
        bare = probe["measure"].str.removeprefix("validation_")
        parts = bare.str.split("_", expand=True)
        part = np.where(validation, "validation", "test")
        probe = probe.assign(part=part, probe=parts[1], inputs=parts[2])
        paths.append(folder / "probe.parquet")
        columns = ["part", "probe", "inputs", "target", "r2", "constant"]
        write_table(paths[-1], probe[columns])
    return paths
