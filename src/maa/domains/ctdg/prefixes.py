"""Statistics of every prefix of every group, without a loop over either."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.indexers import BaseIndexer

Floats = NDArray[np.float64]


def prefix_moments(values: Floats, ranks: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return mean and population standard deviation of each group up to each entry.

    The variance is the difference of two running means, of squares and of values, but
    of what is left after subtracting the group's first value. As every prefix holds
    that value, its variance is at least 1/k of the mean square left (k entries), so
    the difference loses at most a factor k of the precision, however large the values
    are beside their spread. pandas sums each group by itself, with compensation, so
    neither long groups nor what stands ahead of a group costs digits.

    Args:
        values: float64 [n], group by group.
        ranks: int64 [n], the place of each entry in its group, from 0.
    """
    group = np.cumsum(ranks == 0)
    first = values[np.arange(len(values)) - ranks]
    rest = values - first
    sums = pd.DataFrame({"value": rest, "square": rest * rest}).groupby(group).cumsum()
    mean = sums["value"].to_numpy() / (ranks + 1)
    square = sums["square"].to_numpy() / (ranks + 1)
    return first + mean, np.sqrt(np.maximum(square - mean * mean, 0.0))


def prefix_medians(values: Floats, ranks: NDArray[np.int64]) -> Floats:
    """Return the median of each group up to each entry.

    Args:
        values: float64 [n], finite, group by group.
        ranks: int64 [n], the place of each entry in its group, from 0.
    """
    stop = np.arange(1, len(values) + 1)
    prefixes = _Prefixes(start=stop - 1 - ranks, stop=stop)
    return pd.Series(values).rolling(prefixes, min_periods=1).median().to_numpy()


class _Prefixes(BaseIndexer):
    """Windows for pandas: from a group's first entry to each entry of the group."""

    start: NDArray[np.int64]
    stop: NDArray[np.int64]

    def get_window_bounds(
        self,
        num_values: int = 0,
        min_periods: int | None = None,
        center: bool | None = None,
        closed: str | None = None,
        step: int | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the windows' starts and stops."""
        return self.start, self.stop
