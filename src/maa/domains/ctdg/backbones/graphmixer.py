"""GraphMixer, reference form: tokens mixed by small networks, then one attention.

Paper 5.1 and A.1; the operator acts in the final query attention. The gate of a mixer
block is a softmax of its own, which the paper leaves as it is.
"""

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maa.attention import Operator, lp_normalize
from maa.domains.ctdg.backbones.linear import Linear
from maa.domains.ctdg.backbones.packed import pack_slots, unpack
from maa.domains.ctdg.backbones.reference import SourceReader
from maa.domains.ctdg.batches import Batch
from maa.domains.ctdg.stream import EventStream
from maa.dropout import dropout


class MixerBlock(nn.Module):
    """A feed-forward network on each token, then the gated mean of all on each.

    x becomes y = x + network(LayerNorm(x)), and then y + sum_i w_i y_i with
    w = softmax(gate(LayerNorm(y))) over the row's events. Dropout acts on the network's
    hidden units alone.

    Args:
        hidden: width h.
        dropout: probability of dropping a hidden unit.
    """

    def __init__(self, hidden: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.norm = nn.LayerNorm(hidden)
        self.expand = Linear(hidden, 4 * hidden)
        self.contract = Linear(4 * hidden, hidden)
        self.gate_norm = nn.LayerNorm(hidden)
        self.gate = Linear(hidden, hidden)
        # Without a bias: softmax would cancel it.
        self.gate_output = nn.Linear(hidden, 1, bias=False)

    def forward(self, tokens: Tensor, valid: Tensor, slots: Tensor) -> Tensor:
        """Return the mixed tokens [B, H, h], finite where there is none.

        Args:
            tokens: float [T, h], packed.
            valid: bool [B, H].
            slots: int64 [T], where they lie in a flattened [B * H].
        """
        wide = F.gelu(self.expand(self.norm(tokens)))
        wide = dropout(wide, self.dropout, self.training)
        tokens = tokens + self.contract(wide)
        asked = self.gate_output(F.gelu(self.gate(self.gate_norm(tokens))))
        logits = unpack(asked, slots, valid).transpose(1, 2)
        weights = lp_normalize(logits, 1.0, valid.unsqueeze(1))
        laid = unpack(tokens, slots, valid)
        return laid + torch.bmm(weights, laid)


class GraphMixer(SourceReader):
    """Attends to the history's tokens as some mixer blocks leave them.

    Args:
        nodes: number of nodes N.
        operator: the normalisation of the final attention's weights.
        hidden: width h.
        time_dim: width of the time encoding, even.
        dropout: probability of dropping an attention weight or a hidden unit.
        layers: number of mixer blocks.
    """

    def __init__(
        self,
        nodes: int,
        operator: Operator,
        hidden: int,
        time_dim: int,
        dropout: float,
        layers: int,
    ) -> None:
        super().__init__(nodes, operator, hidden, time_dim, dropout)
        self.blocks = nn.ModuleList(MixerBlock(hidden, dropout) for _ in range(layers))

    def mix(self, tokens: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the mixed tokens [B, H, h] and their mask."""
        slots = pack_slots(batch.valid)
        for block in self.blocks:
            packed = tokens.flatten(0, 1).index_select(0, slots)
            tokens = block(packed, batch.valid, slots)
        return tokens, batch.mask


def build(
    stream: EventStream, operator: Operator, settings: Mapping[str, Any]
) -> GraphMixer:
    """Return an untrained model; its weights come from torch's global stream.

    Args:
        stream: the events (the model learns one embedding for each of its nodes).
        operator: the normalisation of the final attention's weights.
        settings: ``hidden``, ``time_dim``, ``dropout`` and ``layers``.
    """
    return GraphMixer(stream.nodes, operator, **settings)
