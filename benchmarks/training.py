"""Training the reference backbones here against a plain PyTorch loop of the same ones.

The plain loop is what one writes first (`plain_models.py`): it gathers the histories of
each batch, encodes the observed and the negative candidate separately, works on padding
as on events, forms keys and values, and steps an AdamW that goes over the parameters
one by one. Both train from the same weights, on the same rows, in the same order, with
the same negatives; without dropout their losses must agree step by step. Then both are
timed in turns, with dropout, one thread each, in CPU seconds:

    python benchmarks/training.py --stream data/prepared/ctdg/NAME/stream.safetensors

Without --stream a synthetic stream of about that shape is used.
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import plain_models
import torch
from torch import nn

from maa.attention import parse_operator
from maa.domains.ctdg.backbones.layers import Backbone
from maa.domains.ctdg.batches import NEVER_MET
from maa.domains.ctdg.fit import adamw, bpr, epoch_data, initialise, steps
from maa.domains.ctdg.history import windows
from maa.domains.ctdg.negatives import training_negatives
from maa.domains.ctdg.stream import EventStream
from maa.seeds import derive, generator

SEED = 7
BATCH = 128
TURN = 6
CHECKED = 60
TRAINING = {"learning_rate": 1e-3, "weight_decay": 1e-5}
READER = {"hidden": 64, "time_dim": 32, "dropout": 0.1}
SETTINGS: dict[str, dict[str, Any]] = {
    "tgat": READER,
    "craft": {
        "hidden": 64,
        "layers": 2,
        "heads": 2,
        "dropout": 0.1,
        "embedding_dropout": 0.1,
        "attention_dropout": 0.5,
    },
    "dygformer": READER | {"layers": 2, "heads": 4, "patch": 2},
    "graphmixer": READER | {"layers": 2},
}
PLAIN = {
    "tgat": plain_models.TGAT,
    "craft": plain_models.CRAFT,
    "dygformer": plain_models.DyGFormer,
    "graphmixer": plain_models.GraphMixer,
}


def plain_steps(model: nn.Module, stream: EventStream) -> Iterator[float]:
    """Train for an epoch; yield each step's loss."""
    optimiser = torch.optim.AdamW(
        model.parameters(),
        lr=TRAINING["learning_rate"],
        weight_decay=TRAINING["weight_decay"],
        foreach=False,
        fused=False,
    )
    rows = generator(SEED, "order").permutation(stream.train_end)
    negative = training_negatives(generator(SEED, "negatives"), stream, rows)
    for start in range(0, len(rows), BATCH):
        row = rows[start : start + BATCH]
        candidates = stream.destination[row], negative[start : start + BATCH]
        scores = [model(inputs(stream, row, candidate)) for candidate in candidates]
        loss = bpr(torch.stack(scores, dim=1))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        yield loss.item()


def inputs(
    stream: EventStream, row: np.ndarray, candidate: np.ndarray
) -> plain_models.Rows:
    """Gather what a plain model reads about event rows with one candidate each."""
    history = stream.history[row]
    valid = history >= 0
    age = np.where(valid, stream.time[row, None] - stream.time[history], 0.0)
    last = stream.last_event(candidate, row)
    elapsed = np.where(np.isnan(last), NEVER_MET, stream.time[row] - last)
    arrays = {
        "source": stream.source[row],
        "destination": candidate,
        "now": stream.time[row].astype(np.float32),
        "elapsed": elapsed.astype(np.float32),
        "neighbour": np.where(valid, stream.destination[history], 0),
        "age": age.astype(np.float32),
        "valid": valid,
    }
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return plain_models.Rows(**tensors)


def our_steps(model: Backbone, stream: EventStream) -> Iterator[float]:
    """Train for an epoch; yield each step's loss."""
    optimiser = adamw(model, TRAINING)
    order, negatives = generator(SEED, "order"), generator(SEED, "negatives")
    data = epoch_data(model, stream, order, negatives)
    for loss in steps(model, optimiser, data, BATCH):
        yield loss.item()


