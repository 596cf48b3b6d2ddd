"""Reproduce the mass-aware attention papers: data, runs, probes, statistics, claims."""

from pathlib import Path

from snakemake.utils import min_version

min_version("9.27")

ROOT = Path(workflow.basedir)


configfile: ROOT / "config" / "config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/probe.smk"
include: "workflow/rules/audit.smk"
include: "workflow/rules/inference.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/report.smk"


rule figures:
    """Only the figures and tables, and what they need."""
    input:
        collect(rules.figure.output, figure=FIGURES),
        collect(rules.table.output, table=TABLES),


rule data:
    """Only the prepared data and the targets."""
    input:
        get_all_targets,


rule all:
    default_target: True
    input:
        rules.claims.output,
        rules.figures.input,
        get_undrawn,


onsuccess:
    if Path("results/claims.html").exists():
        print(SUMMARY)
