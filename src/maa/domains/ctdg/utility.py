"""How well a trained model tells observed destinations from sampled ones."""

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from maa.attention import Operator
from maa.domains.ctdg.scoring import restore, score
from maa.domains.ctdg.stream import NEGATIVES


def utility(
    stream: str | Path,
    model: str | Path,
    backbone: ModuleType,
    operator: Operator,
    settings: Mapping[str, Any],
    threads: int = 1,
) -> pd.DataFrame:
    """Return the ROC-AUC of test events against each kind of negative.

    Args:
        stream: path of the prepared event stream.
        model: path of the trained weights.
        backbone: the backbone's module.
        operator: the normalisation of the attention weights.
        settings: ``device`` and ``model``, the backbone's own.
        threads: CPU threads.

    Returns:
        measure (``auc_unseen``, ``auc_random``, ``auc_historical``), value, and
        queries, the number of events and negatives that were scored. Events without a
        negative of a kind are left out; a kind that no event has is NaN (0 queries).
    """
    events, trained = restore(stream, model, backbone, operator, settings, threads)
    rows = events.rows("test")
    observed = events.destination[rows]
    negatives = np.stack([events.negatives("test", kind) for kind in NEGATIVES], axis=1)
    # One pass scores all candidates of a row; a missing one is scored as the observed.
    filled = np.where(negatives >= 0, negatives, observed[:, None])
    scores = score(trained, events, rows, np.column_stack([observed, filled]))
    found = []
    for column, kind in enumerate(NEGATIVES):
        kept = negatives[:, column] >= 0
        value = auc(scores[kept, 0], scores[kept, 1 + column])
        found.append((f"auc_{kind}", value, 2 * int(kept.sum())))
    return pd.DataFrame(found, columns=["measure", "value", "queries"])


def auc(positive: NDArray[np.floating], negative: NDArray[np.floating]) -> float:
    """Return the ROC-AUC, ties counting one half; NaN if a side is empty."""
    if min(len(positive), len(negative)) == 0:
        return float("nan")
    label = np.repeat([1, 0], [len(positive), len(negative)])
    return float(roc_auc_score(label, np.concatenate([positive, negative])))
