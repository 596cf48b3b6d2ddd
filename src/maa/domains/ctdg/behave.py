"""The context margin: how much a prediction rests on its source's history.

Paper 4.1 and 5.4: the score with the observed history minus the score with another
source's. The paper names neither the rule of substitution nor the scale of the score;
here they are a seeded derangement over sources and the logit; the same difference of
probabilities is measured beside it.
"""

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from maa.attention import Operator
from maa.domains.ctdg.backbones.layers import Backbone
from maa.domains.ctdg.scoring import restore, score
from maa.domains.ctdg.stream import EventStream
from maa.errors import UserError


def behave(
    stream: str | Path,
    model: str | Path,
    backbone: ModuleType,
    operator: Operator,
    settings: Mapping[str, Any],
    threads: int = 1,
) -> pd.DataFrame:
    """Return the context margin over the test part's events.

    Args:
        stream: path of the prepared event stream.
        model: path of the trained weights.
        backbone: the backbone's module.
        operator: the normalisation of the attention weights.
        settings: ``seed`` of the derangement, ``device`` and ``model``, the backbone's
            own.
        threads: CPU threads.

    Returns:
        measure, value, queries: ``context_margin`` (the mean difference of logits),
        ``context_margin_absolute`` (the mean of its absolute values) and
        ``context_margin_probability`` (the mean difference of the logits' sigmoids),
        and over how many events.

    Raises:
        UserError: if all test events have the same source.
    """
    events, trained = restore(stream, model, backbone, operator, settings, threads)
    rng = np.random.default_rng(settings["seed"])
    observed, substituted = exchanged(trained, events, rng)
    if len(observed) == 0:
        raise UserError(
            f"{stream}: no test event has another source's history to be compared "
            "with; the context margin needs two sources or more, so use a larger window"
        )
    margin = observed - substituted
    values = {
        "context_margin": margin.mean(),
        "context_margin_absolute": np.abs(margin).mean(),
        "context_margin_probability": np.mean(expit(observed) - expit(substituted)),
    }
    return pd.DataFrame(
        {
            "measure": list(values),
            "value": list(values.values()),
            "queries": len(margin),
        }
    )


def exchanged(
    model: Backbone, stream: EventStream, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each test event's logit with its own and with another source's history.

    Events without a donor are left out.

    A donor gives its neighbours and their ages at its own time; source, candidate and
    time stay the event's.
    """
    rows = stream.rows("test")
    donor = derangement(stream.source[rows], rng)
    rows, donors = rows[donor >= 0], rows[donor[donor >= 0]]
    candidates = stream.destination[rows][:, None]
    observed = score(model, stream, rows, candidates)
    substituted = score(model, stream, rows, candidates, history_rows=donors)
    own, other = (scores.reshape(-1) for scores in (observed, substituted))
    return own.astype(np.float64), other.astype(np.float64)


def derangement(
    source: NDArray[np.integer], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Give each event another event with a different source, at random.

    The events are laid out source by source, both in random order, and shifted by the
    size of the largest source. No event is given twice, and none is left out unless one
    source has more than half of the events.

    Args:
        source: int [m].
        rng: the generator.

    Returns:
        int64 [m], positions of the donors; -1 where there is none.
    """
    _, group, size = np.unique(source, return_inverse=True, return_counts=True)
    place = rng.permutation(len(size))[group]
    order = np.lexsort((rng.random(len(source)), place))
    donor = np.empty(len(source), dtype=np.int64)
    donor[order] = np.roll(order, -size.max(initial=0))
    return np.where(source[donor] == source, -1, donor)
