"""Every operator of a set of runs against its baseline, over all cells and by backbone.

These comparisons are exploratory: each has its exact p, and none is corrected for how
many there are.
"""

from collections.abc import Iterator, Sequence

import pandas as pd

from maa.inference.cells import QUANTITY, cell_effects, run_effects
from maa.inference.endpoints import label_of
from maa.inference.pairs import pair_runs
from maa.inference.plan import Plan
from maa.inference.summary import summarise

NORMALISED = "-l2"
_ARMS = {"baseline": "baseline_mean", "treatment": "treatment_mean"}


def comparisons(operators: Sequence[str], baseline: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs (baseline, treatment) that a set of operators allows.

    Every other operator is compared with ``baseline``; operators that normalise their
    output are also compared with the normalised baseline, as theirs is a matched
    control: with one head the two are the same function.
    """
    for operator in operators:
        if operator != baseline:
            yield baseline, operator
    matched = baseline + NORMALISED
    if matched in operators:
        for operator in operators:
            if operator.endswith(NORMALISED) and operator != matched:
                yield matched, operator


def contrast_runs(
    measurements: pd.DataFrame, plan: Plan
) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Yield the effects of the runs of every comparison of every set.

    A measure that one arm was never given (only some operators get a forest probe) is
    left out; one that an arm was given in some runs only is a gap.

    Args:
        measurements: long form, of all runs.
        plan: settings of the inference.

    Yields:
        The comparison's ``group``, ``baseline`` and ``treatment``, and what
        `maa.inference.cells.run_effects` returns.

    Raises:
        UserError: if an arm is absent, or runs have gaps.
    """
    for run_set in plan.sets:
        rows = run_set.pick(measurements)
        for baseline, treatment in comparisons(run_set.operators, plan.baseline):
            arms = rows[rows["operator"].isin([baseline, treatment])]
            given = arms.groupby("measure")["operator"].nunique()
            shared = arms[arms["measure"].isin(given.index[given == 2])]
            # An arm that was never run shares nothing: let the pairing name it.
            pairs = pair_runs(
                shared if len(shared) else rows, baseline, treatment, run_set
            )
            key = {"group": run_set.group, "baseline": baseline, "treatment": treatment}
            yield key, run_effects(pairs, complete=False)


def contrast_tables(
    measurements: pd.DataFrame, plan: Plan
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Summarise every comparison of every set.

    Args:
        measurements: long form, of all runs.
        plan: settings of the inference.

    Returns:
        The contrasts: one row a (group, baseline, treatment, backbone, domain,
        endpoint, target), where baseline and treatment name the operators and backbone
        is empty for all cells of the group; ``label``, and the columns of
        `maa.inference.summary.summarise`, its means called ``baseline_mean`` and
        ``treatment_mean``. And the effects of the cells behind those of all backbones.

    Raises:
        UserError: if an arm is absent, or runs have gaps.
    """
    contrasts, cells = [], []
    for key, runs in contrast_runs(measurements, plan):
        cells.append(_named(cell_effects(runs), key))
        for backbone, part in _by_backbone(runs):
            table = _named(summarise(part, plan.draws, plan.seed), key)
            table.insert(3, "backbone", backbone)
            contrasts.append(table)
    table = pd.concat(contrasts, ignore_index=True)
    names = table[QUANTITY].itertuples(index=False, name=None)
    position = list(table.columns).index("target") + 1
    table.insert(position, "label", [label_of(*name) for name in names])
    order = ["group", "baseline", "treatment", "domain", "dataset", "backbone"]
    order += ["endpoint", "target", *_ARMS.values(), "effect", "seeds", "constant"]
    return table, pd.concat(cells, ignore_index=True)[order]


def _by_backbone(runs: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    yield "", runs
    for backbone, part in runs.groupby("backbone"):
        yield str(backbone), part


def _named(table: pd.DataFrame, key: dict[str, str]) -> pd.DataFrame:
    table = table.rename(columns=_ARMS)
    for position, (name, value) in enumerate(key.items()):
        table.insert(position, name, value)
    return table
