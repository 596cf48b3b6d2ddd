"""DyGFormer, reference form: patches of events, a small transformer, one attention.

Paper 5.1 and A.1; the operator acts in the final query attention. The transformer's
self-attention is ordinary softmax attention in every run.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maa.attention import Operator, lp_normalize
from maa.domains.ctdg.backbones.linear import Linear, linear_map
from maa.domains.ctdg.backbones.packed import pack_slots, unpack
from maa.domains.ctdg.backbones.reference import SourceReader
from maa.domains.ctdg.batches import Batch
from maa.domains.ctdg.stream import EventStream
from maa.dropout import dropout
from maa.errors import UserError


class Transformer(nn.Module):
    """Pre-norm transformer layers over sequences of different lengths.

    The layers hold the parameters of `torch.nn.TransformerEncoderLayer`, and compute
    what it computes with GELU: dropout acts on the attention weights, on the output of
    the attention, on the hidden units and on the output of the feed-forward network.
    There is no norm after the last layer. Only the attention's products run over
    padding; everything else works on packed entries.

    Args:
        hidden: width h; the feed-forward network's is 4h.
        heads: number of heads; divides ``hidden``.
        dropout: probability of dropping an entry.
        layers: number of layers.
    """

    def __init__(self, hidden: int, heads: int, dropout: float, layers: int) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                hidden,
                heads,
                4 * hidden,
                dropout,
                "gelu",
                batch_first=True,
                norm_first=True,
            )
            for _ in range(layers)
        )

    def forward(self, entries: Tensor, valid: Tensor, slots: Tensor) -> Tensor:
        """Return the entries' new values [T, h].

        Args:
            entries: float [T, h], packed.
            valid: bool [B, n].
            slots: int64 [T], where the entries lie in a flattened [B * n].
        """
        for layer in self.layers:
            entries = self._transform(layer, entries, valid, slots)
        return entries

    def _transform(
        self, layer: Any, entries: Tensor, valid: Tensor, slots: Tensor
    ) -> Tensor:
        """Run one layer; arguments are those of `forward`."""
        attended = self._attend(layer.self_attn, layer.norm1(entries), valid, slots)
        entries = entries + self._drop(attended)
        normed, expand, contract = layer.norm2(entries), layer.linear1, layer.linear2
        wide = self._drop(F.gelu(linear_map(normed, expand.weight, expand.bias)))
        narrow = linear_map(wide, contract.weight, contract.bias)
        return entries + self._drop(narrow)

    def _attend(
        self, parameters: Any, entries: Tensor, valid: Tensor, slots: Tensor
    ) -> Tensor:
        """Return softmax attention [T, h] over the valid entries of each one's row."""
        rows, n = valid.shape
        projected = linear_map(
            entries, parameters.in_proj_weight, parameters.in_proj_bias
        )
        laid = unpack(projected, slots, valid)
        parts = laid.view(rows, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        query, key, value = parts.reshape(3, rows * self.heads, n, -1).unbind()
        logits = torch.bmm(query / math.sqrt(query.shape[-1]), key.transpose(1, 2))
        # At p = 1 this is softmax, and for short rows much faster than torch's own.
        weights = lp_normalize(
            logits.view(rows, self.heads, n, n), 1.0, valid.view(rows, 1, 1, n)
        )
        context = torch.bmm(self._drop(weights).flatten(0, 1), value)
        context = context.view(rows, self.heads, n, -1).transpose(1, 2)
        packed = context.reshape(rows * n, -1).index_select(0, slots)
        output: Tensor = parameters.out_proj(packed)
        return output

    def _drop(self, x: Tensor) -> Tensor:
        return dropout(x, self.dropout, self.training)


class DyGFormer(SourceReader):
    """Attends to patches of consecutive events, encoded by a small transformer.

    The most recent event ends a patch. A patch is valid if any of its events is; an
    event that is missing in it counts as a token of zeros.

    Args:
        nodes: number of nodes N.
        operator: the normalisation of the final attention's weights.
        hidden: width h.
        time_dim: width of the time encoding, even.
        dropout: probability of dropping an attention weight or a hidden unit.
        layers: number of transformer layers.
        heads: number of the transformer's heads; divides ``hidden``.
        patch: number of events in a patch.
    """

    def __init__(
        self,
        nodes: int,
        operator: Operator,
        hidden: int,
        time_dim: int,
        dropout: float,
        layers: int,
        heads: int,
        patch: int,
    ) -> None:
        super().__init__(nodes, operator, hidden, time_dim, dropout)
        self.patch = patch
        self.project = Linear(patch * hidden, hidden)
        self.project_norm = nn.LayerNorm(hidden)
        self.transformer = Transformer(hidden, heads, dropout, layers)

    def mix(self, tokens: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the encoded patches [B, n, h] and their mask."""
        rows, depth, width = tokens.shape
        missing = -depth % self.patch
        valid = F.pad(batch.valid, (missing, 0)).view(rows, -1, self.patch).any(-1)
        slots = pack_slots(valid)
        patches = F.pad(tokens, (0, 0, missing, 0)) if missing else tokens
        patches = patches.reshape(-1, self.patch * width).index_select(0, slots)
        encoded = F.gelu(self.project_norm(self.project(patches)))
        encoded = self.transformer(encoded, valid, slots)
        return unpack(encoded, slots, valid), valid.unsqueeze(1)


def build(
    stream: EventStream, operator: Operator, settings: Mapping[str, Any]
) -> DyGFormer:
    """Return an untrained model; its weights come from torch's global stream.

    Args:
        stream: the events (the model learns one embedding for each of its nodes).
        operator: the normalisation of the final attention's weights.
        settings: ``hidden``, ``time_dim``, ``dropout``, ``layers``, ``heads`` and
            ``patch``.

    Raises:
        UserError: if ``heads`` does not divide ``hidden``.
    """
    hidden, heads = settings["hidden"], settings["heads"]
    if hidden % heads:
        raise UserError(
            f"models.dygformer.heads: {heads} heads do not divide hidden = {hidden}; "
            "choose a number of heads that does"
        )
    return DyGFormer(stream.nodes, operator, **settings)
