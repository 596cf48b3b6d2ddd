"""What the paper's bounds come to on random layers of temporal attention."""

import math
from collections.abc import Iterator

from maa.attention.temporal.scaling import LENGTHS, Setting, experiment, exponent

# Quantities whose growth with the number of steps is claimed, or whose bound is.
GROWING = ("off_diagonal", "query", "diagonal")
BOUNDED = ("off_diagonal", "off_diagonal_value", "diagonal", "query")
MASKED_AT = 64
Row = tuple[str, float, float, float, int]


def theory() -> Iterator[Row]:
    """Yield exponents in T, broken bounds, and what a mask leaves of the query path.

    Yields:
        Name, value, and no interval; the last number counts random layers.
        ``theory.exponent.…``: power of the number of steps T that a norm goes with;
        ``theory.broken.…``: rows above the paper's bound at the largest T, percent;
        ``theory.query_masked``: norm of the query path with the diagonal masked, over
        that without a mask.
    """
    plain, nan = experiment(Setting()), math.nan
    seeds = int(plain["seed"].nunique())
    for name in GROWING:
        yield f"theory.exponent.{name}", exponent(plain, name), nan, nan, seeds
    longest = plain[plain["T"] == max(LENGTHS)].groupby("quantity")["exceeds"].mean()
    for name in BOUNDED:
        yield f"theory.broken.{name}", 100 * float(longest[name]), nan, nan, seeds
    masked = experiment(Setting(penalty=-math.inf), [MASKED_AT])
    queries = [
        table.loc[(table["T"] == MASKED_AT) & (table["quantity"] == "query"), "value"]
        for table in (masked, plain)
    ]
    ratio = float(queries[0].mean() / queries[1].mean())
    yield "theory.query_masked", ratio, nan, nan, seeds
