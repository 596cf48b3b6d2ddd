"""Checkpoints followed, and a fall of entropy put down to sink and content."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
import torch

from maa.attention.rows.entropy import EntropyParts, entropy_parts
from maa.audit.audit import audit
from maa.audit.dynamics import (
    CHANNELS,
    MEASURES,
    RULES,
    Course,
    fall_shares,
    follow,
    highest,
)
from maa.audit.models import Pretrained
from maa.audit.texts import passages
from maa.errors import UserError
from tests.small_transformers import small_model, small_tokenizer, text

pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'maa[rows]'"
)
STEPS = [0, 1, 4]
FIRST_ROW = 3


def at(step: int) -> Pretrained:
    """A model whose attention gets sharper with the step."""
    model = small_model("gpt_neox", scale=1 + step)
    return Pretrained("small", model, small_tokenizer(), True)


def read() -> list[list[int]]:
    return passages(small_tokenizer(), [text(42)], 14)


@pytest.fixture(scope="module")
def course() -> Iterator[Course]:
    yield follow(at, STEPS, read(), first_row=FIRST_ROW, report=lambda _: None)


def test_measures_are_those_of_an_audit(course: Course) -> None:
    assert course.heads.shape == (3 * 3 * 12 * len(MEASURES), 6)
    wide = course.heads.pivot(
        index=["step", "text", "layer", "head"], columns="measure", values="value"
    )
    for step in STEPS:
        told = audit(at(step), read(), first_row=FIRST_ROW, report=lambda _: None)
        expected = told.set_index(["text", "layer", "head"])[list(MEASURES)]
        pd.testing.assert_frame_equal(
            wide.loc[step][list(MEASURES)], expected, atol=1e-5, check_names=False
        )
        losses = told.groupby("text")["loss"].first()
        found = course.losses.query("step == @step")["loss"]
        np.testing.assert_allclose(found, losses, rtol=1e-5)


def test_the_highest_entropy_is_that_of_all_heads() -> None:
    values = [(0, 0, 1.0), (0, 1, 2.0), (2, 0, 3.5), (2, 1, 0.0), (5, 0, 2.0)]
    table = pd.DataFrame(values, columns=["step", "head", "value"])
    others = table.assign(measure="sink_share", value=9.0 - table["step"])
    table = pd.concat([others, table.assign(measure="entropy")])
    assert highest(table) == 5


def test_channels_add_up_to_the_change_of_entropy(course: Course) -> None:
    pairs = course.changes[["start", "end"]].drop_duplicates()
    assert sorted(map(tuple, pairs.to_numpy())) == [(0, 1), (0, 4), (1, 4)]
    keys = ["text", "layer", "head"]
    entropy = course.heads.query("measure == 'entropy'").set_index(["step", *keys])
    for (start, end, _), part in course.changes.groupby(["start", "end", "rule"]):
        change = entropy["value"].loc[end] - entropy["value"].loc[start]
        assert change.abs().max() > 0.01
        pd.testing.assert_series_equal(
            part.groupby(keys)["value"].sum(), change, atol=1e-9
        )


def test_the_midpoint_is_between_both_orders(course: Course) -> None:
    keys = ["start", "end", "text", "layer", "head", "channel"]
    wide = course.changes.pivot(index=keys, columns="rule", values="value")
    mean = (wide["sink first"] + wide["content first"]) / 2
    np.testing.assert_allclose(wide["midpoint"], mean, atol=1e-12)
    assert (wide["sink first"] - wide["content first"]).abs().max() > 1e-3


def test_the_control_is_the_second_token() -> None:
    first, second = (
        follow(at, [0, 4], read(), which, FIRST_ROW, lambda _: None)
        for which in ("first", "second")
    )
    with torch.no_grad():
        output = at(4).model(torch.tensor(read()[:1]), output_attentions=True)
    rows = output.attentions[1][0, 2, FIRST_ROW:].mean(0)
    for course_, position in ((first, 0), (second, 1)):
        (found,) = course_.heads.query(
            "step == 4 and text == 0 and layer == 1 and head == 2 and "
            "measure == 'sink_share'"
        )["value"]
        assert found == pytest.approx(float(rows[position]), rel=1e-4)


def row(share: float, content: list[float]) -> EntropyParts:
    p = torch.tensor([share, *((1 - share) * torch.tensor(content))]).double()
    return entropy_parts(p.log(), torch.tensor([True, False, False, False]))


EVEN, SPIKY = [1 / 3, 1 / 3, 1 / 3], [0.9, 0.05, 0.05]


@pytest.mark.parametrize("rule", RULES)
def test_a_sink_that_grows_alone_is_all_of_the_fall(rule: str) -> None:
    found = RULES[rule](row(0.25, EVEN), row(0.9, EVEN))
    before, after = np.log(4), -0.9 * np.log(0.9) - 0.1 * np.log(0.1 / 3)
    assert float(found.content) == pytest.approx(0, abs=1e-7)
    assert float(found.sink) == pytest.approx(after - before, abs=1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_a_content_that_sharpens_alone_is_all_of_the_fall(rule: str) -> None:
    found = RULES[rule](row(0.25, EVEN), row(0.25, SPIKY))
    spiky = -0.9 * np.log(0.9) - 0.1 * np.log(0.05)
    assert float(found.sink) == pytest.approx(0, abs=1e-6)
    assert float(found.content) == pytest.approx(0.75 * (spiky - np.log(3)), abs=1e-6)


def test_orders_by_hand() -> None:
    before, after = row(0.2, EVEN), row(0.6, SPIKY)
    even, spiky = np.log(3), -0.9 * np.log(0.9) - 0.1 * np.log(0.05)
    binary = -0.6 * np.log(0.6) - 0.4 * np.log(0.4)
    binary -= -0.2 * np.log(0.2) - 0.8 * np.log(0.8)
    first = RULES["sink first"](before, after)
    assert float(first.sink) == pytest.approx(binary - 0.4 * even, abs=1e-6)
    assert float(first.content) == pytest.approx(0.4 * (spiky - even), abs=1e-6)
    last = RULES["content first"](before, after)
    assert float(last.sink) == pytest.approx(binary - 0.4 * spiky, abs=1e-6)
    assert float(last.content) == pytest.approx(0.8 * (spiky - even), abs=1e-6)


def changes(values: list[tuple[int, int, float, float]]) -> pd.DataFrame:
    """A table of ``(text, head, sink, content)`` for one pair and rule."""
    found = [
        (0, 9, text_, 0, head, "midpoint", channel, value)
        for text_, head, sink, content in values
        for channel, value in zip(CHANNELS, (sink, 0.0, content), strict=True)
    ]
    columns = ["start", "end", "text", "layer", "head", "rule", "channel", "value"]
    return pd.DataFrame(found, columns=columns)


def test_shares_by_hand() -> None:
    two = [
        (0, 0, -1.0, -5.0),
        (0, 1, -1.0, -1.0),
        (1, 0, -3.0, 1.0),
        (1, 1, -1.0, -1.0),
    ]
    (found,) = fall_shares(changes(two)).to_dict("records")
    assert found["change"] == pytest.approx(-3)
    assert [found[c] for c in CHANNELS] == pytest.approx([-1.5, 0, -1.5])
    assert found["share"] == pytest.approx(1.5 / 3)
    # of two passages a draw holds one twice in half of all cases
    assert found["share_lower"] == pytest.approx(2 / 8)
    assert found["share_upper"] == pytest.approx(4 / 4)
    assert (found["change_lower"], found["change_upper"]) == pytest.approx((-4, -2))
    by_head = fall_shares(changes(two), by=["head"]).set_index("head")
    assert by_head["share"].tolist() == pytest.approx([2 / 4, 1 / 2])


@pytest.mark.parametrize(
    ("contents", "change", "share"),
    [
        ((2.0, 2.0), 1.0, np.nan),  # a rise
        ((2.0, 0.0), 0.0, np.nan),  # a rise and a fall
        ((0.995, 0.992), -0.0065, np.nan),  # a fall of next to nothing
        ((0.5, 0.5), -0.5, 2.0),  # a fall in spite of the content's rise
    ],
)
def test_only_what_fell_has_a_share(
    contents: tuple[float, float], change: float, share: float
) -> None:
    table = changes([(text_, 0, -1.0, value) for text_, value in enumerate(contents)])
    (found,) = fall_shares(table).to_dict("records")
    assert found["change"] == pytest.approx(change)
    ends = [found[f"share{end}"] for end in ("", "_lower", "_upper")]
    assert ends == pytest.approx([share] * 3, nan_ok=True)


@pytest.mark.parametrize(
    ("steps", "first_row", "words"),
    [
        ([0], 3, "two or more steps in increasing order"),
        ([4, 0], 3, "two or more steps in increasing order"),
        ([0, 4], 14, "leave no row of 14"),
    ],
)
def test_wrong_input_is_one_sentence(
    steps: list[int], first_row: int, words: str
) -> None:
    with pytest.raises(UserError, match=words):
        follow(at, steps, read(), first_row=first_row)
