"""How much of the gain in recovery do simpler explanations give?

The gain is the change of a statistic's linear R2 from softmax to the treatment. Three
controls try to give it without the treatment's adaptive mass:

- ``uniform``: softmax times one constant scale a head;
- ``length``: softmax times n^(1 - 1/p), n the number of valid keys;
- ``log_n``: both arms' probes also read log(1 + n); what the gain loses by that is
  explained by n.

The first two exist on the cells of the controls, the third on all cells of the core, so
that the gains beside them may differ: the tables say on how many cells they rest.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from maa.inference.bootstrap import percentiles, resample, shape_of
from maa.inference.pairs import pair_runs
from maa.inference.plan import Plan
from maa.inference.sets import CORE, RunSet
from maa.inference.wide import by_runs, spread

SCALES = ("uniform", "length")
MEAN = "mean"
QUANTITIES = ("gain", "explained", "share", "left")
COLUMNS = [
    *("domain", "scope", "backbone", "dataset", "target", "control"),
    *(f"{name}{end}" for name in QUANTITIES for end in ("", "_low", "_high")),
    *("seeds", "cells"),
]
_PLAIN, _WITH_N = "r2_linear_z", "r2_linear_zn"


def shares_table(measurements: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """Compare the gain of every statistic with what each control explains of it.

    Args:
        measurements: long form, of all runs.
        plan: settings of the inference.

    Returns:
        One row a (domain, scope, backbone, dataset, target, control). The scope is
        ``cell``, ``backbone`` (data set empty) or ``all`` (both empty); the target
        ``mean`` is the mean over the statistics that vary, and a statistic is left out
        where it is constant. ``gain``; ``explained``, what the control gives;
        ``share``, their ratio, NaN where the interval of the gain holds 0 (there is no
        gain to explain); ``left`` = gain - explained; each with its 95 % interval
        ``_low``, ``_high`` from the same draws; numbers of ``seeds`` and ``cells``. A
        cell alone is resampled by its few seeds: such intervals are rough. Controls
        that were not run have no rows.

    Raises:
        UserError: if runs that are compared have gaps.
    """
    tables = []
    for run_set in plan.sets:
        for control, gain, explained in _controls(measurements, plan, run_set):
            for scope, runs in _scopes(gain.index.to_frame(index=False)):
                index = pd.MultiIndex.from_frame(runs)
                table = _shares(gain.loc[index], explained, plan.draws, plan.seed)
                key = {"domain": run_set.domain, **scope, "control": control}
                tables.append(table.assign(**key))
    if not tables:
        return pd.DataFrame(columns=COLUMNS)
    return pd.concat(tables, ignore_index=True)[COLUMNS]


def _controls(
    measurements: pd.DataFrame, plan: Plan, run_set: RunSet
) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """Yield each control of a set, with gain and explained: runs by targets."""
    rows = run_set.pick(measurements)
    arms = plan.baseline, plan.treatment
    if run_set.group == CORE and (rows["measure"] == _WITH_N).any():
        probes = rows[rows["measure"].isin([_PLAIN, _WITH_N])]
        pairs = pair_runs(probes, *arms, run_set)
        gain = _changes(pairs, _PLAIN)
        yield "log_n", gain, gain - _changes(pairs, _WITH_N)
    probes = rows[rows["measure"] == _PLAIN]
    for scale in SCALES:
        operator = f"{plan.treatment}-{scale}"
        if {operator, *arms} <= set(run_set.operators):
            gain = _changes(pair_runs(probes, *arms, run_set), _PLAIN)
            pairs = pair_runs(probes, plan.baseline, operator, run_set)
            yield scale, gain, _changes(pairs, _PLAIN)


def _changes(pairs: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return the changes of R2: runs by targets, and their ``mean``."""
    rows = pairs[(pairs["measure"] == measure) & ~pairs["constant"]]
    rows = rows.assign(effect=rows["treatment"] - rows["baseline"])
    changes = spread(rows, ["target"], "effect")
    changes.insert(0, MEAN, changes.mean(axis=1))
    return changes


def _scopes(runs: pd.DataFrame) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    yield {"scope": "all", "backbone": "", "dataset": ""}, runs
    for backbone, part in runs.groupby("backbone"):
        yield {"scope": "backbone", "backbone": str(backbone), "dataset": ""}, part
        for dataset, cell in part.groupby("dataset"):
            key = {"scope": "cell", "backbone": str(backbone), "dataset": str(dataset)}
            yield key, cell


def _shares(
    gains: pd.DataFrame, explained: pd.DataFrame, draws: int, seed: int
) -> pd.DataFrame:
    """Return one row a target that varies in the runs of ``gains``."""
    tables = []
    for gain in by_runs(gains):
        given = explained.loc[gain.index, gain.columns].to_numpy()
        keys = gain.index.to_frame(index=False)
        shape = shape_of(keys)
        points = _quantities(gain.to_numpy().mean(axis=0), given.mean(axis=0))
        drawn = _quantities(
            resample(gain.to_numpy(), shape, draws, seed),
            resample(given, shape, draws, seed),
        )
        table = pd.DataFrame({"target": gain.columns, **points})
        for name, values in drawn.items():
            table[f"{name}_low"], table[f"{name}_high"] = percentiles(values)
        none = (table["gain_low"] <= 0) & (table["gain_high"] >= 0)
        table.loc[none, ["share", "share_low", "share_high"]] = np.nan
        cells = len(keys[["backbone", "dataset"]].drop_duplicates())
        tables.append(table.assign(seeds=keys["seed"].nunique(), cells=cells))
    return pd.concat(tables).sort_values("target", ignore_index=True)


def _quantities(
    gain: NDArray[np.float64], explained: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    share = np.divide(explained, gain, out=np.full_like(gain, np.nan), where=gain != 0)
    values = (gain, explained, share, gain - explained)
    return dict(zip(QUANTITIES, values, strict=True))
