"""Working through many rows a part at a time, so that memory is bounded."""

from collections.abc import Iterator


def slices(count: int, size: int, elements: int) -> Iterator[slice]:
    """Yield slices that cover ``count`` items of ``size`` elements each.

    Args:
        count: number of items.
        size: elements of one item.
        elements: the most elements of a slice; one item is taken in any case.
    """
    step = max(1, elements // max(size, 1))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))
