"""Training the traffic forecaster here against a plain PyTorch loop of the same model.

The plain loop is what one writes first (`plain_forecaster.py`): a loader that copies
windows out one by one, PyTorch's own attention and dropout, the five terms of the graph
step side by side, an AdamW that goes over the parameters one by one. Both train from
the same weights on the same windows in the same order; without dropout their losses
must agree step by step. Then both are timed in turns, with dropout, one thread each, in
CPU seconds:

    python benchmarks/traffic.py --sensors 10 --batches 4

The last lines say what an epoch over as much data as METR-LA has (207 sensors, four
months, windows at every step) would take, from some batches of that size; --whole runs
it instead.
"""

import argparse
import resource
import statistics
import time
from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from typing import Any

import numpy as np
import plain_forecaster
import torch
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader

from maa.attention import parse_operator
from maa.domains.traffic.backbones.layers import Forecaster
from maa.domains.traffic.fit import Step, initialise
from maa.domains.traffic.generate import planted_roads
from maa.domains.traffic.prepare import Settings, build
from maa.domains.traffic.series import Series
from maa.domains.traffic.windows import Windows

SEED = 7
MODEL = {"hidden": 72, "heads": 8, "depth": 12, "dropout": 0.1, "embedding": 10}
FIT: dict[str, Any] = {
    "epochs": 150,
    "warm_up": 5,
    "batch_size": 128,
    "learning_rate": 2e-4,
    "weight_decay": 0.01,
    "clip": 5.0,
    "sequences": 256,
    "autocast": False,
}
PREPARE = {
    "input_length": 12,
    "output_length": 12,
    "query_stride": 24,
    "validation_fraction": 0.1,
    "test_fraction": 0.2,
    "congested_below": 0.6,
    "recent_steps": 72,
}
MIXING = {"released": False, "corrected": True}
METR_LA = {"sensors": 207, "days": 119}


def generated(sensors: int, days: int, stride: int) -> Series:
    """Return a prepared series of generated roads."""
    made = planted_roads(sensors=sensors, days=days, seed=0, planted=True)
    settings = Settings.parse(PREPARE | {"stride": stride})
    return build(made.recording, "2012-03-01", 5, settings)


def plain_steps(
    model: plain_forecaster.Forecaster, series: Series, order: np.ndarray, batch: int
) -> Iterator[float]:
    """Train in this order; yield each step's loss."""
    loader = DataLoader(
        plain_forecaster.WindowSet(series), batch_size=batch, sampler=order.tolist()
    )
    optimiser = torch.optim.AdamW(
        model.parameters(),
        lr=FIT["learning_rate"],
        weight_decay=FIT["weight_decay"],
        foreach=False,
        fused=False,
    )
    mean, deviation = torch.from_numpy(series.mean), torch.from_numpy(series.deviation)
    for inputs, target in loader:
        predicted = model(inputs) * deviation + mean
        known = (target != 0).float()
        loss = ((predicted - target).abs() * known).sum() / known.sum()
        optimiser.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), FIT["clip"])
        optimiser.step()
        yield loss.item()


def our_steps(
    model: Forecaster, series: Series, order: np.ndarray, batch: int
) -> Iterator[float]:
    """Train in this order; yield each step's loss."""
    windows = Windows(series)
    step = Step(model.train(), windows, SEED, FIT)
    starts = windows.starts("train")[torch.from_numpy(order)]
    for part in starts.split(batch):
        total, count = step.batch(part).tolist()
        yield total / count


def both(
    series: Series, backbone: str, batch: int, dropout: bool
) -> tuple[Iterator[float], Iterator[float]]:
    """Return the steps of the plain loop and of ours, from the same weights."""
    settings = MODEL if dropout else MODEL | {"dropout": 0.0}
    module = import_module(f"maa.domains.traffic.backbones.{backbone}")
    ours = initialise(series, module, parse_operator("p1.00"), SEED, settings)
    plain = plain_forecaster.Forecaster(series, settings, MIXING[backbone])
    plain.load_state_dict(plain_forecaster.renamed(ours.state_dict()))
    order = np.random.default_rng(SEED).permutation(len(series.train_starts))
    how = series, order, batch
    return plain_steps(plain.train(), *how), our_steps(ours, *how)


def compare(series: Series, backbone: str, batch: int, batches: int) -> None:
    """Print one backbone's losses and speeds, plain and ours."""
    runs = both(series, backbone, batch, dropout=False)
    losses = [list(islice(run, 3)) for run in runs]
    apart = max(abs(a - b) for a, b in zip(*losses, strict=True))
    print(
        f"{backbone}: {len(losses[0])} steps without dropout: last loss "
        f"{losses[0][-1]:.5f} plain, {losses[1][-1]:.5f} ours; at most {apart:.1e} "
        "apart at any step",
        flush=True,
    )
    runs, ratios = both(series, backbone, batch, dropout=True), []
    for turn in range(batches + 1):
        seconds = []
        for run in runs:
            started = time.process_time()
            next(run)
            seconds.append(time.process_time() - started)
        if turn:  # the first step of each allocates
            ratios.append(seconds[0] / seconds[1])
            print(
                f"{backbone}: a batch of {batch} windows: plain {seconds[0]:.2f} s, "
                f"ours {seconds[1]:.2f} s, ratio {ratios[-1]:.2f}",
                flush=True,
            )
    print(f"{backbone}: median ratio {statistics.median(ratios):.2f}", flush=True)


def epoch(backbone: str, windows: int, whole: bool) -> None:
    """Print what an epoch of the size of METR-LA's takes in time and memory."""
    series = generated(**METR_LA, stride=1)
    module = import_module(f"maa.domains.traffic.backbones.{backbone}")
    model = initialise(series, module, parse_operator("p1.00"), SEED, MODEL)
    total = len(series.train_starts)
    size = FIT["batch_size"] if whole else windows
    run = our_steps(model, series, np.arange(total), size)
    next(run)
    started = time.process_time()
    done = size * sum(1 for _ in (run if whole else islice(run, 2)))
    seconds = (time.process_time() - started) / done * total
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    told = "took" if whole else f"would take, by {done} of its {total} windows,"
    print(
        f"{backbone}: an epoch of METR-LA's size {told} {seconds / 60:.0f} minutes of "
        f"one thread, at {peak:.1f} GiB",
        flush=True,
    )


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--backbone", nargs="+", choices=MIXING, default=list(MIXING), help="which"
    )
    parser.add_argument("--sensors", type=int, default=10, help="%(default)s")
    parser.add_argument(
        "--batch", type=int, default=128, help="windows of a batch (%(default)s)"
    )
    parser.add_argument(
        "--batches", type=int, default=4, help="timed batches (%(default)s)"
    )
    parser.add_argument(
        "--epoch-windows", type=int, default=4, help="windows to judge an epoch by"
    )
    parser.add_argument("--whole", action="store_true", help="run the whole epoch")
    return parser.parse_args()


def main() -> None:
    """Compare losses and speeds, then look at a large epoch."""
    arguments = parse()
    torch.set_num_threads(1)
    series = generated(arguments.sensors, days=14, stride=2)
    for backbone in arguments.backbone:
        compare(series, backbone, arguments.batch, arguments.batches)
        epoch(backbone, arguments.epoch_windows, arguments.whole)


if __name__ == "__main__":
    main()
