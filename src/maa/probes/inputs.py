"""Reading what the probes need: a representation and the targets of its queries."""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from maa.errors import UserError
from maa.files import read_table, read_tensors
from maa.probes.recovery import ProbeData


def read_data(
    representation: str | Path, targets: str | Path, part: str = "test"
) -> ProbeData:
    """Return inputs and targets of the queries of ``part``.

    Args:
        representation: safetensors with ``{part}_z`` [queries, d], ``{part}_c``
            [queries, k] and ``{part}_keys`` [queries, e].
        targets: Parquet with ``part``, ``query`` (0, 1, ...), one column a target, and
            ``support_`` columns, which are not read.
        part: "validation" or "test".

    Raises:
        UserError: if a file lacks something, holds a NaN or infinity, or the two
            disagree on the number of queries.
    """
    z, c, keys = _read_inputs(representation, part)
    table = read_targets(targets, part)
    if not len(z) == len(c) == len(table):
        raise UserError(
            f"{representation} has {len(z)} rows of z and {len(c)} of c for {part}, "
            f"but {targets} has {len(table)} queries; make both again from one stream"
        )
    values = table.to_numpy(dtype=np.float64)
    _check_finite(values, targets, f"the targets of {part}")
    return ProbeData(z, c, keys, values, tuple(table.columns))


def _read_inputs(path: str | Path, part: str) -> tuple[NDArray[np.float32], ...]:
    tensors, _ = read_tensors(path)
    arrays = []
    for name in (f"{part}_z", f"{part}_c", f"{part}_keys"):
        if name not in tensors or tensors[name].ndim != 2:
            raise UserError(
                f"{path} has no matrix {name!r}; make the representation again"
            )
        _check_finite(tensors[name], path, repr(name))
        arrays.append(tensors[name])
    return tuple(arrays)


def read_targets(path: str | Path, part: str) -> pd.DataFrame:
    """Return the targets of a part's queries, one column each, in order.

    Raises:
        UserError: if the table lacks its keys, or the part's queries have a gap.
    """
    table = read_table(path)
    if not {"part", "query"} <= set(table.columns):
        raise UserError(
            f"{path} lacks the columns 'part' and 'query'; make the targets again"
        )
    rows = table[table["part"] == part].sort_values("query")
    if not np.array_equal(rows["query"], np.arange(len(rows))) or rows.empty:
        raise UserError(
            f"the queries of {path} for {part} are not 0, 1, 2, ... without a gap; "
            "make the targets again"
        )
    support = [name for name in rows.columns if name.startswith("support_")]
    return rows.drop(columns=["part", "query", *support])


def _check_finite(values: NDArray[np.floating], path: str | Path, what: str) -> None:
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(np.nonzero(bad.any(axis=1))[0][0])
        raise UserError(
            f"{path} holds {int(bad.sum())} values in {what} that are NaN or infinite, "
            f"the first in row {row}; expected finite numbers: look at the step that "
            "made it (a diverged training, for example)"
        )
