"""Training official TGAT and GraphMixer here against the same of tgm-lib's parts.

tgm-lib has the models' parts (attention, mixer, time encoding, link predictor, loader,
look-up of last events) and puts them together in its examples; here they are put
together to the same models: same sizes, window, batch size and objective (BPR with one
negative), learned node features, edge features of width 1 (the least it takes), one
thread. First both get the same weights and events and must agree, on rows where every
attention has a neighbour. Then they are timed in turns, each with its own loader and
look-up, dropout, and a fused AdamW; the peer's batches are spread over the epoch,
because histories fill up in the course of time.

    python benchmarks/official.py tgat --stream data/.../stream.safetensors

In the peer's favour: of the up to 2,000 nodes met that GraphMixer averages, it sums
those that there are, where published code goes over empty slots too.

The peer is no dependency of the project. Make an environment of its own for this
comparison and install both: the project, and then tgm-lib==0.1.0b1.
"""

import argparse
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import ModuleType

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maa.attention import parse_operator
from maa.domains.ctdg.backbones import graphmixer_official, tgat_official
from maa.domains.ctdg.backbones.graphmixer_official import (
    MetBatch,
    OfficialGraphMixer,
)
from maa.domains.ctdg.backbones.layers import Backbone
from maa.domains.ctdg.backbones.official import EndsBatch, LinkPredictor
from maa.domains.ctdg.backbones.tgat_official import (
    OfficialTGAT,
    TemporalLayer,
    TwoHopBatch,
)
from maa.domains.ctdg.fit import adamw, bpr, epoch_data, initialise, steps
from maa.domains.ctdg.stream import EventStream
from maa.seeds import generator

try:
    from tgm import DGBatch, DGraph
    from tgm import nn as peer
    from tgm.data import DGData, DGDataLoader
    from tgm.hooks import HookManager, NegativeEdgeSamplerHook, RecencyNeighborHook
    from tgm.nn.modules.mlp_mixer import MLPMixer
except ImportError as error:
    raise SystemExit(
        f"{error}; this comparison needs tgm-lib==0.1.0b1 installed beside the project"
    ) from error

SEED = 7
BATCH = 128
PADDING = -1
TRAINING = {"learning_rate": 1e-3, "weight_decay": 1e-5}
WIDTH, TIME = 172, 100
TGAT = {"width": WIDTH, "time_dim": TIME, "heads": 2, "neighbours": 20}
MIXER = {
    "width": WIDTH,
    "time_dim": TIME,
    "layers": 2,
    "neighbours": 30,
    "time_gap": 2000,
    "padding": True,
}


class Peer(nn.Module, ABC):
    """What both of the peer's models have: features, time and the link predictor."""

    hops: list[int]

    def __init__(self, nodes: int) -> None:
        super().__init__()
        self.features = nn.Parameter(torch.randn(nodes, WIDTH))
        self.time = peer.Time2Vec(TIME)
        self.predictor = peer.LinkPredictor(WIDTH, hidden_dim=WIDTH)

    @abstractmethod
    def embed(
        self, seeds: list[Tensor], ages: list[Tensor], neighbours: list[Tensor]
    ) -> Tensor:
        """Return embeddings [S, h].

        Args:
            seeds: nodes [S] of each hop.
            ages: [S, n] of each hop.
            neighbours: [S, n] of each hop, `PADDING` for padding.
        """

    def forward(self, batch: "DGBatch") -> Tensor:
        """Return the scores [B, 2] of the observed and the negative candidates."""
        ages = [
            (asked[:, None] - then).float()
            for asked, then in zip(batch.seed_times, batch.nbr_edge_time, strict=True)
        ]
        state = self.embed(batch.seed_nids, ages, batch.nbr_nids)
        where = batch.seed_node_nbr_mask
        source = state[where["edge_src"]]
        scores = [
            self.predictor(source, state[where[name]]) for name in ("edge_dst", "neg")
        ]
        return torch.stack(scores, dim=1)

    def _adopt(self, embedding: nn.Embedding, ours: LinkPredictor) -> None:
        first, _, second = self.predictor.model
        _copy(self.features, embedding.weight)
        for target, source in ((first, ours.hidden), (second, ours.output)):
            target.load_state_dict(source.state_dict())


