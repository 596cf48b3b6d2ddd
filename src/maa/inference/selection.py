"""Choose the power p on one part of the runs, and see what it does on another (4.2).

Algorithm 2 of the paper: among the powers of a grid whose utility is at least that of
p = 1, less a tolerance, take the one with the best recovery; the smaller p of equals.
Three variants decide what it sees:

- ``leave-one-model-out``: the validation queries of all backbones but one, which is the
  fold; the choice is judged on the test queries of that one.
- ``per-cell``: the validation queries of one cell, which is the fold, judged on its
  test queries.
- ``leaky``: as the first, but on test queries, as a split without a validation part
  leaves no other way. What it selects on belongs to the same queries as what judges it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from maa.errors import UserError
from maa.inference.endpoints import VALIDATION
from maa.inference.pairs import check_runs
from maa.inference.plan import Plan, power_of
from maa.inference.sets import RunSet

SELECTION_COLUMNS = [
    *("domain", "variant", "fold", "operator", "p"),
    *("utility", "utility_base", "recovery", "feasible", "chosen", "cells"),
]
EFFECTS = ("d_auc", "d_shared_linear", "d_pa", "d_margin")
EFFECT_COLUMNS = [
    *("domain", "variant", "fold", "dataset", "backbone", "operator", "p"),
    *EFFECTS,
]
# The domains whose runs have the measures below; the paper chooses p on these alone.
CHOOSING = ("ctdg",)
_CELL = ["dataset", "backbone"]
_ARM = [*_CELL, "operator"]
_RECOVERY = "r2_linear_z"
_TEST = {"utility": "auc_unseen", "recovery": _RECOVERY}
_VALIDATION = {
    "utility": f"{VALIDATION}auc",
    "recovery": f"{VALIDATION}{_RECOVERY}",
}
_PA = "preferential_attachment"


@dataclass(frozen=True)
class Fold:
    """One choice of p.

    Attributes:
        variant: what it selects on; see the module.
        name: the held-out backbone, or ``backbone/dataset``.
        selecting: cells and operators that select, with ``utility`` and ``recovery``.
        judged: the (data set, backbone) cells that the choice is judged on.
    """

    variant: str
    name: str
    selecting: pd.DataFrame
    judged: pd.DataFrame


def choose(powers: pd.DataFrame, tolerance: float) -> pd.DataFrame:
    """Choose one power of a grid (Algorithm 2).

    Args:
        powers: one row a power: ``p`` (1 among them), ``utility``, ``recovery``.
        tolerance: by how much the utility may fall below that of p = 1.

    Returns:
        The rows sorted by p, with ``utility_base`` (that of p = 1), ``feasible`` and
        ``chosen``. If no power is feasible, p = 1 is chosen.
    """
    powers = powers.sort_values("p", ignore_index=True)
    base = powers.loc[powers["p"] == 1, "utility"].item()
    feasible = powers["utility"] >= base - tolerance
    chosen = powers["p"] == 1
    if feasible.any():
        best = powers.loc[feasible, "recovery"].idxmax()  # the first of equals
        chosen = powers.index == best
    return powers.assign(utility_base=base, feasible=feasible, chosen=chosen)


def selection_tables(
    measurements: pd.DataFrame, plan: Plan
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Choose p in every fold of every variant, and judge the choices.

    Args:
        measurements: long form, of all runs.
        plan: settings of the inference, with ``selection``.

    Returns:
        The candidates: one row a (domain, variant, fold, operator), with ``p``, the
        mean ``utility`` and ``recovery`` over the ``cells`` that select,
        ``utility_base``, ``feasible``, ``chosen``. And the choices on test queries: one
        row a (domain, variant, fold, dataset, backbone), with ``operator``, ``p`` and
        the changes against p = 1 of the AUC (``d_auc``), of the mean linear recovery
        (``d_shared_linear``), of that of preferential attachment (``d_pa``; NaN where
        it is constant) and of the context margin (``d_margin``). Both are empty
        where the core has fewer than two powers of the grid, or lacks p = 1.

    Raises:
        UserError: if the plan has no grid, or the runs lack what it needs.
    """
    if plan.selection is None:
        raise UserError(
            "the inference settings have no selection, so that no power can be chosen; "
            "give its grid and utility_tolerance"
        )
    choices, effects = [], []
    for core in plan.cores:
        if core.domain not in CHOOSING:
            continue
        grid = [name for name in plan.selection.grid if name in core.operators]
        if len(grid) < 2 or power_of(grid[0]) != 1:
            continue
        rows = _checked(core.pick(measurements), core, grid)
        outcomes = _outcomes(rows)
        for fold in _folds(rows):
            candidates = _candidates(fold, plan.selection.utility_tolerance)
            key = {"domain": core.domain, "variant": fold.variant, "fold": fold.name}
            choices.append(candidates.assign(**key))
            operator = candidates.loc[candidates["chosen"], "operator"].item()
            effects.append(_judge(fold, outcomes, operator, grid[0]).assign(**key))
    return _table(choices, SELECTION_COLUMNS), _table(effects, EFFECT_COLUMNS)


