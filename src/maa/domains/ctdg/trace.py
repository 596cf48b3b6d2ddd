"""Where the scale goes: what each point between attention and Z tells of the gain.

Mass-aware attention multiplies a softmax mean by the gain g_p (paper 3.1, eq. 4); what
stands between the attention's output and the predictor may pass that scale on, mix it
with other things, or normalise it away. At every point that a backbone names on the
way, two things are measured on the test queries: whether the length of the vector still
goes with the gain, and how well a linear probe reads the targets there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.stats import pearsonr

from maa.attention import Operator, log_norms
from maa.domains.ctdg.backbones.layers import Backbone, Reading
from maa.domains.ctdg.scoring import pieces, restore
from maa.domains.ctdg.stream import EventStream, Queries
from maa.errors import UserError
from maa.probes.inputs import read_targets
from maa.probes.recovery import recover
from maa.probes.settings import ProbeSettings, parse_settings
from maa.probes.split import constant_targets, split_at

GAIN = "gain"
STILL = 1e-5
"""Logs that vary by less than this are constant but for float32's rounding."""

Floats = NDArray[np.float64]
Values = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Passage:
    """What a model computes on the way from attention to Z, for n queries.

    Attributes:
        points: float32 [n, *] for each point, in order along the way.
        gain: float64 [n], log g_p, the mean over layers and heads; 0 without any key.
        length: float64 [n], the log of the number of keys, the mean over the kinds of
            keys that the model tells apart; 0 without any.
        read: bool [n], whether there is any key.
    """

    points: dict[str, Values]
    gain: Floats
    length: Floats
    read: NDArray[np.bool_]


def trace(
    stream: str | Path,
    model: str | Path,
    targets: str | Path,
    backbone: ModuleType,
    operator: Operator,
    settings: Mapping[str, Any],
    threads: int = 1,
) -> pd.DataFrame:
    """Return what each point tells about the gain and the targets of the test queries.

    Args:
        stream: path of the prepared event stream.
        model: path of the trained weights.
        targets: path of the stream's targets.
        backbone: the backbone's module.
        operator: the normalisation of the attention weights.
        settings: ``coordinates_p``, the p of the gain whatever the operator;
            ``probe``, the settings of the linear probe; ``device`` and ``model``, the
            backbone's own.
        threads: CPU threads; the result does not depend on it but for rounding.

    Returns:
        Columns point, order, measure, target and value; see `describe`.

    Raises:
        UserError: if the targets are not those of the stream, or as `restore`.
    """
    events, trained = restore(stream, model, backbone, operator, settings, threads)
    queries = events.queries("test")
    known = _targets(targets, len(queries.row))
    passage = follow(trained, events, queries, settings["coordinates_p"])
    return describe(passage, known, parse_settings(settings["probe"]))


@torch.no_grad()
def follow(model: Backbone, stream: EventStream, queries: Queries, p: float) -> Passage:
    """Return what a model computes on the way from attention to Z.

    Args:
        model: the model, in evaluation mode.
        stream: the events.
        queries: n queries, pairs of an event and its negative.
        p: the p of the gain.
    """
    rows, candidates = queries.row[::2], queries.destination.reshape(-1, 2)
    # Logits may be larger than all else together, so no reading is kept.
    found = [
        _reduced(model.read(batch), p)
        for batch in pieces(model, stream, rows, candidates)
    ]
    points, gains, keys = zip(*found, strict=True)
    counts = np.concatenate(keys).astype(np.float64)
    return Passage(
        points={
            name: np.concatenate([one[name] for one in points]) for name in points[0]
        },
        gain=np.concatenate(gains).mean(axis=1, dtype=np.float64),
        length=np.log(np.maximum(counts, 1)).mean(axis=1),
        read=counts.max(axis=1) > 0,
    )


