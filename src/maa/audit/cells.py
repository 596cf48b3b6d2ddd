"""Tables of single texts and models, one below the other."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from maa.files import read_table


def read_cells(paths: Sequence[Path]) -> pd.DataFrame:
    """Read tables at ``…/{dataset}/{backbone}/{table}.parquet``.

    Returns:
        All rows, with the text's name (``dataset``) and the model's (``backbone``) in
        front.
    """
    found = []
    for path in paths:
        table = read_table(path).drop(columns="model", errors="ignore")
        table.insert(0, "backbone", path.parent.name)
        table.insert(0, "dataset", path.parent.parent.name)
        found.append(table)
    return pd.concat(found, ignore_index=True)
