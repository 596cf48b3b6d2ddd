"""Cost per event of history windows and of targets from 1e5 to 1e7 events.

    python benchmarks/scaling.py

Both should cost the same an event at every size (within 1.5 times), and 1e7 events
should fit in 6 GiB. The stream is bipartite and grows by more nodes, not by longer
histories (see `growing_events`); a third of it, as in the paper, is asked about. Each
size runs in a process of its own, whose peak memory is given. Times are those of the
processor (one thread), so that other work on the machine counts little; of the repeats
the fastest counts, as the first also pays for memory that the system hands out afresh.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable

from growing import growing_events

from maa.domains.ctdg.history import windows
from maa.domains.ctdg.prepare import Settings, build
from maa.domains.ctdg.targets import compute

SIZES = (100_000, 1_000_000, 10_000_000)
DEPTH = 20
FLAT = 1.5
GIBIBYTES = 6


def fastest(task: Callable[[], object], repeats: int) -> float:
    """Return the processor seconds of the fastest of some repeats.

    Short tasks are repeated for a second, as single ones vary by a factor of two.
    """
    seconds: list[float] = []
    while len(seconds) < repeats or sum(seconds) < 1:
        start = time.process_time()
        task()
        seconds.append(time.process_time() - start)
    return min(seconds)


def measure(events: int, repeats: int) -> dict[str, float]:
    """Measure one size in this process."""
    settings = Settings(
        window=events,
        test_fraction=0.3,
        validation_fraction=0.1,
        history=DEPTH,
        query_seed=0,
    )
    stream = build(growing_events(events), bipartite=True, settings=settings)
    found = {
        "windows": fastest(
            lambda: windows(stream.source, DEPTH, stream.nodes), repeats
        ),
        "targets": fastest(lambda: compute(stream), repeats),
    }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {name: 1e9 * value / events for name, value in found.items()} | {
        "gibibytes": peak
    }


def main() -> None:
    """Measure each size in a fresh process and print the costs and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.size:
        print(json.dumps(measure(arguments.size, arguments.repeats)))
        return
    costs: dict[str, list[float]] = {"windows": [], "targets": [], "gibibytes": []}
    print(f"{'events':>12}{'windows':>16}{'targets':>16}{'peak memory':>16}")
    for size in SIZES:
        command = [sys.executable, __file__, "--size", str(size)]
        command += ["--repeats", str(arguments.repeats)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found = json.loads(done.stdout)
        for name, values in costs.items():
            values.append(found[name])
        print(
            f"{size:>12,}{found['windows']:>9.0f} ns/event{found['targets']:>7.0f}"
            f" ns/event{found['gibibytes']:>12.2f} GiB",
            flush=True,
        )
    for name in ("windows", "targets"):
        ratio = max(costs[name]) / min(costs[name])
        verdict = "flat" if ratio <= FLAT else "NOT flat"
        print(f"{name}: largest over smallest cost {ratio:.2f} ({verdict}: {FLAT})")
    verdict = "fits" if max(costs["gibibytes"]) <= GIBIBYTES else "does NOT fit"
    print(f"peak memory {max(costs['gibibytes']):.2f} GiB ({verdict}: {GIBIBYTES})")


if __name__ == "__main__":
    main()
