"""What reruns after an edit, read from a dry run in an edited copy of the tree."""

import subprocess
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from maa.figures.catalogue import drawable, needs
from maa.fingerprint import changed_modules
from tests.workflow.conftest import PARTS, ROOT, Study

Jobs = dict[str, int]

# The tiny study: TGAT and CRAFT with two operators and two seeds, two controls on one
# of the two cells, and CRAFT's official form with the same two operators.
CORE = {"core": {"p1.00", "p1.10"}}
CONTROLS = {"controls": CORE["core"] | {"p1.10-uniform", "p1.10-length"}}
OFFICIAL = {"official": CORE["core"]}
ALL_SETS = CORE | CONTROLS | OFFICIAL

MADE = {
    "infer": {"cells", "aggregate", "statistics", "mixed", "precision"},
    "contrast": {"contrasts", "contrast_cells", "shares"},
    "select_power": {"selection", "selection_effects"},
    "collect_traces": {"traces"},
    "collect_curves": {"curves"},
}


def after(*rules: str, sets: dict[str, set[str]] = ALL_SETS) -> Jobs:
    """Rules that make tables of inference, the exhibits made of these, the claims."""
    tables = {name for rule in rules for name in MADE[rule]}
    jobs = dict.fromkeys(rules, 1)
    for kind in ("figure", "table"):
        drawn = [name for name in drawable(kind, sets) if tables & set(needs(name))]
        jobs |= {kind: len(drawn)} if drawn else {}
    return jobs | ({"claims": 1} if rules != ("collect_traces",) else {})


def trained(core: int, controls: int = 0, official: int = 0) -> Jobs:
    """All jobs of so many runs of each set; only those of the core are traced."""
    runs = core + controls + official
    steps = dict.fromkeys(("train", "represent", "behave", "probe"), runs)
    return steps | ({"trace": core} if core else {})


COMPARED = ("infer", "contrast", "select_power")
AFTER = after(*COMPARED) | {"collect": 1}
AFTER_TRAINING = after(*COMPARED, "collect_curves") | {"collect": 1}
AFTER_TRACES = after(*COMPARED, "collect_traces") | {"collect": 1}
AFTER_ALL = after(*COMPARED, "collect_traces", "collect_curves") | {"collect": 1}
TRAINED = trained(8, 4, 4)
RUNS = TRAINED["train"]
TGAT, CRAFT, OFFICIAL_RUNS = trained(4, 4), trained(4), trained(0, 0, 4)


def counts(study: Study) -> Jobs:
    return {rule: len(jobs) for rule, jobs in study.planned().items()}


def test_a_finished_study_has_nothing_to_do(study: Study) -> None:
    assert counts(study) == {}


def test_touching_every_file_reruns_nothing(study: Study) -> None:
    for folder in ("src", "workflow", "config"):
        for file in (study.root / folder).rglob("*"):
            file.touch()
    assert counts(study) == {}


def test_another_branch_and_back_reruns_nothing(study: Study) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        done = subprocess.run(["git", *who, *words], cwd=study.root, check=False)
        assert done.returncode == 0

    git("init", "--quiet", "--initial-branch=main")
    git("add", "--force", *PARTS)
    git("commit", "--quiet", "--message=here")
    git("checkout", "--quiet", "-b", "other")
    tgat = "src/maa/domains/ctdg/backbones/tgat.py"
    (study.root / tgat).write_text("raise NotImplementedError\n")
    git("commit", "--quiet", "--all", "--message=there")
    git("checkout", "--quiet", "main")
    assert study.planned() == {}


def test_the_plan_does_not_depend_on_hash_order(study: Study) -> None:
    assert "Nothing to be done" in study.snakemake("--dry-run", PYTHONHASHSEED="1")
    assert "Nothing to be done" in study.snakemake("--dry-run", PYTHONHASHSEED="2")