def _checked(rows: pd.DataFrame, core: RunSet, grid: list[str]) -> pd.DataFrame:
    measures = [*_VALIDATION.values(), *_TEST.values(), "context_margin"]
    rows = rows[rows["operator"].isin(grid) & rows["measure"].isin(measures)]
    absent = sorted(set(measures) - set(rows["measure"]))
    if absent:
        raise UserError(
            f"the measure {absent[0]!r} is in no run of the domain {core.domain!r}, "
            "and p cannot be chosen without it; run the step that makes it"
        )
    check_runs(rows, core.runs(grid))
    return rows


def _folds(rows: pd.DataFrame) -> Iterator[Fold]:
    validation = _cells(rows, _VALIDATION)
    test = _cells(rows, _TEST)
    cells = validation[_CELL].drop_duplicates()
    backbones = sorted(cells["backbone"].unique())
    for variant, seen in (("leave-one-model-out", validation), ("leaky", test)):
        for name in backbones if len(backbones) > 1 else []:
            judged = cells[cells["backbone"] == name]
            yield Fold(variant, name, seen[seen["backbone"] != name], judged)
    for (dataset, backbone), seen in validation.groupby(_CELL):
        judged = seen[_CELL].drop_duplicates()
        yield Fold("per-cell", f"{backbone}/{dataset}", seen, judged)


def _cells(rows: pd.DataFrame, measures: dict[str, str]) -> pd.DataFrame:
    """Return ``utility`` and ``recovery`` of each cell under each operator."""
    means = [
        _mean(rows, measure).rename(columns={"value": name})
        for name, measure in measures.items()
    ]
    cells = means[0].merge(means[1], on=_ARM, how="left", validate="1:1")
    bare = cells[cells["recovery"].isna()]
    if len(bare):
        raise UserError(
            f"all targets of the data set {bare['dataset'].iloc[0]!r} are constant in "
            f"{measures['recovery']!r}, and p cannot be chosen by it; leave the data "
            "set out"
        )
    return cells


def _mean(rows: pd.DataFrame, measure: str, target: str | None = None) -> pd.DataFrame:
    """Average a measure over the seeds of each cell, and over targets that vary."""
    chosen = (rows["measure"] == measure) & ~rows["constant"]
    if target is not None:
        chosen &= rows["target"] == target
    return rows[chosen].groupby(_ARM, as_index=False).agg(value=("value", "mean"))


def _candidates(fold: Fold, tolerance: float) -> pd.DataFrame:
    means = fold.selecting.groupby("operator", as_index=False).agg(
        utility=("utility", "mean"),
        recovery=("recovery", "mean"),
        cells=("utility", "size"),
    )
    means["p"] = means["operator"].map(power_of)
    return choose(means, tolerance)


def _outcomes(rows: pd.DataFrame) -> pd.DataFrame:
    """Return what judges a choice: cell means on test queries; index: cell, operator.

    The columns are `EFFECTS`, of which the changes are yet to be taken.
    """
    outcomes = [
        _mean(rows, _TEST["utility"]),
        _mean(rows, _RECOVERY),
        _mean(rows, _RECOVERY, _PA),
        _mean(rows, "context_margin"),
    ]
    columns = [outcome.set_index(_ARM)["value"] for outcome in outcomes]
    return pd.concat(columns, axis=1, keys=list(EFFECTS))


def _judge(
    fold: Fold, outcomes: pd.DataFrame, operator: str, baseline: str
) -> pd.DataFrame:
    cells = pd.MultiIndex.from_frame(fold.judged)
    after = outcomes.xs(operator, level="operator").loc[cells]
    before = outcomes.xs(baseline, level="operator").loc[cells]
    found = (after - before).reset_index()
    return found.assign(operator=operator, p=power_of(operator))


def _table(parts: list[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
    if not parts:
        return pd.DataFrame(columns=columns)
    return pd.concat(parts, ignore_index=True)[columns]
