r"""Entropies of a row in channels: what the sink holds, and how the rest is spread.

With S the sinks' share, rho the shares within the sinks, pi those within the content,

    H = Hb(S) + S H(rho) + (1 - S) H(pi)

(Papamichalis and Ruane, lemma 2, for one sink: H(rho) = 0). Jensen-Shannon's divergence
splits in the same way. All in nats, from logits.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, softplus

from maa.attention.rows.geometry import log_closure, widened
from maa.attention.rows.split import logit_mass, rest_of


def entropy(logits: Tensor, support: Tensor | None = None) -> Tensor:
    """Return the entropy of rows, (...), nats; 0 for a row of one key or of none."""
    log = log_closure(logits, support)
    return -torch.where(log > -torch.inf, log.exp() * log, 0.0).sum(-1)


def binary_entropy(logit: Tensor) -> Tensor:
    """Return the entropy of a share that is given by its logit, (...), nats."""
    share = torch.sigmoid(logit)
    terms = share * softplus(-logit) + (1 - share) * softplus(logit)
    return torch.where(logit.isinf(), 0.0, terms)


@dataclass(frozen=True)
class EntropyParts:
    """A row's entropy in channels, each (...); nats.

    Attributes:
        share: S, what the sinks hold.
        rest: 1 - S, of its own so that a sink that holds nearly all costs no digits.
        binary: Hb(S).
        sinks: H(rho), within the sinks; 0 for one.
        content: H(pi), within the content: what is left when the sink is dropped.
    """

    share: Tensor
    rest: Tensor
    binary: Tensor
    sinks: Tensor
    content: Tensor

    @property
    def total(self) -> Tensor:
        """The entropy of the whole row."""
        return self.binary + self.share * self.sinks + self.rest * self.content


def entropy_parts(
    logits: Tensor, sinks: Tensor, support: Tensor | None = None
) -> EntropyParts:
    """Return the entropy of rows in channels."""
    z = widened(logits, support)
    inside = sinks if support is None else sinks & support
    logit = logit_mass(z, sinks, support)
    return EntropyParts(
        torch.sigmoid(logit),
        torch.sigmoid(-logit),
        binary_entropy(logit),
        entropy(z, inside.expand_as(z)),
        entropy(z, rest_of(z, (sinks,), support)),
    )


@dataclass(frozen=True)
class Channels:
    """A change of entropy, or a divergence, in channels that add up to it exactly.

    Attributes:
        sink: between sinks and content, (...), nats.
        within: within the sinks, times their mean share.
        content: within the content, times its mean share.
    """

    sink: Tensor
    within: Tensor
    content: Tensor

    @property
    def total(self) -> Tensor:
        """The whole of it."""
        return self.sink + self.within + self.content


def attribute(before: EntropyParts, after: EntropyParts) -> Channels:
    """Attribute the change of a row's entropy by the midpoint rule.

    Each factor's change is weighed by the other's mean before and after (Shapley's
    value of two factors): sink = ΔHb + ΔS (mean H(rho) - mean H(pi)), content =
    (1 - mean S) ΔH(pi). Average only then, since means of products do not split.
    The paper's own rule is not known; orders of replacement one after the other give
    other shares.
    """
    share = (before.share + after.share) / 2
    moved = after.share - before.share
    rho = (before.sinks + after.sinks) / 2
    pi = (before.content + after.content) / 2
    return Channels(
        after.binary - before.binary + moved * (rho - pi),
        share * (after.sinks - before.sinks),
        (before.rest + after.rest) / 2 * (after.content - before.content),
    )


def divergence_parts(
    first: Tensor, second: Tensor, sinks: Tensor, support: Tensor | None = None
) -> Channels:
    """Return the Jensen-Shannon divergence of two rows in channels.

    JS(p, q) = JS(S, T) + mean share of the sinks * JS_w(rho, rho') + mean share of the
    content * JS_w(pi, pi'), where JS_w weighs the two by their shares.
    """
    a, b = log_closure(first, support), log_closure(second, support)
    inside = (sinks if support is None else sinks & support).expand_as(a)
    rest = rest_of(a, (sinks,), support)
    p, q = logit_mass(first, sinks, support), logit_mass(second, sinks, support)
    sink = jensen_shannon(_log_shares(p), _log_shares(q))
    return Channels(
        sink,
        _weighted(a, b, inside, torch.sigmoid(p), torch.sigmoid(q)),
        _weighted(a, b, rest, torch.sigmoid(-p), torch.sigmoid(-q)),
    )


def _log_shares(logit: Tensor) -> Tensor:
    return torch.stack([logsigmoid(logit), logsigmoid(-logit)], -1)


def jensen_shannon(
    first: Tensor, second: Tensor, support: Tensor | None = None
) -> Tensor:
    """Return the Jensen-Shannon divergence of rows, (...), nats; at most log 2."""
    a, b = log_closure(first, support), log_closure(second, support)
    half = torch.full_like(a[..., 0], 0.5)
    return _mixed(a, b, half).clamp(min=0)


def _weighted(a: Tensor, b: Tensor, group: Tensor, p: Tensor, q: Tensor) -> Tensor:
    """Return the mean share of a group, times its weighted divergence."""
    mean = (p + q) / 2
    weight = torch.where(mean > 0, p / (2 * mean), 0.5)
    return mean * _mixed(log_closure(a, group), log_closure(b, group), weight)


def _mixed(a: Tensor, b: Tensor, weight: Tensor) -> Tensor:
    """Return H(w p + (1 - w) q) - w H(p) - (1 - w) H(q) of log-probabilities."""
    w = weight.unsqueeze(-1)
    mixed = torch.logaddexp(a + w.log(), b + (1 - w).log())

    def terms(weighted: Tensor, log: Tensor) -> Tensor:
        ratio = torch.where(log > -torch.inf, log - mixed, 0.0)
        return (weighted * log.exp() * ratio).sum(-1)

    return terms(w, a) + terms(1 - w, b)
