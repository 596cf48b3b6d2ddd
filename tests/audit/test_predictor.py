"""The predictor: planted regimes, what it has not seen, and what it must not read."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from maa.attention.rows.dissimilarity import DISSIMILARITIES
from maa.attention.rows.triples import model_free_rates
from maa.audit.models import Pretrained
from maa.audit.predictor import (
    COVARIATES,
    Curve,
    Frozen,
    Grid,
    Rule,
    calibrate,
    draw_curve,
    flip_cells,
    model_free,
    predict,
    score,
    tally,
)
from maa.audit.texts import passages
from maa.errors import UserError
from maa.files import read_json, write_json
from tests.small_transformers import small_model, small_tokenizer, text

pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'maa[rows]'"
)
MEASURE = "js"
GRID = Grid((-6, -3, 0, 3), (0, 0.5, 1, 2), (16, 64), triples=800)


@pytest.fixture(scope="module")
def curve() -> Curve:
    return draw_curve(GRID)


def cells(
    curve: Curve, groups: int, factor: float, seed: int, texts: int = 6, **moved: float
) -> pd.DataFrame:
    """Groups whose rate is a share of the model-free one, with noise between texts."""
    generator = np.random.default_rng(seed)
    found = []
    for group in range(groups):
        logit, spread = generator.uniform(-5, 2.5), generator.uniform(0.1, 1.9)
        where = pd.DataFrame(
            {
                "logit": logit + 0.1 * generator.normal(size=texts),
                "spread": spread + 0.05 * generator.normal(size=texts).clip(-1, 1),
                "keys": 32.0,
            }
        ).assign(**moved)
        index = curve.at(curve.middle, MEASURE, where[COVARIATES].to_numpy())
        rate = factor * index + 0.003 * generator.normal(size=texts)
        told = {"model": "m", "text": range(texts), "group": f"layer {group}"}
        told |= {"measure": MEASURE, "rate": rate.clip(0, 1)}
        found.append(where.assign(**told))
    return pd.concat(found, ignore_index=True)


def test_the_curve_is_that_of_the_rates_and_lies_in_its_range(curve: Curve) -> None:
    at = np.array([[0.0, 1.0, 16.0], [-3.0, 0.5, 64.0]])
    for row, (share, spread, keys) in zip(
        at, [(0.5, 1, 16), (0.0474259, 0.5, 64)], strict=True
    ):
        generator = np.random.default_rng(GRID.seed)
        exact = model_free_rates(share, spread, generator, keys, triples=800)
        for measure in DISSIMILARITIES:
            found = curve.at(curve.middle, measure, row[None])[0]
            assert found == pytest.approx(exact[measure], abs=2e-3), measure
    between = np.array([[-1.2, 0.8, 32.0]])
    drawn = np.random.default_rng(8)
    exact = model_free_rates(0.2315, 0.8, drawn, 32, triples=4000)
    found = curve.at(curve.middle, "js", between)[0]
    assert found == pytest.approx(exact["js"], abs=0.04)
    for measure in DISSIMILARITIES:
        assert (curve.low[measure] <= curve.middle[measure]).all()
        assert (curve.middle[measure] <= curve.high[measure]).all()
    # JS needs sinks that differ, and sinks that hold something
    assert (curve.high["js"][:, 0] == 0).all()
    assert curve.high["js"][0].max() < 0.1 < curve.low["js"][-1, -1].min()
    edge = np.array([[9.0, 7.0, 500.0], [3.0, 2.0, 64.0]])
    assert np.ptp(curve.at(curve.middle, "js", edge)) == 0


def test_a_planted_regime_is_confirmed(curve: Curve) -> None:
    """Rates half as high as the model-free ones, in one model as in the other."""
    frozen = calibrate(cells(curve, 30, 0.5, seed=1), curve, "planted")
    fit = frozen.fits[MEASURE]
    assert np.interp(0.3, fit.index, fit.rate) == pytest.approx(0.15, abs=0.02)
    assert fit.width < 0.1 and fit.attained == pytest.approx(28 / 31)
    scored = score(frozen, cells(curve, 40, 0.5, seed=2).assign(model="other"))
    counts = tally(scored).squeeze()
    assert counts["groups"] == 40 and counts["failed"] == 0
    assert counts["confirmed"] > 20 and counts["error"] < 0.02
    confirmed = scored[scored["outcome"] == "confirmed"]["regime"].value_counts()
    assert confirmed["safe"] > 5 and confirmed["unsafe"] > 5
    sums = counts[["confirmed", "failed", "abstained", "unresolved"]].sum()
    assert sums == 40
    # the index itself is twice too high
    free = score(model_free(curve), cells(curve, 40, 0.5, seed=2))
    assert tally(free).squeeze()["error"] > 0.03


def test_it_abstains_beyond_what_it_has_seen(curve: Curve) -> None:
    frozen = calibrate(cells(curve, 20, 1.0, seed=1), curve, "planted")
    for moved in ({"spread": 4.0}, {"logit": 8.0}, {"keys": 65.0}, {"keys": 15.0}):
        scored = score(frozen, cells(curve, 5, 1.0, seed=3, **moved))
        assert (scored["outcome"] == "abstained").all(), moved
        assert (scored["reason"] == "outside").all(), moved
    within = predict(frozen, cells(curve, 20, 1.0, seed=1, keys=60.0))
    assert (within["reason"] != "outside").all()
    free = predict(model_free(curve), cells(curve, 3, 1.0, seed=3, spread=2.5))
    assert (free["reason"] == "outside").all()


def test_it_fails_where_the_world_is_another(curve: Curve) -> None:
    """Heads whose verdicts flip where sinks are alike, and do not where they differ."""
    frozen = calibrate(cells(curve, 30, 1.0, seed=1), curve, "planted")
    turned = cells(curve, 30, 1.0, seed=4)
    turned["rate"] = np.where(turned["rate"] < 0.1, 0.3, 0.02)
    counts = tally(score(frozen, turned)).squeeze()
    assert counts["failed"] > 15 and counts["confirmed"] == 0
    assert counts["covered"] < 0.4


def test_it_abstains_where_the_limit_is_within_the_interval(curve: Curve) -> None:
    noisy = cells(curve, 30, 1.0, seed=1)
    generator = np.random.default_rng(9)
    factors = dict(
        zip(noisy["group"].unique(), generator.uniform(0.2, 1.4, 30), strict=True)
    )
    noisy["rate"] *= noisy["group"].map(factors)
    told = predict(calibrate(noisy, curve, "noisy"), noisy)
    straddles = told[told["reason"] == "straddles"]
    assert len(straddles) > 3
    assert (straddles["low"] < 0.1).all() and (straddles["high"] >= 0.1).all()


def test_a_rate_near_the_limit_is_unresolved(curve: Curve) -> None:
    frozen = model_free(curve, Rule(limit=0.1))
    seen = cells(curve, 2, 1.0, seed=1, logit=-5.9, spread=0.1)
    seen["rate"] = np.tile([0.05, 0.15, 0.08, 0.12, 0.09, 0.11], 2)
    scored = score(frozen, seen)
    assert (scored["regime"] == "safe").all()
    assert (scored["observed"] - 0.1).abs().max() < 1e-12
    assert (scored["observed_regime"] == "unclear").all()
    assert (scored["outcome"] == "unresolved").all()


def test_rates_are_not_read_and_the_frozen_file_is_the_predictor(
    curve: Curve, tmp_path: Path
) -> None:
    seen, new = cells(curve, 20, 0.7, seed=1), cells(curve, 9, 0.7, seed=5)
    for frozen in (calibrate(seen, curve, "planted"), model_free(curve)):
        write_json(tmp_path / "frozen.json", frozen.to_json())
        again = Frozen.from_json(read_json(tmp_path / "frozen.json"))
        blind = predict(again, new.drop(columns="rate"))
        pd.testing.assert_frame_equal(blind, predict(frozen, new))
        assert again.to_json() == frozen.to_json()
    with pytest.raises(UserError, match="no frozen predictor"):
        Frozen.from_json({"rule": {}})


def test_cells_are_all_triples_of_the_models_probabilities() -> None:
    pretrained = Pretrained("small", small_model("llama"), small_tokenizer(), True)
    cut = passages(pretrained.tokenizer, [text(30)], 14)
    found = flip_cells(pretrained, cut, rows=9, first_row=5, report=lambda _: None)
    assert len(found) == 2 * 3 * len(DISSIMILARITIES)
    with torch.no_grad():
        output = pretrained.model(torch.tensor(cut[1:2]), output_attentions=True)
    p = output.attentions[2][0].double()
    rates, logits, spreads = [], [], []
    for query in range(5, 14):
        kept = p[:, query, : query + 1]
        dropped = kept[:, 1:] / kept[:, 1:].sum(-1, keepdim=True)
        near, far = (torch.cdist(rows, rows) for rows in (kept, dropped))
        flipped = [
            (near[a, b] > near[a, c]) != (far[a, b] > far[a, c])
            for a, b, c in itertools.permutations(range(4), 3)
        ]
        rates.append(torch.stack(flipped).double().mean().item())
        held = torch.logit(kept[:, 0])
        logits.append(held.mean().item())
        spreads.append(held.std().item())
    one = found.query("text == 1 and group == 'layer 2' and measure == 'euclid'")
    row = one.squeeze()
    assert row["rate"] == pytest.approx(np.mean(rates), abs=1e-9)
    assert row["logit"] == pytest.approx(np.mean(logits), rel=1e-4)
    assert row["spread"] == pytest.approx(np.mean(spreads), rel=1e-4)
    assert row["keys"] == pytest.approx(np.exp(np.log(np.arange(6, 15)).mean()))
    every = flip_cells(pretrained, cut, scope="all", rows=2, report=lambda _: None)
    assert every["group"].unique().tolist() == ["all"] and len(every) == 8
    assert every["rate"].between(0, 1).all()


def test_an_encoder_on_all_its_keys() -> None:
    tokenizer = small_tokenizer(encoder=True)
    pretrained = Pretrained("small", small_model("bert"), tokenizer, False)
    cut = passages(tokenizer, [text(30)], 12)
    found = flip_cells(pretrained, cut, "special", rows=2, report=lambda _: None)
    assert found["keys"].to_numpy() == pytest.approx(12)


def test_what_cannot_be_calibrated_or_asked(curve: Curve) -> None:
    seen = cells(curve, 5, 1.0, seed=1)
    with pytest.raises(UserError, match="three groups of heads, and there are 2"):
        calibrate(seen.query("group <= 'layer 1'"), curve, "few")
    with pytest.raises(UserError, match="sinks do not vary"):
        calibrate(seen.assign(spread=1.0), curve, "flat")
    with pytest.raises(UserError, match="is asked for cosine"):
        predict(calibrate(seen, curve, "js"), seen.assign(measure="cosine"))
    with pytest.raises(UserError, match="takes two passages"):
        score(model_free(curve), seen.query("text == 0"))
    narrow = Pretrained(
        "narrow",
        small_model("gpt_neox", num_attention_heads=2),
        small_tokenizer(),
        True,
    )
    with pytest.raises(UserError, match="a group has 2 heads"):
        flip_cells(narrow, [[1] * 20])
    with pytest.raises(UserError, match="layer or all"):
        flip_cells(narrow, [[1] * 20], scope="model")
