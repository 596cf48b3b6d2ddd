"""Evaluate the operator's identities numerically (paper 3.1 to 3.3, eq. 1 to 6).

Everything is drawn in float64 from one seed: queries and keys are scaled so that the
rows of attention run from nearly uniform to nearly one-hot. Each function returns the
largest absolute error over all draws and powers.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from maa.attention import lp_gain, lp_normalize, mass_aware_attention

_WIDTH = 8
_REPEATS = (2, 3, 7)


@dataclass(frozen=True)
class Draw:
    """Random inputs: ``q`` [trials, 1, d], ``k`` and ``v`` [trials, keys, d]."""

    q: Tensor
    k: Tensor
    v: Tensor

    @property
    def logits(self) -> Tensor:
        """Scaled logits [trials, keys]."""
        return (self.q @ self.k.transpose(1, 2)).squeeze(1) / math.sqrt(_WIDTH)

    def attend(self, p: float) -> Tensor:
        """Output of the operator [trials, 1, d]."""
        return mass_aware_attention(self.q, self.k, self.v, p)

    def repeated(self, times: int) -> "Draw":
        """The same evidence, each key and value ``times`` times."""
        return Draw(self.q, self.k.repeat(1, times, 1), self.v.repeat(1, times, 1))


def draw(trials: int, keys: int, seed: int) -> Draw:
    """Draw inputs whose logits have standard deviations from 0.01 to 100."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=generator)

    spread = torch.logspace(-2, 2, trials, dtype=torch.float64).view(-1, 1, 1)
    q, k, v = (normal(trials, n, _WIDTH) for n in (1, keys, keys))
    return Draw(q * spread, k, v)


def largest_error(
    check: str, powers: Sequence[float], trials: int, keys: int, seed: int
) -> float:
    """Return the largest error of one identity; NaN if the operator gave one.

    Args:
        check: a key of `CHECKS`.
        powers: the orders p to evaluate, each above 1.
        trials: number of random rows.
        keys: number of keys in a row.
        seed: of the random inputs.
    """
    inputs = draw(trials, keys, seed)
    errors = [error.flatten() for p in powers for error in CHECKS[check](inputs, p)]
    return float(torch.cat(errors).abs().max())


def _softmax(inputs: Draw, p: float) -> Iterator[Tensor]:
    """At p = 1 the operator is softmax attention (eq. 1 and 3)."""
    ours = inputs.attend(1.0)
    reference = functional.scaled_dot_product_attention(inputs.q, inputs.k, inputs.v)
    yield ours - reference
    yield lp_normalize(inputs.logits, 1.0) - inputs.logits.softmax(-1)


def _gain(inputs: Draw, p: float) -> Iterator[Tensor]:
    """A_p = g_p A_1 with g_p = 1 / ||softmax||_p (eq. 4)."""
    gain = 1 / torch.linalg.vector_norm(inputs.logits.softmax(-1), ord=p, dim=-1)
    yield inputs.attend(p) - gain[:, None, None] * inputs.attend(1.0)
    yield lp_gain(inputs.logits, p) - gain


def _bounds(inputs: Draw, p: float) -> Iterator[Tensor]:
    """1 <= g_p <= n^(1 - 1/p), both attained (eq. 5)."""
    keys = inputs.k.shape[1]
    upper = keys ** (1 - 1 / p)
    gain = lp_gain(inputs.logits, p)
    yield (1 - gain).clamp(min=0)
    yield (gain - upper).clamp(min=0)
    uniform = torch.zeros(1, keys, dtype=torch.float64)
    one_hot = torch.full_like(uniform, -1e4)
    one_hot[0, 0] = 0
    yield lp_gain(uniform, p) - upper
    yield lp_gain(one_hot, p) - 1


def _repetition_softmax(inputs: Draw, p: float) -> Iterator[Tensor]:
    """Softmax does not see how often the evidence is repeated (eq. 2)."""
    for times in _REPEATS:
        yield inputs.repeated(times).attend(1.0) - inputs.attend(1.0)


def _repetition_mass(inputs: Draw, p: float) -> Iterator[Tensor]:
    """r-fold evidence scales the output by r^(1 - 1/p) (eq. 6)."""
    for times in _REPEATS:
        scale = times ** (1 - 1 / p)
        yield inputs.repeated(times).attend(p) - scale * inputs.attend(p)


def _renyi(inputs: Draw, p: float) -> Iterator[Tensor]:
    """g_p = exp((1 - 1/p) H_p), H_p the Rényi entropy of softmax (section 3.2)."""
    weights = inputs.logits.softmax(-1)
    entropy = weights.pow(p).sum(-1).log() / (1 - p)
    yield lp_gain(inputs.logits, p) - torch.exp((1 - 1 / p) * entropy)


def _masked(inputs: Draw, p: float) -> Iterator[Tensor]:
    """Masked keys count for nothing, however large; without any key, zeros (Alg. 1)."""
    trials, keys, _ = inputs.k.shape
    padded = torch.cat([inputs.k, 1e3 * inputs.q.expand(-1, keys, -1)], dim=1)
    values = torch.cat([inputs.v, torch.full_like(inputs.v, 1e3)], dim=1)
    mask = torch.arange(2 * keys) < keys
    mask = mask.expand(trials, 1, -1)
    yield mass_aware_attention(inputs.q, padded, values, p, mask) - inputs.attend(p)
    q = inputs.q.clone().requires_grad_()
    output = mass_aware_attention(q, padded, values, p, torch.zeros_like(mask))
    (gradient,) = torch.autograd.grad(output.sum(), q)
    yield output.detach()
    yield gradient


CHECKS: dict[str, Callable[[Draw, float], Iterator[Tensor]]] = {
    "softmax": _softmax,
    "gain": _gain,
    "bounds": _bounds,
    "repetition_softmax": _repetition_softmax,
    "repetition_mass": _repetition_mass,
    "renyi": _renyi,
    "masked": _masked,
}
