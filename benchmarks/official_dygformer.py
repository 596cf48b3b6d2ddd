"""Training DyGFormer's official form here against the same model in tgm-lib.

The frame is that of `official.py`: same sizes, window, batch size and objective,
learned node features, edge features of width 1, one thread. First the two are given the
same weights and histories and must agree on both embeddings and on a gradient. Then
they are timed in turns, each with its own loader and look-up of histories, dropout and
a fused AdamW. `fixed` is the peer once more without gradients for the node features, as
in its own example.

    python benchmarks/official_dygformer.py --stream data/.../stream.safetensors

The peer is no dependency of the project. Make an environment of its own for this
comparison and install both: the project, and then tgm-lib==0.1.0b1.
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import torch
from official import BATCH, PADDING, SEED, TRAINING, peer_loader
from tgm import DGBatch
from tgm import nn as peer
from torch import Tensor, nn

from maa.attention import parse_operator
from maa.domains.ctdg.backbones import dygformer_official
from maa.domains.ctdg.backbones.dygformer_official import OfficialDyGFormer, sequences
from maa.domains.ctdg.backbones.official import EndsBatch
from maa.domains.ctdg.fit import adamw, bpr, epoch_data, initialise, steps
from maa.domains.ctdg.stream import EventStream
from maa.seeds import generator

TURN = 2
SIZES = {
    "width": 172,
    "time_dim": 100,
    "channel": 50,
    "length": 32,
    "patch": 1,
    "layers": 2,
    "heads": 2,
}


class Peer(nn.Module):
    """The peer's encoder and link predictor on features of its nodes.

    Args:
        nodes: number of nodes.
        dropout: probability of dropping.
        learned: whether the nodes' features are learned.
    """

    def __init__(self, nodes: int, dropout: float, learned: bool = True) -> None:
        super().__init__()
        self.features = nn.Parameter(
            torch.randn(nodes, SIZES["width"]), requires_grad=learned
        )
        # Features of edges are zeros; one of them is the least the peer can be given.
        self.encoder = peer.DyGFormer(
            SIZES["width"],
            1,
            SIZES["time_dim"],
            SIZES["channel"],
            output_dim=SIZES["width"],
            patch_size=SIZES["patch"],
            num_layers=SIZES["layers"],
            num_heads=SIZES["heads"],
            dropout=dropout,
            max_input_sequence_length=SIZES["length"],
        )
        self.decoder = peer.LinkPredictor(SIZES["width"], hidden_dim=SIZES["width"])

    def embed(
        self, ends: Tensor, now: Tensor, neighbours: Tensor, times: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return both ends' embeddings; all arguments hold sources, then candidates.

        Args:
            ends: [2, B] node ids.
            now: [B] times of the rows.
            neighbours: [2B, D] node ids, `PADDING` for padding.
            times: [2B, D] of their events.
        """
        nothing = torch.zeros(*neighbours.shape, 1)
        found: tuple[Tensor, Tensor] = self.encoder(
            self.features, ends, now, neighbours, times, nothing
        )
        return found

    def forward(self, batch: DGBatch) -> Tensor:
        """Return the scores [B, 2] of the observed and the negative candidates."""
        where = batch.seed_node_nbr_mask
        nodes, times = batch.nbr_nids[0], batch.nbr_edge_time[0]
        scores = []
        for name in ("edge_dst", "neg"):
            rows = torch.cat([where["edge_src"], where[name]])
            ends = torch.stack([batch.edge_src, getattr(batch, name)])
            source, candidate = self.embed(
                ends, batch.edge_time, nodes[rows], times[rows]
            )
            scores.append(self.decoder(source, candidate))
        return torch.stack(scores, dim=1)

    def adopt(self, ours: OfficialDyGFormer) -> None:
        """Take the weights of our model over."""
        encoder = self.encoder
        layers = zip(ours.layers, encoder.transformers, strict=True)
        pairs = [
            (self.features, ours.embedding.weight),
            (encoder.time_encoder.w.weight, ours.time.frequency[:, None]),
            (encoder.time_encoder.w.bias, ours.time.phase),
            (encoder.projection_layer["edge"].bias, ours.from_edge),
        ]
        modules = [
            (encoder.co_occurrence_encoder.neighbor_co_occurrence_encoder, ours.count),
            (encoder.projection_layer["node"], ours.from_node),
            (encoder.projection_layer["time"], ours.from_time),
            (encoder.projection_layer["neighbor_co_occurrence"], ours.from_count),
            (encoder.output_layer, ours.output),
        ]
        for layer, other in layers:
            attention = other.multi_head_attention
            pairs += [
                (attention.in_proj_weight, layer.attention.input.weight),
                (attention.in_proj_bias, layer.attention.input.bias),
            ]
            modules += [
                (attention.out_proj, layer.mix),
                (other.norm_layers[0], layer.attention_norm),
                (other.norm_layers[1], layer.norm),
                (other.linear_layers[0], layer.expand),
                (other.linear_layers[1], layer.contract),
            ]
        for theirs, own in modules:
            pairs += zip(theirs.parameters(), own.parameters(), strict=True)
        with torch.no_grad():
            for target, value in pairs:
                target.copy_(value)


