"""Clusters of heads: planted sinks and contents, and a small model's own attention."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.spatial.distance import jensenshannon
from sklearn.metrics import adjusted_rand_score

from maa.attention.rows.pairwise import pairwise
from maa.audit.clusters import (
    CONVENTIONS,
    HeadDistances,
    Kind,
    Settings,
    cluster,
    head_distances,
    lay_out,
)
from maa.audit.models import Pretrained
from maa.audit.texts import passages
from maa.errors import UserError
from tests.small_transformers import small_model, small_tokenizer, text

pytest.importorskip(
    "transformers", reason="transformers is not installed: pip install 'maa[rows]'"
)
QUIET = {"report": lambda _: None}
MEASURES = ("cosine", "js", "js-smoothed", "euclid", "aitchison")


def planted(heads: int = 36, keys: int = 24, seed: int = 3) -> HeadDistances:
    """Heads whose sinks (3 levels) and contents (4 kinds) have nothing in common."""
    generator = np.random.default_rng(seed)
    level, kind = np.arange(heads) % 3, (np.arange(heads) // 3) % 4
    share = np.array([0.05, 0.5, 0.95])[level] + 0.02 * generator.normal(size=heads)
    share = share.clip(0.01, 0.99)
    tables: dict[Kind, list[np.ndarray]] = {}
    sink = torch.arange(keys + 1) == 0
    for _ in range(2):
        centres = 2 * generator.normal(size=(6, 4, keys))
        content = centres[:, kind] + 0.3 * generator.normal(size=(6, heads, keys))
        content = torch.from_numpy(content).log_softmax(-1)
        held = torch.from_numpy(share)[None, :, None].expand(6, -1, 1)
        rows = torch.cat([held.log(), (1 - held).log() + content], -1)
        for measure in MEASURES:
            for convention, on in zip(CONVENTIONS, (None, ~sink), strict=True):
                mean = pairwise(measure, rows, on).mean(0).numpy()
                tables.setdefault(Kind(measure, convention), []).append(mean)
    halves = {key: np.stack(pair) for key, pair in tables.items()}
    layer = np.arange(heads) // 12
    table = pd.DataFrame({"layer": layer, "head": np.arange(heads) % 12})
    return HeadDistances(table.assign(share=share), halves, (6, 6))


def test_the_sink_makes_the_picture_where_it_is_kept() -> None:
    found = planted()
    result = cluster(found, Settings(permutations=199))
    kinds = (np.arange(36) // 3) % 4
    heads = result.heads.set_index(["measure", "convention"])["cluster"]
    for measure in MEASURES:
        dropped = heads[measure, "drop"]
        assert adjusted_rand_score(dropped, kinds) == 1, measure
    shares = result.explained.query("covariate == 'share'")
    r2 = shares.set_index(["measure", "convention", "target"])["r2"]
    for measure in ("js", "js-smoothed", "euclid"):
        assert r2[measure, "keep", "axis"] > 0.8
        assert r2[measure, "keep", "distances"] > 0.4
        assert r2[measure, "drop", "axis"] < 0.1
        assert r2[measure, "drop", "clusters"] < 0.05
    # the content's distance is the same four clusters even where the sink is kept
    kept = heads["aitchison", "keep"]
    assert adjusted_rand_score(kept, kinds) == 1
    compared = result.compared.set_index("measure")
    assert compared.loc["aitchison", "ari"] == 1
    assert compared.loc["js", "ari"] < 0.3 and compared.loc["js", "spearman"] < 0.5
    assert compared.loc["js", "procrustes"] > compared.loc["aitchison", "procrustes"]
    layouts = result.layouts.set_index(["measure", "convention"])
    assert layouts.loc[("js", "drop"), "clusters"] == 4
    assert (layouts["halves_ari"].drop("cosine", level="measure") > 0.9).all()


def test_chance_is_what_other_heads_shares_explain() -> None:
    found = cluster(planted(), Settings(permutations=499))
    rows = found.explained.query("measure == 'js' and target == 'axis'")
    by = rows.set_index(["convention", "covariate"])
    assert by.loc[("keep", "share"), "p"] == pytest.approx(1 / 500)
    assert by.loc[("keep", "share"), "r2"] > by.loc[("keep", "share"), "chance_95"]
    assert by.loc[("drop", "share"), "p"] > 0.05
    assert by.loc[("keep", "layer"), "p"] > 0.05
    assert by.loc[("keep", "share-in-layer"), "r2"] > 0.8
    # one column among 36 heads
    assert by.loc[("keep", "share"), "chance"] == pytest.approx(1 / 35, abs=0.01)


def test_a_layout_by_hand() -> None:
    """Points on a line: two pairs far apart, the leading axis is the line."""
    line = np.array([0.0, 1.0, 10.0, 11.5])
    matrix = np.abs(line[:, None] - line)
    layout = lay_out(matrix)
    assert layout.clusters == 2
    assert layout.labels[0] == layout.labels[1] != layout.labels[2]
    assert layout.fit == pytest.approx(1)
    x = layout.points[:, 0]
    np.testing.assert_allclose(np.abs(x[:, None] - x), matrix, atol=1e-9)
    # silhouettes 1 - a/b with a = 1, 1, 1.5, 1.5 and b = 10.75, 9.75, 9.5, 11
    mean = 1 - np.mean([1 / 10.75, 1 / 9.75, 1.5 / 9.5, 1.5 / 11])
    assert layout.silhouette == pytest.approx(mean)
    with pytest.raises(UserError, match="all heads are alike"):
        lay_out(np.zeros((4, 4)))
    with pytest.raises(UserError, match="kmeans, average, complete, got 'ward'"):
        lay_out(matrix, method="ward")
    for method in ("average", "complete"):
        other = lay_out(matrix, method=method)
        assert adjusted_rand_score(other.labels, layout.labels) == 1


def test_distances_are_those_of_the_models_probabilities() -> None:
    pretrained = Pretrained("s", small_model("llama"), small_tokenizer(), True)
    cut = passages(pretrained.tokenizer, [text(45)], 14)
    assert len(cut) == 3
    found = head_distances(pretrained, cut, rows=9, first_row=5, **QUIET)
    assert found.rows == (18, 9)
    rows: dict[int, list[np.ndarray]] = {0: [], 1: []}
    shares = []
    for number, passage in enumerate(cut):
        with torch.no_grad():
            output = pretrained.model(torch.tensor([passage]), output_attentions=True)
        p = torch.stack(output.attentions)[:, 0].flatten(0, 1).double().numpy()
        shares.append(p[:, 5:, 0])
        for query in range(5, 14):
            content = p[[3, 7], query, 1 : query + 1]
            rows[number % 2].append(content / content.sum(-1, keepdims=True))
    for half in (0, 1):
        one = found.halves[Kind("js", "drop")][half, 3, 7]
        peer = np.mean([jensenshannon(*pair) ** 2 for pair in rows[half]])
        assert one == pytest.approx(peer, rel=1e-4)
    every = rows[0] + rows[1]
    apart = np.mean([np.linalg.norm(a - b) for a, b in every])
    assert found.mean(Kind("euclid", "drop"))[7, 3] == pytest.approx(apart, rel=1e-4)
    held = np.mean(shares, (0, 2))
    np.testing.assert_allclose(found.heads["share"], held, rtol=1e-4)
    assert found.heads.iloc[7][["layer", "head"]].tolist() == [1, 3]


def test_an_encoder_and_a_single_passage() -> None:
    tokenizer = small_tokenizer(encoder=True)
    pretrained = Pretrained("s", small_model("bert"), tokenizer, False)
    cut = passages(tokenizer, [text(30)], 12, count=1)
    options = {"sinks": "special", "measures": ["euclid"], "rows": 3, "first_row": 2}
    found = head_distances(pretrained, cut, **options, **QUIET)
    result = cluster(found, Settings(permutations=19))
    assert len(result.heads) == 2 * 12 and len(result.compared) == 1
    assert result.layouts["halves_ari"].isna().all()
    again = cluster(found, Settings(permutations=19))
    assert result.heads.equals(again.heads)
    assert result.explained.equals(again.explained)


def test_wrong_choices() -> None:
    pretrained = Pretrained("s", small_model("llama"), small_tokenizer(), True)
    with pytest.raises(UserError, match="sinks are none"):
        head_distances(pretrained, [[1] * 20], "none")
    with pytest.raises(UserError, match="no dissimilarity is called hamming"):
        head_distances(pretrained, [[1] * 20], measures=["js", "hamming"])
