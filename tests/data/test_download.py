"""Downloads from a server that misbehaves: one sentence, nothing half-written."""

import errno
import gzip
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback import BODY, DIGEST, Server, serve, unused_port

from maa.data.download import fetch
from maa.data.registry import RemoteFile, Source
from maa.data.transfer import Patience
from maa.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
QUICK = Patience(connect=1.0, read=0.3, attempts=2, backoff=0.01)


@pytest.fixture
def server() -> Iterator[Server]:
    with serve() as running:
        yield running


@pytest.fixture
def refused() -> str:
    return f"http://127.0.0.1:{unused_port()}/file.txt"


def source(
    url: str, name: str = "public", sha256: str | None = DIGEST, advisory: bool = False
) -> Source:
    return Source(name, "edges", (RemoteFile(url=url, sha256=sha256),), advisory)


def final_files(folder: Path) -> list[str]:
    """Everything in the folder, hidden or not, but what was set aside."""
    names = [path.name for path in folder.iterdir()] if folder.exists() else []
    return sorted(name for name in names if not name.endswith(".rejected"))


FAULTS = {
    "forbidden": "HTTP 403 Forbidden",
    "half": "the transfer broke off before the end",
    "page": "a web page (HTML) instead of data",
    "wrong": "where " + DIGEST + " is expected",
    "empty": "an empty file",
    "nothing": "the server closed the connection without an answer",
    "silent": "no data for 0.3 s",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_sentence_and_leaves_nothing(
    fault: str, server: Server, tmp_path: Path
) -> None:
    url = server.url(f"{fault}/file.txt")
    with pytest.raises(UserError) as caught:
        fetch("uci", [source(url)], tmp_path, patience=QUICK)
    message = str(caught.value)
    assert message.startswith(
        f"uci could not be fetched from any source: public ({url}"
    )
    assert FAULTS[fault] in message
    assert message.endswith("; check the network and run again")
    assert "\n" not in message
    assert final_files(tmp_path) == []


def test_a_refused_connection_is_named(refused: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"public \(http:.*: connection refused\)"):
        fetch("uci", [source(refused)], tmp_path, patience=QUICK)
    assert final_files(tmp_path) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_the_next_source_is_used(fault: str, server: Server, tmp_path: Path) -> None:
    sources = [
        source(server.url(f"{fault}/file.txt"), "first"),
        source(server.url("good/file.txt"), "second"),
    ]
    record = fetch("uci", sources, tmp_path, patience=QUICK)
    assert record == {
        "source": "second",
        "format": "edges",
        "files": [
            {
                "name": "second-file.txt",
                "bytes": len(BODY),
                "sha256": DIGEST,
                "checksum": "verified",
                "url": server.url("good/file.txt"),
            }
        ],
    }
    assert final_files(tmp_path) == ["second-file.txt"]
    assert (tmp_path / "second-file.txt").read_bytes() == BODY


def test_the_error_names_every_source_and_where_a_file_could_be_put(
    server: Server, refused: str, tmp_path: Path
) -> None:
    sources = [
        Source("mirror", "edges", (RemoteFile(mirror="ctdg/uci/file.txt"),)),
        source(server.url("forbidden/file.txt"), "one"),
        source(refused, "two"),
    ]
    with pytest.raises(UserError) as caught:
        fetch("uci", sources, tmp_path, patience=QUICK)
    message = str(caught.value)
    for part in ("mirror (no mirror folder was given)", "one (http", "two (http"):
        assert part in message
    assert "put the file into a mirror folder as ctdg/uci/file.txt" in message


@pytest.mark.parametrize("fault", ["page", "wrong", "empty"])
def test_a_wrong_file_is_kept_aside(fault: str, server: Server, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"kept aside as .*public-file\.txt\.rejected"):
        fetch("uci", [source(server.url(f"{fault}/file.txt"))], tmp_path, None, QUICK)
    assert [p.name for p in tmp_path.iterdir()] == ["public-file.txt.rejected"]


def test_the_second_run_fetches_nothing(server: Server, tmp_path: Path) -> None:
    sources = [source(server.url("good/file.txt"))]
    first = fetch("uci", sources, tmp_path, patience=QUICK)
    second = fetch("uci", sources, tmp_path, patience=QUICK)
    assert first == second
    assert len(server.requests) == 1


def test_the_server_sees_who_asks(server: Server, tmp_path: Path) -> None:
    fetch("uci", [source(server.url("good/file.txt"))], tmp_path, patience=QUICK)
    assert server.requests[0][1].startswith("maa-workflow")


@pytest.mark.parametrize(
    ("fault", "tries"),
    [("forbidden", 1), ("wrong", 1), ("half", 2), ("nothing", 2)],
)
def test_only_passing_faults_are_tried_again(
    fault: str, tries: int, server: Server, tmp_path: Path
) -> None:
    with pytest.raises(UserError):
        fetch("uci", [source(server.url(f"{fault}/file.txt"))], tmp_path, None, QUICK)
    assert server.asked(f"{fault}/file.txt") == tries


def test_a_busy_server_is_asked_again(server: Server, tmp_path: Path) -> None:
    record = fetch("uci", [source(server.url("flaky/f.txt"))], tmp_path, None, QUICK)
    assert record["files"][0]["sha256"] == DIGEST
    assert server.asked("flaky/f.txt") == 2


def test_a_damaged_file_under_the_final_name_is_fetched_again(
    server: Server, tmp_path: Path
) -> None:
    (tmp_path / "public-file.txt").write_bytes(BODY[:-7])
    fetch("uci", [source(server.url("good/file.txt"))], tmp_path, patience=QUICK)
    assert (tmp_path / "public-file.txt").read_bytes() == BODY
    assert (tmp_path / "public-file.txt.rejected").read_bytes() == BODY[:-7]


def test_what_a_killed_run_left_is_removed(server: Server, tmp_path: Path) -> None:
    (tmp_path / ".public-file.99999.part.txt").write_bytes(BODY[:9])
    (tmp_path / ".public-other.99999.part.txt").write_bytes(b"not ours to remove")
    fetch("uci", [source(server.url("good/file.txt"))], tmp_path, patience=QUICK)
    assert final_files(tmp_path) == [".public-other.99999.part.txt", "public-file.txt"]


def test_an_advisory_mismatch_warns_and_keeps_the_file(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sources = [source(server.url("wrong/file.txt"), advisory=True)]
    record = fetch("uci", sources, tmp_path, patience=QUICK)
    assert record["files"][0]["checksum"] == "differs"
    assert "the published counts decide" in caplog.text
    assert fetch("uci", sources, tmp_path, patience=QUICK) == record
    assert len(server.requests) == 1


def test_an_advisory_checksum_does_not_excuse_a_web_page(
    server: Server, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="a web page"):
        fetch(
            "uci",
            [source(server.url("page/file.txt"), advisory=True)],
            tmp_path,
            patience=QUICK,
        )


def test_without_a_known_checksum_the_record_says_so(
    server: Server, tmp_path: Path
) -> None:
    sources = [source(server.url("good/file.txt"), sha256=None)]
    record = fetch("uci", sources, tmp_path, patience=QUICK)
    assert record["files"][0]["checksum"] == "unknown"
    assert fetch("uci", sources, tmp_path, patience=QUICK) == record
    assert len(server.requests) == 1


def mirror_source(**known: object) -> Source:
    file = RemoteFile(mirror="ctdg/uci/file.txt", **known)  # type: ignore[arg-type]
    return Source("mirror", "edges", (file,))


def test_a_mirror_file_is_copied_and_verified(server: Server, tmp_path: Path) -> None:
    mirror, folder = tmp_path / "mirror", tmp_path / "raw"
    (mirror / "ctdg/uci").mkdir(parents=True)
    (mirror / "ctdg/uci/file.txt").write_bytes(BODY)
    sources = [mirror_source(sha256=DIGEST), source(server.url("good/file.txt"))]
    record = fetch("uci", sources, folder, mirror, QUICK)
    assert record["source"] == "mirror"
    assert record["files"][0]["mirror"] == "ctdg/uci/file.txt"
    assert (folder / "mirror-file.txt").read_bytes() == BODY
    assert server.requests == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "is not there"), (BODY[:-7], "bytes where"), (b"<html>", "a web page")],
)
def test_a_bad_mirror_file_gives_way_to_the_next_source(
    content: bytes | None, reason: str, server: Server, tmp_path: Path
) -> None:
    mirror, folder = tmp_path / "mirror", tmp_path / "raw"
    (mirror / "ctdg/uci").mkdir(parents=True)
    if content is not None:
        (mirror / "ctdg/uci/file.txt").write_bytes(content)
    bad = mirror_source(sha256=DIGEST, size=len(BODY))
    with pytest.raises(UserError, match=reason):
        fetch("uci", [bad], folder, mirror, QUICK)
    record = fetch(
        "uci", [bad, source(server.url("good/f.txt"))], folder, mirror, QUICK
    )
    assert record["source"] == "public"
    assert final_files(folder) == ["public-f.txt"]
    # a mirror is not ours: nothing is moved or deleted there
    assert (mirror / "ctdg/uci/file.txt").exists() == (content is not None)


