r"""Mass-aware attention without a matrix of all weights: long sequences.

One row of weights is :math:`w_j = \exp(a_j - L)` with :math:`L = \log \|\exp a\|_p`, so
that a row's L is all that has to be kept of it. Both passes go through the queries a
block at a time, against all keys; memory grows with the number of keys and not with
its square. On a CPU each thread has heads of its own. The gradient by the logits is
:math:`w_j (\dot o \cdot v_j) - (\dot o \cdot o) w_j^p`, where :math:`\dot o` is the
gradient by the output o (Yu and Ha, eq. 3).
"""

import functools
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from torch import Tensor

# Logits of one block: 4 MiB of float32, which a shared cache holds. A quarter of it is
# about as good.
BLOCK = 2**20


def chunked_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    p: float,
    mask: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """Return mass-aware attention of float tensors, [..., L, e]; see the module.

    Shapes are checked by `maa.attention.mass_aware_attention`, which calls this.

    Args:
        q: queries ``[..., L, d]``.
        k: keys ``[..., n, d]``.
        v: values ``[..., n, e]``.
        p: order of the norm, in [1, inf].
        mask: bool, broadcastable to ``[..., L, n]``; True marks a valid key.
        causal: also hide keys behind a query's own place; needs L = n.
    """
    shapes = [x.shape[:-2] for x in (q, k, v)]
    leading = torch.broadcast_shapes(*shapes)  # type: ignore[no-untyped-call]
    q, k, v = (x.expand(*leading, *x.shape[-2:]) for x in (q, k, v))
    if mask is not None:
        mask = mask.expand(*leading, q.shape[-2], k.shape[-2])
    out: Tensor = _Chunked.apply(q, k, v, p, mask, causal)  # type: ignore[no-untyped-call]
    return out


