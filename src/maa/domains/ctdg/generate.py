"""A generated bipartite stream whose evidence counts are known by construction.

Each source has one or a few favourite destinations that it meets again and again. How
often it does is drawn broadly, and independently of which they are and of its pace. So
two sources with the same favourites have the same mean over their histories while the
number of meetings behind it differs by an order of magnitude: what attention weights
that sum to one lose, and what an Lp norm below that keeps (section 3 of the paper).
Without the plant every source has the same number of meetings, spread over the whole
stream, and there is nothing to lose.
"""

import numpy as np
import numpy.typing as npt
import pandas as pd

from maa.errors import UserError

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

DAY = 86_400.0
# a source's mean gap as a share of the stream, and the gamma shape of its gaps, which
# runs from bursts to clockwork; both are drawn log-uniformly
GAP_SHARE = (0.02, 0.2)
GAP_SHAPE = (0.4, 40.0)
# the longest part of the stream that one source can be active for
LONGEST_LIFE = 0.9
# by when every source is active: few test events then come from an unknown source
LATEST_BIRTH = 0.6
FEWEST = 2


def planted_stream(
    *,
    events: int,
    sources: int,
    destinations: int,
    seed: int,
    planted: bool,
    spread: float = 32.0,
    favourites: int = 2,
    exploration: float = 0.1,
    days: float = 30.0,
    tick: float = 60.0,
) -> pd.DataFrame:
    """Generate the stream.

    Args:
        events: number of events, at least two a source.
        sources: number of sources, at least as many as destinations.
        destinations: number of destinations, at least two.
        seed: seed of all draws; equal arguments give equal streams.
        planted: whether the number of events differs between sources.
        spread: ratio of the largest to the smallest expected number of events.
        favourites: the most favourites that a source can have.
        exploration: share of events that go to any destination at all.
        days: length of the stream.
        tick: resolution of the timestamps in seconds.

    Returns:
        Columns source (int64, 0..sources-1), destination (int64,
        sources..sources+destinations-1) and time (float64, seconds from the first
        event, whole ticks), one row an event, in time order. Every id occurs.

    Raises:
        UserError: if the numbers do not fit together.
    """
    _check(events, sources, destinations, favourites)
    rng = np.random.default_rng(seed)
    totals = _totals(rng, events, sources, spread if planted else 1.0)
    owner = np.repeat(np.arange(sources), totals)
    starts = np.cumsum(totals) - totals
    choice = _choices(rng, owner, starts, destinations, favourites, exploration)
    time = _times(rng, owner, starts, planted) * days * DAY
    time = np.floor(time / tick) * tick
    order = np.argsort(time, kind="stable")
    time = time[order] - time[order[0]]
    return pd.DataFrame(
        {
            "source": owner[order].astype(np.int64),
            "destination": (sources + choice[order]).astype(np.int64),
            "time": time,
        }
    )


def evidence_counts(events: pd.DataFrame) -> IntArray:
    """Count each event's evidence: its pair's events at strictly earlier times.

    Args:
        events: columns source, destination and time, in any order.

    Returns:
        int64[n] in the order of the rows.
    """
    # of the k events at one time each has the same strictly earlier ones, so the least
    # rank of the tie, from 1, is one more than their number
    pair = events.groupby(["source", "destination"], sort=False)["time"]
    return (pair.rank(method="min") - 1).to_numpy(np.int64)


def _check(events: int, sources: int, destinations: int, favourites: int) -> None:
    if events < FEWEST * sources:
        raise UserError(
            f"generated: {events} events are too few for {sources} sources; expected "
            f"at least {FEWEST * sources}: raise `events` or lower `sources`"
        )
    if not 2 <= destinations <= sources:
        raise UserError(
            f"generated: {destinations} destinations do not fit {sources} sources; "
            "expected 2 to as many as sources: change `destinations`"
        )
    if not 1 <= favourites <= destinations:
        raise UserError(
            f"generated: {favourites} favourites do not fit {destinations} "
            "destinations; expected 1 to as many as destinations: change `favourites`"
        )


def _totals(
    rng: np.random.Generator, events: int, sources: int, spread: float
) -> IntArray:
    """Number of events of each source, log-uniform over ``spread``, with exact sum."""
    # stratified: the shape of the distribution does not hang on the seed
    weight = spread ** ((rng.permutation(sources) + 0.5) / sources)
    share = (events - FEWEST * sources) * weight / weight.sum()
    totals = np.floor(share).astype(np.int64)
    largest = np.argsort(totals - share, kind="stable")
    totals[largest[: events - FEWEST * sources - totals.sum()]] += 1
    counts: IntArray = totals + FEWEST
    return counts


def _choices(
    rng: np.random.Generator,
    owner: IntArray,
    starts: IntArray,
    destinations: int,
    favourites: int,
    exploration: float,
) -> IntArray:
    """Destination of each event, sources' events lying one after another."""
    sources = len(starts)
    # first favourites go round, and come first, so that every destination occurs
    first = rng.permutation(sources) % destinations
    others = np.tile(np.arange(1, destinations), (sources, 1))
    step = rng.permuted(others, axis=1)[:, : favourites - 1]
    liked = np.column_stack([first, (first[:, None] + step) % destinations])
    number = rng.integers(1, favourites + 1, size=sources)
    which = rng.integers(0, number[owner])
    which[starts] = 0
    explore = rng.random(len(owner)) < exploration
    explore[starts] = False
    anywhere = rng.integers(0, destinations, size=len(owner))
    return np.where(explore, anywhere, liked[owner, which])


def _times(
    rng: np.random.Generator,
    owner: IntArray,
    starts: IntArray,
    planted: bool,
) -> FloatArray:
    """Time of each event as a share of the stream, sources' events in a row."""
    sources = len(starts)
    shape = _log_uniform(rng, *GAP_SHAPE, sources)
    pace = _log_uniform(rng, *GAP_SHARE, sources)
    gaps = rng.gamma(shape[owner]) * (pace / shape)[owner]
    elapsed = np.cumsum(gaps)
    elapsed -= elapsed[starts][owner]
    last = np.append(starts[1:], len(owner)) - 1
    life = elapsed[last]
    fitted = np.minimum(life, LONGEST_LIFE) if planted else np.ones(sources)
    born = rng.random(sources) * np.minimum(1.0 - fitted, LATEST_BIRTH)
    times: FloatArray = born[owner] + elapsed * (fitted / life)[owner]
    return times


def _log_uniform(
    rng: np.random.Generator, low: float, high: float, size: int
) -> FloatArray:
    return np.exp(rng.uniform(np.log(low), np.log(high), size=size))
