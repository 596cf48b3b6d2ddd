"""How well a trained model tells observed destinations from sampled ones."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from maa.attention import Operator
from maa.domains.ctdg.backbones.layers import Backbone
from maa.domains.ctdg.ranking import auc
from maa.domains.ctdg.scoring import restore, score
from maa.domains.ctdg.stream import NEGATIVES, EventStream


def utility(
    stream: str | Path,
    model: str | Path,
    backbone: ModuleType,
    operator: Operator,
    settings: Mapping[str, Any],
    threads: int = 1,
) -> pd.DataFrame:
    """Return the ROC-AUC of test events, and that of validation events.

    Args:
        stream: path of the prepared event stream.
        model: path of the trained weights.
        backbone: the backbone's module.
        operator: the normalisation of the attention weights.
        settings: ``device`` and ``model``, the backbone's own.
        threads: CPU threads.

    Returns:
        measure (``auc_unseen``, ``auc_random``, ``auc_historical`` on the test part;
        ``validation_auc`` against unseen negatives, for choices), value, and queries,
        the number of events and negatives that were scored. Events without a negative
        of a kind are left out; a kind that no event has is NaN (0 queries).
    """
    events, trained = restore(stream, model, backbone, operator, settings, threads)
    tested = _aucs(trained, events, "test", NEGATIVES)
    chosen = _aucs(trained, events, "validation", ("unseen",))
    found = [(f"auc_{kind}", *result) for kind, result in tested.items()]
    found += [("validation_auc", *result) for result in chosen.values()]
    return pd.DataFrame(found, columns=["measure", "value", "queries"])


def _aucs(
    model: Backbone, stream: EventStream, part: str, kinds: Sequence[str]
) -> dict[str, tuple[float, int]]:
    """Return the AUC of a part's events, and on how many queries, for some negatives.

    One pass scores all candidates of a row; a missing one is scored as the observed.
    """
    rows = stream.rows(part)
    observed = stream.destination[rows]
    negatives = np.stack([stream.negatives(part, kind) for kind in kinds], axis=1)
    filled = np.where(negatives >= 0, negatives, observed[:, None])
    scores = score(model, stream, rows, np.column_stack([observed, filled]))
    found = {}
    for column, kind in enumerate(kinds):
        kept = negatives[:, column] >= 0
        value = auc(scores[kept, 0], scores[kept, 1 + column])
        found[kind] = (value, 2 * int(kept.sum()))
    return found
