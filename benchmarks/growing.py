"""A generated stream that looks the same at every size: it grows by more sources."""

import numpy as np
import pandas as pd

EVENTS_A_SOURCE = 20
EVENTS_A_DESTINATION = 200
CLASSES = 8
FAVOURITES = 8


def growing_events(events: int, seed: int = 0) -> pd.DataFrame:
    """Generate a bipartite stream in which nodes grow in proportion to events.

    A source has 20 events on the average, from 80 in the most active of eight equally
    large classes to 1 in the least; it goes back to 8 favourite destinations, to the
    first of them most. Times are whole seconds, and two in seven events share theirs.

    Returns:
        Columns source, destination (int64, disjoint ids) and time (float64), in time
        order.
    """
    rng = np.random.default_rng(seed)
    sources = max(events // EVENTS_A_SOURCE // CLASSES, 1) * CLASSES
    destinations = max(events // EVENTS_A_DESTINATION, 2 * FAVOURITES)
    activity = np.minimum(rng.geometric(0.5, events) - 1, CLASSES - 1)
    source = rng.integers(0, sources // CLASSES, events) * CLASSES + activity
    favourite = (FAVOURITES * rng.random(events) ** 2).astype(np.int64)
    destination = sources + (source * 31 + favourite * 17) % destinations
    time = np.sort(rng.integers(0, 3 * events, events)).astype(np.float64)
    return pd.DataFrame({"source": source, "destination": destination, "time": time})