class PeerTGAT(Peer):
    """Two of the peer's temporal attentions, each with a merging network."""

    def __init__(self, nodes: int, dropout: float) -> None:
        super().__init__(nodes)
        self.hops = [TGAT["neighbours"]] * 2
        self.attention = nn.ModuleList(
            peer.TemporalAttention(TGAT["heads"], WIDTH, 1, TIME, dropout)
            for _ in self.hops
        )
        self.merge = nn.ModuleList(
            nn.Sequential(
                nn.Linear(2 * WIDTH + TIME, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)
            )
            for _ in self.hops
        )

    def embed(
        self, seeds: list[Tensor], ages: list[Tensor], neighbours: list[Tensor]
    ) -> Tensor:
        """Return the states of the first hop's seeds; see `Peer.embed`."""
        told = self.layer(
            0, self.nodes(seeds[1]), seeds[1], ages[1], neighbours[1], None
        )
        own = self.layer(
            0, self.nodes(seeds[0]), seeds[0], ages[0], neighbours[0], None
        )
        told = told.view(*neighbours[0].shape, -1)
        return self.layer(1, own, seeds[0], ages[0], neighbours[0], told)

    def nodes(self, ids: Tensor) -> Tensor:
        """Return the features of nodes; those of padding never count."""
        return self.features[ids.clamp(min=0)]

    def layer(
        self,
        number: int,
        state: Tensor,
        seeds: Tensor,
        ages: Tensor,
        neighbours: Tensor,
        told: Tensor | None,
    ) -> Tensor:
        """Return what one layer makes of seeds [S, h], [S, h]."""
        out = self.attention[number](
            node_feat=state,
            time_feat=self.time(torch.zeros(len(seeds))),
            edge_feat=torch.zeros(*neighbours.shape, 1),
            nbr_node_feat=self.nodes(neighbours) if told is None else told,
            nbr_time_feat=self.time(ages),
            valid_nbr_mask=neighbours != PADDING,
        )
        return self.merge[number](torch.cat([out, self.nodes(seeds)], dim=1))

    def adopt(self, ours: OfficialTGAT) -> None:
        """Take the weights of our model over."""
        self._adopt(ours.embedding, ours.predictor)
        _copy(self.time.w.weight, ours.time.frequency[:, None])
        _copy(self.time.w.bias, ours.time.phase)
        for number, layer in enumerate((ours.lower, ours.upper)):
            self._adopt_layer(number, layer)

    def _adopt_layer(self, number: int, layer: TemporalLayer) -> None:
        attention, merge = self.attention[number], self.merge[number]
        edge = torch.zeros(WIDTH + TIME, 1)
        key = torch.split(layer.key.weight, [WIDTH, TIME], dim=1)
        value = layer.state_value.weight, layer.time_value.weight
        both = [torch.cat([x, edge, t], dim=1) for x, t in (key, value)]
        _copy(attention.W_KV.weight, torch.cat(both))
        _copy(attention.W_Q.weight, layer.query.weight)
        attention.W_O.load_state_dict(layer.mix.state_dict())
        attention.layer_norm.load_state_dict(layer.norm.state_dict())
        parts = layer.merge_state.weight, layer.merge_node.weight
        _copy(merge[0].weight, torch.cat(parts, dim=1))
        _copy(merge[0].bias, layer.merge_state.bias)
        merge[2].load_state_dict(layer.output.state_dict())


class PeerGraphMixer(Peer):
    """The peer's mixers over tokens of ages, and a mean over the nodes met."""

    def __init__(self, nodes: int, dropout: float) -> None:
        super().__init__(nodes)
        self.hops = [MIXER["time_gap"]]
        self.time.requires_grad_(False)
        self.token = nn.Linear(TIME, WIDTH)
        self.mixers = nn.Sequential(
            *(
                MLPMixer(MIXER["neighbours"], WIDTH, dropout=dropout)
                for _ in range(MIXER["layers"])
            )
        )
        self.output = nn.Linear(2 * WIDTH, WIDTH)

    def embed(
        self, seeds: list[Tensor], ages: list[Tensor], neighbours: list[Tensor]
    ) -> Tensor:
        """Return the embeddings of seeds; see `Peer.embed`."""
        met, tokens = neighbours[0] != PADDING, MIXER["neighbours"]
        features = self.time(ages[0][:, -tokens:]) * met[:, -tokens:].unsqueeze(-1)
        link = self.mixers(self.token(features)).mean(dim=1)
        length = met.sum(1)
        mean = F.embedding_bag(
            neighbours[0][met],
            self.features,
            (length.cumsum(0) - length).to(neighbours[0].dtype),
            mode="mean",
        )
        node = self.features[seeds[0]] + mean
        return self.output(torch.cat([link, node], dim=1))

    def adopt(self, ours: OfficialGraphMixer) -> None:
        """Take the weights of our model over."""
        self._adopt(ours.embedding, ours.predictor)
        self.token.load_state_dict(ours.token.state_dict())
        self.output.load_state_dict(ours.output.state_dict())
        for theirs, own in zip(self.mixers, ours.blocks, strict=True):
            for target, source in zip(
                theirs.parameters(), own.parameters(), strict=True
            ):
                _copy(target, source)


