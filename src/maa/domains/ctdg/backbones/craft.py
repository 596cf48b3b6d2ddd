"""CRAFT, reference form: the candidate destination queries the source's neighbours.

Paper 5.1 and A.1; the operator acts in the target-aware cross-attention and nowhere
else. After it come a linear map and a LayerNorm, which are nearly blind to the scale
of the context.
"""

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maa.attention import Operator
from maa.domains.ctdg.backbones.layers import (
    Backbone,
    HistoryAttention,
    Reading,
    lay_out,
    valid_entries,
)
from maa.domains.ctdg.batches import Batch
from maa.domains.ctdg.stream import EventStream
from maa.dropout import Dropout
from maa.errors import UserError

EPSILON = 1e-12
INITIAL_DEVIATION = 0.02


class CrossAttention(nn.Module):
    """Cross-attention and a feed-forward network, each normalised, then added.

    Both parts end in x + LayerNorm(dropout(part(x))).

    Args:
        hidden: width h.
        heads: number of heads.
        operator: the normalisation of the attention weights.
        dropout: probability of dropping a hidden unit.
        attention_dropout: probability of dropping an attention weight.
    """

    def __init__(
        self,
        hidden: int,
        heads: int,
        operator: Operator,
        dropout: float,
        attention_dropout: float,
    ) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.attention = HistoryAttention(hidden, heads, operator, attention_dropout)
        self.mix = nn.Linear(hidden, hidden)
        self.attention_norm = nn.LayerNorm(hidden, eps=EPSILON)
        self.expand = nn.Linear(hidden, 4 * hidden)
        self.contract = nn.Linear(4 * hidden, hidden)
        self.norm = nn.LayerNorm(hidden, eps=EPSILON)

    def forward(
        self, query: Tensor, tokens: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Return the new queries [B, C, h], the logits [B, C, heads, H], the points."""
        context, logits = self.attention(query, tokens, mask)
        mixed = self.mix(context)
        normed = self.attention_norm(self.dropout(mixed))
        residual = query + normed
        change = self.contract(F.gelu(self.expand(residual)))
        query = residual + self.norm(self.dropout(change))
        points = {"attention": context, "linear": mixed, "norm": normed}
        return query, logits, points | {"residual": residual, "layer": query}


class CRAFT(Backbone):
    """Scores a destination by attending from it to the source's last neighbours.

    Z = [last layer's output; encoding of the time since the destination's last event],
    so d = 2 * hidden, and the predictor is one linear map.

    Args:
        nodes: number of nodes N.
        depth: length H of a history.
        operator: the normalisation of the attention weights.
        hidden: width h.
        layers: number of layers; each one's keys and values are the neighbour tokens.
        heads: number of heads; divides ``hidden``.
        dropout: probability of dropping a hidden unit.
        embedding_dropout: the same for the embeddings.
        attention_dropout: the same for the attention weights.
    """

    def __init__(
        self,
        nodes: int,
        depth: int,
        operator: Operator,
        hidden: int,
        layers: int,
        heads: int,
        dropout: float,
        embedding_dropout: float,
        attention_dropout: float,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(nodes, hidden)
        self.position = nn.Embedding(depth, hidden)
        self.embedding_norm = nn.LayerNorm(hidden, eps=EPSILON)
        self.embedding_dropout = Dropout(embedding_dropout)
        self.layers = nn.ModuleList(
            CrossAttention(hidden, heads, operator, dropout, attention_dropout)
            for _ in range(layers)
        )
        self.elapsed = nn.Linear(1, hidden)
        self.elapsed_norm = nn.LayerNorm(hidden, eps=EPSILON)
        self.dropout = Dropout(dropout)
        self.output = nn.Linear(2 * hidden, 1)
        self.apply(_initialise)

    def read(self, batch: Batch) -> Reading:
        """Return Z [B, C, 2h] and each layer's logits [B, C, heads, H]."""
        query, tokens = self._embed(batch)
        valid, attention = batch.mask.unsqueeze(1), []
        points: dict[str, Tensor] = {}
        for number, layer in enumerate(self.layers, start=1):
            query, logits, passed = layer(query, tokens, batch.mask)
            attention.append((logits, valid))
            suffix = f" {number}" if number > 1 else ""
            points |= {f"{name}{suffix}": value for name, value in passed.items()}
        elapsed = self.elapsed_norm(self.elapsed(batch.elapsed.unsqueeze(-1)))
        z = torch.cat([query, self.dropout(elapsed)], dim=-1)
        keys = valid.sum(-1).to(z.dtype).expand(*query.shape[:2], 1)
        return Reading(z, attention, keys, points | {"z": z})

    def predict(self, z: Tensor) -> Tensor:
        """Return one linear map of Z."""
        score: Tensor = self.output(z).squeeze(-1)
        return score

    def _embed(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the candidates [B, C, h] and the neighbour tokens [B, H, h].

        The last position is the most recent neighbour's. Both kinds of rows are looked
        up at once, since the gradient of a lookup is as large as the table.
        """
        rows, candidates = batch.destination.shape
        neighbours = valid_entries(batch.neighbour, batch)
        ids = torch.cat([batch.destination.reshape(-1), neighbours])
        destination, neighbour = self.embedding(ids).split(
            [rows * candidates, len(neighbours)]
        )
        neighbour = neighbour + self.position(batch.slots % batch.valid.shape[1])
        query = self.embedding_dropout(self.embedding_norm(destination))
        tokens = self.embedding_dropout(self.embedding_norm(neighbour))
        return query.view(rows, candidates, -1), lay_out(tokens, batch)


def build(
    stream: EventStream, operator: Operator, settings: Mapping[str, Any]
) -> CRAFT:
    """Return an untrained model; its weights come from torch's global stream.

    Args:
        stream: the events (the model learns one embedding for each of its nodes).
        operator: the normalisation of the attention weights.
        settings: ``hidden``, ``layers``, ``heads`` and the three dropouts.

    Raises:
        UserError: if ``heads`` does not divide ``hidden``.
    """
    hidden, heads = settings["hidden"], settings["heads"]
    if hidden % heads:
        raise UserError(
            f"models.craft.heads: {heads} heads do not divide hidden = {hidden}; "
            "choose a number of heads that does"
        )
    return CRAFT(stream.nodes, stream.depth, operator, **settings)


def _initialise(module: nn.Module) -> None:
    """Draw weights from N(0, 0.02) and set biases to zero; norms stay as they are."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=INITIAL_DEVIATION)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
