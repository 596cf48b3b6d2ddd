"""What is left of a dissimilarity when sinks hold nearly all (theorem 3)."""

import math


def collapse_bounds(content: float, keys: int) -> dict[str, float]:
    """Return the largest values that rows can have whose sinks hold ``1 - content``.

    Two rows of ``keys`` keys, each of whose content holds at most ``content``: their
    total variation, Euclidean distance, 1 minus cosine and Jensen-Shannon divergence
    (nats), and the entropy of one (nats). They vanish with the content; the distance of
    the contents, each renormalised, knows no bound. The constants are ours; the paper's
    theorem 3 and proposition 3 give the statement.

    Args:
        content: the most that the content holds, above 0 and at most 1/2.
        keys: number of keys, at least 2.

    Raises:
        ValueError: if an argument is out of its range.
    """
    if not 0 < content <= 0.5:
        raise ValueError(f"content lies above 0 and at most at 1/2, got {content}")
    if keys < 2:
        raise ValueError(f"rows have at least 2 keys, got {keys}")
    sink = 1 - content
    binary = -content * math.log(content) - sink * math.log(sink)
    return {
        "total_variation": content,
        "euclid": math.sqrt(2) * content,
        "cosine": content**2 / (sink**2 + content**2),
        "js": content * math.log(2),
        "entropy": binary + content * math.log(keys - 1),
    }
