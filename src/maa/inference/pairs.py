"""Pair each run of the treatment with its baseline, and refuse gaps.

The test and the bootstrap both need a whole grid: every backbone on every data set with
every seed under both operators. A hole would quietly change what is averaged, so it is
an error that names the runs.
"""

import pandas as pd

from maa.errors import UserError
from maa.inference.collect import COLUMNS, RUN_KEYS

_SHOWN = 5


def pair_runs(
    measurements: pd.DataFrame, baseline: str, treatment: str
) -> pd.DataFrame:
    """Put the two arms of each run side by side.

    Args:
        measurements: long form, with the columns of `maa.inference.collect.COLUMNS`.
        baseline: name of the operator to compare with, such as ``p1.00``.
        treatment: name of the operator that is tested, such as ``p1.10``.

    Returns:
        One row a (domain, dataset, backbone, seed, measure, target), with ``constant``
        and the values ``baseline`` and ``treatment``.

    Raises:
        UserError: if an arm is absent, a run lacks its partner, a value is not finite,
        or
            a target is constant in one run and not in another of the same data.
    """
    absent = [column for column in COLUMNS if column not in measurements.columns]
    if absent:
        raise UserError(
            f"the measurements lack the columns {absent}; collect them again"
        )
    arms = _select_arms(measurements, baseline, treatment)
    _refuse_gaps(arms)
    _refuse_mixed_constants(arms)
    index = ["domain", "dataset", "backbone", "seed", "measure", "target", "constant"]
    wide = arms.pivot(index=index, columns="operator", values="value").reset_index()
    wide.columns.name = None
    return wide.rename(columns={baseline: "baseline", treatment: "treatment"})


def _select_arms(
    measurements: pd.DataFrame, baseline: str, treatment: str
) -> pd.DataFrame:
    if baseline == treatment:
        raise UserError(
            f"baseline and treatment are both {baseline!r}; name two operators"
        )
    have = sorted(measurements["operator"].unique())
    for role, operator in (("baseline", baseline), ("treatment", treatment)):
        if operator not in have:
            raise UserError(
                f"no run used the {role} operator {operator!r} (there are {have}); run "
                "it, or name one of these"
            )
    arms = measurements[measurements["operator"].isin([baseline, treatment])]
    broken = arms[~arms["value"].abs().lt(float("inf"))]
    if len(broken):
        raise UserError(
            f"these measurements are not finite: {_names(broken)}; mend or repeat the "
            "runs"
        )
    return arms


def _refuse_gaps(arms: pd.DataFrame) -> None:
    for _, rows in arms.groupby("domain"):
        grid = [sorted(rows[key].unique()) for key in RUN_KEYS]
        runs = pd.MultiIndex.from_product(grid, names=list(RUN_KEYS))
        for (measure, target), part in rows.groupby(["measure", "target"]):
            present = pd.MultiIndex.from_frame(part[list(RUN_KEYS)])
            missing = runs.difference(present).to_frame(index=False)
            if len(missing):
                missing["measure"] = str(measure)
                missing["target"] = str(target)
                raise UserError(
                    f"these runs are missing from the grid: {_names(missing)}; run "
                    "them, or leave their data set, backbone or seed out"
                )
            if len(present) > len(runs):
                doubled = part[part.duplicated(list(RUN_KEYS))]
                raise UserError(
                    f"these measurements occur twice: {_names(doubled)}; collect again"
                )


def _refuse_mixed_constants(arms: pd.DataFrame) -> None:
    keys = ["domain", "dataset", "target"]
    kinds = arms.groupby(keys)["constant"].nunique()
    mixed = kinds[kinds > 1]
    if len(mixed):
        raise UserError(
            f"the target {mixed.index[0]} (domain, data set, name) is constant in some "
            "runs and not in others, but targets depend on the data alone; repeat the "
            "probes of that data set"
        )


def _names(rows: pd.DataFrame) -> str:
    """Name the first few measurements as ``domain/.../seed (measure target)``."""
    names = [
        "/".join(str(row[key]) for key in RUN_KEYS)
        + f" ({row['measure']} {row['target']}".rstrip()
        + ")"
        for _, row in rows.head(_SHOWN).iterrows()
    ]
    more = len(rows) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
