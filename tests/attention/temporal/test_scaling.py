"""The Jacobian over lengths."""

import subprocess
import sys

import pandas as pd
import pytest
import torch

from maa.attention.temporal.norms import norms
from maa.attention.temporal.scaling import (
    CONSTANTS,
    TIMES_T,
    Setting,
    draw,
    experiment,
    exponent,
)

SHORT = (8, 16, 32, 64, 128)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return experiment(Setting(), SHORT, (0, 1, 2))


def test_one_row_a_length_seed_and_quantity(table: pd.DataFrame) -> None:
    assert list(table.columns[:5]) == ["T", "seed", "quantity", "value", "bound"]
    assert not table.duplicated(["T", "seed", "quantity"]).any()
    assert len(table) == len(SHORT) * 3 * table["quantity"].nunique()
    wide = table.pivot(index=["T", "seed"], columns="quantity", values="value")
    scaled = wide["off_diagonal"] * wide.index.get_level_values("T")
    pd.testing.assert_series_equal(wide[TIMES_T], scaled, check_names=False)
    assert set(CONSTANTS) <= set(wide.columns)


def test_how_each_quantity_goes_with_the_length(table: pd.DataFrame) -> None:
    """O(1 / T) off the diagonal and for what a row attends to itself; else O(1)."""
    assert exponent(table, "value") == pytest.approx(-1)
    assert exponent(table, "off_diagonal") == pytest.approx(-1, abs=0.1)
    assert exponent(table, "diagonal_attention") == pytest.approx(-1, abs=0.25)
    assert exponent(table, "query") == pytest.approx(0, abs=0.15)
    assert exponent(table, "diagonal") == pytest.approx(0, abs=0.15)
    # A maximum over more steps grows: the paper's constant is none.
    assert exponent(table, "constant_key") > 0.1
    assert exponent(table, "constant_value") == pytest.approx(0, abs=1e-9)


def test_a_sink_takes_the_query_path_only_once_it_takes_all() -> None:
    """Up to about half it may add to it: s (1 - s) is largest there."""
    found = {
        sink: experiment(Setting(sink=sink), (64,), (0, 1, 2, 3, 4))
        .groupby("quantity")["value"]
        .mean()
        for sink in (0.0, 4.0, 10.0)
    }
    assert found[0.0]["first_share"] < 0.05 < 0.95 < found[10.0]["first_share"]
    assert found[4.0]["query"] > found[0.0]["query"]
    assert found[10.0]["query"] < 0.2 * found[0.0]["query"]


@pytest.mark.parametrize("p", [1.1, 2.0])
def test_mass_aware_attention_falls_more_slowly(p: float) -> None:
    """As ``T^(-1/p)``: its gain is what softmax loses."""
    found = experiment(Setting(p=p, sharpness=0.5), SHORT, (0, 1))
    assert exponent(found, "off_diagonal") == pytest.approx(-1 / p, abs=0.06)
    assert exponent(found, "value") == pytest.approx(-1 / p, abs=0.03)


def test_longer_sequences_continue_shorter_ones() -> None:
    (one, short), (same, long) = (draw(Setting(), steps, 4) for steps in (8, 20))
    assert torch.equal(one.query, same.query)
    assert torch.equal(short, long[:8])
    sharp = draw(Setting(sharpness=3), 8, 4)[0]
    assert torch.equal(sharp.query, 3 * one.query)


def test_blocks_bound_the_memory() -> None:
    """Few elements at once give the same norms as all."""
    one, x = draw(Setting(), 24, 5)
    whole, parts = norms(one, x), norms(one, x, elements=24 * 36 * 5)
    assert torch.allclose(whole.total, parts.total)
    assert torch.allclose(whole.query, parts.query)


def test_a_slope_needs_two_lengths(table: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="measured at 1 lengths, expected 2"):
        exponent(table[table["T"] == 8], "query")


def test_the_command_prints_means_and_writes_the_table(tmp_path) -> None:
    path = tmp_path / "table.parquet"
    words = ["--lengths", "8", "16", "--seeds", "0", "1", "--penalty=-inf", "--table"]
    done = subprocess.run(
        [sys.executable, "-m", "maa.attention.temporal", *words, str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    written = pd.read_parquet(path)
    mean = written.query("quantity == 'query' and T == 8")["value"].mean()
    assert f"{mean:.4g}" in done.stdout
    assert "off_diagonal goes with T to the power -" in done.stdout
    # The mask leaves nothing of this one, which so has no slope.
    assert "diagonal_attention goes" not in done.stdout and not done.stderr