CODE = {
    "a comment": ("src/maa/attention/lp.py", "#", {}),
    "a figure": ("src/maa/figures/fig1.py", "", {"figure": 1}),
    "a table": ("src/maa/figures/table4.py", "", {"table": 1}),
    "tgat": ("src/maa/domains/ctdg/backbones/tgat.py", "", TGAT | AFTER_ALL),
    "an official form": (
        "src/maa/domains/ctdg/backbones/craft_official.py",
        "",
        OFFICIAL_RUNS | AFTER_TRAINING,
    ),
    "a control": (
        "src/maa/attention/aggregation/uniform.py",
        "",
        trained(0, 2) | AFTER_TRAINING,
    ),
    "the targets": (
        "src/maa/domains/ctdg/targets.py",
        "",
        {"targets": 1, "collect_supports": 1, "probe": RUNS}
        | {"trace": TRAINED["trace"]}
        | AFTER_TRACES,
    ),
    "training": ("src/maa/domains/ctdg/fit.py", "", TRAINED | AFTER_ALL),
    "traces": (
        "src/maa/domains/ctdg/trace.py",
        "",
        {"trace": TRAINED["trace"]} | after("collect_traces"),
    ),
    "representations": (
        "src/maa/domains/ctdg/represent.py",
        "",
        {"represent": RUNS, "probe": RUNS} | AFTER,
    ),
    "the context margin": (
        "src/maa/domains/ctdg/behave.py",
        "",
        {"behave": RUNS} | AFTER,
    ),
    "a script": ("workflow/scripts/probe.py", "", {"probe": RUNS} | AFTER),
    "the generator": (
        "src/maa/domains/ctdg/generate.py",
        "",
        {"prepare": 1, "targets": 1, "collect_supports": 1} | TRAINED | AFTER_ALL,
    ),
}


@pytest.mark.parametrize(("path", "mark", "expected"), CODE.values(), ids=CODE)
def test_an_edit_reruns_what_depends_on_it(
    study: Study, path: str, mark: str, expected: dict[str, int]
) -> None:
    file = study.root / path
    edit = f"\n\n{mark} edited\n" if mark else "\n\nEDITED = 1\n"
    file.write_text(file.read_text() + edit)
    assert counts(study) == expected


def test_the_operator_reruns_all_training(study: Study) -> None:
    file = study.root / "src/maa/attention/lp.py"
    file.write_text(file.read_text() + "\n\nEDITED = 1\n")
    found = counts(study)
    expected = TRAINED | AFTER_ALL
    expected["figure"] += 2  # Fig. 2 and the Jacobian show the operator itself
    assert found.items() >= expected.items()
    assert not {"download", "prepare", "targets"} & set(found)


def test_an_edit_of_one_backbone_names_its_module_and_spares_the_other(
    study: Study,
) -> None:
    file = study.root / "src/maa/domains/ctdg/backbones/tgat.py"
    file.write_text(file.read_text() + "\n\nEDITED = 1\n")
    jobs = study.planned()
    for rule in TRAINED:
        if rule != "probe":
            assert {job["backbone"] for job in jobs[rule]} == {"tgat"}
    reasons = changed_modules(study.snakemake("--dry-run"))
    # What follows from a rerun is said to follow from its files.
    assert reasons == {"train": ["maa.domains.ctdg.backbones.tgat"]}


def test_an_added_seed_runs_alone(study: Study) -> None:
    study.configure(lambda c: c["domains"]["ctdg"]["seeds"].append(29))
    study.configure(lambda c: c["domains"]["ctdg"]["official"]["seeds"].append(29))
    jobs = study.planned()
    expected = trained(4, 2, 2) | AFTER_ALL
    assert {rule: len(found) for rule, found in jobs.items()} == expected
    assert {job["seed"] for job in jobs["train"]} == {"29"}


def test_an_added_operator_runs_alone(study: Study) -> None:
    study.configure(
        lambda c: c["domains"]["ctdg"].update(operators=["p1.00", "p1.10", "p2.00"])
    )
    jobs = study.planned()
    expected = {"train": 4, "represent": 4, "behave": 4, "probe": 4} | AFTER_TRAINING
    assert {rule: len(found) for rule, found in jobs.items()} == expected
    assert {job["operator"] for job in jobs["train"]} == {"p2.00"}


NEW_DATA = {"prepare": 1, "targets": 1, "collect_supports": 1}
PREPARED = NEW_DATA | TRAINED | AFTER_ALL
TESTED = after(*COMPARED)


def without(name: str, *rules: str) -> Jobs:
    """What follows when a set of runs is dropped from the study."""
    sets = {key: names for key, names in ALL_SETS.items() if key != name}
    return after(*rules, sets=sets) | {"collect": 1}


