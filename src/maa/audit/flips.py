"""How often the sink's convention decides which of two heads of a model is closer."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from maa.attention.rows.dissimilarity import DISSIMILARITIES
from maa.attention.rows.split import logit_mass
from maa.attention.rows.triples import flip_rates, sample_triples
from maa.audit.capture import captured
from maa.audit.models import Pretrained

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
    seen = captured(pretrained, texts, sinks, generator, rows, first_row, report=report)
    for one in seen:
        logits = one.logits.flatten(0, 1)
        held = logit_mass(logits, one.sinks, one.support)
        told = {"text": one.text, "row": one.queries}
        told |= {"share": held.mean(0).sigmoid().cpu(), "spread": held.std(0).cpu()}
        for scope in SCOPES:
            drawn = sample_triples(groups[scope], triples, generator)
            rates = flip_rates(logits, drawn, one.sinks, one.support)
            for name in DISSIMILARITIES:
                given = {"scope": scope, "measure": name, "rate": rates[name].cpu()}
                found.append(pd.DataFrame(told | given))
    return pd.concat(found, ignore_index=True)
