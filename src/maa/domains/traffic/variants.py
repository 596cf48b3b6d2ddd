"""Variants of the forecaster by the names of the paper's Table 1."""

import pandas as pd

BARE = "-no-residual"
SOFTMAX = "p1.00"
NONE, NO_RESIDUAL = "none", "no-residual"


def named(rows: pd.DataFrame) -> pd.DataFrame:
    """Name the variants of runs; a model without residual is one of the same model.

    Args:
        rows: with columns backbone and operator.

    Returns:
        The rows with ``variant``: ``none`` (no regulariser), ``no-residual``, or the
        operator. Models without residual that have another operator too are left out.
    """
    bare = rows["backbone"].str.endswith(BARE)
    plain = rows["operator"] == SOFTMAX
    variant = rows["operator"].mask(plain, NONE).mask(plain & bare, NO_RESIDUAL)
    backbone = rows["backbone"].str.removesuffix(BARE)
    return rows.assign(variant=variant, backbone=backbone)[plain | ~bare]
