"""Differences over few seeds, against textbook values and SciPy."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

from maa.inference.gaps import detectable, gaps, needed


def runs(**variants: list[float]) -> pd.DataFrame:
    rows = [
        ("traffic", "roads", "released", variant, seed, "mae_3", value)
        for variant, values in variants.items()
        for seed, value in enumerate(values)
    ]
    names = ["domain", "dataset", "backbone", "variant", "seed", "measure", "value"]
    return pd.DataFrame(rows, columns=names)


def test_a_gap_is_that_of_a_paired_t_test() -> None:
    none, mask = [3.0, 3.2, 3.1, 3.4], [2.9, 3.0, 3.1, 3.2]
    table = gaps(runs(none=none, mask=mask), "none", ["mae_3"])
    row = table[table["variant"] == "mask"].iloc[0]
    peer = ttest_rel(mask, none)
    interval = peer.confidence_interval()
    assert row["change"] == pytest.approx(-0.125)
    assert row["percent"] == pytest.approx(-12.5 / 3.175)
    assert row["p"] == pytest.approx(peer.pvalue) == row["p_holm"]
    assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))
    assert row["sd"] == pytest.approx(np.std(mask, ddof=1))


def test_holm_counts_the_family_of_a_cell() -> None:
    base = [1.0, 2.0, 3.0, 4.0]
    clear = [0.9, 1.88, 2.91, 3.9]
    vague = [1.3, 1.8, 3.3, 3.9]
    table = gaps(runs(none=base, clear=clear, vague=vague), "none", ["mae_3"])
    p = table.set_index("variant")
    assert p.loc["clear", "p_holm"] == pytest.approx(2 * p.loc["clear", "p"])
    assert p.loc["vague", "p_holm"] == pytest.approx(p.loc["vague", "p"])
    assert np.isnan(p.loc["none", "p"])


def test_only_seeds_of_both_count_and_one_is_too_few() -> None:
    table = gaps(runs(none=[1.0, 2.0, 3.0], one=[2.0]), "none", ["mae_3"])
    row = table[table["variant"] == "one"].iloc[0]
    assert (row["seeds"], row["change"]) == (1, 1.0)
    assert np.isnan(row["p"]) and np.isnan(row["detectable"])


def test_what_seeds_can_tell() -> None:
    # Cohen's tables for a paired t-test at 5 % and 80 %: 34 pairs find half a standard
    # deviation, 10 pairs (nearly) one.
    assert needed(0.5) == 34
    assert needed(-1.0) == 10
    assert detectable(34) == pytest.approx(0.5, abs=0.01)
    assert detectable(4) > 2
    assert needed(0.0) == float("inf")