def describe(
    passage: Passage, targets: pd.DataFrame, probe: ProbeSettings
) -> pd.DataFrame:
    """Return the measures of every point, in long form.

    Norms, gains and correlations are over the queries that have a key; the probe reads
    all of them. A target that is constant on a side of the probe's split has no row.

    Args:
        passage: what the model computed.
        targets: float64, one column a target, in the order of the queries.
        probe: how the linear probe splits and fits.

    Returns:
        Columns point, order (from 0 at the attention's output), measure, target and
        value. For each point: ``norm``, the mean Euclidean norm;
        ``norm_gain_correlation`` and ``norm_length_correlation``, Pearson's
        correlations of its log with log g_p and with the log of the number of keys,
        0 where one of the two does not vary; and ``r2_linear`` for each target. For the
        point ``gain``, of order -1: ``gain`` and ``gain_sd``, mean and standard
        deviation of g_p, and ``gain_length_correlation``.
    """
    rows = _gain_rows(passage)
    varying = _varying(targets, probe)
    for order, (point, values) in enumerate(passage.points.items()):
        measures = _norm_measures(values, passage)
        rows += [(point, order, name, "", value) for name, value in measures.items()]
        scores = _recovery(values, varying, probe)
        rows += [
            (point, order, "r2_linear", target, score)
            for target, score in scores.items()
        ]
    columns = ["point", "order", "measure", "target", "value"]
    return pd.DataFrame(rows, columns=columns).astype({"value": np.float64})


def _gain_rows(passage: Passage) -> list[tuple[str, int, str, str, float]]:
    gain = np.exp(passage.gain[passage.read])
    measures = {
        "gain": gain.mean(),
        "gain_sd": gain.std(),
        "gain_length_correlation": _correlation(passage.gain, passage.length, passage),
    }
    return [(GAIN, -1, name, "", value) for name, value in measures.items()]


def _norm_measures(values: Values, passage: Passage) -> dict[str, float]:
    norm = np.linalg.norm(values.astype(np.float64), axis=1)
    # A vector of zeros has no log; as the smallest length it stays the smallest.
    log_norm = np.log(np.maximum(norm, np.finfo(np.float32).tiny))
    return {
        "norm": norm[passage.read].mean(),
        "norm_gain_correlation": _correlation(log_norm, passage.gain, passage),
        "norm_length_correlation": _correlation(log_norm, passage.length, passage),
    }


def _correlation(first: Floats, second: Floats, passage: Passage) -> float:
    """Pearson's correlation over the queries with a key; 0 where one is constant."""
    pair = np.stack([first[passage.read], second[passage.read]])
    if (pair.std(axis=1) < STILL).any():
        return 0.0
    return float(pearsonr(*pair).statistic)


def _recovery(
    values: Values, targets: pd.DataFrame, probe: ProbeSettings
) -> dict[str, float]:
    if targets.empty:
        return {}
    inputs = values.astype(np.float64)
    scores = recover("linear", inputs, targets.to_numpy(), probe, seed=0)
    return dict(zip(targets.columns, scores.tolist(), strict=True))


def _varying(targets: pd.DataFrame, probe: ProbeSettings) -> pd.DataFrame:
    cut = split_at(len(targets), probe.train_fraction)
    return targets.loc[:, ~constant_targets(targets.to_numpy(), cut)]


def _reduced(reading: Reading, p: float) -> tuple[dict[str, Values], Values, Values]:
    """Return the points, log g_p of all layers' rows, and the numbers of keys."""
    gains = []
    for logits, mask in reading.attention:
        first, second = log_norms(logits, p, mask)
        gains.append(first - second)
    points = {name: _flat(values) for name, values in reading.points.items()}
    return points, _flat(torch.cat(gains, dim=-1)), _flat(reading.keys)


def _flat(values: torch.Tensor) -> Values:
    """Return [B, C, *] as an array [B * C, *]."""
    array: Values = values.flatten(0, 1).flatten(1).cpu().numpy()
    return array


def _targets(path: str | Path, queries: int) -> pd.DataFrame:
    rows = read_targets(path, "test")
    if len(rows) != queries:
        raise UserError(
            f"{path} has {len(rows)} test queries where the stream has {queries}; make "
            "the targets again from this stream"
        )
    return rows
