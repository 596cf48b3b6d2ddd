"""Computing a bundle's numbers anew from its measurements."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maa.bundle.compare import Comparison, compare
from maa.bundle.manifest import sha256, software
from maa.bundle.pack import unpack
from maa.errors import UserError

# What a bundle ships as it is; all else is computed anew from it.
GIVEN = (
    "results/measurements.parquet",
    "results/curves.parquet",
    "results/traces.parquet",
    "results/supports.parquet",
)
GIVEN_FOLDER, ANEW = "results/audits/", "results/audits/facts.parquet"
RULES = (
    *("infer", "contrast", "select_power", "facts", "audit_facts"),
    *("claims", "figure", "table", "figures"),
)


def verify(
    bundle: Path, folder: Path, snakefile: Path, cores: str, tolerance: float
) -> tuple[list[str], bool]:
    """Compute a bundle's numbers anew and compare.

    Args:
        bundle: the archive.
        folder: an empty folder to work in.
        snakefile: the Snakefile of the tree that computes.
        cores: jobs at a time, as Snakemake takes it.
        tolerance: the largest relative difference that counts as equal.

    Returns:
        A report in lines, and whether every number is as shipped.

    Raises:
        UserError: if the bundle is damaged, its claims are not this tree's, or the
            workflow fails.
    """
    shipped, work = folder / "shipped", folder / "work"
    manifest = unpack(bundle, shipped)
    claims = snakefile.parent / "config" / "claims.yaml"
    if sha256(claims) != manifest["files"]["results/provenance/claims.yaml"]:
        raise UserError(
            f"{claims} is not the file that {bundle} was judged by; verify with the "
            "version of this project that made the bundle"
        )
    given = [name for name in manifest["files"] if _is_given(name)]
    for name in given:
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        os.link(shipped / name, work / name)
    _compute(work, snakefile, shipped / "results/provenance/study.yaml", cores)
    names = [
        name
        for name in manifest["files"]
        if name.endswith((".parquet", ".csv")) and name not in given
    ]
    found = compare(shipped, work, names, tolerance)
    report = [*_provenance(manifest), "", *_outcome(found, len(names), tolerance)]
    return report, not found.differences


def _is_given(name: str) -> bool:
    """Return whether a file is taken as it was shipped."""
    return name in GIVEN or (name.startswith(GIVEN_FOLDER) and name != ANEW)


def _compute(work: Path, snakefile: Path, study: Path, cores: str) -> None:
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(snakefile)]
    command += ["--directory", str(work), "--configfile", str(study)]
    command += ["--cores", cores, "--quiet", "all", "--allowed-rules", *RULES]
    command += ["--", "figures", "results/claims.html"]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise UserError(
            "the numbers could not be computed from the bundle's measurements; the "
            f"workflow said: {' '.join(done.stderr.split())[-600:]}"
        )


def _provenance(manifest: Mapping[str, Any]) -> list[str]:
    """Say where the results were made, and which packages differ here."""
    lines = [f"made of {len(manifest['data'])} data sets:"]
    for name, entry in manifest["data"].items():
        files = [
            f"{each['name']} (sha256 {each['sha256'][:12]}, {each['checksum']})"
            for each in entry["files"]
        ]
        lines.append(f"  {name}: {', '.join(files) or 'generated'}")
    lines.append("on:")
    for machine in manifest["machines"]:
        text = ", ".join(f"{key} {value}" for key, value in machine.items() if value)
        lines.append(f"  {text}")
    here, there = software(), manifest["software"]
    other = [
        f"{name} {there[name]} (here {here.get(name, 'none')})"
        for name in there
        if here.get(name) != there[name]
    ]
    lines.append(f"packages that differ here: {', '.join(other) or 'none'}")
    return lines


def _outcome(found: Comparison, tables: int, tolerance: float) -> list[str]:
    compared = (
        f"{found.numbers} numbers in {tables} tables computed anew; the largest "
        f"relative difference is {found.largest:.1e}"
    )
    if not found.differences:
        return [compared, f"verified: all agree to {tolerance:.0e}"]
    shown = [f"  {line}" for line in found.differences[:20]]
    return [compared, f"NOT verified: {len(found.differences)} differences", *shown]
