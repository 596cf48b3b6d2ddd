"""How often a convention decides which of two heads is closer, before any is seen.

Rows are drawn at random: given the sinks' shares alone, so many verdicts must be
expected to flip. `maa.attention.rows.pairwise.all_flips` says how many do.
"""

import numpy as np
import torch

from maa.attention.rows.dissimilarity import DISSIMILARITIES, flips


def model_free_rates(
    share: float,
    spread: float,
    generator: np.random.Generator,
    keys: int = 33,
    concentration: float = 0.5,
    triples: int = 20_000,
) -> dict[str, float]:
    """Return each dissimilarity's rate of flips among rows that no model made.

    The logits of the sinks' shares are normal and the contents Dirichlet, all of them
    independent: what would flip if heads had nothing in common.

    Args:
        share: the share whose logit is the mean of the sinks' logits, in (0, 1).
        spread: standard deviation of the sinks' logits.
        generator: source of the draws.
        keys: number of keys of a row, the sink among them; at least 3.
        concentration: of the Dirichlet distribution; below 1 contents are uneven.
        triples: number of triples.
    """
    logit = np.log(share / (1 - share)) + spread * generator.normal(
        size=(3, triples, 1)
    )
    content = generator.dirichlet([concentration] * (keys - 1), size=(3, triples))
    rows = np.concatenate([logit, np.log(content)], axis=-1)
    anchor, first, second = torch.from_numpy(rows)
    sinks = torch.arange(keys) == 0
    return {
        name: float(flips(measure, anchor, first, second, sinks).double().mean())
        for name, measure in DISSIMILARITIES.items()
    }
