"""Probing a whole cell: all runs of one backbone on one data set.

    python benchmarks/probing.py
    python benchmarks/probing.py --runs results/runs/ctdg/wikipedia/tgat \
        --targets data/prepared/ctdg/wikipedia/targets.parquet

Three seeds with seven operators are probed by the workflow's script with the settings
of the configuration, two at a time, trees for every run; that should take less than
five minutes. Without ``--runs`` one representation is generated, of the shape of TGAT's
on wikipedia, and read for all runs; with it, the runs in that folder are read in turn.

Then one run is probed as one would by hand, on the same data and split: a new scaler
and a new estimator for each input and target, first with our settings and then with
scikit-learn's defaults, for which a few trees are grown and the rest reckoned.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from measured import Cost, measure
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maa.config import load
from maa.domains.ctdg.statistics import STATISTICS
from maa.files import write_table, write_tensors
from maa.probes.inputs import read_data
from maa.probes.recovery import PLAN, ProbeData
from maa.probes.settings import ProbeSettings, parse_settings
from maa.probes.split import split_at

ROOT = Path(__file__).resolve().parents[1]
CELL = 3 * 7
SECONDS = 300
WORKERS = 2
SHAPE = {"z": 256, "c": 2, "keys": 1}
QUERIES = {"validation": 4588, "test": 19_662}
DEFAULT_TREES = 100
GROWN = 2

Floats = NDArray[np.float64]


def generate(folder: Path) -> tuple[Path, Path]:
    """Write a representation and targets; return their paths.

    Inputs are linear in 24 hidden numbers, with noise, and so are the targets before
    half of each is cut off at 0, as most of a stream's pairs are new. Homophily is
    constant, as on bipartite data.
    """
    rng = np.random.default_rng(0)
    maps = {name: rng.normal(size=(24, width)) for name, width in SHAPE.items()}
    wanted = rng.normal(size=(24, len(STATISTICS)))
    tensors, tables = {}, []
    for part, queries in QUERIES.items():
        hidden = rng.normal(size=(queries, 24))
        for name, mixing in maps.items():
            noise = rng.normal(size=(queries, SHAPE[name]))
            tensors[f"{part}_{name}"] = (hidden @ mixing + noise).astype(np.float32)
        tensors[f"{part}_keys"] = np.rint(np.exp(tensors[f"{part}_keys"] / 5))
        values = np.maximum(hidden @ wanted, 0)
        table = pd.DataFrame(values, columns=list(STATISTICS)).assign(homophily=0.0)
        tables.append(table.assign(part=part, query=np.arange(queries)))
    paths = folder / "representation.safetensors", folder / "targets.parquet"
    write_tensors(paths[0], tensors)
    write_table(paths[1], pd.concat(tables, ignore_index=True))
    return paths


def probe_cell(
    representations: Sequence[Path],
    targets: Path,
    settings: dict[str, Any],
    folder: Path,
) -> tuple[float, list[Cost]]:
    """Probe all runs by the script, two at a time: seconds, and the cost of each."""
    script = str(ROOT / "workflow" / "scripts" / "probe.py")
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}

    def probe(job: tuple[int, Path]) -> Cost:
        number, path = job
        files = ("--representation", str(path), "--targets", str(targets))
        how = ("--seed", str(number), "--settings", json.dumps(settings))
        output = ("--output", str(folder / f"{number}.parquet"))
        return measure([sys.executable, script, *files, *how, *output], environment)

    start = time.perf_counter()
    with ThreadPoolExecutor(WORKERS) as pool:
        costs = list(pool.map(probe, enumerate(representations)))
    return time.perf_counter() - start, costs


def pieces(data: ProbeData, inputs: str, settings: ProbeSettings) -> Iterator[Any]:
    """Yield a fresh split for each target: inputs and values to fit, inputs to ask."""
    cut = split_at(len(data.targets), settings.train_fraction)
    for known in data.targets[:cut].T:
        values = data.inputs(inputs)
        yield values[:cut], known, values[cut:]


def by_hand(data: ProbeData, settings: ProbeSettings, forest: dict[str, Any]) -> float:
    """Return the processor seconds of the test part's probes, one target at a time.

    Args:
        data: inputs and targets.
        settings: the split and the ridge's penalty.
        forest: arguments of the forest.
    """
    start = time.process_time()
    for probe, inputs in PLAN["test"]:
        for known, values, asked in pieces(data, inputs, settings):
            estimator = (
                Ridge(alpha=settings.ridge_alpha)
                if probe == "linear"
                else ExtraTreesRegressor(**forest, random_state=0)
            )
            make_pipeline(StandardScaler(), estimator).fit(known, values).predict(asked)
    return time.process_time() - start


def main() -> None:
    """Print what a cell takes, and what a run takes by hand."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, help="folder of OPERATOR/SEED/ folders")
    parser.add_argument("--targets", type=Path, help="targets of the runs' data set")
    parser.add_argument("--count", type=int, default=CELL, help="runs to probe")
    arguments = parser.parse_args()
    if (arguments.runs is None) != (arguments.targets is None):
        parser.error("--runs and --targets go together")
    study = load(ROOT / "config" / "config.yaml")["domains"]["ctdg"]["probe"]
    chosen = {
        name: value for name, value in study.items() if name != "forest_operators"
    }
    with tempfile.TemporaryDirectory() as folder:
        if arguments.runs:
            targets = arguments.targets
            found = sorted(arguments.runs.glob("*/*/representation.safetensors"))
            if not found:
                parser.error(f"{arguments.runs} holds no representation of a run")
        else:
            path, targets = generate(Path(folder))
            found = [path]
        runs = list(islice(cycle(found), arguments.count))
        seconds, costs = probe_cell(runs, targets, chosen, Path(folder))
        data = read_data(found[0], targets)
    report(seconds, costs)
    compare(data, parse_settings(chosen), costs[0].cpu)


def report(seconds: float, costs: Sequence[Cost]) -> None:
    """Print what the cell took."""
    each = np.mean([cost.cpu for cost in costs])
    memory = max(cost.gibibytes for cost in costs)
    found = {"here": seconds, "on idle cores": each * len(costs) / WORKERS}
    print(
        f"{len(costs)} runs, {WORKERS} at a time, each {each:.1f} s of the processor "
        f"and at most {memory:.2f} GiB"
    )
    for where, taken in found.items():
        whole = taken * CELL / len(costs)
        verdict = "within" if whole <= SECONDS else "NOT within"
        print(f"  a cell of {CELL} {where}: {whole:.0f} s ({verdict} {SECONDS} s)")


def compare(data: ProbeData, settings: ProbeSettings, ours: float) -> None:
    """Print what the test probes of one run take by hand, and how often that is ours.

    Ours is a whole process, with imports and the validation part.
    """
    same = {
        "n_estimators": settings.trees,
        "min_samples_leaf": settings.min_samples_leaf,
        "max_features": settings.max_features,
    }
    seconds = by_hand(data, settings, same)
    print(
        f"one run by hand, our settings: {seconds:.1f} s of the processor, "
        f"{seconds / ours:.1f} times ours",
        flush=True,
    )
    one, more = (
        by_hand(data, settings, {"n_estimators": trees}) for trees in (1, 1 + GROWN)
    )
    seconds = one + (more - one) / GROWN * (DEFAULT_TREES - 1)
    print(
        f"one run by hand, scikit-learn's defaults ({DEFAULT_TREES} trees, all inputs, "
        f"leaves of 1), reckoned from {1 + GROWN} trees: {seconds:.0f} s, "
        f"{seconds / ours:.0f} times ours"
    )


if __name__ == "__main__":
    main()
