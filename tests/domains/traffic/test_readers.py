"""Files of each format, written small, and the real ones where they are."""

import io
import json
import zipfile

import numpy as np
import pytest

from maa.domains.traffic.readers import read_recording
from maa.errors import UserError

RNG = np.random.default_rng(0)
SPEED = np.round(RNG.uniform(10, 70, (9, 3)), 3)
GRAPH = np.array([[1, 0.5, 0, 0], [0.5, 1, 0.2, 0], [0, 0.2, 1, 0], [0, 0, 0, 1.0]])


def write(folder, layout, files, members=()):
    """Write files and the source.json that lists them; return its path."""
    listed = [{"name": name} for name in files]
    for file, member in zip(listed, members, strict=False):
        if member:
            file["member"] = member
    for name, content in files.items():
        (folder / name).write_bytes(content)
    record = {"dataset": "x", "format": layout, "folder": ".", "files": listed}
    source = folder / "source.json"
    source.write_text(json.dumps(record))
    return source


def csv(values, header=""):
    stream = io.StringIO()
    np.savetxt(stream, values, delimiter=",", header=header, comments="", fmt="%.6f")
    return stream.getvalue().encode()


def windows(series):
    """An npz of windows of two in and two out, the second channel a time."""
    starts = range(len(series) - 3)
    pairs = [(series[s : s + 2], series[s + 2 : s + 4]) for s in starts]
    sides = (np.stack(side) for side in zip(*pairs, strict=True))
    x, y = (np.stack([side, 0 * side], -1) for side in sides)
    stream = io.BytesIO()
    np.savez(stream, x=x, y=y)
    return stream.getvalue()


def array(values):
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


@pytest.mark.parametrize("header", ["", "773869,767541,767542"])
def test_a_table_with_and_without_ids(tmp_path, header):
    files = {"speed.csv": csv(SPEED, header), "graph.csv": csv(GRAPH)}
    source = write(tmp_path, "speed-csv", files)
    found = read_recording(source, {"counts": {"sensors": 3, "steps": 9}})
    np.testing.assert_allclose(found.speed, SPEED)
    np.testing.assert_allclose(found.weights, GRAPH[:3, :3])


def test_windows_give_back_the_whole_series(tmp_path):
    # the parts are cut from one run of windows, as the published ones
    files = {
        "train.npz": windows(SPEED[:7]),
        "val.npz": windows(SPEED[4:8]),
        "test.npz": windows(SPEED[5:9]),
        "graph.csv": csv(GRAPH),
    }
    found = read_recording(write(tmp_path, "dcrnn-windows", files), {})
    np.testing.assert_array_equal(found.speed, SPEED)


def test_windows_that_do_not_follow_each_other_are_refused(tmp_path):
    files = {
        "a.npz": windows(SPEED[:5]),
        "b.npz": windows(SPEED[4:]),
        "g.csv": csv(GRAPH),
    }
    source = write(tmp_path, "dcrnn-windows", files)
    with pytest.raises(UserError, match="window 2 does not continue the one before"):
        read_recording(source, {})


def test_an_array_in_an_archive(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("node_values.npy", array(np.stack([SPEED, 0 * SPEED], -1)))
    files = {"m.zip": packed.getvalue(), "graph.csv": csv(GRAPH)}
    source = write(tmp_path, "pyg-temporal", files, ["node_values.npy"])
    np.testing.assert_array_equal(read_recording(source, {}).speed, SPEED)


@pytest.mark.parametrize(
    ("layout", "content", "message"),
    [
        ("speed-csv", b"1,2,x\n3,4,5\n6,y,7\n", "cannot be read as its format says"),
        ("dcrnn-windows", b"not an archive", "cannot be read as its format says"),
        ("hdf", b"", "declared as format 'hdf'; expected one of"),
    ],
)
def test_damaged_files_are_one_sentence(tmp_path, layout, content, message):
    source = write(tmp_path, layout, {"a.npz": content, "graph.csv": csv(GRAPH)})
    with pytest.raises(UserError, match=message):
        read_recording(source, {})


def test_a_missing_file_is_one_sentence(tmp_path):
    source = write(
        tmp_path, "speed-csv", {"a.csv": csv(SPEED), "graph.csv": csv(GRAPH)}
    )
    (tmp_path / "a.csv").unlink()
    with pytest.raises(UserError, match=r"a\.csv is missing; remove it"):
        read_recording(source, {})


def test_the_real_ten_sensors_are_those_of_the_real_week(mirror, tmp_path):
    def recording(layout, *names):
        names = (*names, "los_loop_tgcn/los_adj.csv")
        record = {
            "dataset": "x",
            "format": layout,
            "folder": str(mirror / "traffic"),
            "files": [{"name": name} for name in names],
        }
        source = tmp_path / f"{layout}.json"
        source.write_text(json.dumps(record))
        return read_recording(source, {})

    week = recording("speed-csv", "los_loop_tgcn/los_speed.csv")
    parts = [f"metr_la_10sensors/{part}.npz" for part in ("train", "val", "test")]
    ten = recording("dcrnn-windows", *parts)
    assert week.speed.shape == (2016, 207) and ten.speed.shape == (34272, 10)
    first = ten.speed[:2016]
    known = first > 0
    np.testing.assert_allclose(week.speed[:, :10][known], first[known], atol=1e-6)
    np.testing.assert_allclose(week.weights, week.weights.T)
    assert np.count_nonzero(week.weights) == 2833
