"""What the rules share: configuration, code fingerprints, and the files of a study."""

import atexit
import gc
import json
import os
import re
import sys
from itertools import product

SOURCE = ROOT / "src"
SCHEMAS = ROOT / "workflow" / "schemas"

# Scripts import the library of this very tree, and run in the Python that runs this.
PYTHON = Path(sys.executable).parent
sys.path.insert(0, str(SOURCE))
os.environ.update(
    PYTHONPATH=str(SOURCE),
    MAA_SCRIPTS=str(ROOT / "workflow" / "scripts"),
    PATH=os.pathsep.join([str(PYTHON), os.environ.get("PATH", "")]),
)

from maa.config import check, load
from maa.errors import UserError
from maa.fingerprint import Code

# Planning a large study makes millions of objects that all live to the end. Looking for
# garbage among them, on the way and once more at the exit, takes a third of a dry run.
gc.set_threshold(5_000_000, 50, 100)
atexit.register(gc.freeze)

FIGURES = ["fig1", "fig2"]
TABLES = ["table3", "table4"]
SUMMARY = """
Done. Look at
  results/claims.html      every claim, our number, the paper's, and the verdict
  results/figures/         the figures, each with the table behind it
  results/tables/          the paper's tables in our form
  results/measurements.parquet   every measurement of every run
A report in one file: make report CONFIG=FILE (the demo's FILE is config/config.yaml).
"""

CODE = Code(source=SOURCE, scripts=ROOT / "workflow" / "scripts")
REGISTRY = load(ROOT / "config" / "datasets.yaml")


def fail(sentence):
    """End the workflow with one sentence instead of a stack trace."""
    sys.tracebacklimit = 0
    sys.exit(f"error: {sentence}")


def relative(*parts):
    """Return a file of this tree as inputs are recorded, so that a copy is no change."""
    return os.path.relpath(ROOT.joinpath(*parts))


def check_configuration():
    """Check what no schema can: names that must agree with each other."""
    check(config, SCHEMAS / "config.schema.yaml", "the configuration")
    check(REGISTRY, SCHEMAS / "datasets.schema.yaml", "config/datasets.yaml")
    for domain, study in config["domains"].items():
        known = REGISTRY[domain]
        for dataset in study["datasets"]:
            if dataset not in known:
                raise UserError(
                    f"domains.{domain}.datasets: {dataset!r} is not in "
                    f"config/datasets.yaml; known: {', '.join(sorted(known))}"
                )
        for arm in ("baseline", "treatment"):
            operator = config["inference"][arm]
            if operator not in study["operators"]:
                raise UserError(
                    f"inference.{arm}: {operator} is not among "
                    f"domains.{domain}.operators ({', '.join(study['operators'])}); "
                    "add it there"
                )
    arms = config["inference"]
    if arms["baseline"] == arms["treatment"]:
        raise UserError(
            f"inference: baseline and treatment are both {arms['baseline']}; "
            "name two different operators"
        )


try:
    check_configuration()
except UserError as error:
    fail(error)

if config["mirror"]:
    folder = Path(config["mirror"]).expanduser().resolve()
    os.environ.update(MAA_DATA_MIRROR=str(folder))


def values(key):
    """Return a wildcard's pattern: all values of a list of the configuration."""
    found = {str(v) for study in config["domains"].values() for v in study[key]}
    return "|".join(re.escape(value) for value in sorted(found))


wildcard_constraints:
    domain="|".join(config["domains"]),
    dataset=values("datasets"),
    backbone=values("backbones"),
    operator=values("operators"),
    seed=r"\d+",
    figure="|".join(FIGURES),
    table="|".join(TABLES),


def code(script, stages=(), backbone=False, module=None):
    """Return a params function: the hashes of the modules that a script reaches.

    ``stages`` are modules of the job's domain; ``module`` is a pattern with wildcards.
    """

    def get_code(wildcards):
        names = [f"maa.domains.{wildcards.domain}.{stage}" for stage in stages]
        if backbone:
            name = wildcards.backbone.replace("-", "_")
            names.append(f"maa.domains.{wildcards.domain}.backbones.{name}")
        if module:
            names.append(module.format(**wildcards))
        return CODE.fingerprint(script, *names)

    return get_code


def settings(stage, model=False, device=False):
    """Return a params function: one stage's settings and nothing else, as JSON."""

    def get_settings(wildcards):
        study = config["domains"][wildcards.domain]
        chosen = dict(study[stage])
        if model:
            chosen["model"] = study["models"][wildcards.backbone]
        if device:
            chosen["device"] = config["device"]
        return json.dumps(chosen, sort_keys=True)

    return get_settings


def entry(*keys):
    """Return a params function: some keys of a data set's registry entry, as JSON."""

    def get_entry(wildcards):
        found = REGISTRY[wildcards.domain][wildcards.dataset]
        chosen = {key: found[key] for key in keys if key in found}
        return json.dumps(chosen, sort_keys=True)

    return get_entry


def get_prepare_code(wildcards):
    """Return the hashes of `prepare`; only generated data depends on the generator."""
    made = "generated" in REGISTRY[wildcards.domain][wildcards.dataset]
    stages = ["prepare", "generate"] if made else ["prepare"]
    return code("prepare.py", stages=stages)(wildcards)


def get_grid(pattern):
    """Return the pattern's files for every run of the study."""
    return [
        pattern.format(
            domain=domain, dataset=dataset, backbone=backbone, operator=op, seed=seed
        )
        for domain, study in config["domains"].items()
        for dataset, backbone, op, seed in product(
            study["datasets"], study["backbones"], study["operators"], study["seeds"]
        )
    ]


def get_grids(wildcards):
    """Return the grids of runs as JSON (too many file names for a command line)."""
    axes = ("datasets", "backbones", "operators", "seeds")
    grids = [
        {"domain": domain} | {axis: study[axis] for axis in axes}
        for domain, study in config["domains"].items()
    ]
    return json.dumps({"grids": grids}, sort_keys=True)


def get_all_targets(wildcards):
    """Return the targets of every data set of the study."""
    return [
        f"data/prepared/{domain}/{dataset}/targets.parquet"
        for domain, study in config["domains"].items()
        for dataset in study["datasets"]
    ]


def get_inference_settings(wildcards):
    """Return the settings of the comparison as JSON."""
    return json.dumps(config["inference"], sort_keys=True)


def get_figure_input(wildcards):
    """Return what a figure is drawn from; Fig. 2 shows the operator itself."""
    return {} if wildcards.figure == "fig2" else dict(rules.infer.output.items())


def as_options(wildcards, input):
    """Return named inputs as command line options."""
    return " ".join(f"--{name} {path}" for name, path in input.items())
