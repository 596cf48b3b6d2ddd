"""JODIE's files, generated in their own format, from an address to the targets."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from maa.config import load
from maa.files import read_json, read_table

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "benchmarks"))

from jodie_files import SHAPES, write_jodie  # noqa: E402
from loading import check, follow, registered, serve, take_through  # noqa: E402
from measured import measure  # noqa: E402

PREPARE: dict[str, Any] = load(ROOT / "config/config.yaml")["domains"]["ctdg"][
    "prepare"
]
SMALL = {
    "wikipedia": replace(SHAPES["wikipedia"], events=4000, users=300, items=100),
    "mooc": replace(SHAPES["mooc"], events=40_000, users=700),
    "lastfm": replace(SHAPES["lastfm"], events=50_000),
}


def small_entry(dataset: str, address: str) -> dict[str, Any]:
    shape = SMALL[dataset]
    counts = {
        "events": shape.events,
        "nodes": shape.users + shape.items,
        "sources": shape.users,
        "destinations": shape.items,
    }
    return registered(dataset, address) | {"counts": counts}


@pytest.mark.parametrize("dataset", SMALL)
def test_the_files_are_as_jodie_writes_them(dataset, tmp_path):
    path, shape = tmp_path / "file.csv", SMALL[dataset]
    events = write_jodie(path, shape)
    with path.open() as file:
        header, first = next(file), next(file)
    assert header.count(",") == 4
    assert first.startswith("0,0,0.0,")
    # read as by one who knows that the header has fewer names than the rows fields
    table = pd.read_csv(path, skiprows=1, header=None)
    assert table.shape == (shape.events, 4 + shape.features)
    assert table[2].dtype == np.float64 and table[0].dtype == np.int64
    np.testing.assert_array_equal(table[[0, 1, 2]], events)
    assert set(table[3]) <= {0, 1}
    for ids, count in ((table[0], shape.users), (table[1], shape.items)):
        assert pd.unique(ids).tolist() == list(range(count))
    if shape.digits is None:
        assert (table.loc[:, 4:] == 0).all(axis=None)
    else:
        assert table.loc[:, 4:].std().between(0.9, 1.1).all()


@pytest.mark.parametrize("dataset", ["wikipedia", "mooc"])
def test_a_smaller_file_goes_all_the_way(dataset, tmp_path):
    shape = SMALL[dataset]
    events = write_jodie(tmp_path / f"{dataset}.csv", shape)
    with serve(tmp_path) as address:
        entry = small_entry(dataset, address)
        take_through(dataset, entry, PREPARE, tmp_path / "out")
    kept = check(tmp_path / "out", events)
    assert kept == min(shape.events, PREPARE["window"])
    summary = read_json(tmp_path / "out" / "summary.json")
    tested = summary["test"]["events"]
    assert tested == pytest.approx(0.3 * kept, abs=1)
    targets = read_table(tmp_path / "out" / "targets.parquet")
    assert (targets["part"] == "test").sum() == 2 * tested


def test_lastfm_at_its_full_size_shows_the_published_counts(tmp_path):
    costs, kept = follow("lastfm", SHAPES["lastfm"], PREPARE, tmp_path)
    assert kept == PREPARE["window"]
    assert list(costs) == ["download", "prepare", "targets"]
    for cost in costs.values():
        assert cost.cpu < 60
        assert 0.01 < cost.gibibytes < 4


def test_a_file_with_a_user_less_is_refused(tmp_path):
    shape = replace(SMALL["mooc"], users=699)
    write_jodie(tmp_path / "mooc.csv", shape)
    wrong = r"mooc has 796 nodes where 797 are published, 699 sources where 700"
    with serve(tmp_path) as address, pytest.raises(SystemExit, match=wrong):
        entry = small_entry("mooc", address)
        take_through("mooc", entry, PREPARE, tmp_path / "out")


def test_the_check_notices_an_event_of_another_user(tmp_path):
    events = write_jodie(tmp_path / "mooc.csv", SMALL["mooc"])
    with serve(tmp_path) as address:
        entry = small_entry("mooc", address)
        take_through("mooc", entry, PREPARE, tmp_path / "out")
    events.iloc[-1, 0] = events.iloc[-2, 0] + 1
    with pytest.raises(SystemExit, match="source is not what the file holds"):
        check(tmp_path / "out", events)


def test_a_commands_memory_is_its_own():
    ballast = np.ones(60_000_000)
    light = measure([sys.executable, "-c", "print('out of the way')"], {})
    heavy = measure([sys.executable, "-c", "x = b'1' * (300 << 20)"], {})
    assert ballast.nbytes > 4e8
    assert light.gibibytes < 0.1
    assert 0.29 < heavy.gibibytes < 0.4
