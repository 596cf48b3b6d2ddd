"""Public texts, each in its own format, as a list of passages."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from maa.audit.training.plays import read_plays
from maa.data.unpack import PACKING_ERRORS, open_unpacked
from maa.errors import UserError
from maa.files import read_json

# The mirror holds the paragraphs of so many questions; as many are read of the whole.
QUESTIONS = 500


def read_corpus(source: str | Path, counts: Mapping[str, int]) -> list[str]:
    """Read the passages of a download.

    Args:
        source: ``source.json`` of the download; it names the files and their format.
        counts: ``passages``, how many there must be.

    Raises:
        UserError: if the file is not in its format, or has another number of passages.
    """
    record = read_json(source)
    (file,) = record["files"]
    path = Path(source).parent / record["folder"] / file["name"]
    try:
        found = _read(path, record["format"])
    except (ValueError, KeyError, TypeError, AttributeError, *PACKING_ERRORS) as error:
        raise UserError(
            f"{path} is not a text in the format {record['format']} ({error!r}); "
            "remove it under data/downloads and data/raw, then run again"
        ) from error
    if len(found) != counts["passages"]:
        raise UserError(
            f"{path} has {len(found)} passages where {counts['passages']} are "
            "published; mend the entry in config/datasets.yaml or the file"
        )
    return found


def _read(path: Path, form: str) -> list[str]:
    if form == "plays":
        return list(read_plays(path).values())
    with open_unpacked(path) as stream:
        return READERS[form](stream.read().decode("utf-8"))


def read_text(path: str | Path) -> list[str]:
    """Read a text file of a user; its passages are what blank lines part.

    Raises:
        UserError: if it cannot be read, is not UTF-8, or is empty.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path} cannot be read as UTF-8 text ({error}); name a text file"
        ) from error
    found = [part.strip() for part in text.split("\n\n") if part.strip()]
    if not found:
        raise UserError(f"{path} holds no text; name a text file that does")
    return found


def hold_out(texts: Sequence[str], every: int) -> tuple[list[str], list[str]]:
    """Return the texts to read, and every n-th, which is only evaluated on.

    Args:
        texts: whole texts, in order.
        every: 2 or more; the n-th, 2n-th, … are held out.

    Raises:
        UserError: if there are too few texts to hold one out.
    """
    held = set(range(every - 1, len(texts), every))
    if every < 2 or not held:
        raise UserError(
            f"{len(texts)} texts of which every {every}th is held out leave none to "
            f"read or to hold out; expected 2 to {len(texts)}"
        )
    parts: tuple[list[str], list[str]] = ([], [])
    for number, text in enumerate(texts):
        parts[number in held].append(text)
    return parts


def _passages(text: str) -> list[str]:
    """JSON lines with ``title`` and ``text``."""
    rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    return [f"{row['title']}\n{row['text'].strip()}" for row in rows]


def _hotpot(text: str) -> list[str]:
    """HotpotQA's own file: questions with a context of titles and sentences."""
    return _contexts(row["context"] for row in json.loads(text)[:QUESTIONS])


def _columns(text: str) -> list[str]:
    """2WikiMultihopQA's questions as columns: ``{column: {row: value}}``."""
    return _contexts(json.loads(text)["context"].values())


def _contexts(contexts: Iterable[Any]) -> list[str]:
    """Return each paragraph of the questions' contexts once, in order."""
    found: dict[str, None] = {}
    for context in contexts:
        for title, sentences in context:
            body = " ".join(sentence.strip() for sentence in sentences)
            found[f"{title}\n{body}"] = None
    return list(found)


READERS: dict[str, Callable[[str], list[str]]] = {
    "passages": _passages,
    "hotpot": _hotpot,
    "2wiki-columns": _columns,
}
FORMATS = (*READERS, "plays")
