"""Public texts, each in its own format, as a list of passages."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

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
        with open_unpacked(path, file.get("member")) as stream:
            found = READERS[record["format"]](stream.read().decode("utf-8"))
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


def read_text(path: str | Path) -> list[str]:
    """Read a text file of a user; its passages are what blank lines part.

    Raises:
        UserError: if it cannot be read, is not UTF-8, or is empty.
    """
    try:
        found = _paragraphs(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path} cannot be read as UTF-8 text ({error}); name a text file"
        ) from error
    if not found:
        raise UserError(f"{path} holds no text; name a text file that does")
    return found


def _paragraphs(text: str) -> list[str]:
    return [part.strip() for part in text.split("\n\n") if part.strip()]


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
    "text": _paragraphs,
}


def parted(passages: list[str], held: float) -> tuple[list[str], list[str]]:
    """Return what is measured on, and the last part, which is only evaluated on.

    Args:
        passages: the text.
        held: share of the passages in the last part, in (0, 1).
    """
    at = len(passages) - max(1, round(held * len(passages)))
    return passages[:at], passages[at:]