# Every key of the configuration, a new value, and exactly the jobs that use it.
KEYS: dict[str, tuple[Any, Jobs]] = {
    "mirror": ("elsewhere", {}),
    "device": ("cuda", TRAINED | AFTER_ALL),
    "domains.ctdg.datasets": (
        ["planted", "uci"],
        {"download": 1} | NEW_DATA | trained(8) | AFTER_ALL,
    ),
    "domains.ctdg.backbones": (["tgat"], AFTER_ALL),
    "domains.ctdg.operators": (
        ["p1.00", "p1.10", "pinf"],
        trained(0, 4) | AFTER_TRAINING,
    ),
    "domains.ctdg.seeds": ([7], AFTER_ALL),
    "domains.ctdg.controls.cells": (
        [],
        without("controls", *COMPARED, "collect_curves"),
    ),
    "domains.ctdg.controls.operators": (
        ["p1.10-uniform", "p1.10-length", "nap"],
        trained(0, 2) | AFTER_TRAINING,
    ),
    "domains.ctdg.official.datasets": (
        [],
        without("official", *COMPARED, "collect_curves"),
    ),
    "domains.ctdg.official.backbones": (["craft-official", "tgat"], AFTER_TRAINING),
    "domains.ctdg.official.operators": (
        ["p1.00", "p1.10", "nap"],
        trained(0, 2) | AFTER_TRAINING,
    ),
    "domains.ctdg.official.seeds": ([7], AFTER_TRAINING),
    # The figure of the traces needs both arms; without it the page shows one less.
    "domains.ctdg.trace.operators": (["p1.10"], {"claims": 1}),
    "domains.ctdg.prepare.window": (1400, PREPARED),
    "domains.ctdg.prepare.test_fraction": (0.25, PREPARED),
    "domains.ctdg.prepare.validation_fraction": (0.2, PREPARED),
    "domains.ctdg.prepare.history": (9, PREPARED),
    "domains.ctdg.prepare.query_seed": (1, PREPARED),
    "domains.ctdg.fit.epochs": (2, TRAINED | AFTER_ALL),
    "domains.ctdg.fit.batch_size": (64, TRAINED | AFTER_ALL),
    "domains.ctdg.fit.learning_rate": (0.002, TRAINED | AFTER_ALL),
    "domains.ctdg.fit.weight_decay": (0.1, TRAINED | AFTER_ALL),
    "domains.ctdg.models.tgat.hidden": (32, TGAT | AFTER_ALL),
    "domains.ctdg.models.tgat.time_dim": (16, TGAT | AFTER_ALL),
    "domains.ctdg.models.tgat.dropout": (0.2, TGAT | AFTER_ALL),
    "domains.ctdg.models.craft.hidden": (32, CRAFT | AFTER_ALL),
    "domains.ctdg.models.craft.layers": (1, CRAFT | AFTER_ALL),
    "domains.ctdg.models.craft.heads": (1, CRAFT | AFTER_ALL),
    "domains.ctdg.models.craft.dropout": (0.2, CRAFT | AFTER_ALL),
    "domains.ctdg.models.craft.embedding_dropout": (0.2, CRAFT | AFTER_ALL),
    "domains.ctdg.models.craft.attention_dropout": (0.2, CRAFT | AFTER_ALL),
    **{
        f"domains.ctdg.models.craft-official.{name}": (
            value,
            OFFICIAL_RUNS | AFTER_TRAINING,
        )
        for name, value in {
            "neighbours": 9,
            "hidden": 32,
            "layers": 1,
            "heads": 1,
            "dropout": 0.2,
            "embedding_dropout": 0.2,
            "attention_dropout": 0.2,
        }.items()
    },
    "domains.ctdg.represent.coordinates_p": (
        2.0,
        {"represent": RUNS, "probe": RUNS, "trace": TRAINED["trace"]} | AFTER_TRACES,
    ),
    "domains.ctdg.behave.seed": (1, {"behave": RUNS} | AFTER),
    "domains.ctdg.probe.train_fraction": (
        0.5,
        {"probe": RUNS, "trace": TRAINED["trace"]} | AFTER_TRACES,
    ),
    "domains.ctdg.probe.ridge_alpha": (
        2.0,
        {"probe": RUNS, "trace": TRAINED["trace"]} | AFTER_TRACES,
    ),
    "domains.ctdg.probe.trees": (6, {"probe": RUNS} | AFTER),
    "domains.ctdg.probe.min_samples_leaf": (6, {"probe": RUNS} | AFTER),
    "domains.ctdg.probe.max_features": (0.5, {"probe": RUNS} | AFTER),
    "domains.ctdg.probe.joint": (None, {"probe": RUNS} | AFTER),
    "domains.ctdg.probe.forest_operators": (["p1.00"], {"probe": 4} | AFTER),
    "inference.baseline": ("p1.10", TESTED),
    "inference.treatment": ("p1.00", TESTED),
    "inference.draws": (600, TESTED),
    "inference.seed": (2, TESTED),
    "inference.selection.grid": (["p1.00", "p1.10"], after("select_power")),
    "inference.selection.utility_tolerance": (0.1, after("select_power")),
}

