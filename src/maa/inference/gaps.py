"""Differences between variants, paired over seeds, and what so few seeds can tell.

The tables of a paper often show means and standard deviations over a few seeds, and
gaps between variants about as large as these. Runs of one seed share data order and
initial weights, so that differences are taken seed by seed; their spread says which
differences could have been found, and how many seeds would find one of a given size.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import DescrStatsW

ALPHA, POWER = 0.05, 0.8
KEYS = ["domain", "dataset", "backbone"]
_COLUMNS = [*KEYS, "variant", "measure", "seeds", "mean", "sd", "baseline", "change"]
_COLUMNS += ["percent", "low", "high", "p", "p_holm", "detectable", "needed"]


def gaps(values: pd.DataFrame, baseline: str, measures: Sequence[str]) -> pd.DataFrame:
    """Compare every variant of a cell with its baseline, seed by seed.

    Args:
        values: one row a run and measure: `KEYS`, ``variant``, ``seed``, ``measure``,
            ``value``.
        baseline: the variant that the others are compared with.
        measures: those to compare; they and all variants of a cell are one family for
            Holm's correction.

    Returns:
        One row a cell, variant (the baseline among them) and measure: number of
        ``seeds`` that both have, ``mean`` and ``sd`` of the variant's values, the
        ``baseline``'s mean, ``change`` and ``percent`` of it, the 95 % t interval
        ``low`` to ``high``, ``p`` of the paired t-test and after Holm, ``detectable``
        (the change that so many seeds find in 80 % of the cases), and ``needed`` (how
        many seeds would find a change as large as this one). NaN where there are fewer
        than two seeds, or nothing varies.
    """
    rows = values[values["measure"].isin(list(measures))]
    tables = [_cell(part, baseline) for _, part in rows.groupby(KEYS, sort=False)]
    found = pd.concat([pd.DataFrame(columns=_COLUMNS), *tables], ignore_index=True)
    numbers = [name for name in _COLUMNS if name not in (*KEYS, "variant", "measure")]
    return found.astype(dict.fromkeys(numbers, np.float64))


def _cell(rows: pd.DataFrame, baseline: str) -> pd.DataFrame:
    wide = rows.pivot_table(
        index=["variant", "measure"], columns="seed", values="value", sort=False
    )
    key = rows[KEYS].iloc[0].to_dict()
    found = []
    seeds = {name: one for name, one in zip(wide.index, wide.to_numpy(), strict=True)}
    for (variant, measure), one in seeds.items():
        if (baseline, measure) not in seeds:
            continue
        pair = pd.DataFrame({"one": one, "other": seeds[baseline, measure]}).dropna()
        told = key | {"variant": variant, "measure": measure}
        found.append(told | _pair(pair["one"].to_numpy(), pair["other"].to_numpy()))
    table = pd.DataFrame(found, columns=_COLUMNS)
    tested = (table["variant"] != baseline) & table["p"].notna()
    if tested.any():
        corrected = multipletests(table.loc[tested, "p"], method="holm")[1]
        table.loc[tested, "p_holm"] = corrected
    return table


def _pair(one: NDArray[np.float64], other: NDArray[np.float64]) -> dict[str, float]:
    apart = one - other
    seeds, change = len(apart), float(apart.mean())
    nan = float("nan")
    told = {
        "seeds": seeds,
        "mean": float(one.mean()),
        "sd": float(one.std(ddof=1)) if seeds > 1 else nan,
        "baseline": float(other.mean()),
        "change": change,
        "percent": 100 * change / float(other.mean()),
        **dict.fromkeys(("low", "high", "p", "p_holm", "detectable", "needed"), nan),
    }
    if seeds < 2 or not np.ptp(apart) > 0:
        return told
    stats = DescrStatsW(apart)
    low, high = stats.tconfint_mean(ALPHA)
    spread = float(apart.std(ddof=1))
    return told | {
        "low": float(low),
        "high": float(high),
        "p": float(stats.ttest_mean()[1]),
        "detectable": detectable(seeds) * spread,
        "needed": needed(change / spread),
    }


def detectable(seeds: int) -> float:
    """Return the smallest change, in standard deviations, that so many seeds find.

    A two-sided paired t-test at 5 % finds it in 80 % of the cases.
    """
    found = TTestPower().solve_power(nobs=seeds, alpha=ALPHA, power=POWER)
    return float(np.squeeze(found))


def needed(effect: float) -> float:
    """Return how many seeds find a change of so many standard deviations.

    At least 2; infinity for no change.
    """
    if effect == 0:
        return float("inf")
    low, high = 2, 4
    while _power(effect, high) < POWER:
        low, high = high, 2 * high
        if high > 10**7:
            return float("inf")
    while low < high:
        middle = (low + high) // 2
        low, high = (
            (middle + 1, high) if _power(effect, middle) < POWER else (low, middle)
        )
    return float(high)


def _power(effect: float, seeds: int) -> float:
    return float(TTestPower().power(abs(effect), seeds, ALPHA))
