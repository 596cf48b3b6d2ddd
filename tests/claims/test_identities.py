import pytest
import torch

from maa.claims import identities
from maa.claims.identities import CHECKS, draw, largest_error

INPUTS = {"powers": [1.1, 2.0], "trials": 50, "keys": 7, "seed": 0}


@pytest.mark.parametrize("check", CHECKS)
def test_the_operator_meets_its_identities(check):
    assert largest_error(check, **INPUTS) < 1e-11


def weights_like(power):
    """An operator that divides by ||m||_p ** power instead of ||m||_p."""

    def normalise(logits, p, mask=None, dim=-1):
        hidden = logits if mask is None else logits.masked_fill(~mask, -torch.inf)
        mass = (hidden - hidden.amax(dim, keepdim=True)).exp()
        return mass / torch.linalg.vector_norm(mass, p, dim, keepdim=True) ** power

    return normalise


def install(monkeypatch, normalise):
    def attend(q, k, v, p, mask=None):
        return normalise(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, p, mask) @ v

    monkeypatch.setattr(identities, "lp_normalize", normalise)
    monkeypatch.setattr(identities, "mass_aware_attention", attend)
    monkeypatch.setattr(
        identities, "lp_gain", lambda logits, p: normalise(logits, p).sum(-1)
    )


def test_a_right_operator_of_other_make_passes(monkeypatch):
    install(monkeypatch, weights_like(1.0))
    for check in set(CHECKS) - {"masked"}:
        assert largest_error(check, **INPUTS) < 1e-11


@pytest.mark.parametrize("check", sorted(set(CHECKS) - {"masked"}))
def test_an_operator_without_the_full_norm_is_caught(monkeypatch, check):
    install(monkeypatch, weights_like(0.9))
    assert largest_error(check, **INPUTS) > 1e-3


@pytest.mark.parametrize("check", ["gain", "bounds", "repetition_mass", "renyi"])
def test_softmax_in_disguise_is_caught(monkeypatch, check):
    install(monkeypatch, lambda logits, p, mask=None: logits.softmax(-1))
    assert largest_error(check, **INPUTS) > 1e-3


def test_an_operator_that_counts_padding_is_caught(monkeypatch):
    install(monkeypatch, lambda logits, p, mask=None: weights_like(1.0)(logits, p))
    assert largest_error("masked", **INPUTS) > 1e-3


def test_an_operator_that_gives_nan_is_not_passed(monkeypatch):
    install(monkeypatch, weights_like(1.0))  # 0/0 in rows without a valid key
    error = largest_error("masked", **INPUTS)
    assert not error <= 1.0


def test_draws_run_from_flat_to_peaked_rows():
    weights = draw(200, 20, 0).logits.softmax(-1).amax(-1)
    assert weights.min() < 0.06
    assert weights.max() > 0.99
