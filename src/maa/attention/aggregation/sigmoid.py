"""Sigmoid attention (Ramapuram et al., arXiv 2409.04431); discussed in 2.3."""

import torch
from torch import Tensor

from maa.attention.aggregation.base import Aggregator, key_counts
from maa.operators import Operator


class Sigmoid(Aggregator):
    """Weights sigmoid(a - log n), n the number of valid keys; no normalisation."""

    def weights(self, logits: Tensor, mask: Tensor, query: Tensor) -> Tensor:
        """Return the weights [..., heads, n]."""
        bias = key_counts(logits, mask).clamp(min=1.0).log()
        return torch.sigmoid(logits - bias) * mask


def build(operator: Operator, heads: int, width: int, query_width: int) -> Sigmoid:
    """Return the aggregator of ``sigmoid``."""
    return Sigmoid()
