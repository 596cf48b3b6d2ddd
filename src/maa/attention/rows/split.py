r"""The sink and the content of a row: orthogonal parts of Aitchison's distance.

A row's keys fall into groups in order: a sink, perhaps further ones or the diagonal,
and the rest, the *content*. Each group's *balance* sets it against all that come after
it; balances, what happens within a group, and the content are orthogonal, so that
squared distances add up (Papamichalis and Ruane, lemma 1; table 5 for several sinks).

``groups`` are bool masks, broadcastable to the rows; a key that is in two of them
belongs to the first. A group without a key in a row's support contributes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from maa.attention.rows.geometry import mean_on, widened


@dataclass(frozen=True)
class Parts:
    """Orthogonal parts of a squared length; each (...), or (L, ...) for L groups.

    Attributes:
        balance: of each group against all later keys.
        within: among the keys of each group; 0 for a group of one.
        content: among the keys that are in no group.
    """

    balance: Tensor
    within: Tensor
    content: Tensor

    @property
    def total(self) -> Tensor:
        """The whole squared length."""
        return self.balance.sum(0) + self.within.sum(0) + self.content


def rest_of(logits: Tensor, groups: Sequence[Tensor], support: Tensor | None) -> Tensor:
    """Return the content: keys of the support that are in no group, (..., D)."""
    rest = torch.ones_like(logits, dtype=torch.bool)
    if support is not None:
        rest = rest & support
    for group in groups:
        rest = rest & ~group
    return rest


def balance(logits: Tensor, group: Tensor, others: Tensor) -> Tensor:
    """Return a group's balance against others, (...).

    It is ``sqrt(k m / (k + m)) log(g(group) / g(others))`` with geometric means g of
    the k and m keys, and 0 where one of the two is empty.
    """
    z = widened(logits)
    k, m = (mask.expand_as(z).sum(-1).to(z.dtype) for mask in (group, others))
    size = k * m / (k + m).clamp(min=1)
    apart = (mean_on(z, group) - mean_on(z, others)).squeeze(-1)
    return size.sqrt() * apart


def squares(
    logits: Tensor, groups: Sequence[Tensor], support: Tensor | None = None
) -> Parts:
    """Return the orthogonal parts of a row's squared norm."""
    z = widened(logits, support)
    remaining = rest_of(z, (), support)
    balances, within = [], []
    for each in groups:
        group = each & remaining
        remaining = remaining & ~group
        balances.append(balance(z, group, remaining).square())
        within.append(_spread(z, group))
    empty = z.new_zeros((0, *z.shape[:-1]))
    return Parts(
        torch.stack(balances) if balances else empty,
        torch.stack(within) if within else empty,
        _spread(z, remaining),
    )


def _spread(z: Tensor, group: Tensor) -> Tensor:
    centred = torch.where(group, z - mean_on(z, group), 0.0)
    return centred.square().sum(-1)


def distance_parts(
    first: Tensor,
    second: Tensor,
    groups: Sequence[Tensor],
    support: Tensor | None = None,
) -> Parts:
    """Return the orthogonal parts of the squared distance of two rows.

    The content alone does not depend on the convention: it is the same whether the sink
    is kept or dropped, and whatever the sink holds.
    """
    return squares(widened(first) - widened(second), groups, support)


def content_distance(
    first: Tensor, second: Tensor, sinks: Tensor, support: Tensor | None = None
) -> Tensor:
    """Return the content's part of the distance of two rows, (...)."""
    return distance_parts(first, second, (sinks,), support).content.sqrt()


def log_mass(logits: Tensor, group: Tensor) -> Tensor:
    """Return the log of a group's unnormalised mass, (...); -inf for an empty one."""
    z = widened(logits, group)
    return torch.logsumexp(z.masked_fill(~group, -torch.inf), -1)


def logit_mass(logits: Tensor, group: Tensor, support: Tensor | None = None) -> Tensor:
    """Return ``log(S / (1 - S))`` of the share S that a group holds, (...)."""
    z = widened(logits, support)
    rest = rest_of(z, (group,), support)
    inside = group if support is None else group & support
    return log_mass(z, inside.expand_as(z)) - log_mass(z, rest)


def unevenness(logits: Tensor, group: Tensor) -> Tensor:
    """Return ``KL(u || rho)`` of a group's shares rho from even ones u, (...), nats.

    A sink's balance moves with it: ``sqrt(k m / (k + m)) [logit S + log(m / k) +
    KL(u || content) - KL(u || sinks)]``, so that a spikier content alone looks like a
    larger sink. The parts are to be reported apart.
    """
    z = widened(logits, group)
    size = group.expand_as(z).sum(-1).clamp(min=1).to(z.dtype)
    even = log_mass(z, group) - size.log() - mean_on(z, group).squeeze(-1)
    return torch.where(group.expand_as(z).any(-1), even, 0.0)
