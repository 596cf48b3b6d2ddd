"""Traffic: the errors of every variant, and what so few seeds can tell (Table 1)."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from maa.figures.catalogue import needs
from maa.figures.labels import DATASETS, FORECASTERS, VARIANTS, label
from maa.figures.rows import last_steps
from maa.figures.tabular import DASH, number, page, picture, span, starred

NEEDS = needs("table_traffic")
ERRORS = {"mae": "MAE", "rmse": "RMSE", "mape": "MAPE (%)"}
TITLE = "Forecasts of traffic by variant"
NOTE = (
    "Masked errors on the test part at three steps ahead, last weights (mph; MAPE in "
    "per cent): mean and standard deviation over seeds.\nChange of MAE at the last "
    "of them against no regularisation with the same seeds, its 95 % t interval, p of "
    "the paired t-test after Holm over the cell.\nDetectable: the change that so many "
    "seeds find in four of five cases; seeds: how many would find the change that is "
    "seen."
)


def table(traffic_gaps: pd.DataFrame) -> pd.DataFrame:
    """Return differences between variants at three steps, both kinds of weights.

    Args:
        traffic_gaps: differences between variants, paired over seeds.
    """
    steps = last_steps(traffic_gaps)
    names = [f"{error}_{step}" for error in ERRORS for step in steps]
    wanted = [*names, *(f"{name}_best" for name in names)]
    return traffic_gaps[traffic_gaps["measure"].isin(wanted)].reset_index(drop=True)


def display(gaps: pd.DataFrame) -> pd.DataFrame:
    """Return the table as readers see it: one row a data set, model and variant."""
    rows, steps = [], last_steps(gaps)
    shown = "/".join(map(str, steps))
    keys = ["dataset", "backbone", "variant"]
    parts = {tuple(map(str, key)): part for key, part in gaps.groupby(keys)}
    for dataset, backbone, variant in sorted(parts, key=_place):
        part = parts[dataset, backbone, variant]
        by = part.set_index("measure").to_dict("index")
        told = {
            "Data": label(dataset, DATASETS),
            "Model": label(backbone, FORECASTERS),
            "Variant": label(variant, VARIANTS),
        }
        for error, name in ERRORS.items():
            cells = [by.get(f"{error}_{step}") for step in steps]
            told[f"{name} {shown}"] = "  ".join(_level(cell) for cell in cells)
        last = by.get(f"mae_{steps[-1]}", {})
        change = number(last.get("percent", float("nan")), 2, True)
        told[f"Change, MAE {steps[-1]} (%)"] = change
        scale = 100 / last["baseline"] if last else float("nan")
        ends = [scale * last.get(end, float("nan")) for end in ("low", "high")]
        told["95 % interval"] = span(ends[0], ends[1], 2)
        told["p, Holm"] = starred(last.get("p_holm", float("nan")), 3)
        told["Detectable (%)"] = number(scale * last.get("detectable", float("nan")), 2)
        told["Seeds"] = _seeds(last.get("needed", float("nan")))
        rows.append(told)
    return pd.DataFrame(rows)


def _place(key: tuple[str, ...]) -> tuple[str, int, int, str]:
    """Sort by data set, then in the order of the labels."""
    dataset, backbone, variant = key
    models, variants = list(FORECASTERS), list(VARIANTS)
    ranks = [
        names.index(name) if name in names else len(names)
        for names, name in ((models, backbone), (variants, variant))
    ]
    return dataset, ranks[0], ranks[1], variant


def _level(cell: dict[Any, Any] | None) -> str:
    if cell is None:
        return DASH
    spread = "" if np.isnan(cell["sd"]) else f"±{cell['sd']:.2f}"
    return f"{cell['mean']:.2f}{spread}"


def _seeds(needed: float) -> str:
    if np.isnan(needed):
        return DASH
    return f"{needed:.0f}" if needed < 1000 else "> 999"


def draw(gaps: pd.DataFrame) -> Figure:
    """Draw the table."""
    return picture(display(gaps), NOTE, lead=3)


def html(gaps: pd.DataFrame) -> str:
    """Return the table as a page."""
    return page(display(gaps), TITLE, NOTE, lead=3)
