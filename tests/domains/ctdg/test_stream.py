"""The prepared stream: its file, its queries, and when a destination was last met."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from maa.domains.ctdg.stream import EventStream
from maa.errors import UserError
from maa.files import write_tensors
from tests.domains.ctdg.small_streams import make_stream, random_stream


@pytest.fixture
def stream() -> EventStream:
    return make_stream(
        [0, 1, 0, 1, 0, 0],
        [2, 3, 3, 3, 4, 2],
        [0, 5, 5, 8, 9, 9],
        sources=2,
        nodes=5,
        depth=2,
        train_end=3,
        validation_end=4,
        negatives={"test_unseen": [3, 4], "test_historical": [-1, 3]},
    )


def test_queries_are_events_followed_by_their_negatives(stream: EventStream) -> None:
    queries = stream.queries("test")
    assert queries.row.tolist() == [4, 4, 5, 5]
    assert queries.destination.tolist() == [4, 3, 2, 4]
    assert queries.label.tolist() == [1, 0, 1, 0]
    assert queries.row.dtype == queries.destination.dtype == np.int32
    assert queries.label.dtype == np.int8


def test_queries_leave_out_events_without_a_negative(stream: EventStream) -> None:
    queries = stream.queries("test", "historical")
    assert queries.row.tolist() == [5, 5]
    assert queries.destination.tolist() == [2, 3]
    assert queries.label.tolist() == [1, 0]


def test_unknown_parts_and_kinds_are_named(stream: EventStream) -> None:
    with pytest.raises(ValueError, match="validation, test, got 'train'"):
        stream.queries("train")
    with pytest.raises(ValueError, match="got 'seen'"):
        stream.queries("test", "seen")


def test_last_event_of_a_destination_goes_by_rows(stream: EventStream) -> None:
    found = stream.last_event([2, 3, 3, 3, 4, 2], [5, 2, 3, 1, 4, 6])
    # Row 2 sees row 1 although both are at time 5; item 4's first event is row 4.
    np.testing.assert_array_equal(found, [0, 5, 5, np.nan, np.nan, 9])


def test_last_event_keeps_the_shape_of_its_arguments(stream: EventStream) -> None:
    found = stream.last_event([[2, 3], [4, 2]], [[3], [5]])
    np.testing.assert_array_equal(found, [[0, 5], [9, 0]])


@pytest.mark.parametrize("bipartite", [True, False])
def test_last_event_of_random_streams(bipartite: bool) -> None:
    stream = random_stream(200, bipartite=bipartite, seed=8)
    rng = np.random.default_rng(0)
    nodes, rows = rng.choice(stream.pool, 300), rng.integers(0, 201, 300)
    met = stream.destination[:, None] == nodes
    if not bipartite:
        met |= stream.source[:, None] == nodes
    wanted = [
        stream.time[:row][column[:row]][-1] if column[:row].any() else np.nan
        for column, row in zip(met.T, rows, strict=True)
    ]
    np.testing.assert_array_equal(stream.last_event(nodes, rows), wanted)


def test_a_saved_stream_comes_back_whole(stream: EventStream, tmp_path: Path) -> None:
    stream.save(tmp_path / "one.safetensors")
    again = EventStream.load(tmp_path / "one.safetensors")
    for field in fields(EventStream):
        mine, other = getattr(stream, field.name), getattr(again, field.name)
        np.testing.assert_array_equal(mine, other, err_msg=field.name)
        assert np.asarray(mine).dtype == np.asarray(other).dtype, field.name
    again.save(tmp_path / "two.safetensors")
    one, two = (tmp_path / f"{name}.safetensors" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


def test_another_file_is_no_stream(tmp_path: Path) -> None:
    write_tensors(tmp_path / "x.safetensors", {"source": np.zeros(3, np.int32)})
    with pytest.raises(UserError, match=r"x\.safetensors is not a prepared .* lacks"):
        EventStream.load(tmp_path / "x.safetensors")