def _blocks(queries: int, keys: int, causal: bool) -> list[tuple[slice, int]]:
    """Return blocks of queries, each with the number of keys that it may need."""
    step = max(16, BLOCK // max(keys, 1))
    starts = range(0, queries, step)
    stops = [min(start + step, queries) for start in starts]
    return [
        (slice(start, stop), stop if causal else keys)
        for start, stop in zip(starts, stops, strict=True)
    ]


class _Buffers:
    """Memory for a block's matrices, taken once: fresh pages cost as much again."""

    def __init__(self, count: int, blocks: list[tuple[slice, int]], like: Tensor):
        size = max((rows.stop - rows.start) * n for rows, n in blocks)
        self.flat = [like.new_empty(size) for _ in range(count)]

    def views(self, rows: slice, n: int) -> list[Tensor]:
        shape = (rows.stop - rows.start, n)
        return [flat[: shape[0] * n].view(shape) for flat in self.flat]


def _logits(
    q: Tensor, k: Tensor, mask: Tensor | None, rows: slice, causal: bool, out: Tensor
) -> None:
    """Write a block of logits, [rows, keys], with -inf where a key is hidden."""
    torch.mm(q, k.mT, out=out)
    if mask is not None:
        out.masked_fill_(~mask, -math.inf)
    if causal:
        own = out[:, rows.start :]
        hidden = torch.ones_like(own, dtype=torch.bool).triu_(1)
        own.masked_fill_(hidden, -math.inf)


def _part(
    mask: Tensor | None, at: tuple[int, ...], rows: slice, n: int
) -> Tensor | None:
    return None if mask is None else mask[at][rows, :n]


def _each_head(
    one: Callable[[tuple[int, ...], _Buffers], None],
    buffers: Callable[[], _Buffers],
    like: Tensor,
) -> None:
    """Call ``one`` with the place of every head in ``like``, in torch's threads.

    Threads that share each operation wait for each other after each; here a head is
    one thread's alone. What is computed does not depend on which.
    """
    places = list(np.ndindex(like.shape[:-2]))
    left = iter(places)  # drawn from by all threads: its next is atomic

    def work() -> None:
        own = buffers()
        for at in left:
            one(at, own)

    threads = torch.get_num_threads()
    workers = min(threads, len(places)) if like.device.type == "cpu" else 1
    if workers < 2:
        with torch.autocast(like.device.type, enabled=False):
            work()
        return
    # A new thread knows of no autocast, but would record for autograd again.
    silent, each = torch.inference_mode()(work), threads // workers
    try:
        with ThreadPoolExecutor(workers, "", torch.set_num_threads, (each,)) as pool:
            for done in [pool.submit(silent) for _ in range(workers)]:
                done.result()
    finally:
        # The number is a thread's own, but also what later threads begin with.
        torch.set_num_threads(threads)


def _exp2(a: Tensor, p: float, out: Tensor) -> Tensor:
    """Return 2 ** (p a), written to ``out``."""
    torch.mul(a, p, out=out)
    return out.exp2_()


class _Chunked(torch.autograd.Function):
    """Logits are kept in units of log 2, since powers of two are cheaper."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        p: float,
        mask: Tensor | None,
        causal: bool,
    ) -> Tensor:
        scale = q.shape[-1] ** -0.5 / math.log(2)
        out = q.new_empty(*q.shape[:-1], v.shape[-1])
        logs = torch.empty(q.shape[:-1], dtype=_wide(q), device=q.device)
        blocks = _blocks(q.shape[-2], k.shape[-2], causal)

        def one(at: tuple[int, ...], buffers: _Buffers) -> None:
            keys, values = k[at].to(logs.dtype), v[at].to(logs.dtype)
            queries = q[at].to(logs.dtype) * scale
            for rows, n in blocks:
                weights, spare = buffers.views(rows, n)
                part = _part(mask, at, rows, n)
                _logits(queries[rows], keys[:n], part, rows, causal, weights)
                # A row without a key has neither a largest logit nor a norm: zeros.
                top = weights.amax(-1, keepdim=True).nan_to_num_(0, 0, 0)
                weights.sub_(top)
                if p == math.inf:
                    norm = torch.zeros_like(top)
                elif p == 1:
                    norm = weights.exp2_().sum(-1, keepdim=True).log2_()
                else:
                    norm = _exp2(weights, p, spare).sum(-1, keepdim=True).log2_() / p
                if p != 1:
                    weights.exp2_()
                norm.nan_to_num_(0, 0, 0)
                out[at][rows] = (weights @ values[:n]).mul_((-norm).exp2_())
                logs[at][rows] = (top + norm).squeeze(-1)

        _each_head(one, functools.partial(_Buffers, 2, blocks, logs), q)
        ctx.save_for_backward(q, k, v, out, logs, mask)
        ctx.p, ctx.causal = p, causal
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():
            raise RuntimeError(
                "the gradient of attention in blocks cannot be differentiated again; "
                "take maa.attention.lp_normalize(logits, p) @ values"
            )
        q, k, v, out, logs, mask = ctx.saved_tensors
        p, wide, unit = ctx.p, logs.dtype, q.shape[-1] ** -0.5
        dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
        blocks = _blocks(q.shape[-2], k.shape[-2], ctx.causal)

        def one(at: tuple[int, ...], buffers: _Buffers) -> None:
            keys, values = k[at].to(wide), v[at].to(wide)
            queries, grads = q[at].to(wide) * (unit / math.log(2)), grad[at].to(wide)
            along = (grads * out[at].to(wide)).sum(-1, keepdim=True)
            by_key, by_value = torch.zeros_like(keys), torch.zeros_like(values)
            for rows, n in blocks:
                weights, escort, by_logit = buffers.views(rows, n)
                part = _part(mask, at, rows, n)
                _logits(queries[rows], keys[:n], part, rows, ctx.causal, weights)
                weights.sub_(logs[at][rows].unsqueeze(-1))
                if p == math.inf:
                    torch.ge(weights, 0, out=escort)
                    escort.div_(escort.sum(-1, keepdim=True).clamp_(min=1))
                elif p != 1:
                    _exp2(weights, p, escort)
                weights.exp2_()
                by_value[:n].addmm_(weights.mT, grads[rows])
                torch.mm(grads[rows], values[:n].mT, out=by_logit)
                if p == 1:
                    by_logit.sub_(along[rows]).mul_(weights)
                else:
                    by_logit.mul_(weights).addcmul_(escort, along[rows], value=-1)
                dq[at][rows] = (by_logit @ keys[:n]).mul_(unit)
                by_key[:n].addmm_(by_logit.mT, queries[rows], alpha=math.log(2))
            dk[at], dv[at] = by_key, by_value

        _each_head(one, functools.partial(_Buffers, 3, blocks, logs), q)
        return dq, dk, dv, None, None, None


def _wide(q: Tensor) -> torch.dtype:
    half = q.dtype in (torch.float16, torch.bfloat16)
    return torch.float32 if half else q.dtype
