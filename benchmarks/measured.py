"""Run a command; print its seconds and its peak memory as one line of JSON.

    python benchmarks/measured.py COMMAND ARGUMENT ...

A process of its own stands between a benchmark and what it measures, because a child
inherits the peak memory of its parent: a benchmark that had made large data would
count them as the command's.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """What a command took.

    Attributes:
        seconds: on the clock.
        cpu: seconds of the processor.
        gibibytes: largest resident memory.
    """

    seconds: float
    cpu: float
    gibibytes: float


def measure(command: Sequence[str], environment: Mapping[str, str]) -> Cost:
    """Run a command and return its cost; its own output goes nowhere.

    Raises:
        SystemExit: with what it printed, if the command fails.
    """
    done = subprocess.run(
        [sys.executable, __file__, *command],
        env=dict(environment),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:2])} failed:\n{done.stderr}")
    return Cost(**json.loads(done.stdout))


def main() -> None:
    """Run the command of the command line."""
    start = time.perf_counter()
    done = subprocess.run(sys.argv[1:], stdout=sys.stderr)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(done.returncode)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cost = {
        "seconds": seconds,
        "cpu": used.ru_utime + used.ru_stime,
        "gibibytes": used.ru_maxrss / 2**20,
    }
    print(json.dumps(cost))


if __name__ == "__main__":
    main()
