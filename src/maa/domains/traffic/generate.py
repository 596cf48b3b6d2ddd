"""Generated roads whose counts of congestion events are known by construction.

Sensors stand along a road. Each has a free-flow speed, a daily cycle that never falls
near congestion, and noise. Every block of an hour has `SLOTS` congested steps or none:
a planted block splits them into one, two or three events, so that windows with equal
mean speed differ in the number of events behind it, which is what a mean over the
window loses. Without the plant every block has its congested steps in one event. With a
probability, a sensor repeats the block before of the sensor before it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maa.domains.traffic.recording import Recording
from maa.errors import UserError

BLOCK = 12  # steps
SLOTS = 6  # congested steps of a block with events: divisible by 1, 2 and 3
DAY = 288  # steps of five minutes
FREE_FLOW = (55.0, 70.0)  # mph
CONGESTED = 0.4  # of the free-flow speed
DIP = 0.15  # how far the daily cycle lowers the free-flow speed
NOISE = 0.02  # standard deviation, of the free-flow speed


@dataclass(frozen=True, eq=False)
class Planted:
    """A generated recording and what was planted in it.

    Attributes:
        recording: speeds and graph.
        onsets: bool [S, N], the first step of every congestion event.
        free_flow: float64 [N], mph.
    """

    recording: Recording
    onsets: NDArray[np.bool_]
    free_flow: NDArray[np.float64]


def planted_roads(
    *,
    sensors: int,
    days: int,
    seed: int,
    planted: bool,
    busy: float = 0.4,
    follow: float = 0.5,
    missing: float = 0.02,
) -> Planted:
    """Generate roads.

    Args:
        sensors: number of sensors, two or more.
        days: length in days of 288 steps.
        seed: seed of all draws; equal arguments give equal data.
        planted: whether blocks differ in how many events share their congestion.
        busy: share of blocks with congestion.
        follow: probability that a block repeats the one before of the sensor before.
        missing: share of uncongested values that are missing.

    Raises:
        UserError: if there are fewer than two sensors or no day.
    """
    if sensors < 2 or days < 1:
        raise UserError(
            f"generated: {sensors} sensors and {days} days are too few; expected two "
            "sensors and one day or more"
        )
    rng = np.random.default_rng(seed)
    blocks = days * DAY // BLOCK
    events = _events(rng, sensors, blocks, planted, busy, follow)
    patterns = np.stack([_pattern(count) for count in range(4)])
    congested = patterns[events].transpose(1, 2, 0).reshape(blocks * BLOCK, sensors)
    free_flow = rng.uniform(*FREE_FLOW, size=sensors)
    speed = _speeds(rng, congested, free_flow)
    speed[_gaps(rng, congested, missing)] = 0.0
    before = np.vstack([np.zeros((1, sensors), bool), congested[:-1]])
    return Planted(Recording(speed, _road(sensors)), congested & ~before, free_flow)


def _events(
    rng: np.random.Generator,
    sensors: int,
    blocks: int,
    planted: bool,
    busy: float,
    follow: float,
) -> NDArray[np.int64]:
    """Number of events of each block, int64 [N, blocks]: 0 for a free one."""
    highest = 3 if planted else 1
    own = rng.integers(1, highest + 1, (sensors, blocks))
    own[rng.random((sensors, blocks)) >= busy] = 0
    copies = rng.random((sensors, blocks)) < follow
    for sensor in range(1, sensors):
        before = np.concatenate([[0], own[sensor - 1, :-1]])
        own[sensor] = np.where(copies[sensor], before, own[sensor])
    return own


def _pattern(events: int) -> NDArray[np.bool_]:
    """Congested steps of a block with some events, each as long as the others.

    The block's first step and the one after each event are free, so that an event never
    joins its neighbour.
    """
    steps = np.zeros(BLOCK, dtype=np.bool_)
    length = SLOTS // max(events, 1)
    for event in range(events):
        start = 1 + event * (length + 1)
        steps[start : start + length] = True
    return steps


def _speeds(
    rng: np.random.Generator,
    congested: NDArray[np.bool_],
    free_flow: NDArray[np.float64],
) -> NDArray[np.float64]:
    steps, sensors = congested.shape
    phase = 2 * np.pi * np.arange(steps) / DAY
    cycle = 1 - DIP * (1 - np.cos(phase)) / 2
    level = np.where(congested, CONGESTED, cycle[:, None])
    noise = np.clip(rng.normal(0, NOISE, (steps, sensors)), -3 * NOISE, 3 * NOISE)
    speeds: NDArray[np.float64] = free_flow * (level + noise)
    return speeds


def _gaps(
    rng: np.random.Generator, congested: NDArray[np.bool_], missing: float
) -> NDArray[np.bool_]:
    """Missing values, none of them congested or right before an event."""
    after = np.vstack([congested[1:], np.zeros_like(congested[:1])])
    drawn = rng.random(congested.shape) < missing
    gaps: NDArray[np.bool_] = drawn & ~congested & ~after
    return gaps


def _road(sensors: int) -> NDArray[np.float64]:
    """Weights that fall with the distance along the road; below 0.1 they are zero."""
    place = np.arange(sensors)
    weights = np.exp(-(((place[:, None] - place) / 1.5) ** 2))
    return np.where(weights < 0.1, 0.0, weights)
