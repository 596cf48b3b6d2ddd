"""Pair each run of the treatment with its baseline, and refuse gaps.

The test and the bootstrap both need every cell with every seed under both operators. A
hole would quietly change what is averaged, so it is an error that names the runs.
"""

import pandas as pd

from maa.errors import UserError
from maa.inference.collect import COLUMNS, RUN_KEYS
from maa.inference.endpoints import is_validation
from maa.inference.sets import RunSet

_SHOWN = 5
_QUANTITY = ["measure", "target"]


def pair_runs(
    measurements: pd.DataFrame,
    baseline: str,
    treatment: str,
    run_set: RunSet | None = None,
) -> pd.DataFrame:
    """Put the two arms of each run side by side.

    Args:
        measurements: long form, with the columns of `maa.inference.collect.COLUMNS`.
        baseline: name of the operator to compare with, such as ``p1.00``.
        treatment: name of the operator that is tested, such as ``p1.10``.
        run_set: the runs to take, all of which must be there. Without it, all runs
            of the two operators are taken, and in each domain they must be a whole
            grid of data sets, backbones and seeds.

    Returns:
        One row a (domain, dataset, backbone, seed, measure, target), with ``constant``
        and the values ``baseline`` and ``treatment``.

    Raises:
        UserError: if an arm is absent, a run lacks its partner, a value is not finite,
            or a target is constant in one run and not in another of the same data.
    """
    absent = [column for column in COLUMNS if column not in measurements.columns]
    if absent:
        raise UserError(
            f"the measurements lack the columns {absent}; collect them again"
        )
    if run_set is not None:
        measurements = run_set.pick(measurements)
    arms = _select_arms(measurements, baseline, treatment)
    for _, rows in arms.groupby("domain"):
        runs = _grid(rows) if run_set is None else run_set.runs([baseline, treatment])
        check_runs(rows, runs)
    index = ["domain", "dataset", "backbone", "seed", *_QUANTITY, "constant"]
    wide = arms.pivot(index=index, columns="operator", values="value").reset_index()
    wide.columns.name = None
    return wide.rename(columns={baseline: "baseline", treatment: "treatment"})


def check_runs(rows: pd.DataFrame, runs: pd.DataFrame) -> None:
    """Check that every quantity was measured once, to a number, in every run.

    Args:
        rows: measurements of these runs and of no others.
        runs: keys of all the runs, as `maa.inference.sets.RunSet.runs` returns them.

    Raises:
        UserError: naming the first runs that lack a quantity, have it twice, or have a
            value that is not finite; or a target that is constant in some runs only.
    """
    broken = rows[~rows["value"].abs().lt(float("inf"))]
    if len(broken):
        raise UserError(
            f"these measurements are not finite: {_names(broken)}; mend or repeat the "
            "runs"
        )
    doubled = rows[rows.duplicated([*RUN_KEYS, *_QUANTITY])]
    if len(doubled):
        raise UserError(
            f"these measurements occur twice: {_names(doubled)}; collect again"
        )
    _refuse_gaps(rows, runs)
    _refuse_mixed_constants(rows)


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
    return measurements[measurements["operator"].isin([baseline, treatment])]


def _grid(rows: pd.DataFrame) -> pd.DataFrame:
    axes = [sorted(rows[key].unique()) for key in RUN_KEYS]
    return pd.MultiIndex.from_product(axes, names=list(RUN_KEYS)).to_frame(index=False)


def _refuse_gaps(rows: pd.DataFrame, runs: pd.DataFrame) -> None:
    """Refuse a quantity that some of the runs lack; ``rows`` are of these runs only."""
    counts = rows.groupby(_QUANTITY).size()
    short = counts[counts < len(runs)]
    if short.empty:
        return
    measure, target = short.index[0]
    part = rows[(rows["measure"] == measure) & (rows["target"] == target)]
    keys = list(RUN_KEYS)
    present = pd.MultiIndex.from_frame(part[keys])
    missing = runs[~pd.MultiIndex.from_frame(runs[keys]).isin(present)]
    missing = missing.sort_values(keys).assign(measure=measure, target=target)
    raise UserError(
        f"these runs are missing from the grid: {_names(missing)}; run them, or leave "
        "their data set, backbone or seed out"
    )


def _refuse_mixed_constants(rows: pd.DataFrame) -> None:
    """Refuse a target that is constant in some runs of a data set and not in others.

    Whether it is depends on the data and on the part of the queries (validation or
    test), so each part is looked at by itself.
    """
    probes = rows[rows["target"] != ""]
    part = is_validation(probes["measure"]).rename("validation")
    keys = [probes["domain"], probes["dataset"], probes["target"], part]
    kinds = probes["constant"].groupby(keys).nunique()
    mixed = kinds[kinds > 1]
    if len(mixed):
        raise UserError(
            f"the target {mixed.index[0][:3]} (domain, data set, name) is constant in "
            "some runs and not in others, but targets depend on the data alone; repeat "
            "the probes of that data set"
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
