"""Preparation: window, ids, split, seeds, and what a user can get wrong."""

import json
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from maa.domains.ctdg.prepare import Settings, build, summary
from maa.domains.ctdg.stream import PARTS, EventStream
from maa.errors import UserError
from maa.files import read_table, write_json
from tests.conftest import ROOT

SETTINGS: dict[str, Any] = {
    "window": 100,
    "test_fraction": 0.3,
    "validation_fraction": 0.1,
    "history": 4,
    "query_seed": 104_729,
}


def table(events: int = 150, seed: int = 0) -> pd.DataFrame:
    """Events of 20 users (ids 0 to 19) and 12 items (ids 20 to 31)."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "source": rng.integers(0, 20, events),
            "destination": rng.integers(20, 32, events),
            "time": np.sort(rng.integers(1000, 9000, events)).astype(float),
        }
    )


def prepared(
    events: pd.DataFrame, bipartite: bool = True, **changes: Any
) -> EventStream:
    return build(events, bipartite, Settings.parse(SETTINGS | changes))


def test_the_last_events_are_kept_and_time_starts_at_zero() -> None:
    events = table()
    stream = prepared(events)
    last = events.iloc[50:]
    assert len(stream) == 100
    assert stream.time.tolist() == (last["time"] - last["time"].iloc[0]).tolist()


def test_a_window_larger_than_the_stream_keeps_all() -> None:
    assert len(prepared(table(), window=10_000)) == 150


@pytest.mark.parametrize(
    ("window", "train_end", "validation_end"), [(100, 63, 70), (32_768, 20_643, 22_937)]
)
def test_split_by_row(window: int, train_end: int, validation_end: int) -> None:
    checked = Settings.parse(SETTINGS)
    assert checked.split(window) == (train_end, validation_end)


def test_a_share_that_floats_cannot_hold_is_not_cut_short() -> None:
    # 10 * (1 - 0.9) is 0.9999999999999998.
    checked = Settings.parse(SETTINGS | {"test_fraction": 0.9})
    assert checked.split(100) == (9, 10)


def test_parts_follow_one_another() -> None:
    stream = prepared(table())
    assert stream.rows("validation").tolist() == list(range(63, 70))
    assert stream.rows("test").tolist() == list(range(70, 100))


def test_bipartite_ids_are_dense_with_sources_first() -> None:
    events = pd.DataFrame(
        {
            "source": [7, 3, 7, 9, 3, 3],
            "destination": [50, 40, 41, 40, 50, 41],
            "time": [0.0, 1, 2, 3, 4, 5],
        }
    )
    stream = prepared(events, window=5, test_fraction=0.4, validation_fraction=0.4)
    assert stream.source.tolist() == [0, 1, 2, 0, 0]
    assert stream.destination.tolist() == [3, 4, 3, 5, 4]
    assert (stream.sources, stream.nodes) == (3, 6)
    assert stream.pool.tolist() == [3, 4, 5]


def test_unipartite_ids_share_one_space() -> None:
    events = pd.DataFrame(
        {
            "source": [9, 4, 9, 4, 2, 9],
            "destination": [4, 4, 7, 9, 7, 2],
            "time": np.arange(6.0),
        }
    )
    stream = prepared(events, False, test_fraction=0.4, validation_fraction=0.4)
    assert stream.source.tolist() == [3, 1, 3, 1, 0, 3]
    assert stream.destination.tolist() == [1, 1, 2, 3, 2, 0]
    assert (stream.sources, stream.nodes) == (0, 4)
    assert stream.pool.tolist() == [0, 1, 2, 3]


def test_the_same_seed_asks_the_same_questions() -> None:
    one, again = prepared(table()), prepared(table())
    for field in fields(EventStream):
        np.testing.assert_array_equal(
            getattr(one, field.name), getattr(again, field.name)
        )
    other = prepared(table(), query_seed=1)
    for part in PARTS:
        assert (one.negatives(part, "random") != other.negatives(part, "random")).any()


def test_each_kind_and_part_draws_from_a_stream_of_its_own() -> None:
    # With nothing met yet, unseen and random ones would be the same draws.
    events = table(150)
    events["source"] = np.arange(150)
    stream = prepared(events, validation_fraction=0.5)
    unseen, random = (stream.negatives("test", kind) for kind in ("unseen", "random"))
    assert (unseen != random).any()
    head = stream.negatives("validation", "random")[: len(random)]
    assert (head != random[: len(head)]).any()


def test_summary_counts_what_fell_short() -> None:
    events = pd.DataFrame(
        {
            "source": [0, 0, 0, 1, 0, 0, 2, 0],
            "destination": [5, 6, 7, 5, 5, 6, 7, 7],
            "time": np.arange(8.0) * 10,
        }
    )
    stream = prepared(events, test_fraction=0.5, validation_fraction=0.25)
    found = summary(stream)
    # In the test part source 0 has met all three items (3 events), source 2 none.
    assert found["test"] == {
        "events": 4,
        "unseen_fallbacks": 3,
        "without_historical": 1,
    }
    assert found["train"] == {"events": 3}
    assert found["validation"]["without_historical"] == 1
    assert (found["sources"], found["destinations"], found["nodes"]) == (3, 3, 6)
    assert found["span_seconds"] == 70
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"window": 0}, "window is 0; expected a whole number of at least 1"),
        ({"window": 1e4}, "window is 10000.0; expected a whole number"),
        ({"window": True}, "window is True"),
        ({"history": 0}, "history is 0; expected a whole number of at least 1"),
        ({"query_seed": -1}, "query_seed is -1"),
        ({"test_fraction": 1}, "test_fraction is 1; expected a number between 0 and 1"),
        ({"test_fraction": float("nan")}, "test_fraction is nan"),
        ({"validation_fraction": 0.0}, "validation_fraction is 0.0"),
        ({"validation_fraction": "0.1"}, "validation_fraction is '0.1'"),
        ({"depth": 3}, "settings are depth, .* expected exactly history, query_seed"),
    ],
)
def test_bad_settings_are_one_sentence(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Settings.parse(SETTINGS | change)


@pytest.mark.parametrize("window", [1, 2])
def test_a_window_too_short_for_three_parts(window: int) -> None:
    with pytest.raises(UserError, match=f"window of {window} events is too short"):
        prepared(table(), window=window)


def test_no_events() -> None:
    with pytest.raises(UserError, match="window of 0 events is too short"):
        prepared(table().iloc[:0])


def test_no_destination_to_sample_a_negative_from() -> None:
    events = table().assign(destination=20)
    with pytest.raises(UserError, match="1 distinct destinations, and event 0"):
        prepared(events)


def test_no_destination_left_in_a_unipartite_stream() -> None:
    # Of the destinations 1 and 2, the source of row 2 is one and its own the other.
    events = pd.DataFrame(
        {"source": [3, 3, 1, 3], "destination": [1, 2, 2, 1], "time": np.arange(4.0)}
    )
    with pytest.raises(UserError, match=r"event 2 .* has no other one"):
        prepared(events, False, test_fraction=0.3, validation_fraction=0.4)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -5.0])
def test_times_must_be_finite_and_ascending(bad: float) -> None:
    events = table()
    events.loc[120, "time"] = bad
    with pytest.raises(UserError, match="not finite and ascending"):
        prepared(events)


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "workflow" / "scripts" / script)]
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, check=False
    )


def test_scripts_from_generated_events_to_targets(tmp_path: Path) -> None:
    parameters = {
        "events": 400,
        "sources": 30,
        "destinations": 15,
        "seed": 1,
        "planted": True,
    }
    source = tmp_path / "source.json"
    record = {"domain": "ctdg", "dataset": "planted", "format": "generated"}
    write_json(source, record | {"parameters": parameters, "files": []})
    stream, targets = tmp_path / "stream.safetensors", tmp_path / "targets.parquet"
    arguments = ["--domain", "ctdg", "--stream", str(stream)]
    done = run(
        "prepare.py",
        *arguments,
        *("--source", str(source)),
        *("--entry", json.dumps({"bipartite": True, "generated": parameters})),
        *("--settings", json.dumps(SETTINGS | {"window": 300})),
        *("--summary", str(tmp_path / "summary.json")),
    )
    assert done.returncode == 0, done.stderr
    assert len(EventStream.load(stream)) == 300
    assert json.loads((tmp_path / "summary.json").read_text())["events"] == 300
    done = run("targets.py", *arguments, "--targets", str(targets))
    assert done.returncode == 0, done.stderr
    found = read_table(targets)
    assert found["part"].value_counts().to_dict() == {"test": 180, "validation": 42}


def test_a_users_error_is_a_sentence_and_leaves_no_file(tmp_path: Path) -> None:
    done = run(
        "prepare.py",
        *("--domain", "ctdg", "--source", str(tmp_path / "source.json")),
        *("--entry", '{"bipartite": true}', "--settings", '{"window": 3}'),
        *("--stream", str(tmp_path / "s"), "--summary", str(tmp_path / "j")),
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: the prepare settings are window; expected")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_negatives_do_not_depend_on_the_history_length() -> None:
    one, other = prepared(table()), prepared(table(), history=9)
    assert other.depth == 9
    for field in fields(EventStream):
        if field.name != "history":
            np.testing.assert_array_equal(
                getattr(one, field.name), getattr(other, field.name)
            )
    assert replace(one, history=other.history).depth == 9
