"""Predictors of safe conventions, frozen on some passages and scored on others."""

from collections.abc import Iterator

import pandas as pd

from maa.audit.predictor import Frozen, calibrate, score

# How a predictor's calibration relates to the text and model that it is scored on.
FREE, OWN, OTHERS = "no model", "same model, other passages", "other models"


def regimes(
    flips: pd.DataFrame, free: Frozen, seed: int
) -> tuple[pd.DataFrame, dict[str, Frozen]]:
    """Freeze and score every predictor on every text and model.

    Args:
        flips: rates of single layers by ``dataset``, ``backbone`` and ``part``
            (``read``: to calibrate on, ``held``: to score on), else as
            `maa.audit.predictor.flip_cells` gives them.
        free: the predictor to which no model has contributed.
        seed: of the intervals.

    Returns:
        What `maa.audit.predictor.score` returns, with ``dataset``, ``backbone`` and
        ``predictor`` in front; and the predictors by ``predictor, dataset, backbone``.
    """
    layers = flips[flips["group"] != "all"]
    frozen = {f"{FREE}, , ": free}
    scores = []
    keys = layers[["dataset", "backbone"]].drop_duplicates()
    for dataset, backbone in keys.itertuples(index=False):
        here = (layers["dataset"] == dataset) & (layers["backbone"] == backbone)
        held = _named(layers[here & (layers["part"] == "held")])
        for name, one in _predictors(layers, free, dataset, backbone):
            if name != FREE:
                frozen[f"{name}, {dataset}, {backbone}"] = one
            table = score(one, held, seed=seed).drop(columns="model")
            for position, value in enumerate((dataset, backbone, name)):
                column = ("dataset", "backbone", "predictor")[position]
                table.insert(position, column, value)
            scores.append(table)
    return pd.concat(scores, ignore_index=True), frozen


def _predictors(
    layers: pd.DataFrame, free: Frozen, dataset: str, backbone: str
) -> Iterator[tuple[str, Frozen]]:
    """Yield each predictor's name and itself; the last needs another model."""
    read = layers[layers["part"] == "read"]
    same = read["backbone"] == backbone
    yield FREE, free
    for name, cells in (
        (OWN, read[same & (read["dataset"] == dataset)]),
        (OTHERS, read[~same]),
    ):
        if not cells.empty:
            yield name, calibrate(_named(cells), free.curve, name, free.rule)


def _named(cells: pd.DataFrame) -> pd.DataFrame:
    """Return cells with the text and model as one name, as a predictor takes them."""
    return cells.assign(model=cells["backbone"] + " on " + cells["dataset"])
