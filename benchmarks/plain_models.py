"""The reference backbones as one writes them first, for `training.py`.

One candidate a row, everything dense over padding, keys and values formed, PyTorch's
own layers, masks and dropout. Parameters are called as in the library's models, so that
both can start from the same weights.
"""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Rows(NamedTuple):
    """Event rows with one candidate each.

    Attributes:
        source: int32 [B].
        destination: int32 [B], the candidates.
        now: float32 [B], the rows' times.
        elapsed: float32 [B], seconds since the candidate's last event.
        neighbour: int32 [B, H], whom the source met before, 0 for padding.
        age: float32 [B, H], seconds since then, 0 for padding.
        valid: bool [B, H].
    """

    source: Tensor
    destination: Tensor
    now: Tensor
    elapsed: Tensor
    neighbour: Tensor
    age: Tensor
    valid: Tensor


class Attention(nn.Module):
    """Scaled dot-product attention with the p-norm in softmax's place."""

    def __init__(self, width: int, heads: int, p: float, dropout: float) -> None:
        super().__init__()
        self.heads, self.p = heads, p
        self.dropout = nn.Dropout(dropout)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)

    def forward(self, query: Tensor, token: Tensor, valid: Tensor) -> Tensor:
        """Return the contexts [B, h] of queries [B, h] over tokens [B, n, h]."""
        q = self.split(self.query(query).unsqueeze(1))
        k, v = self.split(self.key(token)), self.split(self.value(token))
        valid = valid[:, None, None, :]
        logits = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
        logits = logits.masked_fill(~valid, -1e9)
        if self.p == 1:
            weights = torch.softmax(logits, dim=-1)
        else:
            m = torch.exp(logits - logits.amax(-1, keepdim=True))
            weights = m / (m**self.p).sum(-1, keepdim=True) ** (1 / self.p)
        return (self.dropout(weights * valid) @ v).flatten(1)

    def split(self, x: Tensor) -> Tensor:
        """Return [B, heads, n, h / heads] of [B, n, h]."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class TGAT(nn.Module):
    """The history's tokens as they are; the others differ in `mix`."""

    def __init__(
        self, nodes: int, p: float, hidden: int, time_dim: int, dropout: float
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(nodes, hidden)
        self.edge = nn.Parameter(torch.zeros(hidden))
        self.token = nn.Linear(2 * hidden + time_dim, hidden)
        self.token_norm = nn.LayerNorm(hidden)
        self.query = nn.Linear(2 * hidden + time_dim, hidden)
        self.query_norm = nn.LayerNorm(hidden)
        self.attention = Attention(hidden, 1, p, dropout)
        self.state_norm = nn.LayerNorm(hidden)
        self.hidden = nn.Linear(4 * hidden, hidden)
        self.output = nn.Linear(hidden, 1)
        self.dropout = nn.Dropout(dropout)
        frequencies = torch.exp(torch.linspace(0, 6, time_dim // 2))
        self.register_buffer("frequencies", frequencies, persistent=False)

    def forward(self, rows: Rows) -> Tensor:
        """Return the scores [B] of the rows' candidates."""
        start, end = self.embedding(rows.source), self.embedding(rows.destination)
        met, age = self.embedding(rows.neighbour), self.encode(rows.age)
        token = torch.cat([met, self.edge.expand_as(met), age], -1)
        token = F.gelu(self.token_norm(self.token(token)))
        query = self.query(torch.cat([start, end, self.encode(rows.now)], -1))
        query = F.gelu(self.query_norm(query))
        context = self.attention(query, *self.mix(token, rows.valid))
        state = self.state_norm(start + context)
        network = F.gelu(self.hidden(torch.cat([state, end, query, context], -1)))
        match = (state * end).sum(-1) / math.sqrt(end.shape[-1])
        return match + self.output(self.dropout(network)).squeeze(-1)

    def encode(self, seconds: Tensor) -> Tensor:
        """Return the time encoding."""
        angle = torch.log1p(seconds).unsqueeze(-1) / self.frequencies
        return torch.cat([angle.sin(), angle.cos()], -1)

    def mix(self, token: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
        """Return what is attended to and what of it is valid."""
        return token, valid


class DyGFormer(TGAT):
    """Patches through torch's transformer."""

    def __init__(
        self,
        nodes: int,
        p: float,
        hidden: int,
        time_dim: int,
        dropout: float,
        layers: int,
        heads: int,
        patch: int,
    ) -> None:
        super().__init__(nodes, p, hidden, time_dim, dropout)
        self.patch = patch
        self.project = nn.Linear(patch * hidden, hidden)
        self.project_norm = nn.LayerNorm(hidden)
        layer = nn.TransformerEncoderLayer(
            hidden,
            heads,
            4 * hidden,
            dropout,
            "gelu",
            batch_first=True,
            norm_first=True,
        )
        self.transformer = nn.TransformerEncoder(
            layer, layers, enable_nested_tensor=False
        )

    def mix(self, token: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
        """Return the encoded patches and the valid ones."""
        token = token * valid.unsqueeze(-1)
        patches = token.reshape(len(token), -1, self.patch * token.shape[-1])
        patches = F.gelu(self.project_norm(self.project(patches)))
        valid = valid.view(len(valid), -1, self.patch).any(-1)
        # Softmax over nothing is undefined; rows without history are masked afterwards.
        padding = ~valid & valid.any(1, keepdim=True)
        return self.transformer(patches, src_key_padding_mask=padding), valid


class MixerBlock(nn.Module):
    """A mixer block over all tokens, with padding masked in the gate."""

    def __init__(self, hidden: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(hidden)
        self.expand = nn.Linear(hidden, 4 * hidden)
        self.contract = nn.Linear(4 * hidden, hidden)
        self.gate_norm = nn.LayerNorm(hidden)
        self.gate = nn.Linear(hidden, hidden)
        self.gate_output = nn.Linear(hidden, 1, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, token: Tensor, valid: Tensor) -> Tensor:
        """Return the mixed tokens [B, H, h]."""
        wide = self.dropout(F.gelu(self.expand(self.norm(token))))
        token = token + self.contract(wide)
        asked = self.gate_output(F.gelu(self.gate(self.gate_norm(token))))
        asked = asked.masked_fill(~valid.unsqueeze(-1), -1e9)
        mean = (torch.softmax(asked, dim=1) * token).sum(1, keepdim=True)
        return token + mean


class GraphMixer(TGAT):
    """Tokens through mixer blocks."""

    def __init__(
        self,
        nodes: int,
        p: float,
        hidden: int,
        time_dim: int,
        dropout: float,
        layers: int,
    ) -> None:
        super().__init__(nodes, p, hidden, time_dim, dropout)
        self.blocks = nn.ModuleList(MixerBlock(hidden, dropout) for _ in range(layers))

    def mix(self, token: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mixed tokens."""
        for block in self.blocks:
            token = block(token, valid)
        return token, valid


class CrossAttention(nn.Module):
    """One of CRAFT's layers."""

    def __init__(
        self,
        hidden: int,
        heads: int,
        p: float,
        dropout: float,
        attention_dropout: float,
    ) -> None:
        super().__init__()
        self.attention = Attention(hidden, heads, p, attention_dropout)
        self.mix = nn.Linear(hidden, hidden)
        self.attention_norm = nn.LayerNorm(hidden, eps=1e-12)
        self.expand = nn.Linear(hidden, 4 * hidden)
        self.contract = nn.Linear(4 * hidden, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query: Tensor, token: Tensor, valid: Tensor) -> Tensor:
        """Return the new queries [B, h]."""
        mixed = self.mix(self.attention(query, token, valid))
        query = query + self.attention_norm(self.dropout(mixed))
        change = self.contract(F.gelu(self.expand(query)))
        return query + self.norm(self.dropout(change))


class CRAFT(nn.Module):
    """The candidate attends to the source's neighbours."""

    def __init__(
        self,
        nodes: int,
        p: float,
        depth: int,
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
        self.embedding_norm = nn.LayerNorm(hidden, eps=1e-12)
        self.embedding_dropout = nn.Dropout(embedding_dropout)
        self.layers = nn.ModuleList(
            CrossAttention(hidden, heads, p, dropout, attention_dropout)
            for _ in range(layers)
        )
        self.elapsed = nn.Linear(1, hidden)
        self.elapsed_norm = nn.LayerNorm(hidden, eps=1e-12)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(2 * hidden, 1)

    def forward(self, rows: Rows) -> Tensor:
        """Return the scores [B] of the rows' candidates."""
        place = torch.arange(rows.neighbour.shape[1])
        token = self.embedding(rows.neighbour) + self.position(place)
        token = self.embedding_dropout(self.embedding_norm(token))
        query = self.embedding_norm(self.embedding(rows.destination))
        query = self.embedding_dropout(query)
        for layer in self.layers:
            query = layer(query, token, rows.valid)
        since = self.elapsed_norm(self.elapsed(rows.elapsed.unsqueeze(-1)))
        return self.output(torch.cat([query, self.dropout(since)], -1)).squeeze(-1)
