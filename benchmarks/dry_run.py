"""How long Snakemake takes to plan a study, and to find that nothing is to be done.

    python benchmarks/dry_run.py [--runs 100 1000 5000]

A thousand runs should be planned in less than 5 s; the fastest of some repeats counts,
since other work on the machine only adds to it. For the second figure every file of the
study is made as an empty one and Snakemake is told, by ``--touch``, that it is done.
"""

import argparse
import re
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


def snakemake(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run Snakemake on the study in a folder."""
    command = [sys.executable, "-m", "snakemake", "--directory", str(folder)]
    command += ["--snakefile", str(ROOT / "Snakefile")]
    command += ["--configfile", str(folder / "study.yaml"), *options]
    return subprocess.run(command, check=True, capture_output=True, text=True)


def plan(folder: Path) -> float:
    """Return the seconds of one dry run."""
    start = time.perf_counter()
    snakemake(folder, "--dry-run", "--quiet", "all")
    return time.perf_counter() - start


def pretend(folder: Path) -> None:
    """Have the whole study done, with empty files."""
    planned = snakemake(folder, "--dry-run").stdout
    for line in re.findall(r"^    output: (.*)$", planned, re.MULTILINE):
        for name in line.split(", "):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix:
                path.touch()
            else:
                path.mkdir(exist_ok=True)
    snakemake(folder, "--touch", "--cores", "1", "--quiet", "all")
    assert "Nothing to be done" in snakemake(folder, "--dry-run").stdout


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="repeats of each size")
    parser.add_argument("--runs", type=int, nargs="+", default=[100, 1000])
    arguments = parser.parse_args()
    for runs in arguments.runs:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "study.yaml").write_text(yaml.safe_dump(study(runs)))
            everything = min(plan(folder) for _ in range(arguments.repeats))
            pretend(folder)
            nothing = min(plan(folder) for _ in range(arguments.repeats))
            print(f"{runs:5d} runs: {everything:.2f} s from nothing", end=", ")
            print(f"{nothing:.2f} s when all is done", flush=True)
            if runs == 1000:
                print(f"limit at 1000 runs: {LIMIT} s, ratio {everything / LIMIT:.2f}")


if __name__ == "__main__":
    main()
