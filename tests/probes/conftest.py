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
def files(tmp_path: Path) -> Callable[..., tuple[Path, Path]]:
    """Write a representation and targets of some parts, targets in shuffled order."""

    def write(data: ProbeData, *parts: str) -> tuple[Path, Path]:
        representation = tmp_path / "representation.safetensors"
        targets = tmp_path / "targets.parquet"
        held = {"z": data.z, "c": data.c, "keys": data.keys}
        tensors = {f"{part}_{k}": v for part in parts for k, v in held.items()}
        write_tensors(representation, tensors)
        table = pd.DataFrame(data.targets, columns=list(data.names))
        table.insert(0, "query", np.arange(len(table)))
        table["support_linear"] = True
        other = table.assign(part="elsewhere", linear=np.nan)
        mixed = table.sample(frac=1, random_state=0)
        shuffled = [mixed.assign(part=part) for part in parts]
        write_table(targets, pd.concat([*shuffled, other]))
        return representation, targets

    return write
