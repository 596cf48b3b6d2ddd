"""What attention does block by block, what it passes on, and what moves the forecast.

Four views of a trained model: the mean matrix of attention (the figure of the paper),
with how much of it lies on the diagonal and what the rows tell about the amount of
evidence; by which paths a step moves its own and others' outputs of attention; what a
linear probe reads of the targets behind each block; and how much each input step moves
each output step.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from maa.attention import Operator
from maa.attention.aggregation.base import draw
from maa.attention.rows.entropy import entropy_parts
from maa.attention.rows.evidence import amplitude_elasticity, log_gain
from maa.domains.traffic.backbones.layers import Record
from maa.domains.traffic.jacobian import step_influence
from maa.domains.traffic.paths import path_norms
from maa.domains.traffic.reading import SEQUENCES, Trained, restore
from maa.domains.traffic.windows import Batch
from maa.errors import UserError
from maa.probes.inputs import read_targets
from maa.probes.recovery import recover
from maa.probes.settings import ProbeSettings, parse_settings
from maa.probes.split import constant_targets, split_at
from maa.seeds import derive

COLUMNS = ["point", "order", "measure", "target", "value"]
Row = tuple[str, int, str, str, float]


def trace(
    stream: str | Path,
    model: str | Path,
    targets: str | Path,
    backbone: ModuleType,
    operator: Operator,
    settings: Mapping[str, Any],
    threads: int = 1,
) -> pd.DataFrame:
    """Return what the blocks' attention does and what can be read behind them.

    Args:
        stream: path of the prepared series.
        model: path of the trained weights.
        targets: path of the series' targets.
        backbone: the backbone's module.
        operator: the normalisation of the temporal attention.
        settings: ``coordinates_p``, the p of gain and elasticity whatever the operator;
            ``windows`` and ``jacobian_windows``, how many validation windows attention
            and influence are measured on; ``probes`` and ``seed`` of the influence;
            ``probe``, the settings of the linear probe; ``device`` and ``model``.
        threads: CPU threads.

    Returns:
        Columns point, order, measure, target and value.

        - ``block01`` and so on, order from 0: ``diagonal`` (share of attention on the
          own step; for each head too, as target), ``entropy`` and its parts
          ``entropy_binary`` and ``entropy_rest`` (the diagonal against the rest, and
          within the rest), ``gain`` and ``applied_gain`` (mean of 1/||a||_p, and of
          the weights' sum), ``elasticity`` and ``elasticity_p`` (of all other steps'
          evidence), ``r2_linear`` for each target, from the last step's token, and
          ``jacobian_own`` and ``jacobian_others`` by path, as target (`path_norms`).
        - ``attention_last``, ``attention_last_train`` and ``attention_mean``: the mean
          ``weight`` of row i on key j, as target ``i,j``, of the last block, the same
          with dropout, and of all blocks.
        - ``window``: ``r2_linear`` from the scaled window itself, of order -1.
        - ``influence``: ``jacobian_norm`` of output o to input i, as target ``o,i``.

    Raises:
        UserError: if the targets are not those of the series, or as `restore`.
    """
    trained = restore(stream, model, backbone, operator, settings, threads)
    known = _targets(targets, trained)
    probe = parse_settings(settings["probe"])
    rows = [
        *_attention(trained, settings),
        *_paths(trained, operator, settings),
        *_recovery(trained, known, probe),
        *_influence(trained, settings),
    ]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"value": np.float64})


def spaced(starts: Tensor, count: int) -> Tensor:
    """Return at most ``count`` of the starts, evenly spaced, the first among them."""
    step = max(1, -(-len(starts) // count))
    return starts[::step]


@torch.no_grad()
def _attention(trained: Trained, settings: Mapping[str, Any]) -> Iterator[Row]:
    starts = spaced(trained.windows.starts("validation"), settings["windows"])
    plain = _mean_weights(trained, starts)
    depth = len(plain)
    yield from _measures(trained, starts, settings["coordinates_p"])
    torch.manual_seed(settings["seed"])
    draws = torch.Generator().manual_seed(derive(settings["seed"], "regulariser"))
    trained.model.train()
    draw(trained.model, draws)
    dropped = _mean_weights(trained, starts)
    trained.model.eval()
    yield from _matrix("attention_last", depth - 1, plain[-1])
    yield from _matrix("attention_last_train", depth - 1, dropped[-1])
    yield from _matrix("attention_mean", depth, plain.mean(axis=0))


def _records(trained: Trained, starts: Tensor) -> Iterator[Record]:
    for data in trained.windows.slices(starts, SEQUENCES):
        record = Record()
        trained.model.read(data.speed, data.day_time, record)
        yield record


def _mean_weights(trained: Trained, starts: Tensor) -> NDArray[np.float64]:
    """[blocks, T, T], the mean over windows, sensors and heads."""
    total, rows = torch.zeros(()), 0
    for record in _records(trained, starts):
        sums = [weights.double().sum((0, 2)).cpu() for weights in record.weights]
        total = total + torch.stack(sums)
        rows += record.weights[0].shape[0] * record.weights[0].shape[2]
    mean: NDArray[np.float64] = (total / rows).numpy()
    return mean


def _matrix(point: str, order: int, weights: NDArray[np.float64]) -> Iterator[Row]:
    for (i, j), value in np.ndenumerate(weights):
        yield point, order, "weight", f"{i},{j}", float(value)


def _measures(trained: Trained, starts: Tensor, p: float) -> Iterator[Row]:
    """What the rows of each block's attention tell, the mean over all of them."""
    sums: dict[tuple[int, str], Tensor] = {}
    rows = 0
    for record in _records(trained, starts):
        for block, weights in enumerate(record.weights):
            for name, values in _of_rows(weights, p).items():
                total = values.double().sum((0, 1)).cpu()
                sums[block, name] = sums.get((block, name), 0) + total
        rows += record.weights[0].shape[0] * record.weights[0].shape[1]
    for (block, name), total in sums.items():
        point, heads = f"block{block + 1:02d}", total / rows
        yield point, block, name, "", float(heads.mean())
        if name == "diagonal":
            for head, value in enumerate(heads.tolist()):
                yield point, block, name, f"head{head}", value