def _copy(target: Tensor, source: Tensor) -> None:
    with torch.no_grad():
        target.copy_(source)


CONTESTANTS: dict[str, tuple[ModuleType, type[Peer], dict[str, float], float]] = {
    "tgat": (tgat_official, PeerTGAT, TGAT, 0.1),
    "graphmixer": (graphmixer_official, PeerGraphMixer, MIXER, 0.5),
}
"""Our module, the peer's model, the sizes and the dropout by name."""


def our_model(name: str, stream: EventStream, dropout: float) -> Backbone:
    """Return our model, softmax or the mean."""
    module, _, sizes, _ = CONTESTANTS[name]
    settings = sizes | {"dropout": dropout}
    return initialise(stream, module, parse_operator("p1.00"), SEED, settings)


def agree(name: str, stream: EventStream) -> str:
    """Give both models the same weights and events; say how far they are apart.

    Ages are shortened: of an angle of many turns little is left after rounding.
    """
    ours = our_model(name, stream, 0.0).eval()
    theirs = CONTESTANTS[name][1](stream.nodes, 0.0).eval()
    theirs.adopt(ours)
    rows = generator(SEED, "order").permutation(stream.train_end)[:2048]
    batch = ours.gather(stream, rows, stream.destination[rows][:, None])
    batch = replace(batch, past_age=batch.past_age / 1e4)
    if isinstance(batch, TwoHopBatch):
        past = batch.entries
        batch = replace(batch, entries=replace(past, age=past.age / 1e4))
    z, found = ours.read(batch).z[:, 0], _peers_states(theirs, batch)
    compared = _told(batch)
    z, found = z[compared], found.view(len(rows), -1)[compared]
    direction = torch.randn_like(z)
    (z * direction).sum().backward()
    (found * direction).sum().backward()
    pairs = [(ours.embedding.weight, theirs.features)]
    if isinstance(theirs, PeerGraphMixer):
        pairs.append((ours.token.weight, theirs.token.weight))
    else:
        pairs.append((ours.lower.query.weight, theirs.attention[0].W_Q.weight))
    changes = [(a.grad - b.grad).abs().max() / b.grad.abs().max() for a, b in pairs]
    return (
        f"{len(z)} rows: embeddings up to {found.abs().max():.2f}, at most "
        f"{(z - found).abs().max():.1e} apart; gradients of the features and of a "
        f"first layer {changes[0]:.1e} and {changes[1]:.1e} of the largest"
    )


def _peers_states(theirs: Peer, batch: EndsBatch) -> Tensor:
    """Return the peer's states of all ends, from our look-up of their events."""
    seeds = [batch.end.flatten()]
    ages = [batch.past_age.flatten(0, 1)]
    known = [batch.past_other.masked_fill(~batch.past_valid, PADDING).flatten(0, 1)]
    if isinstance(batch, MetBatch):
        ages, known = _wide(batch)
    if isinstance(batch, TwoHopBatch):
        entries = batch.entries
        told = (batch.past.flatten() ^ 1).clamp(min=0)
        past = entries.past[told]
        seeds.append(entries.node[told])
        ages.append(entries.age[told])
        other = entries.node[(past ^ 1).clamp(min=0)]
        known.append(other.masked_fill(past < 0, PADDING))
    return theirs.embed(seeds, ages, known)


def _wide(batch: MetBatch) -> tuple[list[Tensor], list[Tensor]]:
    """Return ages and nodes met of all ends in one window, padded on the left."""
    stop = batch.met_stop.flatten().unsqueeze(1)
    length = stop - batch.met_first.flatten().unsqueeze(1)
    back = torch.arange(max(int(length.max()), MIXER["neighbours"]), 0, -1)
    met = batch.met[(stop - back).clamp(min=0)].masked_fill(back > length, PADDING)
    age = batch.past_age.flatten(0, 1)
    return [F.pad(age, (len(back) - age.shape[1], 0))], [met]


def _told(batch: EndsBatch) -> Tensor:
    """Return bool [B]: whether every attention behind a row has a neighbour."""
    if not isinstance(batch, TwoHopBatch):
        return torch.ones(len(batch), dtype=torch.bool)
    told = (batch.entries.past[(batch.past ^ 1).clamp(min=0)] >= 0).any(-1)
    fine = (told | ~batch.past_valid).all(-1) & batch.past_valid.any(-1)
    return fine.all(-1)


