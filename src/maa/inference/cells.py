"""Effects of the runs and of the cells (paper 4.3: the cell is the unit of inference).

A cell is (domain, data set, backbone); its value is the mean over its seeds. Rows with
an empty ``target`` are aggregate endpoints, the others single statistics under one
probe.
"""

import pandas as pd

from maa.errors import UserError
from maa.inference.endpoints import Endpoint, endpoints_of, is_validation

QUANTITY = ["domain", "endpoint", "target"]
_RUN = ["domain", "dataset", "backbone", "seed"]
_COLUMNS = [*_RUN, "endpoint", "target", "constant", "baseline", "treatment"]


def run_effects(pairs: pd.DataFrame, complete: bool = True) -> pd.DataFrame:
    """Compute every tested quantity for every pair of runs.

    What was measured on validation queries is left out: it chooses, and is not tested.

    Args:
        pairs: what `maa.inference.pairs.pair_runs` returns.
        complete: whether every primary endpoint must be there (some operators are not
            given every probe).

    Returns:
        One row a (domain, dataset, backbone, seed, endpoint, target), with
        ``constant``, ``baseline``, ``treatment`` and ``effect`` = treatment - baseline.

    Raises:
        UserError: if the measure of a primary endpoint is absent though all must be
            there, or all targets of a data set are constant.
    """
    pairs = pairs[~is_validation(pairs["measure"])]
    parts = [pairs[pairs["target"] != ""].rename(columns={"measure": "endpoint"})]
    for domain, rows in pairs.groupby("domain"):
        for endpoint in endpoints_of(str(domain)):
            parts.append(_endpoint_runs(rows, endpoint, complete))
    table = pd.concat([part[_COLUMNS] for part in parts if len(part)])
    table["effect"] = table["treatment"] - table["baseline"]
    order = [*QUANTITY, "backbone", "dataset", "seed"]
    return table.sort_values(order, ignore_index=True)


def cell_effects(runs: pd.DataFrame) -> pd.DataFrame:
    """Average the seeds of each cell.

    Returns:
        One row a (domain, dataset, backbone, endpoint, target): the means ``baseline``
        and ``treatment``, their difference ``effect``, the number of ``seeds``,
        ``constant``.
    """
    keys = [*QUANTITY, "backbone", "dataset"]
    cells = runs.groupby(keys, as_index=False).agg(
        baseline=("baseline", "mean"),
        treatment=("treatment", "mean"),
        seeds=("seed", "size"),
        constant=("constant", "first"),
    )
    cells["effect"] = cells["treatment"] - cells["baseline"]
    return cells


def _endpoint_runs(
    pairs: pd.DataFrame, endpoint: Endpoint, complete: bool
) -> pd.DataFrame:
    rows = pairs[pairs["measure"] == endpoint.measure]
    if rows.empty and endpoint.primary and complete:
        raise UserError(
            f"the measure {endpoint.measure!r} of the endpoint {endpoint.name!r} is in "
            f"no run of the domain {pairs['domain'].iloc[0]!r}; run the step that "
            "makes it"
        )
    if endpoint.targets == "informative":
        _refuse_all_constant(rows, endpoint)
        rows = rows[~rows["constant"]]
    means = rows.groupby(_RUN, as_index=False)[["baseline", "treatment"]].mean()
    return means.assign(endpoint=endpoint.name, target="", constant=False)


def _refuse_all_constant(rows: pd.DataFrame, endpoint: Endpoint) -> None:
    bare = rows.groupby("dataset")["constant"].all()
    if bare.any():
        raise UserError(
            f"all targets of the data set {bare[bare].index[0]!r} are constant, so "
            f"that {endpoint.name!r} has nothing to average; leave the data set out"
        )
