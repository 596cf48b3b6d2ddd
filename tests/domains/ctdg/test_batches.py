"""What is gathered about event rows, on five events by hand."""

import torch

from maa.domains.ctdg.batches import NEVER_MET, collect
from tests.domains.ctdg.small_streams import make_stream

STREAM = make_stream(
    [0, 0, 1, 0, 0], [2, 3, 2, 3, 2], [0.0, 4.0, 4.0, 10.0, 11.0],
    sources=2, nodes=4, depth=2, train_end=3, validation_end=4,
)  # fmt: skip


def test_what_is_gathered():
    batch = collect(STREAM, [4, 1, 2], [[2, 3], [3, 2], [2, 3]])
    assert batch.source.tolist() == [0, 0, 1]
    assert batch.time.tolist() == [11.0, 4.0, 4.0]
    assert batch.valid.tolist() == [[True, True], [False, True], [False, False]]
    assert batch.neighbour.tolist() == [[3, 3], [0, 2], [0, 0]]
    assert batch.age.tolist() == [[7.0, 1.0], [0.0, 4.0], [0.0, 0.0]]
    # Row 2 shares its time with row 1, which it follows: item 3 was met 0 s ago.
    assert batch.elapsed.tolist() == [[7.0, 1.0], [NEVER_MET, 4.0], [4.0, 0.0]]
    assert batch.slots.tolist() == [0, 1, 3]


def test_another_rows_history_comes_with_its_ages_at_its_own_time():
    batch = collect(STREAM, [2], [[2]], history_rows=[3])
    assert (batch.source.tolist(), batch.time.tolist()) == ([1], [4.0])
    assert batch.neighbour.tolist() == [[2, 3]]
    assert batch.age.tolist() == [[10.0, 6.0]]
    assert batch.elapsed.tolist() == [[4.0]]


def test_a_slice_keeps_rows_together():
    batch = collect(STREAM, [4, 1, 2], [[2, 3], [3, 2], [2, 3]])[1:]
    assert len(batch) == 2
    assert batch.source.tolist() == [0, 1]
    assert batch.slots.tolist() == [1]
    assert torch.equal(batch.mask, batch.valid[:, None, :])
