"""All pairs of heads at once are the pairs one by one."""

import itertools
import math

import pytest
import torch
from torch import Tensor

from maa.attention.rows.dissimilarity import DISSIMILARITIES, flips
from maa.attention.rows.entropy import jensen_shannon
from maa.attention.rows.pairwise import PAIRWISE, all_flips, pairwise
from tests.attention.rows.helpers import close, mask

GENERATOR = torch.Generator().manual_seed(13)


def rows(*shape: int) -> Tensor:
    return 3 * torch.randn(*shape, generator=GENERATOR, dtype=torch.float64)


@pytest.mark.parametrize("name", DISSIMILARITIES)
@pytest.mark.parametrize("elements", [1, 50, 2**18])
def test_pairs_are_those_of_two_rows(name: str, elements: int) -> None:
    z = rows(2, 4, 6, 9)
    support = torch.ones(4, 9, dtype=torch.bool).tril(5)
    spoilt = z.masked_fill(~support[:, None], math.nan)
    found = pairwise(name, spoilt, support, elements)
    measure = DISSIMILARITIES[name]
    expected = measure(z[..., :, None, :], z[..., None, :, :], support[:, None, None])
    close(found, expected)
    assert (found == found.mT).all() and (found.diagonal(dim1=-2, dim2=-1) == 0).all()
    close(pairwise(name, z), measure(z[..., :, None, :], z[..., None, :, :], None))


def test_smoothing_by_hand() -> None:
    """0.999 of each weight and 0.001 shared by the keys that the row may attend to."""
    weights = torch.tensor([[0.7, 0.3, 0.0], [0.2, 0.8, 0.0]], dtype=torch.float64)
    on = mask(3, 0, 1)
    found = pairwise("js-smoothed", weights.log(), on)
    smooth = 0.999 * weights[:, :2] + 0.0005
    close(found[0, 1], jensen_shannon(smooth[0].log(), smooth[1].log()).item())
    assert found[0, 1] < pairwise("js", weights.log(), on)[0, 1]


def test_near_rows_keep_their_distance() -> None:
    """Under a sink of 1 - 1e-8, which single precision takes for 1."""
    contents = rows(5, 6).log_softmax(-1)
    sink = torch.full((5, 1), math.log(1e8), dtype=torch.float64)
    z = torch.cat([sink, contents], -1)
    content = contents.exp()
    apart = torch.cdist(content, content) * 1e-8 / (1 + 1e-8)
    close(pairwise("euclid", z) * 1e8, apart * 1e8, 1e-7)
    share = 1e-8 / (1 + 1e-8)
    inside = pairwise("js", contents)
    close(pairwise("js", z) / share, inside, 1e-6)


@pytest.mark.parametrize("name", DISSIMILARITIES)
def test_all_triples(name: str) -> None:
    z, sinks = rows(3, 5, 7), mask(7, 0)
    found = all_flips(pairwise(name, z), pairwise(name, z, ~sinks))
    measure = DISSIMILARITIES[name]
    by_hand = [
        flips(measure, z[:, a], z[:, b], z[:, c], sinks)
        for a, b, c in itertools.permutations(range(5), 3)
    ]
    close(found, torch.stack(by_hand).double().mean(0))
    with pytest.raises(ValueError, match="three heads"):
        all_flips(torch.zeros(2, 2), torch.zeros(2, 2))


def test_an_empty_row_is_at_no_distance_from_another() -> None:
    for name in PAIRWISE:
        if name != "cosine":
            close(pairwise(name, rows(3, 4), torch.zeros(4, dtype=torch.bool)), 0.0)
