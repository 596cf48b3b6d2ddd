"""Say in short what a dry run would do again, and which modules are the reason.

Reads the output of ``snakemake --dry-run`` from standard input. Prints the number of
jobs of each rule, and for each rule with changed code the modules that changed.
"""

import argparse
import re
import sys
from collections import Counter

from maa.cli import run
from maa.dry_run import finished
from maa.fingerprint import changed_modules


def main() -> None:
    """Read, count and print."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    text = finished(sys.stdin.read(), "snakemake --dry-run")
    jobs = Counter(re.findall(r"^(?:local)?rule (\w+):", text, flags=re.MULTILINE))
    reasons = changed_modules(text)
    for rule, count in jobs.items():
        names = ", ".join(reasons.get(rule, []))
        print(f"{count:6d}  {rule}" + (f"  (changed: {names})" if names else ""))
    if not jobs:
        print("nothing to do")


if __name__ == "__main__":
    run(main)
