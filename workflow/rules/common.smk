"""What the rules share: configuration, code fingerprints, and the files of a study."""

import atexit
import gc
import json
import os
import re
import shlex
import sys
import time
import zlib

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

# Large tensors on large pages: training takes some 5 % less (glibc; ignored elsewhere).
os.environ.setdefault("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")

import snakemake.benchmark
from snakemake.scheduling.job_scheduler import JobScheduler

from maa.config import check, load
from maa.errors import UserError
from maa.figures.catalogue import CATALOGUE, drawable, needs
from maa.fingerprint import Code
from maa.operators import parse_operator
from maa.study import audits_of, runs_of, sets_of

# Planning a large study makes millions of objects that all live to the end. Looking for
# garbage among them, on the way and once more at the exit, takes a third of a dry run.
gc.set_threshold(5_000_000, 50, 100)
atexit.register(gc.freeze)

# Snakemake 9 leaves one more wake-up a second of its scheduler behind for every job that
# has ended, some 15 % of two cores after 1,000 of them. One a second is enough.
reevaluate = JobScheduler._schedule_reevalutation


def reevaluate_once(scheduler, delay):
    """Have the scheduler look again after a delay (s), unless it is going to anyway."""
    now = time.monotonic()
    if now >= getattr(scheduler, "next_look", now):
        scheduler.next_look = now + delay
        reevaluate(scheduler, delay)


JobScheduler._schedule_reevalutation = reevaluate_once

# A look at a job's memory reads its whole map, some 50 ms: twice a second is too often.
snakemake.benchmark.BENCHMARK_INTERVAL_SHORT = 2.0

SUMMARY = """
Done. Look at
  results/claims.html      every claim, our number, the paper's, and the verdict
  results/numbers.csv      every number that the paper prints, beside ours
  results/figures/         the figures, each with the table behind it
  results/tables/          the paper's tables in our form
  results/measurements.parquet   every measurement of every run
A report in one file: make report CONFIG=FILE (the demo's FILE is config/config.yaml).
"""

# The studies of the domains that name a data set (the others are not run): those whose
# models are trained and probed; and by table of the audits its cells (text, model).
STUDIES, AUDITED = {}, {}
CODE = Code(source=SOURCE, scripts=ROOT / "workflow" / "scripts")
# Tables of inference that claims are judged on.
JUDGED = (
    "cells",
    "aggregate",
    "statistics",
    "contrasts",
    "contrast_cells",
    "selection",
)
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
    named = {name: s for name, s in config["domains"].items() if s["datasets"]}
    if not named:
        raise UserError(
            "domains: none of them names a data set, so that there is nothing to run; "
            "name some in domains.ctdg.datasets or another domain's"
        )
    if "rows" in named:
        AUDITED.update(audits_of(named["rows"]))
        check_audits(named.pop("rows"), REGISTRY["rows"])
    STUDIES.update(named)
    for domain, study in STUDIES.items():
        check_study(f"domains.{domain}", study, REGISTRY[domain])
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


def check_study(where, study, known):
    """Check the names in a domain's study."""
    for dataset, backbone, operator, _ in runs_of(sets_of(study)):
        if dataset not in known:
            raise UserError(
                f"{where}: the data set {dataset!r} is not in config/datasets.yaml; "
                f"known: {', '.join(sorted(known))}"
            )
        if backbone not in study["models"]:
            raise UserError(
                f"{where}: the backbone {backbone} has no settings in {where}.models; "
                "add them there"
            )
        parse_operator(operator)
    for cell in study["controls"]["cells"]:
        for axis, value in cell.items():
            if value not in study[f"{axis}s"]:
                raise UserError(
                    f"{where}.controls.cells: {value} is not among {where}.{axis}s; "
                    "controls need the cell's other runs, so add it there"
                )


include: "readings.smk"


try:
    check_configuration()
except UserError as error:
    fail(error)

if config["mirror"]:
    folder = Path(config["mirror"]).expanduser().resolve()
    os.environ.update(MAA_DATA_MIRROR=str(folder))


# The domains of companion papers, whose claims are made of facts.
COMPANIONS = [
    domain
    for domain in STUDIES
    if (SOURCE / "maa" / "domains" / domain / "facts.py").exists()
]

