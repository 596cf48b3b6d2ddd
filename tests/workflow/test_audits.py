"""The study of attention rows by the real Snakefile, on small models of our own."""

import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from maa.files import read_table
from maa.study import COURSES, EVERYWHERE
from tests.workflow.conftest import ROOT, Study, plant

pytest.importorskip("transformers")

from tests.small_transformers import small_model, small_tokenizer, text

ROWS = "rows/words"
TOKENS = {"tokens": 24, "first_row": 4}
TRAINING = {"layers": 1, "heads": 2, "width": 8, "context": 16, "vocabulary": 300}
TRAINING |= {"batch": 4, "steps": 16, "learning_rate": 0.05, "per_doubling": 1}
CELL = {"dataset": "words", "backbone": "llama"}
TINY_ROWS: dict[str, Any] = {
    "datasets": ["words"],
    "backbones": ["llama", "bert"],
    "texts": {"words": "words.txt"},
    "models": {
        "llama": {"location": "models/llama", "revision": None},
        "bert": {"location": "models/bert", "revision": None},
    },
    "hold_out_every": 3,
    "seed": 1,
    "measure": {"passages": 3, "p": 1.1, **TOKENS},
    "flips": {"passages": 3, "held_passages": 3, "rows": 2, **TOKENS},
    "curve": {
        "logits": [-8, 0, 8],
        "spreads": [0, 4],
        "keys": [8, 32],
        "triples": 50,
    },
    "clusters": {
        "passages": 4,
        "rows": 2,
        "measures": ["js-smoothed"],
        "permutations": 9,
        **TOKENS,
    },
    "courses": {
        "gpt-small": {
            **{"text": "words", "passages": 2, "tokens": 16, "first_row": 2},
            "training": TRAINING | {"seed": 0},
        },
    },
    "pruning": {"cells": [CELL], "held_passages": 2, "tokens": 24, "draws": 1},
    "switching": {
        **{"cells": [CELL], "passages": 2, "held_passages": 2, "tokens": 24},
        **{"powers": [1.0, 1.5], "steps": 1},
    },
}


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study of two small models on one text, and of a training, run to its end."""
    root = tmp_path_factory.mktemp("audited") / "tree"
    study = plant(root, {"domains": {"ctdg": {"datasets": []}, "rows": TINY_ROWS}})
    for kind in ("llama", "bert"):
        folder = root / "models" / kind
        small_model(kind).save_pretrained(folder)
        small_tokenizer(kind == "bert").save_pretrained(folder)
    passages = [text(40, seed) for seed in range(30)]
    (root / "words.txt").write_text("\n\n".join(passages))
    study.snakemake()
    return study


@pytest.fixture
def study(audited: Study, tmp_path: Path) -> Study:
    """A copy of the finished study that a test may edit."""
    root = tmp_path / "copy"
    shutil.copytree(audited.root, root)
    return Study(root, root / "tiny.yaml")


def test_every_table_has_its_cells(audited: Study) -> None:
    folder = audited.root / "results" / "audits"
    for table in EVERYWHERE:
        found = read_table(folder / f"{table}.parquet")
        cells = set(zip(found["dataset"], found["backbone"], strict=True))
        assert cells == {("words", "llama"), ("words", "bert")}
    for table in COURSES:
        assert set(read_table(folder / f"{table}.parquet")["backbone"]) == {"gpt-small"}


def test_claims_are_judged_on_what_was_measured(audited: Study) -> None:
    verdicts = pd.read_csv(audited.root / "results" / "claims.csv").set_index("id")
    ran = {"R1", "R2", "R3", "R4b", "R5", "R6"}
    assert not (verdicts.loc[sorted(ran), "verdict"] == "not run").any()
    # Models of a hub that the study does not name, and the main paper's cells.
    assert (verdicts.loc[["R4", "R7", "C1"], "verdict"] == "not run").all()
    assert verdicts.loc["R1", "foreign"] == "words, bert, llama"
    numbers = pd.read_csv(audited.root / "results" / "numbers.csv")
    flips = numbers[
        (numbers["id"] == "R1") & (numbers["number"] == "Cosine, bert, words")
    ]
    cells = read_table(audited.root / "results" / "audits" / "flips.parquet")
    cells = cells[(cells["part"] == "read") & (cells["group"] == "all")]
    cells = cells[(cells["backbone"] == "bert") & (cells["measure"] == "cosine")]
    assert flips["found"].item() == pytest.approx(100 * cells["rate"].mean())


def test_page_and_figures_are_there(audited: Study) -> None:
    page = (audited.root / "results" / "claims.html").read_text()
    assert "2608.14712" in page and 'id="R5"' in page
    for name in ("rows_sinks", "rows_flips", "rows_clusters", "rows_course"):
        assert (audited.root / "results" / "figures" / f"{name}.png").exists()
        assert f'id="{name}"' in page
    assert 'id="fig1"' not in page


FACTS = {"audit_facts": 1, "claims": 1}
DRAWN = FACTS | {"figure": 1}  # of the facts: how often verdicts flip
MEASURED = {"audit": 2, "prune": 1, "collect_audits": 2} | DRAWN | {"figure": 3}
FLIPS = {"flips": 2, "predict": 1, "collect_audits": 1, "table": 1} | DRAWN
CLUSTERS = {"cluster_heads": 2, "collect_audits": 4} | DRAWN | {"figure": 2}
PRUNED = {"prune": 1, "collect_audits": 1} | DRAWN | {"figure": 2}
SWITCHED = {"switch": 1, "collect_audits": 1} | DRAWN | {"figure": 2}
FOLLOWED = {"course": 1, "collect_audits": 4} | DRAWN | {"figure": 2}
TRAINED = {"pretrain": 1} | FOLLOWED
CURVE = {"curve": 1, "predict": 1, "table": 1} | DRAWN
READ = {"figure": 6, "collect_audits": 12, "table": 1, "predict": 1} | FACTS
EVERYTHING = MEASURED | FLIPS | CLUSTERS | PRUNED | SWITCHED | FOLLOWED | READ
# Sinks of the measures, of flips and maps; heads are pruned by what was measured.
SUNK = MEASURED | FLIPS | CLUSTERS | PRUNED | {"figure": 4, "collect_audits": 7}
DRAWN_AGAIN = FLIPS | CLUSTERS | PRUNED | SWITCHED | {"figure": 4, "collect_audits": 7}
ALL_STEPS = EVERYTHING | {"pretrain": 1, "corpus": 1}

# Every key of the domain, a new value, and exactly the jobs that use it.
KEYS: dict[str, tuple[Any, dict[str, int]]] = {
    "sinks": ("first", SUNK),
    "seed": (2, DRAWN_AGAIN),
    "hold_out_every": (4, ALL_STEPS),
    "measure.passages": (2, MEASURED),
    "measure.tokens": (20, MEASURED),
    "measure.first_row": (5, MEASURED),
    "measure.p": (1.2, MEASURED),
    "flips.passages": (4, FLIPS),
    "flips.held_passages": (4, FLIPS),
    "flips.tokens": (20, FLIPS),
    "flips.rows": (3, FLIPS),
    "flips.first_row": (5, FLIPS),
    "curve.logits": ([-6, 6], CURVE),
    "curve.spreads": ([0, 3], CURVE),
    "curve.keys": ([8, 16], CURVE),
    "curve.concentrations": ([0.1, 0.5, 1.0], CURVE),
    "curve.triples": (60, CURVE),
    "curve.seed": (2, CURVE),
    "curve.limit": (0.2, CURVE),
    "curve.coverage": (0.8, CURVE),
    "curve.reach": (3.0, CURVE),
    "clusters.passages": (3, CLUSTERS),
    "clusters.tokens": (20, CLUSTERS),
    "clusters.rows": (3, CLUSTERS),
    "clusters.first_row": (5, CLUSTERS),
    "clusters.measures": (["js-smoothed", "cosine"], CLUSTERS),
    "clusters.most": (3, CLUSTERS),
    "clusters.method": ("average", CLUSTERS),
    "clusters.permutations": (19, CLUSTERS),
    "pruning.held_passages": (3, PRUNED),
    "pruning.tokens": (20, PRUNED),
    "pruning.fraction": (0.4, PRUNED),
    "pruning.draws": (2, PRUNED),
    "switching.passages": (3, SWITCHED),
    "switching.held_passages": (3, SWITCHED),
    "switching.tokens": (20, SWITCHED),
    "switching.powers": ([1.0, 1.2], SWITCHED),
    "switching.steps": (2, SWITCHED),
    "switching.learning_rate": (0.1, SWITCHED),
    "courses.gpt-small.passages": (3, FOLLOWED),
    "courses.gpt-small.tokens": (12, FOLLOWED),
    "courses.gpt-small.first_row": (3, FOLLOWED),
    **{
        f"courses.gpt-small.training.{name}": (value, TRAINED)
        for name, value in {
            "layers": 2,
            "heads": 1,
            "width": 16,
            "context": 20,
            "vocabulary": 310,
            "batch": 3,
            "steps": 20,
            "learning_rate": 0.02,
            "per_doubling": 2,
            "seed": 3,
        }.items()
    },
}
# Which cells there are; what they are is said above.
AXES: tuple[str, ...] = ("datasets", "backbones")
AXES += ("models", "texts", "courses.gpt-small.text", "pruning.cells")
AXES += ("switching.cells",)


def leaves(value: Any, prefix: str = "") -> list[str]:
    if not isinstance(value, dict):
        return [prefix]
    return [
        leaf
        for key, child in value.items()
        for leaf in leaves(child, f"{prefix}.{key}" if prefix else key)
    ]


def test_the_table_of_keys_is_complete(audited: Study) -> None:
    default = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    found = {*leaves(default["domains"]["rows"]), *leaves(TINY_ROWS)}
    assert {leaf for leaf in found if not leaf.startswith(AXES)} == set(KEYS)


def test_a_finished_audit_has_nothing_to_do(audited: Study) -> None:
    assert audited.planned() == {}


@pytest.mark.parametrize(
    "key",
    [
        *("measure.p", "flips.rows", "curve.limit", "clusters.most", "pruning.draws"),
        *("switching.steps", "courses.gpt-small.tokens", "hold_out_every", "sinks"),
        "seed",
        "courses.gpt-small.training.width",
    ],
)
def test_a_key_reruns_exactly_what_uses_it(key: str, study: Study) -> None:
    value, expected = KEYS[key]

    def change(config: dict[str, Any]) -> None:
        *parents, last = key.split(".")
        at = config["domains"]["rows"]
        for parent in parents:
            at = at[parent]
        at[last] = value

    study.configure(change)
    assert {rule: len(jobs) for rule, jobs in study.planned().items()} == expected


def test_an_edited_text_is_read_again(study: Study) -> None:
    file = study.root / "words.txt"
    file.write_text(file.read_text().replace("w1 ", "w2 "))
    assert study.planned()["corpus"]


WRONG = {
    "no such text": ({"datasets": ["word"]}, "there is no text 'word'; known: 2wiki"),
    "no such model": ({"backbones": ["bertt"]}, "there is no model 'bertt'; known: "),
    "a name that is taken": (
        {"models": {"smollm2": {"location": "x", "revision": None}}},
        "smollm2 is the name of an entry of config/datasets.yaml",
    ),
    "heads that do not fit": (
        {"courses": {"gpt-small": {"training": {"heads": 0}}}},
        "domains.rows.courses.gpt-small.training.heads: 0 is less than the minimum",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_configuration_is_one_sentence(case: str, study: Study) -> None:
    wrong, words = WRONG[case]
    (study.root / "wrong.yaml").write_text(yaml.safe_dump({"domains": {"rows": wrong}}))
    done = study.attempt(str(study.root / "wrong.yaml"), "--dry-run")
    assert done.returncode != 0
    assert words in done.stdout
    assert "Traceback" not in done.stdout


def test_an_encoder_has_no_perplexity(study: Study) -> None:
    cell = {"dataset": "words", "backbone": "bert"}
    study.configure(
        lambda config: config["domains"]["rows"]["pruning"].update(cells=[cell])
    )
    done = study.attempt("--", "results/audits/words/bert/pruning.parquet")
    assert done.returncode != 0
    log = study.root / "logs" / "prune" / "words" / "bert.log"
    assert "is an encoder and has no perplexity" in log.read_text()
