"""What the reference forms of TGAT, DyGFormer and GraphMixer share.

Paper 5.1 and A.1: a query made of source, candidate and time attends to the source's
recent history, and the operator acts in this attention and nowhere else. The three
differ in what they make of the history before it. What a row's candidates share is
computed once: the history's tokens, and the parts of each linear map that read the
source, the time or a neighbour's embedding.
"""

import math
from abc import abstractmethod

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maa.attention import Operator
from maa.domains.ctdg.backbones.layers import (
    Backbone,
    HistoryAttention,
    Reading,
    TimeEncoding,
    lay_out,
    valid_entries,
)
from maa.domains.ctdg.batches import Batch
from maa.dropout import dropout


class SourceReader(Backbone):
    """Scores a destination from the source's state and a small network.

    Z = [source state; e(destination); query; context], so d = 4 * hidden.

    Args:
        nodes: number of nodes N.
        operator: the normalisation of the attention weights.
        hidden: width h.
        time_dim: width of the time encoding, even.
        dropout: probability of dropping an attention weight or a hidden unit.
    """

    def __init__(
        self, nodes: int, operator: Operator, hidden: int, time_dim: int, dropout: float
    ) -> None:
        super().__init__()
        self.widths = [hidden, hidden, time_dim]
        self.dropout = dropout
        self.embedding = nn.Embedding(nodes, hidden)
        # The streams carry no edge features: a linear map of zeros is its bias.
        bound = 1 / math.sqrt(hidden)
        self.edge = nn.Parameter(torch.empty(hidden).uniform_(-bound, bound))
        self.time = TimeEncoding(time_dim)
        self.token = nn.Linear(sum(self.widths), hidden)
        self.token_norm = nn.LayerNorm(hidden)
        self.query = nn.Linear(sum(self.widths), hidden)
        self.query_norm = nn.LayerNorm(hidden)
        self.attention = HistoryAttention(hidden, 1, operator, dropout)
        self.state_norm = nn.LayerNorm(hidden)
        self.hidden = nn.Linear(4 * hidden, hidden)
        self.output = nn.Linear(hidden, 1)

    @abstractmethod
    def mix(self, tokens: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return what is attended to, [B, n, h], and its mask, bool [B, 1, n].

        Args:
            tokens: float [B, H, h], one a past event, zero where there is none.
            batch: the rows.
        """

    def read(self, batch: Batch) -> Reading:
        """Return Z [B, C, 4h] and the logits [B, C, 1, n] of the one layer."""
        neighbours, which = torch.unique(
            valid_entries(batch.neighbour, batch), return_inverse=True
        )
        source, destination, neighbour = self._embed(batch, neighbours)
        tokens = self._tokens(batch, neighbour, which)
        query = self._query(batch, source, destination)
        mixed, mask = self.mix(tokens, batch)
        context, logits = self.attention(query, mixed, mask)
        residual = source.unsqueeze(1) + context
        state = self.state_norm(residual)
        z = torch.cat([state, destination, query, context], -1)
        points = {"attention": context, "residual": residual, "norm": state, "z": z}
        valid = mask.unsqueeze(1)
        keys = valid.sum(-1).to(z.dtype).expand(*destination.shape[:2], 1)
        return Reading(z, [(logits, valid)], keys, points)

    def predict(self, z: Tensor) -> Tensor:
        """Return <source state, e(destination)> / sqrt(h) plus the network's score."""
        hidden = F.gelu(self.hidden(z))
        hidden = dropout(hidden, self.dropout, self.training)
        state, destination, _, _ = z.chunk(4, dim=-1)
        match = (state * destination).sum(-1) / math.sqrt(self.widths[0])
        score: Tensor = match + self.output(hidden).squeeze(-1)
        return score

    def _embed(self, batch: Batch, neighbours: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Look all nodes up at once: the gradient of a lookup is as large as the table.

        Returns e(source) [B, h], e(destination) [B, C, h] and e(neighbours) [D, h].
        """
        rows, candidates = batch.destination.shape
        ids = torch.cat([batch.source, batch.destination.reshape(-1), neighbours])
        source, destination, neighbour = self.embedding(ids).split(
            [rows, rows * candidates, len(neighbours)]
        )
        return source, destination.view(rows, candidates, -1), neighbour

    def _tokens(self, batch: Batch, neighbour: Tensor, which: Tensor) -> Tensor:
        """Return the history's tokens [B, H, h] from distinct neighbours [D, h].

        Each distinct neighbour is projected once, and padding not at all.
        """
        from_node, from_edge, from_time = torch.split(
            self.token.weight, self.widths, dim=1
        )
        constant = self.token.bias + from_edge @ self.edge
        projected = torch.addmm(constant, neighbour, from_node.t())
        time = self.time(valid_entries(batch.age, batch))
        tokens = torch.addmm(F.embedding(which, projected), time, from_time.t())
        return lay_out(F.gelu(self.token_norm(tokens)), batch)

    def _query(self, batch: Batch, source: Tensor, destination: Tensor) -> Tensor:
        """Return the queries [B, C, h]."""
        from_source, from_destination, from_time = torch.split(
            self.query.weight, self.widths, dim=1
        )
        shared = torch.addmm(self.query.bias, source, from_source.t())
        shared = torch.addmm(shared, self.time(batch.time), from_time.t())
        query = shared.unsqueeze(1) + F.linear(destination, from_destination)
        return F.gelu(self.query_norm(query))
