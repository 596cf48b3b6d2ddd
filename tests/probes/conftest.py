"""Planted representations, in memory and in files."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from maa.files import write_table, write_tensors
from maa.probes.recovery import ProbeData
from tests.probes.planted import planted


@pytest.fixture
def data() -> ProbeData:
    return planted()


@pytest.fixture
def files(tmp_path: Path) -> Callable[[ProbeData, str], tuple[Path, Path]]:
    """Write a representation and targets, targets in shuffled order."""

    def write(data: ProbeData, part: str) -> tuple[Path, Path]:
        representation = tmp_path / "representation.safetensors"
        targets = tmp_path / "targets.parquet"
        write_tensors(representation, {f"{part}_z": data.z, f"{part}_c": data.c})
        table = pd.DataFrame(data.targets, columns=list(data.names))
        table.insert(0, "query", np.arange(len(table)))
        table.insert(0, "part", part)
        table["support_linear"] = True
        other = table.assign(part="elsewhere", linear=np.nan)
        shuffled = pd.concat([table.sample(frac=1, random_state=0), other])
        write_table(targets, shuffled)
        return representation, targets

    return write
