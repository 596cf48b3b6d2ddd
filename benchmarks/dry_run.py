"""How long Snakemake takes to plan a study of a thousand runs.

    python benchmarks/dry_run.py

A thousand runs should be planned in less than 5 s; the fastest of some repeats counts,
since other work on the machine only adds to it.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 5.0


def study(runs: int) -> dict[str, object]:
    """Return a configuration of that many runs: two backbones, five operators."""
    return {
        "domains": {
            "ctdg": {
                "datasets": ["planted"],
                "backbones": ["tgat", "craft"],
                "operators": ["p1.00", "p1.05", "p1.10", "p1.20", "p2.00"],
                "seeds": list(range(runs // 10)),
            }
        }
    }


def plan(runs: int, folder: Path) -> float:
    """Return the seconds of one dry run, in an empty working directory."""
    config = folder / "study.yaml"
    config.write_text(yaml.safe_dump(study(runs)))
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--quiet", "all"]
    command += ["--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder)]
    start = time.perf_counter()
    subprocess.run(
        [*command, "--configfile", str(config)],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="runs of each size")
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as folder:
        for runs in (100, 1000):
            seconds = min(plan(runs, Path(folder)) for _ in range(repeats))
            print(f"{runs:5d} runs: {seconds:.2f} s")
    print(f"limit at 1000 runs: {LIMIT} s, ratio {seconds / LIMIT:.2f}")


if __name__ == "__main__":
    main()
