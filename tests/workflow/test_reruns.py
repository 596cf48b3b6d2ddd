"""What reruns after an edit, read from a dry run in an edited copy of the tree."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from maa.fingerprint import changed_modules
from tests.workflow.conftest import ROOT, Study

PAGES = {"figure": 1, "table": 2}  # Fig. 2 shows the operator and needs no run
AFTER = PAGES | {"collect": 1, "infer": 1, "claims": 1}
RUNS = 8  # two backbones, two operators, two seeds
EVALUATED = {"represent": RUNS, "behave": RUNS, "probe": RUNS}
TRAINED = {"train": RUNS} | EVALUATED


def counts(study: Study) -> dict[str, int]:
    return {rule: len(jobs) for rule, jobs in study.planned().items()}


def halved(jobs: dict[str, int]) -> dict[str, int]:
    return {rule: count // 2 for rule, count in jobs.items()}


def test_a_finished_study_has_nothing_to_do(study: Study) -> None:
    assert counts(study) == {}


def test_touching_every_file_reruns_nothing(study: Study) -> None:
    for folder in ("src", "workflow", "config"):
        for file in (study.root / folder).rglob("*"):
            file.touch()
    assert counts(study) == {}


def test_the_plan_does_not_depend_on_hash_order(study: Study) -> None:
    assert "Nothing to be done" in study.snakemake("--dry-run", PYTHONHASHSEED="1")
    assert "Nothing to be done" in study.snakemake("--dry-run", PYTHONHASHSEED="2")


CODE = {
    "a comment": ("src/maa/attention/lp.py", "#", {}),
    "a figure": ("src/maa/figures/fig1.py", "", {"figure": 1}),
    "a table": ("src/maa/figures/table4.py", "", {"table": 1}),
    "tgat": (
        "src/maa/domains/ctdg/backbones/tgat.py",
        "",
        halved(TRAINED) | AFTER,
    ),
    "craft": (
        "src/maa/domains/ctdg/backbones/craft.py",
        "",
        halved(TRAINED) | AFTER,
    ),
    "the targets": (
        "src/maa/domains/ctdg/targets.py",
        "",
        {"targets": 1, "probe": RUNS} | AFTER,
    ),
    "training": ("src/maa/domains/ctdg/fit.py", "", TRAINED | AFTER),
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
        {"prepare": 1, "targets": 1} | TRAINED | AFTER,
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
    assert found.items() >= (TRAINED | AFTER | {"figure": 2}).items()
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
    jobs = study.planned()
    assert {rule: len(found) for rule, found in jobs.items()} == halved(TRAINED) | AFTER
    assert {job["seed"] for job in jobs["train"]} == {"29"}


def test_an_added_operator_runs_alone(study: Study) -> None:
    study.configure(
        lambda c: c["domains"]["ctdg"].update(operators=["p1.00", "p1.10", "p2.00"])
    )
    jobs = study.planned()
    assert {rule: len(found) for rule, found in jobs.items()} == halved(TRAINED) | AFTER
    assert {job["operator"] for job in jobs["train"]} == {"p2.00"}


PREPARED = {"prepare": 1, "targets": 1} | TRAINED | AFTER
HALF = halved(TRAINED) | AFTER
TESTED = PAGES | {"infer": 1, "claims": 1}
ALL_NEW = {"prepare": 1, "targets": 1} | TRAINED

# Every key of the configuration, a new value, and exactly the jobs that use it.
KEYS: dict[str, tuple[Any, dict[str, int]]] = {
    "mirror": ("elsewhere", {}),
    "device": ("cuda", TRAINED | AFTER),
    "domains.ctdg.datasets": (["planted", "uci"], {"download": 1} | ALL_NEW | AFTER),
    "domains.ctdg.backbones": (["tgat"], AFTER),
    "domains.ctdg.operators": (["p1.00", "p1.10", "pinf"], HALF),
    "domains.ctdg.seeds": ([7], AFTER),
    "domains.ctdg.prepare.window": (1400, PREPARED),
    "domains.ctdg.prepare.test_fraction": (0.25, PREPARED),
    "domains.ctdg.prepare.validation_fraction": (0.2, PREPARED),
    "domains.ctdg.prepare.history": (9, PREPARED),
    "domains.ctdg.prepare.query_seed": (1, PREPARED),
    "domains.ctdg.fit.epochs": (2, TRAINED | AFTER),
    "domains.ctdg.fit.batch_size": (64, TRAINED | AFTER),
    "domains.ctdg.fit.learning_rate": (0.002, TRAINED | AFTER),
    "domains.ctdg.fit.weight_decay": (0.1, TRAINED | AFTER),
    "domains.ctdg.models.tgat.hidden": (32, HALF),
    "domains.ctdg.models.tgat.time_dim": (16, HALF),
    "domains.ctdg.models.tgat.dropout": (0.2, HALF),
    "domains.ctdg.models.craft.hidden": (32, HALF),
    "domains.ctdg.models.craft.layers": (1, HALF),
    "domains.ctdg.models.craft.heads": (1, HALF),
    "domains.ctdg.models.craft.dropout": (0.2, HALF),
    "domains.ctdg.models.craft.embedding_dropout": (0.2, HALF),
    "domains.ctdg.models.craft.attention_dropout": (0.2, HALF),
    "domains.ctdg.represent.coordinates_p": (
        2.0,
        {"represent": RUNS, "probe": RUNS} | AFTER,
    ),
    "domains.ctdg.behave.seed": (1, {"behave": RUNS} | AFTER),
    "domains.ctdg.probe.train_fraction": (0.5, {"probe": RUNS} | AFTER),
    "domains.ctdg.probe.ridge_alpha": (2.0, {"probe": RUNS} | AFTER),
    "domains.ctdg.probe.trees": (6, {"probe": RUNS} | AFTER),
    "domains.ctdg.probe.min_samples_leaf": (6, {"probe": RUNS} | AFTER),
    "domains.ctdg.probe.max_features": (0.5, {"probe": RUNS} | AFTER),
    "domains.ctdg.probe.joint": (None, {"probe": RUNS} | AFTER),
    "inference.baseline": ("p1.10", TESTED),
    "inference.treatment": ("p1.00", TESTED),
    "inference.draws": (600, TESTED),
    "inference.seed": (2, TESTED),
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
    assert sorted(KEYS) == sorted(_leaves(config))


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
