"""The whole workflow on generated roads: what it leaves, and what it refuses."""

import pandas as pd
import pytest

from tests.workflow.conftest import Study

RUN = ["dataset", "backbone", "operator", "seed"]


def test_every_run_has_every_measurement(finished_roads: Study) -> None:
    table = pd.read_parquet(finished_roads.root / "results/measurements.parquet")
    assert set(table.domain) == {"traffic"}
    sizes = table.groupby(RUN).size()
    assert len(sizes) == 2 + 1 + 2  # the grid, the control, the second grid
    # errors at three steps and over all, of two weights, and on the validation part;
    # a margin, departures and three baselines; ten targets under four linear probes
    errors, margins, probes = 2 * (3 * 3 + 1 + 1), 1 + 2 * 3 + 3 * 10, 4 * 10
    assert set(sizes) == {errors + margins + probes}
    assert table.value.notna().all()


def test_baselines_are_the_same_for_all_runs_of_a_data_set(
    finished_roads: Study,
) -> None:
    table = pd.read_parquet(finished_roads.root / "results/measurements.parquet")
    simple = table[table.measure.str.contains("last_value|average|_linear$")]
    assert (simple.groupby("measure").value.nunique() == 1).all()
    assert len(simple.measure.unique()) == 30


def test_traces_and_curves_are_gathered(finished_roads: Study) -> None:
    results = finished_roads.root / "results"
    traces = pd.read_parquet(results / "traces.parquet")
    assert set(traces.operator) == {"p1.00", "p1.10"}
    assert {"attention_last", "influence", "block02"} <= set(traces.point)
    curves = pd.read_parquet(results / "curves.parquet")
    assert len(curves) == 5 and curves.validation_loss.notna().all()


def test_effects_are_inferred(finished_roads: Study) -> None:
    inference = finished_roads.root / "results/inference"
    aggregate = pd.read_parquet(inference / "aggregate.parquet")
    assert {"mae_12", "rmse_3", "shared_linear", "history_margin"} <= set(
        aggregate.endpoint
    )
    contrasts = pd.read_parquet(inference / "contrasts.parquet")
    controls = contrasts[contrasts.group == "controls"]
    assert set(controls.treatment) == {"p1.10", "diagonal-mask"}
    assert pd.read_parquet(inference / "selection.parquet").empty


def test_a_finished_study_has_nothing_to_do(roads: Study) -> None:
    assert roads.planned() == {}


def test_the_same_run_again_gives_the_same_bytes(roads: Study) -> None:
    run = roads.root / "results/runs/traffic/planted-roads/corrected/p1.10/7"
    names = ("model.safetensors", "scores.parquet", "probe.parquet")
    before = {name: (run / name).read_bytes() for name in names}
    targets = [str((run / name).relative_to(roads.root)) for name in names]
    roads.snakemake("--forcerun", "train", "--", *targets)
    assert {name: (run / name).read_bytes() for name in names} == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"traffic": {"datasets": []}}, "none of them names a data set"),
        (
            {
                "ctdg": {
                    "datasets": ["planted"],
                    "operators": ["p1.00", "diagonal-mask"],
                }
            },
            "regularisers of the diagonal need self-attention",
        ),
        ({"traffic": {"backbones": ["tgat"]}}, "'tgat' is not one of"),
        (
            {"traffic": {"datasets": ["metr-bay"]}},
            "'metr-bay' is not in config/datasets",
        ),
    ],
)
def test_a_wrong_study_is_one_sentence(
    roads: Study, change: dict[str, dict[str, object]], message: str
) -> None:
    def merge(config: dict) -> None:
        for domain, values in change.items():
            config["domains"][domain] |= values

    roads.configure(merge)
    done = roads.attempt("--dry-run")
    assert done.returncode == 1
    (line,) = (x for x in done.stdout.splitlines() if x.startswith("error: "))
    assert message in line and "Traceback" not in done.stdout
