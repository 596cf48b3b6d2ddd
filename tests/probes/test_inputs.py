"""Reading representations and targets."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from maa.errors import UserError
from maa.files import read_table, write_table, write_tensors
from maa.probes.inputs import read_data
from maa.probes.recovery import ProbeData

Files = Callable[..., tuple[Path, Path]]


def test_queries_come_in_order_and_from_their_part_alone(
    data: ProbeData, files: Files
) -> None:
    read = read_data(*files(data, "validation"), "validation")
    np.testing.assert_array_equal(read.targets, data.targets)
    np.testing.assert_array_equal(read.z, data.z)
    np.testing.assert_array_equal(read.c, data.c)
    assert read.names == data.names


def test_inputs_put_z_and_c_side_by_side(data: ProbeData) -> None:
    np.testing.assert_array_equal(data.inputs("z"), data.z.astype(np.float64))
    np.testing.assert_array_equal(data.inputs("zc"), np.hstack([data.z, data.c]))
    logs = np.log1p(data.keys)
    np.testing.assert_array_equal(data.inputs("zn"), np.hstack([data.z, logs]))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("tensor", ["z", "c"])
def test_inputs_that_are_not_finite_are_refused(
    data: ProbeData, files: Files, tensor: str, value: float
) -> None:
    broken = getattr(data, tensor).copy()
    broken[[7, 9], 1] = value
    representation, targets = files(replace(data, **{tensor: broken}), "test")
    message = f"{representation} holds 2 values in 'test_{tensor}' .* in row 7"
    with pytest.raises(UserError, match=message):
        read_data(representation, targets)


def test_targets_that_are_not_finite_are_refused(data: ProbeData, files: Files) -> None:
    broken = data.targets.copy()
    broken[3, 0] = np.nan
    representation, targets = files(replace(data, targets=broken), "test")
    with pytest.raises(UserError, match=f"{targets} holds 1 values in the targets"):
        read_data(representation, targets)


def test_an_absent_part_is_refused(data: ProbeData, files: Files) -> None:
    representation, targets = files(data, "validation")
    with pytest.raises(UserError, match=f"{representation} has no matrix 'test_z'"):
        read_data(representation, targets)
    held = {"test_z": data.z, "test_c": data.c, "test_keys": data.keys}
    write_tensors(representation, held)
    with pytest.raises(UserError, match=f"queries of {targets} for test are not 0"):
        read_data(representation, targets)


def test_a_flat_representation_is_refused(data: ProbeData, files: Files) -> None:
    representation, targets = files(data, "test")
    write_tensors(representation, {"test_z": data.z[:, 0], "test_c": data.c})
    with pytest.raises(UserError, match="has no matrix 'test_z'"):
        read_data(representation, targets)


def test_files_of_two_streams_are_refused(data: ProbeData, files: Files) -> None:
    representation, targets = files(data, "test")
    held = {"test_z": data.z, "test_c": data.c, "test_keys": data.keys}
    write_tensors(representation, {name: rows[:-2] for name, rows in held.items()})
    with pytest.raises(UserError, match=r"398 rows of z and 398 of c .* 400 queries"):
        read_data(representation, targets)


def test_targets_with_a_gap_or_without_keys_are_refused(
    data: ProbeData, files: Files
) -> None:
    representation, targets = files(data, "test")
    table = read_table(targets)
    write_table(targets, table[table["query"] != 5])
    with pytest.raises(UserError, match=r"are not 0, 1, 2, \.\.\. without a gap"):
        read_data(representation, targets)
    write_table(targets, table.drop(columns="query"))
    with pytest.raises(UserError, match="lacks the columns 'part' and 'query'"):
        read_data(representation, targets)
