"""Attention in blocks is attention: values, gradients, and what it keeps."""

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from maa.attention import chunked, lp_normalize, mass_aware_attention
from maa.attention.chunked import chunked_attention

GENERATOR = torch.Generator().manual_seed(21)
ORDERS = [1.0, 1.1, 2.0, math.inf]


def tensors(dtype: torch.dtype = torch.float64) -> list[Tensor]:
    """Two batches of three heads; the keys are shared between batches."""
    shapes = ((2, 3, 50, 8), (1, 3, 50, 8), (2, 3, 50, 5))
    return [
        (2 * torch.randn(*shape, generator=GENERATOR, dtype=torch.float64))
        .to(dtype)
        .requires_grad_()
        for shape in shapes
    ]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 16 queries: three whole ones, and two queries that are left."""
    monkeypatch.setattr(chunked, "BLOCK", 50 * 16)


@pytest.fixture
def threads() -> Iterator[None]:
    """Torch's number of threads is put back behind a test that sets it."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def plainly(
    q: Tensor, k: Tensor, v: Tensor, p: float, mask: Tensor | None, causal: bool
) -> Tensor:
    if causal:
        seen = torch.ones(50, 50, dtype=torch.bool).tril()
        mask = seen if mask is None else seen & mask
    return lp_normalize(q @ k.mT / math.sqrt(8), p, mask) @ v


@pytest.mark.parametrize("p", ORDERS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_values_and_gradients(p: float, causal: bool, masked: bool) -> None:
    mask = None
    if masked:
        mask = torch.rand(2, 1, 50, 50, generator=GENERATOR) < 0.7
        mask[0, 0, 7] = False  # a row without any key
    given = tensors()
    found = chunked_attention(*given, p, mask, causal)
    expected = plainly(*given, p, mask, causal)
    torch.testing.assert_close(found, expected, rtol=1e-11, atol=1e-11)
    along = torch.randn(found.shape, generator=GENERATOR, dtype=torch.float64)
    for one, other in zip(
        torch.autograd.grad(found, given, along),
        torch.autograd.grad(expected, given, along),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)
    if masked:
        assert (found[0, :, 7] == 0).all()


def test_p_1_is_torchs_own() -> None:
    given = [x.expand(2, -1, -1, -1).float() for x in tensors()]
    found = chunked_attention(*given, 1.0, causal=True)
    expected = scaled_dot_product_attention(*given, is_causal=True)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("half", [torch.float16, torch.bfloat16])
def test_half_precision_is_rounded_once(half: torch.dtype) -> None:
    given = tensors(half)
    found = chunked_attention(*given, 1.1)
    wide = [x.detach().float() for x in given]
    assert found.dtype is half
    expected = plainly(*wide, 1.1, None, False).to(half)
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)
    found.sum().backward()
    assert all(x.grad is not None and x.grad.dtype is half for x in given)


def test_large_logits_overflow_nowhere() -> None:
    q, k, v = (x.detach() * 300 for x in tensors(torch.float32))
    found = chunked_attention(q, k, v, 1.1)
    assert found.isfinite().all()
    expected = plainly(q.double(), k.double(), v.double(), 1.1, None, False)
    torch.testing.assert_close(found.double(), expected, rtol=1e-3, atol=1.0)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("p", ORDERS)
def test_threads_change_no_bit(p: float) -> None:
    mask = torch.rand(2, 3, 50, 50, generator=GENERATOR) < 0.7
    given = tensors(torch.float32)
    found = []
    for count in (1, 2, 4):
        torch.set_num_threads(count)
        out = chunked_attention(*given, p, mask, causal=True)
        found.append((out, *torch.autograd.grad(out.square().sum(), given)))
        assert not any(x.is_inference() for x in found[-1])
    for other in found[1:]:
        assert all(torch.equal(x, y) for x, y in zip(found[0], other, strict=True))


@pytest.mark.usefixtures("threads")
def test_gradients_of_heads_in_threads() -> None:
    torch.set_num_threads(2)
    small = [x[:1, :2, :6].detach().requires_grad_() for x in tensors()]
    assert torch.autograd.gradcheck(lambda *x: chunked_attention(*x, 1.3), small)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("fails", [False, True])
def test_the_number_of_threads_is_put_back(
    fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the calling thread, and for those that start later."""
    torch.set_num_threads(3)
    inside = []

    def logits(*arguments: object) -> None:
        inside.append(torch.get_num_threads())
        if fails:
            raise MemoryError("no room for a block")
        plain(*arguments)  # type: ignore[arg-type]

    plain = chunked._logits
    monkeypatch.setattr(chunked, "_logits", logits)
    given = [x.detach() for x in tensors()]
    if fails:
        with pytest.raises(MemoryError, match="no room"):
            chunked_attention(*given, 1.1)
    else:
        chunked_attention(*given, 1.1)
    assert set(inside) == {1}
    with ThreadPoolExecutor(1) as later:
        assert later.submit(torch.get_num_threads).result() == 3
    assert torch.get_num_threads() == 3


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("count", [1, 2])
def test_autocast_does_not_reach_inside(count: int) -> None:
    torch.set_num_threads(count)
    given = [x.detach() for x in tensors(torch.float32)]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = chunked_attention(*given, 1.1)
    assert torch.equal(found, chunked_attention(*given, 1.1))


@pytest.mark.usefixtures("threads")
def test_inference_in_threads() -> None:
    torch.set_num_threads(2)
    given = tensors()
    with torch.inference_mode():
        found = chunked_attention(*given, 1.1)
    assert torch.equal(found.clone(), chunked_attention(*given, 1.1))


def test_long_sequences_take_it(monkeypatch: pytest.MonkeyPatch) -> None:
    given, seen = tensors(), []

    def spy(*arguments: object) -> Tensor:
        seen.append(arguments)
        return chunked_attention(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("maa.attention.mass_aware.chunked_attention", spy)
    short = mass_aware_attention(*given, 1.1, causal=True)
    assert not seen
    monkeypatch.setattr("maa.attention.mass_aware.LONG", 2500)
    mask = torch.ones(50, 50, dtype=torch.bool)
    long = mass_aware_attention(*given, 1.1, mask, causal=True)
    assert len(seen) == 1
    torch.testing.assert_close(long, short)
    mass_aware_attention(*given, 1.1, dropout=0.1)
    assert len(seen) == 1
    mass_aware_attention(*given, 1.1, dropout=0.1, training=False)
    assert len(seen) == 2


def test_what_it_cannot_do_is_said() -> None:
    q, k, v = tensors()
    found = chunked_attention(q, k, v, 1.1)
    with pytest.raises(RuntimeError, match="differentiated again"):
        torch.autograd.grad(found.sum(), q, create_graph=True)
    with pytest.raises(ValueError, match="as many keys as queries"):
        mass_aware_attention(q[..., :9, :], k, v, 1.1, causal=True)


def test_no_matrix_of_all_weights_is_kept() -> None:
    """What autograd saves grows with the length, not with its square."""
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda x: saved.append(x.numel()) or x, lambda x: x
    ):
        mass_aware_attention(
            *(torch.randn(1, 1, 700, 8, requires_grad=True) for _ in range(3)), 1.1
        )
    assert max(saved) == 700 * 8
