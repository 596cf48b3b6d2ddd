"""How many queries have the observations that a target's formula needs (Table 11)."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from maa.errors import UserError
from maa.files import read_table

SUPPORT = "support_"


def support_shares(paths: Iterable[str | Path]) -> pd.DataFrame:
    """Return the share of supported test queries of each data set and target.

    Args:
        paths: tables of targets, ``.../{domain}/{dataset}/targets.parquet``.

    Returns:
        One row a (domain, dataset, target): ``support``, in [0, 1], and ``queries``.

    Raises:
        UserError: if a table is none of targets, or has no test query.
    """
    parts = [_shares(Path(path)) for path in paths]
    return pd.concat(parts, ignore_index=True)


def _shares(path: Path) -> pd.DataFrame:
    table = read_table(path)
    columns = [name for name in table.columns if name.startswith(SUPPORT)]
    if "part" not in table.columns or not columns:
        raise UserError(
            f"{path} has no column 'part' or none that starts with {SUPPORT!r}; make "
            "the targets again"
        )
    tested = table.loc[table["part"] == "test", columns]
    if tested.empty:
        raise UserError(f"{path} has no test query; make the targets again")
    domain, dataset = path.parts[-3:-1]
    return pd.DataFrame(
        {
            "domain": domain,
            "dataset": dataset,
            "target": [name.removeprefix(SUPPORT) for name in columns],
            "support": tested.mean().to_numpy(dtype=float),
            "queries": len(tested),
        }
    )
