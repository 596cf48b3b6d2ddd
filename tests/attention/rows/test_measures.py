"""All measures in one pass are those of the functions, one by one."""

import math

import pytest
import torch

from maa.attention.rows.entropy import entropy_parts
from maa.attention.rows.evidence import (
    amplitude_elasticity,
    hill,
    log_gain,
    share,
)
from maa.attention.rows.geometry import log_closure
from maa.attention.rows.measures import HALF_FLOOR, MEASURES, row_measures
from maa.attention.rows.split import balance, unevenness
from tests.attention.rows.helpers import close

GENERATOR = torch.Generator().manual_seed(11)


@pytest.mark.parametrize("sinks", [(0,), (0, 6)])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("p", [1.1, 2.0])
def test_they_agree(sinks: tuple[int, ...], causal: bool, p: float) -> None:
    z = 6 * torch.randn(2, 3, 7, 7, generator=GENERATOR, dtype=torch.float64)
    mask = torch.zeros(7, dtype=torch.bool).index_fill(0, torch.tensor(sinks), True)
    support = torch.ones(7, 7, dtype=torch.bool)
    if causal:
        support = support.tril()
        z = z.masked_fill(~support, math.nan)
    found = {name: v[..., 1:] for name, v in row_measures(z, mask, support, p).items()}
    assert set(found) == set(MEASURES)
    a, on = z[..., 1:, :], support[1:]
    parts = entropy_parts(a, mask, on)
    close(found["sink_share"], parts.share)
    close(found["entropy"], parts.total)
    close(found["entropy_binary"], parts.binary)
    close(found["entropy_sinks"], parts.share * parts.sinks)
    close(found["entropy_content"], parts.rest * parts.content)
    close(found["content_entropy"], parts.content)
    close(found["balance"], balance(a, mask & on, ~mask & on))
    close(found["unevenness"], unevenness(a, ~mask & on))
    close(found["hill_kept"], hill(a, p, on))
    close(found["hill_dropped"], hill(a, p, on & ~mask))
    close(found["gain"], log_gain(a, p, on).exp())
    close(found["elasticity"], amplitude_elasticity(a, 1.0, ~mask, on))
    close(found["elasticity_p"], amplitude_elasticity(a, p, ~mask, on))
    weights = log_closure(a, on).exp()
    close(found["diagonal_share"], torch.diagonal(weights, 1, -2, -1))
    rounded = (weights < HALF_FLOOR / 2) & on & ~mask
    close(found["below_half"], rounded.double().sum(-1) / on.sum(-1))
    close(found["keys"], on.sum(-1).expand_as(found["keys"]))
    close(found["elasticity"], share(a, mask, on))


def test_a_row_that_sees_its_sink_alone() -> None:
    z = torch.zeros(4, 4, dtype=torch.float64)
    sinks = torch.arange(4) == 0
    found = row_measures(z, sinks, torch.ones(4, 4, dtype=torch.bool).tril())
    first = {name: values[0].item() for name, values in found.items()}
    assert first["sink_share"] == 1 and first["hill_kept"] == 1 and first["gain"] == 1
    for name in ("entropy", "content_entropy", "balance", "unevenness", "hill_dropped"):
        assert first[name] == 0, name
    assert all(values.isfinite().all() for values in found.values())


def test_half_precision_rounds_to_zero_below_the_floor() -> None:
    logits = torch.tensor([HALF_FLOOR * 0.49, HALF_FLOOR * 0.51], dtype=torch.float64)
    assert (logits.half() == 0).tolist() == [True, False]


@pytest.mark.parametrize("p", [1.0, math.inf])
def test_p_has_a_range(p: float) -> None:
    with pytest.raises(ValueError, match="above 1 and is finite"):
        row_measures(torch.zeros(3, 3), torch.arange(3) == 0, p=p)
