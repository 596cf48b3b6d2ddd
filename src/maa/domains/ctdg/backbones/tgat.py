"""TGAT, reference form: one attention layer over the source's recent history."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from maa.attention import Operator
from maa.domains.ctdg.backbones.reference import SourceReader
from maa.domains.ctdg.batches import Batch
from maa.domains.ctdg.stream import EventStream


class TGAT(SourceReader):
    """Attends to the history's tokens as they are."""

    def mix(self, tokens: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the tokens [B, H, h] and their mask."""
        return tokens, batch.mask


def build(stream: EventStream, operator: Operator, settings: Mapping[str, Any]) -> TGAT:
    """Return an untrained model; its weights come from torch's global stream.

    Args:
        stream: the events (the model learns one embedding for each of its nodes).
        operator: the normalisation of the attention weights.
        settings: ``hidden``, ``time_dim`` and ``dropout``.
    """
    return TGAT(stream.nodes, operator, **settings)