def test_a_mirror_folder_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"mirror folder .*nowhere does not exist"):
        fetch("uci", [mirror_source()], tmp_path, tmp_path / "nowhere", QUICK)


def test_packed_files_are_verified_by_what_they_hold(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    whole = gzip.compress(BODY)
    known = RemoteFile(mirror="m/f.gz", unpacked_sha256=DIGEST)
    for content, problem in (
        (whole, None),
        (whole[:-20], "a damaged archive"),
        (gzip.compress(BODY[1:]), "unpacked sha256"),
    ):
        (tmp_path / "m/f.gz").write_bytes(content)
        sources = [Source("mirror", "edges", (known,))]
        folder = tmp_path / f"raw{len(content)}"
        if problem is None:
            record = fetch("uci", sources, folder, tmp_path, QUICK)
            assert record["files"][0]["checksum"] == "verified"
        else:
            with pytest.raises(UserError, match=problem):
                fetch("uci", sources, folder, tmp_path, QUICK)
            assert final_files(folder) == []


def test_a_file_is_verified_by_its_name_in_git(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    file = tmp_path / "m/f.txt"
    file.write_bytes(b"hello\n")
    # what `git hash-object` says of a file with these six bytes
    known = RemoteFile(
        mirror="m/f.txt", gitblob="ce013625030ba8dba906f756967f9e9ca394464a"
    )
    sources = [Source("mirror", "edges", (known,))]
    record = fetch("uci", sources, tmp_path / "raw", tmp_path, QUICK)
    assert record["files"][0]["checksum"] == "verified"
    file.write_bytes(b"hello!")
    with pytest.raises(UserError, match=r"git blob [0-9a-f]{40} where ce013625"):
        fetch("uci", sources, tmp_path / "again", tmp_path, QUICK)
    assert final_files(tmp_path / "again") == []


@pytest.mark.parametrize(
    ("member", "cut", "problem"),
    [
        ("enron/ml_enron.csv", 0, None),
        ("enron/other.csv", 0, "without the member enron/other.csv"),
        ("enron/ml_enron.csv", 40, "a damaged archive"),
    ],
)
def test_a_zip_archive_must_be_whole_and_hold_the_member(
    member: str, cut: int, problem: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "enron.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("enron/ml_enron.csv", BODY)
    path.write_bytes(path.read_bytes()[: path.stat().st_size - cut])
    sources = [
        Source("dgb", "dyglib", (RemoteFile(mirror="enron.zip", member=member),))
    ]
    if problem:
        with pytest.raises(UserError, match=problem):
            fetch("enron", sources, tmp_path / "raw", tmp_path, QUICK)
    else:
        record = fetch("enron", sources, tmp_path / "raw", tmp_path, QUICK)
        assert record["files"][0]["member"] == member


def test_a_full_disk_is_one_sentence(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: object, url: str, path: str, pooch: object) -> None:
        Path(path).write_bytes(BODY[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pooch.HTTPDownloader.__call__", full)
    with pytest.raises(UserError, match=r"public-file\.txt could not be written"):
        fetch("uci", [source(server.url("good/file.txt"))], tmp_path, None, QUICK)
    assert final_files(tmp_path) == []


def script(
    tmp_path: Path, entry: dict[str, object], mirror: Path | None = None
) -> tuple[int, str]:
    command = [sys.executable, str(ROOT / "workflow/scripts/download.py")]
    command += ["--domain", "ctdg", "--dataset", "uci", "--entry", json.dumps(entry)]
    command += ["--store", str(tmp_path / "store"), "--attempts", "1"]
    command += ["--files", str(tmp_path / "raw/files")]
    command += ["--output", str(tmp_path / "raw/source.json")]
    environment = os.environ | {"MAA_DATA_MIRROR": str(mirror or "")}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment
    )
    return done.returncode, done.stderr


def test_the_script_writes_where_the_data_came_from(
    server: Server, tmp_path: Path
) -> None:
    url = server.url("good/file.txt")
    file = {"url": url, "sha256": DIGEST}
    entry = {"sources": [{"name": "snap", "format": "edges", "files": [file]}]}
    assert script(tmp_path, entry)[0] == 0
    record = json.loads((tmp_path / "raw/source.json").read_text())
    assert (record["domain"], record["dataset"]) == ("ctdg", "uci")
    assert record["files"][0]["name"] == "snap-file.txt"
    assert (tmp_path / "raw" / record["folder"] / "snap-file.txt").read_bytes() == BODY


def test_the_script_ends_with_one_sentence(server: Server, tmp_path: Path) -> None:
    file = {"url": server.url("half/file.txt"), "sha256": DIGEST}
    entry = {"sources": [{"name": "snap", "format": "edges", "files": [file]}]}
    code, errors = script(tmp_path, entry)
    assert code == 1
    assert "Traceback" not in errors
    assert errors.splitlines()[-1].startswith("error: uci could not be fetched")
    assert final_files(tmp_path / "store") == []
    assert not (tmp_path / "raw").exists()


def test_the_script_finds_the_mirror_in_the_environment(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m/file.txt").write_bytes(BODY)
    file = {"mirror": "m/file.txt", "sha256": DIGEST}
    entry = {"sources": [{"name": "mirror", "format": "edges", "files": [file]}]}
    assert script(tmp_path, entry, tmp_path)[0] == 0
    assert (tmp_path / "raw/files/mirror-file.txt").read_bytes() == BODY


def test_the_script_records_a_generated_stream(tmp_path: Path) -> None:
    assert script(tmp_path, {"generated": {"events": 10, "seed": 3}})[0] == 0
    assert json.loads((tmp_path / "raw/source.json").read_text()) == {
        "domain": "ctdg",
        "dataset": "uci",
        "folder": "files",
        "format": "generated",
        "parameters": {"events": 10, "seed": 3},
        "files": [],
    }
    assert final_files(tmp_path / "raw") == ["files", "source.json"]
    assert final_files(tmp_path / "raw/files") == []