# Settings of models that the tiny study does not run: they rerun nothing.
UNUSED = (
    *("ctdg.models.dygformer", "ctdg.models.graphmixer"),
    *("ctdg.models.tgat-official", "ctdg.models.dygformer-official"),
    *("ctdg.models.graphmixer-official", "traffic.models.road"),
    *("traffic.models.released-no-residual", "traffic.models.corrected-no-residual"),
)


def jobs(*parts: Jobs) -> Jobs:
    """Everything that either part reruns."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: max(part.get(name, 0) for part in parts) for name in names}


# The study of traffic: the released model with two operators, and with one more on the
# same cell, and the corrected one as a second grid. Its facts are of all runs, and its
# table and one of its figures are of these; two more figures show the traces.
TOLD = {"facts": 1, "figure": 1, "table": 1, "claims": 1}
NEXT = dict.fromkeys(("collect", *COMPARED), 1) | TOLD
CURVES, TRACES = {"collect_curves": 1}, {"collect_traces": 1} | TOLD | {"figure": 3}
NEXT_ALL = jobs(NEXT, CURVES, TRACES)
ROAD_DATA = {"prepare": 1, "targets": 1, "collect_supports": 1}
ROAD_RUNS = trained(2, 1, 2)
ROADS_MADE = jobs(ROAD_DATA, ROAD_RUNS, NEXT_ALL)
LOOKED_AT = {"trace": 2} | TRACES
MODEL = {"hidden": 16, "heads": 4, "depth": 1, "dropout": 0.2, "embedding": 3}
MODEL_RUNS = {
    "released": trained(2, 1) | NEXT_ALL,
    "corrected": trained(0, 0, 2) | NEXT | CURVES,
}
ROAD_KEYS: dict[str, tuple[Any, Jobs]] = {
    f"domains.traffic.{key}": found
    for key, found in {
        "datasets": (
            ["planted-roads", "metr-la-10"],
            {"download": 1} | ROAD_DATA | trained(2) | NEXT_ALL,
        ),
        "backbones": (["released", "corrected"], {"trace": 2} | NEXT_ALL),
        "operators": (["p1.00", "p1.10", "pinf"], trained(0, 1) | NEXT | CURVES),
        "seeds": ([7, 17], trained(2, 1) | NEXT_ALL),
        "controls.cells": ([], NEXT | CURVES),
        "controls.operators": (
            ["diagonal-mask", "diagonal-penalty0.10"],
            trained(0, 1) | NEXT | CURVES,
        ),
        "official.datasets": ([], NEXT | CURVES),
        "official.backbones": (["corrected", "released"], NEXT | CURVES),
        "official.operators": (
            ["p1.00", "p1.10", "pinf"],
            trained(0, 1) | NEXT | CURVES,
        ),
        "official.seeds": ([7, 17], trained(0, 2) | NEXT | CURVES),
        # The figure of heat maps shows softmax.
        "trace.operators": (["p1.10"], {"collect_traces": 1} | TOLD),
        "trace.official": (True, LOOKED_AT),
        "trace.windows": (5, LOOKED_AT),
        "trace.jacobian_windows": (2, LOOKED_AT),
        "trace.probes": (2, LOOKED_AT),
        "trace.seed": (1, LOOKED_AT),
        "prepare.input_length": (11, ROADS_MADE),
        "prepare.output_length": (13, ROADS_MADE),
        "prepare.stride": (90, ROADS_MADE),
        "prepare.query_stride": (90, ROADS_MADE),
        "prepare.validation_fraction": (0.15, ROADS_MADE),
        "prepare.test_fraction": (0.25, ROADS_MADE),
        "prepare.congested_below": (0.5, ROADS_MADE),
        "prepare.recent_steps": (36, ROADS_MADE),
        "represent.coordinates_p": (
            2.0,
            jobs({"represent": 5, "probe": 5}, LOOKED_AT, NEXT),
        ),
        "behave.seed": (1, {"behave": 5} | NEXT),
        "probe.train_fraction": (0.5, jobs({"probe": 5}, LOOKED_AT, NEXT)),
        "probe.ridge_alpha": (2.0, jobs({"probe": 5}, LOOKED_AT, NEXT)),
        "probe.trees": (6, {"probe": 5} | NEXT),
        "probe.min_samples_leaf": (6, {"probe": 5} | NEXT),
        "probe.max_features": (0.5, {"probe": 5} | NEXT),
        "probe.joint": (True, {"probe": 5} | NEXT),
        "probe.forest_operators": (["p1.00"], {"probe": 1} | NEXT),
        **{
            f"fit.{name}": (value, ROAD_RUNS | NEXT_ALL)
            for name, value in {
                "epochs": 2,
                "warm_up": 1,
                "batch_size": 64,
                "learning_rate": 0.001,
                "weight_decay": 0.1,
                "clip": 1,
                "patience": 3,
                "least_progress": 0.1,
                "sequences": 100,
                "autocast": True,
            }.items()
        },
        **{
            f"models.{model}.{name}": (value, runs)
            for model, runs in MODEL_RUNS.items()
            for name, value in MODEL.items()
        },
    }.items()
}


def _leaves(value: Any, prefix: str = "") -> list[str]:
    if not isinstance(value, dict):
        return [prefix]
    return [
        leaf
        for key, child in value.items()
        for leaf in _leaves(child, f"{prefix}.{key}" if prefix else key)
    ]


def _setter(key: str, value: Any) -> Callable[[dict], None]:
    def change(config: dict) -> None:
        *parents, last = key.split(".")
        for parent in parents:
            config = config.setdefault(parent, {})
        config[last] = value

    return change


def test_the_table_of_keys_is_complete() -> None:
    config = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    unused = tuple(f"domains.{name}." for name in (*UNUSED, "rows"))
    leaves = [leaf for leaf in _leaves(config) if not leaf.startswith(unused)]
    assert sorted([*KEYS, *ROAD_KEYS]) == sorted(leaves)


@pytest.mark.parametrize("key", KEYS)
def test_a_config_key_reruns_exactly_what_uses_it(key: str, study: Study) -> None:
    value, expected = KEYS[key]
    if key == "domains.ctdg.probe.joint":
        default = yaml.safe_load((study.root / "config/config.yaml").read_text())
        value = not default["domains"]["ctdg"]["probe"]["joint"]
    study.configure(_setter(key, value))
    if key == "inference.baseline":
        study.configure(_setter("inference.treatment", "p1.00"))
    if key == "inference.treatment":
        study.configure(_setter("inference.baseline", "p1.10"))
    assert counts(study) == expected


@pytest.mark.parametrize("key", ROAD_KEYS)
def test_a_key_of_traffic_reruns_exactly_what_uses_it(key: str, roads: Study) -> None:
    value, expected = ROAD_KEYS[key]
    roads.configure(_setter(key, value))
    assert counts(roads) == expected


def test_a_forecasters_code_reruns_its_own_runs(roads: Study) -> None:
    folder = roads.root / "src/maa/domains/traffic"
    file = folder / "backbones/corrected.py"
    file.write_text(file.read_text() + "\n\nEDITED = 1\n")
    assert counts(roads) == MODEL_RUNS["corrected"]
    for unused in (
        folder / "backbones/road.py",
        roads.root / "src/maa/domains/ctdg/fit.py",
    ):
        unused.write_text(unused.read_text() + "\n\nEDITED = 1\n")
    assert counts(roads) == MODEL_RUNS["corrected"]


def test_a_training_of_one_data_set_reruns_the_runs_on_it(roads: Study) -> None:
    own = {"planted-roads": {"epochs": 2}, "metr-la-10": {"epochs": 3}}
    roads.configure(_setter("domains.traffic.data_fit", own))
    assert counts(roads) == ROAD_RUNS | NEXT_ALL
    own = {"metr-la-10": {"epochs": 3}}
    roads.configure(_setter("domains.traffic.data_fit", own))
    assert counts(roads) == {}