def our_batches(name: str, stream: EventStream, dropout: float) -> Iterator[int]:
    """Train for an epoch, gathering included; yield each batch's events."""
    model = our_model(name, stream, dropout).train()
    order, negatives = generator(SEED, "order"), generator(SEED, "negatives")
    data = epoch_data(model, stream, order, negatives)
    optimiser = adamw(model, TRAINING)
    for number, _ in enumerate(steps(model, optimiser, data, BATCH)):
        yield len(data[number * BATCH : (number + 1) * BATCH])


def peer_batches(
    name: str, stream: EventStream, dropout: float, count: int
) -> Iterator[int]:
    """Train on ``count`` batches of an epoch; yield each one's events.

    Between them the loader alone runs, and a 0 is yielded.
    """
    model = CONTESTANTS[name][1](stream.nodes, dropout).train()
    optimiser = adamw(model, TRAINING)
    loader, batches = peer_loader(stream, model.hops), -(-stream.train_end // BATCH)
    every = batches // count
    for number, batch in enumerate(loader):
        if number % every != every // 2:
            yield 0
            continue
        loss = bpr(model(batch))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        yield len(batch.edge_src)


def peer_loader(stream: EventStream, hops: list[int]) -> "DGDataLoader":
    """Return the peer's loader of training events, with negatives and neighbours."""
    training = slice(0, stream.train_end)
    ends = torch.stack(
        [torch.from_numpy(x[training]) for x in (stream.source, stream.destination)],
        dim=1,
    )
    data = DGData.from_raw(
        torch.from_numpy(stream.time[training].astype("int64")),
        ends,
        torch.zeros(stream.train_end, 1),
    )
    hooks = HookManager(keys=["train"])
    low, high = int(stream.pool.min()), int(stream.pool.max()) + 1
    hooks.register("train", NegativeEdgeSamplerHook(low, high))
    neighbours = RecencyNeighborHook(
        num_nodes=stream.nodes,
        num_nbrs=hops,
        seed_nodes_keys=["edge_src", "edge_dst", "neg"],
        seed_times_keys=["edge_time", "edge_time", "neg_time"],
    )
    hooks.register("train", neighbours)
    hooks.set_active_hooks("train")
    return DGDataLoader(DGraph(data), batch_size=BATCH, hook_manager=hooks)


def timed(batches: Iterator[int], count: int) -> tuple[int, float]:
    """Run batches until ``count`` have trained; return their events and seconds."""
    events, seconds = 0, 0.0
    while count:
        started = time.perf_counter()
        trained = next(batches)
        if trained:
            seconds += time.perf_counter() - started
            events += trained
            count -= 1
    return events, seconds


def race(name: str, stream: EventStream, count: int) -> str:
    """Time both in turns, four of our batches to one of the peer's."""
    dropout = CONTESTANTS[name][3]
    started = time.perf_counter()
    ours = our_batches(name, stream, dropout)
    list(islice(ours, 1))
    gathering = time.perf_counter() - started
    theirs = peer_batches(name, stream, dropout, count + 1)
    timed(theirs, 1)
    total = [[0, 0.0], [0, 0.0]]
    for _ in range(count):
        for side, (batches, turn) in enumerate(((ours, 4), (theirs, 1))):
            events, seconds = timed(batches, turn)
            total[side][0] += events
            total[side][1] += seconds
    (our_events, our_seconds), (their_events, their_seconds) = total
    # All that comes before our first batch is shared by the epoch's batches.
    our_seconds += gathering * our_events / stream.train_end
    own, other = our_events / our_seconds, their_events / their_seconds
    return (
        f"events/s: tgm-lib {other:,.0f}, ours {own:,.0f}, ratio {own / other:.1f}; "
        f"an epoch here takes {stream.train_end / own:.0f} s"
    )


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", choices=CONTESTANTS)
    parser.add_argument("--stream", type=Path, required=True, help="a prepared stream")
    parser.add_argument(
        "--batches", type=int, default=8, help="of the peer's (default: %(default)s)"
    )
    return parser.parse_args()


def main() -> None:
    """Compare the numbers, then the speeds."""
    arguments = parse()
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    stream = EventStream.load(arguments.stream)
    print(agree(arguments.model, stream), flush=True)
    print(race(arguments.model, stream, arguments.batches))


if __name__ == "__main__":
    main()