def compare(stream: EventStream) -> str:
    """Give both models the same weights and histories; say how far they are apart.

    Ages are shortened: of an angle of many turns little is left after rounding.
    """
    ours = model(stream, dropout=0.0).eval()
    theirs = Peer(stream.nodes, 0.0).eval()
    theirs.adopt(ours)
    rows = generator(SEED, "order").permutation(stream.train_end)[:256]
    batch = ours.gather(stream, rows, stream.destination[rows][:, None])
    batch = replace(batch, past_age=batch.past_age / 1e4)
    reading = ours.read(batch)
    embeddings = theirs.embed(*_peers_view(batch))
    found = torch.cat(embeddings, dim=1)
    apart = (reading.z[:, 0] - found).abs().max()
    direction = torch.randn_like(found)
    (reading.z[:, 0] * direction).sum().backward()
    (found * direction).sum().backward()
    own, other = ours.embedding.weight.grad, theirs.features.grad
    change = (own - other).abs().max() / other.abs().max()
    return (
        f"{len(rows)} rows: embeddings up to {found.abs().max():.3f}, at most "
        f"{apart:.1e} apart; gradients of the features {change:.1e} of the largest"
    )


def _peers_view(batch: EndsBatch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the arguments of `Peer.embed` for one candidate a row; now is 0."""
    of = sequences(batch)
    nodes = of.node.masked_fill(~of.valid, PADDING)[:, :, 1:]
    times = -of.age[:, :, 1:]
    both = (part.transpose(0, 1).flatten(0, 1) for part in (nodes, times))
    return batch.end.t(), torch.zeros(len(batch)), *both


def model(stream: EventStream, dropout: float) -> OfficialDyGFormer:
    """Return our model."""
    settings = SIZES | {"dropout": dropout}
    return initialise(
        stream, dygformer_official, parse_operator("p1.00"), SEED, settings
    )


def our_steps(stream: EventStream) -> Iterator[float]:
    """Train ours; yield each step's loss. The first step gathers the epoch."""
    ours = model(stream, dropout=0.1).train()
    optimiser = adamw(ours, TRAINING)
    order, negatives = generator(SEED, "order"), generator(SEED, "negatives")
    data = epoch_data(ours, stream, order, negatives)
    for loss in steps(ours, optimiser, data, BATCH):
        yield loss.item()


def peer_steps(stream: EventStream, learned: bool) -> Iterator[float]:
    """Train the peer on its own loader, in time order; yield each step's loss."""
    torch.manual_seed(SEED)
    theirs = Peer(stream.nodes, 0.1, learned).train()
    optimiser = adamw(theirs, TRAINING)
    for batch in peer_loader(stream, [SIZES["length"] - 1]):
        loss = bpr(theirs(batch))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        yield loss.item()


def timed(stream: EventStream, batches: int) -> dict[str, float]:
    """Return each contestant's events per second of processor time.

    They take turns every few steps, so that what else the machine does hits all. Ours
    reads in random order, as training does. The peer reads in time order and pads all
    histories to one length, so its batches cost the same early and late.
    """
    runs = {
        "ours": our_steps(stream),
        "peer": peer_steps(stream, learned=True),
        "fixed": peer_steps(stream, learned=False),
    }
    seconds = dict.fromkeys(runs, 0.0)
    for run in runs.values():
        list(islice(run, TURN))
    for _ in range(0, batches, TURN):
        for name, run in runs.items():
            started = time.process_time()
            list(islice(run, TURN))
            seconds[name] += time.process_time() - started
    return {name: batches * BATCH / value for name, value in seconds.items()}


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--stream", type=Path, required=True, help="a prepared event stream"
    )
    parser.add_argument(
        "--batches", type=int, default=10, help="timed a repeat (default: %(default)s)"
    )
    parser.add_argument(
        "--repeats", type=int, default=3, help="repeats (default: %(default)s)"
    )
    return parser.parse_args()


def main() -> None:
    """Compare the models, then the speeds."""
    arguments = parse()
    torch.set_num_threads(1)
    stream = EventStream.load(arguments.stream)
    print(compare(stream))
    ratios = []
    for _ in range(arguments.repeats):
        speed = timed(stream, arguments.batches)
        ratios.append(speed["ours"] / speed["peer"])
        print(
            "events/s: "
            + ", ".join(f"{name} {value:,.0f}" for name, value in speed.items())
            + f"; ratio {ratios[-1]:.2f}"
        )
    epoch = stream.train_end / speed["ours"]
    print(f"median ratio {statistics.median(ratios):.2f}; an epoch takes {epoch:.0f} s")


if __name__ == "__main__":
    main()