def _of_rows(weights: Tensor, p: float) -> dict[str, Tensor]:
    """Measures of rows, each [M, T, heads], from weights [M, T, heads, T]."""
    steps = weights.shape[-1]
    own = torch.eye(steps, dtype=torch.bool, device=weights.device).unsqueeze(1)
    support = weights > 0
    logits = weights.double().log()
    parts = entropy_parts(logits, own, support)
    rest = ~own.expand_as(support)
    return {
        "diagonal": parts.share,
        "entropy": parts.total,
        "entropy_binary": parts.binary,
        "entropy_rest": parts.content,
        "gain": log_gain(logits, p, support).exp(),
        "applied_gain": weights.sum(-1),
        "elasticity": amplitude_elasticity(logits, 1.0, rest, support),
        "elasticity_p": amplitude_elasticity(logits, p, rest, support),
    }


@torch.no_grad()
def _recovery(
    trained: Trained, targets: pd.DataFrame, probe: ProbeSettings
) -> Iterator[Row]:
    """What a linear probe reads behind each block, at the window's last step."""
    truth = targets.to_numpy()
    varying = targets.loc[
        :, ~constant_targets(truth, split_at(len(truth), probe.train_fraction))
    ]
    if varying.empty:
        return
    windows = trained.windows
    starts = windows.starts("test")
    speed = windows.at(starts).speed
    points = {"window": speed.transpose(0, 1).flatten(0, 1)}
    tokens = [
        [block[:, :, -1].transpose(0, 1).flatten(0, 1) for block in record.tokens]
        for record in _records(trained, starts)
    ]
    for block, parts in enumerate(zip(*tokens, strict=True)):
        points[f"block{block + 1:02d}"] = torch.cat(parts)
    for order, (point, values) in enumerate(points.items(), start=-1):
        inputs = values.double().cpu().numpy()
        scores = recover("linear", inputs, varying.to_numpy(), probe, seed=0)
        for name, score in zip(varying.columns, scores.tolist(), strict=True):
            yield point, order, "r2_linear", name, score


def _jacobian_windows(trained: Trained, settings: Mapping[str, Any]) -> Batch:
    starts = spaced(trained.windows.starts("validation"), settings["jacobian_windows"])
    return trained.windows.at(starts)


def _paths(
    trained: Trained, operator: Operator, settings: Mapping[str, Any]
) -> Iterator[Row]:
    data = _jacobian_windows(trained, settings)
    blocks = path_norms(trained.model, operator, data.speed, data.day_time)
    for order, found in enumerate(blocks):
        for measure, path, value in found:
            yield f"block{order + 1:02d}", order, measure, path, value


def _influence(trained: Trained, settings: Mapping[str, Any]) -> Iterator[Row]:
    data = _jacobian_windows(trained, settings)
    how = settings["probes"], settings["seed"]
    norms = step_influence(trained.model, data.speed, data.day_time, *how)
    for (output, read), value in np.ndenumerate(norms):
        name = f"{output},{read}"
        yield (
            "influence",
            len(trained.model.blocks),
            "jacobian_norm",
            name,
            float(value),
        )


def _targets(path: str | Path, trained: Trained) -> pd.DataFrame:
    rows = read_targets(path, "test")
    queries = len(trained.series.starts("test")) * trained.series.sensors
    if len(rows) != queries:
        raise UserError(
            f"{path} has {len(rows)} test queries where the series has {queries}; make "
            "the targets again from this series"
        )
    return rows
