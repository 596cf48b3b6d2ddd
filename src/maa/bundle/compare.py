"""Comparing the results that a bundle ships with those computed anew."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype


@dataclass
class Comparison:
    """How far two sets of results agree.

    Attributes:
        numbers: numbers that were compared.
        largest: the largest relative difference among them.
        differences: what does not agree, one line each.
    """

    numbers: int = 0
    largest: float = 0.0
    differences: list[str] = field(default_factory=list)


def compare(
    shipped: Path, computed: Path, names: list[str], tolerance: float
) -> Comparison:
    """Compare tables (Parquet and CSV) of the same names in two folders.

    Args:
        shipped: the folder of the bundle.
        computed: the folder of the tables computed anew.
        names: the tables' paths in both folders.
        tolerance: the largest relative difference that counts as equal; numbers below
            it in size count as zero.
    """
    found = Comparison()
    for name in names:
        ours = computed / name
        if not ours.exists():
            found.differences.append(f"{name}: was not computed")
            continue
        _tables(name, _read(shipped / name), _read(ours), tolerance, found)
    return found


def _read(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)


def _tables(
    name: str,
    theirs: pd.DataFrame,
    ours: pd.DataFrame,
    tolerance: float,
    found: Comparison,
) -> None:
    if list(theirs.columns) != list(ours.columns) or len(theirs) != len(ours):
        found.differences.append(
            f"{name}: {theirs.shape[0]} rows of {', '.join(theirs.columns)}; computed "
            f"{ours.shape[0]} rows of {', '.join(ours.columns)}"
        )
        return
    for column in theirs.columns:
        a, b = theirs[column], ours[column]
        if is_numeric_dtype(a) and not is_bool_dtype(a) and is_numeric_dtype(b):
            equal = _numbers(a, b, tolerance, found)
        else:
            same = a.astype(str) == b.astype(str)
            equal = (same | (a.isna() & b.isna())).to_numpy(bool)
        for row in np.flatnonzero(~equal)[:3]:
            found.differences.append(
                f"{name}, {column}, row {row}: {a.iloc[row]}; computed {b.iloc[row]}"
            )


def _numbers(
    theirs: pd.Series, ours: pd.Series, tolerance: float, found: Comparison
) -> np.ndarray:
    a, b = theirs.to_numpy(float), ours.to_numpy(float)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    size = np.maximum(np.maximum(np.abs(a), np.abs(b)), tolerance)
    with np.errstate(invalid="ignore"):
        relative = np.where(same, 0.0, np.abs(a - b) / size)
    found.numbers += a.size
    finite = relative[np.isfinite(relative)]
    found.largest = max([found.largest, *finite.max(initial=0.0, keepdims=True)])
    return np.asarray(relative <= tolerance)