# By domain: the sets of runs, all runs of them, and the set of those that are traced.
SETS = {domain: sets_of(study) for domain, study in STUDIES.items()}
RUNS = {domain: runs_of(sets) for domain, sets in SETS.items()}
TRACED = {}
for domain, study in STUDIES.items():
    both = [op for op in study["operators"] if op in study["trace"]["operators"]]
    TRACED[domain] = {"core": SETS[domain]["core"] | {"operators": both}}
    if study["trace"].get("official") and "official" in SETS[domain]:
        second = SETS[domain]["official"]
        both = [op for op in second["operators"] if op in study["trace"]["operators"]]
        TRACED[domain]["official"] = second | {"operators": both}

FIGURES, TABLES = [], []
for domain, sets in SETS.items():
    operators = {name: runs["operators"] for name, runs in sets.items()}
    traced = set(TRACED[domain]["core"]["operators"])
    FIGURES += [
        name
        for name in drawable("figure", operators, domain)
        if "traces" not in needs(name) or traced >= set(CATALOGUE[name]["operators"])
    ]
    TABLES += drawable("table", operators, domain)
AUDITS = {f"audits-{table}": set() for table in AUDITED}
FIGURES += drawable("figure", AUDITS, "rows")
TABLES += drawable("table", AUDITS, "rows")
# What a domain measures is gathered, though no figure of it may ask for that.
UNDRAWN = set(STUDIES) - {
    CATALOGUE[name]["domain"] for name in FIGURES if "curves" in needs(name)
}
# What belongs to no domain is drawn once.
FIGURES, TABLES = list(dict.fromkeys(FIGURES)), list(dict.fromkeys(TABLES))


def values(axis):
    """Return a wildcard's pattern: all values of an axis of the runs."""
    found = {str(run[axis]) for runs in RUNS.values() for run in runs}
    if axis == 0:
        found |= set(REGISTRY["rows"]) if AUDITED else set()
    return "|".join(re.escape(value) for value in sorted(found))


wildcard_constraints:
    domain="|".join([*STUDIES, "rows"]),
    dataset=values(0),
    backbone=values(1),
    operator=values(2),
    seed=r"\d+",
    audited="|".join(AUDITED),
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
            kind = parse_operator(wildcards.operator).kind
            names.append(f"maa.attention.aggregation.{kind}")
        if module:
            names.append(module.format(**wildcards))
        return CODE.fingerprint(script, *names)

    return get_code


def settings(stage, model=False, device=False):
    """Return a params function: one stage's settings and nothing else, as JSON.

    A model's own settings of the training replace the domain's, and those for a data
    set replace both.
    """

    def get_settings(wildcards):
        study = config["domains"][wildcards.domain]
        chosen = dict(study[stage])
        if model:
            own = dict(study["models"][wildcards.backbone])
            fit = own.pop("fit", {})
            if stage == "fit":
                data = study.get("data_fit", {}).get(wildcards.dataset, {})
                chosen = chosen | fit | data
            chosen["model"] = own
        if device:
            chosen["device"] = config["device"]
        return json.dumps(chosen, sort_keys=True)

    return get_settings


def get_probe_settings(wildcards):
    """Return the settings of a run's probes as JSON.

    Forests are grown for runs of the main grid alone, the only ones whose forests are
    looked at.
    """
    study = config["domains"][wildcards.domain]
    chosen = dict(study["probe"])
    asked = chosen.pop("forest_operators")
    chosen["forest"] = wildcards.backbone in study["backbones"] and (
        asked == "all" or wildcards.operator in asked
    )
    return json.dumps(chosen, sort_keys=True)


def get_trace_settings(wildcards):
    """Return the settings of a run's trace as JSON, with those of what it reads.

    A trace takes seconds and solves many small systems: no GPU is asked for it.
    """
    chosen = json.loads(settings("represent", model=True)(wildcards))
    chosen["device"] = "cpu"
    own = config["domains"][wildcards.domain]["trace"]
    whose = ("operators", "official")
    chosen |= {name: value for name, value in own.items() if name not in whose}
    probe = config["domains"][wildcards.domain]["probe"]
    chosen["probe"] = {name: probe[name] for name in ("train_fraction", "ridge_alpha")}
    return json.dumps(chosen, sort_keys=True)


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


def get_files(pattern, runs=RUNS):
    """Return the pattern's files for every run of the study, or for some runs."""
    return [
        pattern.format(
            domain=domain, dataset=dataset, backbone=backbone, operator=op, seed=seed
        )
        for domain, some in runs.items()
        for dataset, backbone, op, seed in some
    ]


