"""Readers: tiny files in each exact format, and the real ones where they are."""

import gzip
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from maa import config
from maa.data.download import fetch
from maa.data.registry import parse_sources
from maa.domains.ctdg.generate import planted_stream
from maa.domains.ctdg.readers import arrange, check_counts, read_events, read_file
from maa.errors import UserError
from maa.files import write_json

ROOT = Path(__file__).resolve().parents[3]
REGISTRY: dict[str, Any] = config.load(ROOT / "config/datasets.yaml")["ctdg"]

# users 0..2, items 0..1 (in JODIE's numbering); two events at time 7.5, out of order
JODIE = (
    "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n"
    "0,0,0.0,0,-0.17,0.5,1e-3\n"
    "1,1,9.25,0,0.1,0.2,0.3\n"
    "2,0,7.5,1,0.1,0.2,0.3\n"
    "0,1,7.5,0,0.1,0.2,0.3\n"
)
REDUCED = "u,i,ts,label\n0,3,0,0\n1,4,9.25,0\n2,3,7.5,1\n0,4,7.5,0\n"
TGL = (
    ",src,dst,time,int_roll,ext_roll\n"
    "0,0,3,0.0,0,0\n1,1,4,9.25,0,0\n2,2,3,7.5,0,1\n3,0,4,7.5,0,2\n"
)
DYGLIB = (
    ",u,i,ts,label,idx\n"
    "0,1,4,0.0,0.0,1\n1,2,5,9.25,0.0,2\n2,3,4,7.5,1.0,3\n3,1,5,7.5,0.0,4\n"
)
BIPARTITE = {"jodie": JODIE, "jodie-reduced": REDUCED, "tgl": TGL, "dyglib": DYGLIB}
# no final newline, ids from 1 with a gap, one self-loop
EDGES = "1 2 100\n5 2 300\n2 2 200\n2 1 200"


def read(
    folder: Path, text: str, layout: str, bipartite: bool, **counts: int
) -> pd.DataFrame:
    (folder / "data.txt").write_text(text)
    file = {"name": "data.txt"}
    record = {"dataset": "tiny", "domain": "ctdg", "format": layout, "files": [file]}
    write_json(folder / "source.json", record | {"folder": "."})
    entry = {"bipartite": bipartite, "counts": counts}
    return read_events(folder / "source.json", entry)


def rows(events: pd.DataFrame) -> list[tuple[int, int, float]]:
    return list(events.itertuples(index=False, name=None))


@pytest.mark.parametrize("layout", BIPARTITE)
def test_bipartite_formats_give_the_same_events(layout: str, tmp_path: Path) -> None:
    events = read(tmp_path, BIPARTITE[layout], layout, True, events=4, nodes=5)
    assert rows(events) == [(0, 3, 0.0), (2, 3, 7.5), (0, 4, 7.5), (1, 4, 9.25)]
    assert list(events.dtypes) == [np.int64, np.int64, np.float64]


def test_edges_share_one_space_and_keep_self_loops(tmp_path: Path) -> None:
    events = read(tmp_path, EDGES, "edges", False, events=4, nodes=3)
    assert rows(events) == [(0, 1, 100.0), (1, 1, 200.0), (1, 0, 200.0), (2, 1, 300.0)]


def test_sides_with_the_same_raw_ids_are_told_apart(tmp_path: Path) -> None:
    events = read(tmp_path, EDGES, "edges", True, sources=3, destinations=2, nodes=5)
    assert set(events["source"]) == {0, 1, 2}
    assert set(events["destination"]) == {3, 4}


def test_ties_keep_the_order_of_the_file() -> None:
    n = 200
    table = pd.DataFrame(
        {"source": range(n), "destination": [n] * n, "time": np.arange(n) % 3.0}
    )
    order = arrange(table, bipartite=False)["source"].to_numpy()
    assert order.tolist() == sorted(range(n), key=lambda i: i % 3)


def test_times_are_read_exactly(tmp_path: Path) -> None:
    values = ["1289241911.72836", "0.1", "1e-17", "9007199254740993", "1082040961"]
    text = "".join(f"1 2 {value}\n" for value in values)
    events = read(tmp_path, text, "edges", False)
    assert sorted(events["time"]) == sorted(float(value) for value in values)


def test_packed_files_are_read_in_place(tmp_path: Path) -> None:
    plain, packed, archive = (tmp_path / n for n in ("e.txt", "e.txt.gz", "e.zip"))
    plain.write_text(DYGLIB)
    packed.write_bytes(gzip.compress(DYGLIB.encode()))
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("enron/ml_enron.csv", DYGLIB)
    expected = read_file(plain, "dyglib")
    assert len(expected) == 4
    pd.testing.assert_frame_equal(read_file(packed, "dyglib"), expected)
    member = read_file(archive, "dyglib", "enron/ml_enron.csv")
    pd.testing.assert_frame_equal(member, expected)


def test_a_gzip_name_on_plain_bytes_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "e.txt.gz").write_text(EDGES)
    assert len(read_file(tmp_path / "e.txt.gz", "edges")) == 4


