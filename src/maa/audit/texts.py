"""Texts as passages of tokens."""

from collections.abc import Sequence
from typing import Any

from maa.errors import UserError

SINKS = ("first", "special", "second", "none")


def passages(
    tokenizer: Any, texts: Sequence[str], tokens: int, count: int | None = None
) -> list[list[int]]:
    """Cut texts into passages, each with the special tokens that the model expects.

    Texts are joined by a blank line and cut without regard to sentences; what is left
    at the end is dropped.

    Args:
        tokenizer: a tokenizer of transformers.
        texts: what is to be read.
        tokens: length of a passage, special tokens included.
        count: the most passages; None: as many as there are.

    Raises:
        UserError: if the texts do not fill a single passage.
    """
    ids = tokenizer("\n\n".join(texts), add_special_tokens=False, verbose=False)[
        "input_ids"
    ]
    front, back = _frame(tokenizer)
    room = tokens - len(front) - len(back)
    if room < 1 or len(ids) < room:
        raise UserError(
            f"the text has {len(ids)} tokens, fewer than one passage of {tokens}; give "
            "a longer text or a smaller number of tokens"
        )
    starts = range(0, len(ids) - room + 1, room)
    return [[*front, *ids[at : at + room], *back] for at in starts][:count]


def spread(texts: Sequence[list[int]], count: int) -> list[list[int]]:
    """Return at most so many passages, evenly spread over all of them."""
    return list(texts[:: max(1, len(texts) // count)])[:count]


def _frame(tokenizer: Any) -> tuple[list[int], list[int]]:
    """Return the special tokens that the tokenizer puts before and behind a text."""
    bare = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = tokenizer("a")["input_ids"]
    at = next(i for i in range(len(whole)) if whole[i : i + len(bare)] == bare)
    return whole[:at], whole[at + len(bare) :]


def sink_positions(tokenizer: Any, passage: Sequence[int], which: str) -> list[int]:
    """Return the positions of a passage that count as sinks.

    ``first`` is the first token, ``special`` every special token ([CLS] and [SEP] of an
    encoder), ``second`` the second token, ``none`` no token at all. The second is a
    control: what a key shows as a sink that is none.

    Raises:
        UserError: for another word.
    """
    if which in ("first", "second"):
        return [("first", "second").index(which)]
    if which == "special":
        special = set(tokenizer.all_special_ids)
        return [i for i, token in enumerate(passage) if token in special]
    if which == "none":
        return []
    raise UserError(f"sinks are one of {', '.join(SINKS)}, got {which!r}")
