"""Verify a bundle: compute every number in it anew, and say what differs.

Reads a bundle. Checks each file against its manifest, computes all statistics, claims,
figures and tables from the shipped measurements by this tree's own workflow, and
compares them number by number. Ends with code 1 if anything differs.
"""

import argparse
import tempfile
from pathlib import Path

from maa.bundle.verify import verify
from maa.cli import run


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundle", type=Path, help="an archive of make bundle")
    parser.add_argument(
        "--snakefile", type=Path, required=True, help="this tree's Snakefile"
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        default=1e-9,
        help="largest relative difference that counts as equal (default: %(default)s)",
    )
    parser.add_argument(
        "--cores", default="all", help="jobs at a time (default: %(default)s)"
    )
    return parser.parse_args()


def main() -> None:
    """Verify in a folder of its own, which is removed at the end."""
    arguments = parse()
    with tempfile.TemporaryDirectory(prefix="maa-verify-") as folder:
        report, good = verify(
            arguments.bundle.resolve(),
            Path(folder),
            arguments.snakefile.resolve(),
            arguments.cores,
            arguments.tolerance,
        )
    print("\n".join(report))
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    run(main)
