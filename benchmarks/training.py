"""Training TGAT here against a plain PyTorch loop of the same model.

The plain loop is what one writes first: it gathers the histories of each batch, encodes
the observed and the negative candidate separately, forms keys and values, and steps an
AdamW that goes over the parameters one by one. Both train from the same weights, on the
same rows, in the same order, with the same negatives; without dropout their losses must
agree step by step. Then both are timed in turns, with dropout, one thread each:

    python benchmarks/training.py --stream data/prepared/ctdg/NAME/stream.safetensors

Without --stream a synthetic stream of about that shape is used.
"""

import argparse
import math
import statistics
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maa.attention import parse_operator
from maa.domains.ctdg.backbones import tgat
from maa.domains.ctdg.fit import adamw, bpr, epoch_data, initialise, steps
from maa.domains.ctdg.history import windows
from maa.domains.ctdg.negatives import training_negatives
from maa.domains.ctdg.stream import EventStream
from maa.seeds import derive, generator

SEED = 7
BATCH = 128
TURN = 6
TRAINING = {"learning_rate": 1e-3, "weight_decay": 1e-5}
HIDDEN, TIME = 64, 32


class PlainTGAT(nn.Module):
    """TGAT for one candidate a row; its parameters are called as in `tgat.TGAT`."""

    def __init__(self, nodes: int, p: float, dropout: float) -> None:
        super().__init__()
        self.p, self.dropout = p, dropout
        self.embedding = nn.Embedding(nodes, HIDDEN)
        self.edge = nn.Parameter(torch.zeros(HIDDEN))
        self.token = nn.Linear(2 * HIDDEN + TIME, HIDDEN)
        self.token_norm = nn.LayerNorm(HIDDEN)
        self.query = nn.Linear(2 * HIDDEN + TIME, HIDDEN)
        self.query_norm = nn.LayerNorm(HIDDEN)
        self.attention = nn.ModuleDict(
            {name: nn.Linear(HIDDEN, HIDDEN) for name in ("query", "key", "value")}
        )
        self.state_norm = nn.LayerNorm(HIDDEN)
        self.hidden = nn.Linear(4 * HIDDEN, HIDDEN)
        self.output = nn.Linear(HIDDEN, 1)
        frequencies = torch.exp(torch.linspace(0, 6, TIME // 2))
        self.register_buffer("frequencies", frequencies, persistent=False)

    def forward(
        self,
        source: Tensor,
        destination: Tensor,
        now: Tensor,
        neighbour: Tensor,
        age: Tensor,
        valid: Tensor,
    ) -> Tensor:
        """Return scores [B] of candidates [B] from histories [B, H]."""
        start, end = self.embedding(source), self.embedding(destination)
        edge = self.edge.expand(*neighbour.shape, HIDDEN)
        token = torch.cat([self.embedding(neighbour), edge, self.encode(age)], -1)
        token = F.gelu(self.token_norm(self.token(token)))
        query = self.query(torch.cat([start, end, self.encode(now)], -1))
        query = F.gelu(self.query_norm(query))
        context = self.attend(query.unsqueeze(1), token, valid.unsqueeze(1)).squeeze(1)
        state = self.state_norm(start + context)
        network = self.hidden(torch.cat([state, end, query, context], -1))
        network = F.dropout(F.gelu(network), self.dropout, self.training)
        match = (state * end).sum(-1) / math.sqrt(HIDDEN)
        return match + self.output(network).squeeze(-1)

    def encode(self, seconds: Tensor) -> Tensor:
        """Return the time encoding."""
        angle = torch.log1p(seconds).unsqueeze(-1) / self.frequencies
        return torch.cat([angle.sin(), angle.cos()], -1)

    def attend(self, query: Tensor, token: Tensor, valid: Tensor) -> Tensor:
        """Return the attention's output [B, 1, h]."""
        q, k, v = (
            self.attention[name](x)
            for name, x in (("query", query), ("key", token), ("value", token))
        )
        logits = (q @ k.transpose(1, 2) / math.sqrt(HIDDEN)).masked_fill(~valid, -1e9)
        if self.p == 1:
            weights = torch.softmax(logits, dim=-1)
        else:
            m = torch.exp(logits - logits.amax(-1, keepdim=True))
            weights = m / (m**self.p).sum(-1, keepdim=True) ** (1 / self.p)
        weights = weights * valid
        return F.dropout(weights, self.dropout, self.training) @ v


def plain_steps(model: PlainTGAT, stream: EventStream) -> Iterator[float]:
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
        history = stream.history[row]
        valid = history >= 0
        age = np.where(valid, stream.time[row, None] - stream.time[history], 0.0)
        shared = (
            torch.from_numpy(stream.time[row].astype(np.float32)),
            torch.from_numpy(np.where(valid, stream.destination[history], 0)),
            torch.from_numpy(age.astype(np.float32)),
            torch.from_numpy(valid),
        )
        source = torch.from_numpy(stream.source[row])
        candidates = stream.destination[row], negative[start : start + BATCH]
        scores = [
            model(source, torch.from_numpy(candidate), *shared)
            for candidate in candidates
        ]
        loss = bpr(torch.stack(scores, dim=1))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        yield loss.item()


def our_steps(model: tgat.TGAT, stream: EventStream) -> Iterator[float]:
    """Train for an epoch; yield each step's loss."""
    optimiser = adamw(model, TRAINING)
    order, negatives = generator(SEED, "order"), generator(SEED, "negatives")
    data = epoch_data(stream, order, negatives)
    for loss in steps(model, optimiser, data, BATCH):
        yield loss.item()


def both(
    stream: EventStream, operator: str, dropout: float
) -> tuple[PlainTGAT, tgat.TGAT]:
    """Return the plain model and ours, with the same weights."""
    settings = {"hidden": HIDDEN, "time_dim": TIME, "dropout": dropout}
    ours = initialise(stream, tgat, parse_operator(operator), SEED, settings)
    plain = PlainTGAT(stream.nodes, parse_operator(operator).p, dropout)
    plain.load_state_dict(ours.state_dict())
    torch.manual_seed(derive(SEED, "dropout"))
    return plain, ours


def pair(stream: EventStream, operator: str) -> tuple[float, float]:
    """Return the events per second of the plain loop and of ours over an epoch.

    They take turns every few steps, so that what else the machine does hits both.
    """
    plain, ours = both(stream, operator, dropout=0.1)
    runs = plain_steps(plain, stream), our_steps(ours, stream)
    seconds = [0.0, 0.0]
    for _ in range(0, stream.train_end, BATCH * TURN):
        for place, run in enumerate(runs):
            started = time.perf_counter()
            list(islice(run, TURN))
            seconds[place] += time.perf_counter() - started
    return stream.train_end / seconds[0], stream.train_end / seconds[1]


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
    parser.add_argument("--operator", default="p1.00", help="default: %(default)s")
    parser.add_argument(
        "--repeats", type=int, default=5, help="timed pairs (default: %(default)s)"
    )
    return parser.parse_args()


def main() -> None:
    """Compare the losses, then the speeds."""
    arguments = parse()
    torch.set_num_threads(1)
    given = arguments.stream
    stream = EventStream.load(given) if given else synthetic_stream()
    valid = (stream.history[: stream.train_end] >= 0).mean()
    print(f"{stream.train_end} training events, {valid:.0%} of history slots filled")

    plain, ours = both(stream, arguments.operator, dropout=0.0)
    losses = [
        list(islice(run, 100))
        for run in (plain_steps(plain, stream), our_steps(ours, stream))
    ]
    apart = max(abs(a - b) for a, b in zip(*losses, strict=True))
    print(
        f"{len(losses[0])} steps without dropout: last loss {losses[0][-1]:.6f} plain, "
        f"{losses[1][-1]:.6f} ours; at most {apart:.1e} apart at any step"
    )

    ratios = []
    for _ in range(arguments.repeats):
        plain_speed, our_speed = pair(stream, arguments.operator)
        ratios.append(our_speed / plain_speed)
        print(
            f"events/s: plain {plain_speed:,.0f}, ours {our_speed:,.0f}, "
            f"ratio {ratios[-1]:.2f}"
        )
    print(f"median ratio {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