def get_traces(wildcards):
    """Return the traces of the main grid's runs that are traced."""
    runs = {domain: runs_of(sets) for domain, sets in TRACED.items()}
    return get_files(rules.trace.output[0], runs)


def get_undrawn(wildcards):
    """Return the gathered curves and traces, where no figure asks for a domain's."""
    tables = [rules.collect_curves.output[0], rules.collect_traces.output[0]]
    return tables if UNDRAWN else []


def get_sets(wildcards):
    """Return the sets of runs as JSON (too many file names for a command line)."""
    return json.dumps({"sets": SETS}, sort_keys=True)


def get_traced(wildcards):
    """Return the traced runs as JSON."""
    return json.dumps({"sets": TRACED}, sort_keys=True)


def get_datasets(pattern):
    """Return the pattern's files for every data set of the study."""
    return [
        pattern.format(domain=domain, dataset=dataset)
        for domain, runs in RUNS.items()
        for dataset in sorted({run[0] for run in runs})
    ]


def get_all_targets(wildcards):
    """Return the targets of every data set of the study."""
    return get_datasets(rules.targets.output[0])


def get_plan(*groups, selection=False):
    """Return a params function: the comparison and some sets of runs, as JSON."""

    def get_settings(wildcards):
        plan = dict(config["inference"])
        if not selection:
            del plan["selection"]
        plan["sets"] = {
            domain: {name: sets[name] for name in groups if name in sets}
            for domain, sets in SETS.items()
        }
        return json.dumps(plan, sort_keys=True)

    return get_settings


def get_bundle_settings(wildcards):
    """Return the whole configuration, without paths of this machine, and all code."""
    chosen = {"config": config | {"mirror": None}, "code": CODE.everything()}
    return json.dumps(chosen, sort_keys=True)


def get_exhibit_input(wildcards):
    """Return the tables that a figure or a table is made of."""
    made = {
        "traces": rules.collect_traces.output[0],
        "curves": rules.collect_curves.output[0],
    }
    for domain in COMPANIONS:
        made[f"{domain}_gaps"] = f"results/facts/{domain}_gaps.parquet"
    for table in (*AUDITED, "regimes", "facts"):
        made[f"audit_{table}"] = f"results/audits/{table}.parquet"
    for step in (rules.infer, rules.contrast, rules.select_power):
        made |= dict(step.output.items())
    name = wildcards.get("figure") or wildcards.table
    return {table: made[table] for table in needs(name)}


def get_claim_tables(wildcards):
    """Return the tables that claims are judged on, those that the study makes."""
    made = {}
    if SETS:
        for step in (rules.infer, rules.contrast, rules.select_power):
            made |= dict(step.output.items())
        made = {name: path for name, path in made.items() if name in JUDGED}
        made["support"] = rules.collect_supports.output[0]
    facts = [f"results/facts/{domain}.parquet" for domain in COMPANIONS]
    facts += rules.audit_facts.output if AUDITED else []
    return made | ({"facts": facts} if facts else {})


def get_table_options(wildcards, input):
    """Return the tables that claims are judged on as command line options."""
    made = {name: input[name] for name in get_claim_tables(wildcards)}
    return " ".join(f"--{name.replace('_', '-')} {made[name]}" for name in made)


def get_bundle(wildcards):
    """Return all results, and the records of the data that they rest on."""
    results = [*rules.claims.output]
    results += collect(rules.figure.output, figure=FIGURES)
    results += collect(rules.table.output, table=TABLES)
    sources = get_datasets(rules.download.output.source)
    prepared = get_datasets(rules.prepare.output.stream)
    if SETS:
        steps = [rules.collect, rules.collect_supports, rules.collect_curves]
        steps += [rules.collect_traces] if "trace" in FIGURES else []
        steps += [rules.infer, rules.contrast, rules.select_power]
        results += [path for step in steps for path in step.output]
        for domain in COMPANIONS:
            results += expand(rules.facts.output, domain=domain)
    if AUDITED:
        results += [
            *rules.curve.output,
            *rules.predict.output,
            *rules.audit_facts.output,
        ]
        results += collect(rules.collect_audits.output, audited=AUDITED)
        for name, path in get_records():
            sources.append(f"data/raw/rows/{name}/source.json")
            prepared.append(path)
    return {"results": results, "sources": sources, "streams": prepared}


def as_options(wildcards, input):
    """Return named inputs as command line options."""
    return " ".join(
        f"--{name.replace('_', '-')} {path}" for name, path in input.items()
    )
