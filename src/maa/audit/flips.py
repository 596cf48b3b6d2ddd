"""How often the sink's convention decides which of two heads of a model is closer."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from maa.attention.adapters.huggingface import recording
from maa.attention.rows.dissimilarity import DISSIMILARITIES
from maa.attention.rows.split import logit_mass
from maa.attention.rows.triples import flip_rates, sample_triples
from maa.audit.models import Pretrained
from maa.audit.texts import sink_positions

SCOPES = ("all", "layer")


def head_flips(
    pretrained: Pretrained,
    texts: Sequence[Sequence[int]],
    sinks: str = "first",
    triples: int = 500,
    rows: int = 8,
    first_row: int = 8,
    seed: int = 0,
    report: Callable[[str], None] = print,
) -> pd.DataFrame:
    """Compare heads three at a time, on some rows of every passage.

    Verdicts are those of single rows; how the paper brings rows together is not known.

    Args:
        pretrained: the model.
        texts: passages as tokens.
        sinks: which tokens are sinks, as `maa.audit.texts.sink_positions` says.
        triples: triples of heads a passage, from ``all`` heads and from within a
            ``layer``.
        rows: queries that are drawn of a passage.
        first_row: queries before it are not drawn.
        seed: of the draws.
        report: takes one line a passage.

    Returns:
        One row a passage, query, scope (``all`` or ``layer``) and dissimilarity:
        ``text``, ``row``, ``scope``, ``measure``, ``rate`` (share of triples whose
        verdict flips), and ``share`` and ``spread``: the expit of the mean, and the
        standard deviation, of the logits of what the sinks hold in all heads.
    """
    generator = np.random.default_rng(seed)
    depth, width = pretrained.shape
    heads = np.arange(depth * width)
    groups = {"all": [heads.tolist()], "layer": heads.reshape(depth, width).tolist()}
    found = []
    for number, passage in enumerate(texts):
        kept = np.sort(
            generator.choice(
                np.arange(first_row, len(passage)),
                min(rows, len(passage) - first_row),
                replace=False,
            )
        )
        logits, support = _rows_of(pretrained, passage, kept)
        where = sink_positions(pretrained.tokenizer, passage, sinks)
        mask = torch.zeros(len(passage), dtype=torch.bool, device=logits.device)
        mask[where] = True
        held = logit_mass(logits, mask, support)
        told = {"text": number, "row": kept, "share": held.mean(0).sigmoid().cpu()}
        told["spread"] = held.std(0).cpu()
        for scope in SCOPES:
            drawn = sample_triples(groups[scope], triples, generator)
            rates = flip_rates(logits, drawn, mask, support)
            for name in DISSIMILARITIES:
                given = {"scope": scope, "measure": name, "rate": rates[name].cpu()}
                found.append(pd.DataFrame(told | given))
        report(f"passage {number + 1} of {len(texts)}")
    return pd.concat(found, ignore_index=True)


def _rows_of(
    pretrained: Pretrained, passage: Sequence[int], kept: np.ndarray
) -> tuple[Tensor, Tensor | None]:
    """Return some queries' logits of all heads, (heads, rows, keys), and support."""
    layers: list[Tensor] = []
    supports: list[Tensor | None] = []
    chosen = torch.from_numpy(kept)

    def receive(_: int, logits: Tensor, support: Tensor | None) -> None:
        layers.append(logits[0, :, chosen].clone())
        supports.append(None if support is None else support[0, 0, chosen].clone())

    device = next(pretrained.model.parameters()).device
    tokens = torch.tensor([list(passage)], device=device)
    with torch.inference_mode(), recording(pretrained.model, receive):
        pretrained.model(tokens)
    return torch.cat(layers), supports[0]