def both(
    stream: EventStream, backbone: str, operator: str, dropout: bool
) -> tuple[Iterator[float], Iterator[float]]:
    """Return an epoch of the plain loop and one of ours, from the same weights."""
    settings = dict(SETTINGS[backbone])
    if not dropout:
        settings |= {name: 0.0 for name in settings if "dropout" in name}
    parsed = parse_operator(operator)
    module = import_module(f"maa.domains.ctdg.backbones.{backbone}")
    ours = initialise(stream, module, parsed, SEED, settings)
    if backbone == "craft":
        settings["depth"] = stream.depth
    plain = PLAIN[backbone](stream.nodes, parsed.p, **settings)
    plain.load_state_dict(ours.state_dict())
    torch.manual_seed(derive(SEED, "dropout"))
    return plain_steps(plain, stream), our_steps(ours, stream)


def pair(stream: EventStream, backbone: str, operator: str) -> tuple[float, float]:
    """Return the events per CPU second of the plain loop and of ours over an epoch.

    They take turns every few steps, so that what else the machine does hits both.
    """
    runs = both(stream, backbone, operator, dropout=True)
    seconds = [0.0, 0.0]
    for _ in range(0, stream.train_end, BATCH * TURN):
        for place, run in enumerate(runs):
            started = time.process_time()
            list(islice(run, TURN))
            seconds[place] += time.process_time() - started
    return stream.train_end / seconds[0], stream.train_end / seconds[1]


def compare(stream: EventStream, backbone: str, operator: str, repeats: int) -> None:
    """Print one backbone's losses and speeds, plain and ours."""
    runs = both(stream, backbone, operator, dropout=False)
    losses = [list(islice(run, CHECKED)) for run in runs]
    apart = max(abs(a - b) for a, b in zip(*losses, strict=True))
    print(
        f"{backbone}: {len(losses[0])} steps without dropout: last loss "
        f"{losses[0][-1]:.6f} plain, {losses[1][-1]:.6f} ours; at most {apart:.1e} "
        "apart at any step",
        flush=True,
    )
    ratios = []
    for _ in range(repeats):
        plain_speed, our_speed = pair(stream, backbone, operator)
        ratios.append(our_speed / plain_speed)
        print(
            f"{backbone}: events/s: plain {plain_speed:,.0f}, ours {our_speed:,.0f}, "
            f"ratio {ratios[-1]:.2f}",
            flush=True,
        )
    if ratios:
        print(f"{backbone}: median ratio {statistics.median(ratios):.2f}", flush=True)


def synthetic_stream(events: int = 32768, seed: int = 0) -> EventStream:
    """Make a bipartite stream with few busy and many idle sources, as wikipedia has."""
    rng = np.random.default_rng(seed)
    sources, items, depth = 3340, 841, 20
    weight = 1 / np.arange(1, sources + 1) ** 1.0
    source = rng.choice(sources, events, p=weight / weight.sum()).astype(np.int32)
    favourite = rng.integers(0, items, sources)
    other = rng.integers(0, items, events)
    item = np.where(rng.random(events) < 0.7, favourite[source], other)
    destination = (sources + item).astype(np.int32)
    none = np.empty(0, dtype=np.int32)
    parts = ("validation", "test")
    kinds = ("rows", "unseen", "random", "historical")
    return EventStream(
        source=source,
        destination=destination,
        time=np.cumsum(rng.exponential(16.0, events)),
        history=windows(source, depth, sources + items),
        pool=np.unique(destination),
        nodes=sources + items,
        sources=sources,
        bipartite=True,
        train_end=int(0.63 * events),
        validation_end=int(0.7 * events),
        **{f"{part}_{kind}": none for part in parts for kind in kinds},
    )


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stream", type=Path, help="a prepared event stream")
    parser.add_argument(
        "--backbone", nargs="+", choices=PLAIN, default=list(PLAIN), help="default: all"
    )
    parser.add_argument("--operator", default="p1.00", help="default: %(default)s")
    parser.add_argument(
        "--repeats", type=int, default=3, help="timed pairs (default: %(default)s)"
    )
    return parser.parse_args()


def main() -> None:
    """Compare the losses, then the speeds, of each backbone."""
    arguments = parse()
    torch.set_num_threads(1)
    given = arguments.stream
    stream = EventStream.load(given) if given else synthetic_stream()
    valid = (stream.history[: stream.train_end] >= 0).mean()
    print(f"{stream.train_end} training events, {valid:.0%} of history slots filled")
    for backbone in arguments.backbone:
        compare(stream, backbone, arguments.operator, arguments.repeats)


if __name__ == "__main__":
    main()