@pytest.mark.parametrize(
    ("layout", "text", "problem"),
    [
        ("edges", "1 2 3\n1 x 3\n", "Row #2: .*invalid value 'x'"),
        ("edges", "1 2 3\n1 2 3 4\n", "Row #2: Expected 3 columns, got 4"),
        ("edges", "1 2 3\n1 2\n", "Row #2: Expected 3 columns, got 2"),
        ("edges", "1,2,3\n", "Expected 3 columns, got 1"),
        ("edges", "1 2 3\n1 2 nan\n", r"row 2: time is nan where a finite number"),
        ("edges", "1 2 3\n1 2 inf\n", "row 2: time is inf"),
        ("edges", "1 2 3\n-1 2 3\n", r"row 2: source is -1 where a whole number"),
        ("edges", "1 2 3\n1 2.5 3\n", r"row 2: destination is 2\.5"),
        ("edges", "1 2 3\n1 1e300 3\n", "row 2: destination is 1e"),
        ("edges", "", "Empty CSV"),
        ("jodie", JODIE + "1,-4,9.0,0,1,2,3\n", "row 6: destination is -4"),
        ("jodie", JODIE + "1,4,,0,1,2,3\n", "Row #6: .*invalid value ''"),
        ("jodie", JODIE + "1,4,9.0\n", "Row #6: Expected 7 columns, got 3"),
        ("tgl", REDUCED, "Column 'src'"),
        ("dyglib", REDUCED.replace("ts", "t"), "Column 'ts'"),
        ("jodi", JODIE, "format 'jodi'; expected one of jodie"),
    ],
)
def test_bad_files_are_named_with_the_row(
    layout: str, text: str, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=problem) as caught:
        read(tmp_path, text, layout, False)
    assert "data.txt" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_and_damaged_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"gone\.txt is missing"):
        read_file(tmp_path / "gone.txt", "edges")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(EDGES.encode() * 50)[:-12])
    with pytest.raises(UserError, match=r"cut\.gz is not a readable edges file"):
        read_file(tmp_path / "cut.gz", "edges")
    (tmp_path / "no.zip").write_text(EDGES)
    with pytest.raises(UserError, match=r"no\.zip is not a readable dyglib file"):
        read_file(tmp_path / "no.zip", "dyglib", "enron/ml_enron.csv")


def test_every_wrong_count_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        read(tmp_path, EDGES, "edges", False, events=157474, nodes=3, sources=2)
    message = str(caught.value)
    assert "tiny has 4 events where 157,474 are published" in message
    assert "3 sources where 2 are published" in message
    assert "nodes" not in message
    assert str(tmp_path / "source.json") in message


def test_counts_of_a_header_only_file_fail(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="tiny has 0 events where 4 are"):
        read(tmp_path, REDUCED.splitlines()[0] + "\n", "jodie-reduced", True, events=4)


def test_counts_that_agree_pass() -> None:
    events = pd.DataFrame({"source": [0, 1], "destination": [1, 2]})
    counts = {"events": 2, "nodes": 3, "sources": 2, "destinations": 2}
    check_counts("tiny", events, counts, "source.json")


def test_a_generated_stream_is_generated_from_the_recorded_parameters(
    tmp_path: Path,
) -> None:
    parameters = REGISTRY["planted"]["generated"] | {"events": 1900, "seed": 5}
    record = {"dataset": "planted", "format": "generated", "parameters": parameters}
    write_json(tmp_path / "source.json", record)
    events = read_events(tmp_path / "source.json", {"bipartite": True})
    pd.testing.assert_frame_equal(events, planted_stream(**parameters))
    # what the readers give for files holds for it too
    pd.testing.assert_frame_equal(arrange(events, bipartite=True), events)


@pytest.fixture(scope="module", params=["wikipedia", "uci", "enron"])
def real(
    request: pytest.FixtureRequest,
    mirror: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[str, pd.DataFrame]:
    name = str(request.param)
    folder = tmp_path_factory.mktemp(name)
    entry = REGISTRY[name]
    record = fetch(name, parse_sources(name, entry), folder, mirror)
    assert record["source"] == "mirror"
    record |= {"dataset": name, "domain": "ctdg", "folder": "."}
    write_json(folder / "source.json", record)
    return name, read_events(folder / "source.json", entry)


# events, nodes, distinct times, distinct pairs, self-loops, and the last time
FACTS = {
    "wikipedia": (157474, 9227, 152757, 18257, 0, 2678373.0),
    "uci": (59835, 1899, 58911, 20296, 0, 1098777142.0),
    "enron": (125235, 184, 22632, 3125, 16410, 113740399.0),
}


def test_real_data_show_their_published_facts(real: tuple[str, pd.DataFrame]) -> None:
    name, events = real
    found = (
        len(events),
        len(np.union1d(events["source"], events["destination"])),
        events["time"].nunique(),
        len(events.drop_duplicates(["source", "destination"])),
        int((events["source"] == events["destination"]).sum()),
        events["time"].max(),
    )
    assert found == FACTS[name]
    assert events["time"].is_monotonic_increasing
    if name == "wikipedia":
        assert events["source"].max() == 8226
        assert events["destination"].min() == 8227


def test_one_missing_event_is_noticed(mirror: Path, tmp_path: Path) -> None:
    text = (mirror / "ctdg/uci/CollegeMsg.txt").read_text()
    shorter = text[: text.rstrip().rindex("\n") + 1]
    with pytest.raises(UserError, match=r"tiny has 59,834 events where 59,835"):
        read(tmp_path, shorter, "edges", False, **REGISTRY["uci"]["counts"])


def test_jodie_and_reduced_wikipedia_give_the_same_events(
    mirror: Path, tmp_path: Path
) -> None:
    table = pd.read_csv(mirror / "ctdg/wikipedia/wikipedia.csv", nrows=3000)
    reduced = table.to_csv(index=False)
    features = np.random.default_rng(0).normal(size=(len(table), 172)).round(4)
    jodie = pd.concat(
        [
            table.assign(i=table["i"] - 8227, ts=table["ts"].astype(float)),
            pd.DataFrame(features),
        ],
        axis=1,
    )
    text = JODIE.splitlines()[0] + "\n" + jodie.to_csv(index=False, header=False)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = read(tmp_path / "a", text, "jodie", True)
    second = read(tmp_path / "b", reduced, "jodie-reduced", True, events=3000)
    pd.testing.assert_frame_equal(first, second)
