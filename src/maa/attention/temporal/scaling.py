"""How the Jacobian of a random layer changes with the length of the sequence."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from maa.attention.temporal.bounds import compare, constants
from maa.attention.temporal.diagonal import penalty_bias
from maa.attention.temporal.layer import Layer, rows

LENGTHS = (8, 16, 32, 64, 128, 256, 512)
SEEDS = (0, 1, 2, 3, 4)
# Added by this module to the quantities of `bounds`.
TIMES_T = "T_times_off_diagonal"
FIRST = "first_share"
CONSTANTS = ("constant_value", "constant_key", "constant_query")


@dataclass(frozen=True)
class Setting:
    """A family of random layers of one head, with a residual.

    Attributes:
        width: of inputs, queries, keys and values.
        p: order of the norm.
        sharpness: standard deviation of the logits, about.
        penalty: added to the diagonal's logits; -inf masks it.
        sink: added to all logits on the first time step.
    """

    width: int = 6
    p: float = 1.0
    sharpness: float = 1.0
    penalty: float = 0.0
    sink: float = 0.0


def draw(setting: Setting, steps: int, seed: int) -> tuple[Layer, Tensor]:
    """Return a random layer and a sequence (T, D), in double precision.

    Inputs are standard normal, weights normal with variance 1 / width. A seed has the
    same layer at every length, and longer sequences continue shorter ones.
    """
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    query, key, value = normal(3, 1, setting.width, setting.width) / setting.width**0.5
    layer = Layer(setting.sharpness * query, key, value, p=setting.p)
    return layer, normal(steps, setting.width)


def experiment(
    setting: Setting,
    lengths: Sequence[int] = LENGTHS,
    seeds: Sequence[int] = SEEDS,
) -> pd.DataFrame:
    """Measure the Jacobian of random layers over lengths, beside its bounds.

    At most `maa.attention.temporal.norms.ELEMENTS` numbers of a Jacobian are held at
    once.

    Returns:
        One row a length, seed and quantity: ``T``, ``seed`` and the columns of
        `maa.attention.temporal.bounds.compare`, with T times the mean off the diagonal,
        the constants of the bounds, and the attention that the first time step gets
        from the others, beside.
    """
    parts = [_measured(setting, steps, seed) for steps in lengths for seed in seeds]
    return pd.concat(parts, ignore_index=True)


def exponent(table: pd.DataFrame, quantity: str) -> float:
    """Return the slope of a quantity in T, both on a log scale, of means over seeds.

    NaN for a quantity that is 0 somewhere.

    Raises:
        ValueError: if the table has the quantity at fewer than two lengths.
    """
    means = table[table["quantity"] == quantity].groupby("T")["value"].mean()
    if len(means) < 2:
        raise ValueError(f"{quantity} was measured at {len(means)} lengths, expected 2")
    if (means == 0).any():
        return math.nan
    return float(np.polyfit(np.log(means.index), np.log(means), 1)[0])


def _measured(setting: Setting, steps: int, seed: int) -> pd.DataFrame:
    layer, x = draw(setting, steps, seed)
    bias = penalty_bias(steps, setting.penalty)
    bias[:, 0] += setting.sink
    table = compare(layer, x, bias)
    scaled = table[table["quantity"] == "off_diagonal"].assign(quantity=TIMES_T)
    scaled[["value", "bound", "sound"]] *= steps
    found = rows(layer, x, bias)
    given = constants(layer, found)
    first = found.softmax[..., 1:, 0].mean()
    beside = dict(
        zip(CONSTANTS, (given.value, given.key, given.query), strict=True),
        **{FIRST: first},
    )
    values = {name: float(value) for name, value in beside.items()}
    unbounded = pd.DataFrame(values.items(), columns=["quantity", "value"])
    table = pd.concat([table, scaled, unbounded], ignore_index=True)
    table.insert(0, "T", steps)
    table.insert(1, "seed", seed)
    return table
