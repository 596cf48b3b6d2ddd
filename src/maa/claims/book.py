"""The book of claims: ``config/claims.yaml``, read and checked."""

from collections import Counter
from pathlib import Path
from typing import Any

from maa.config import check, load
from maa.errors import UserError


def load_book(path: str | Path, schema: str | Path) -> dict[str, Any]:
    """Read the claims and check them against their schema.

    Returns:
        A mapping with ``paper`` (what was published on which grid), ``claims``,
        ``notes`` (defaults taken where the paper is silent) and ``exhibits`` (figures
        and tables of the page).

    Raises:
        UserError: naming the key that is wrong, or an id that occurs twice.
    """
    book: dict[str, Any] = load(path)
    check(book, schema, str(path))
    ids = Counter(claim["id"] for claim in book["claims"])
    twice = [name for name, count in ids.items() if count > 1]
    if twice:
        raise UserError(f"{path} states the claim {twice[0]!r} twice; rename one")
    for claim in book["claims"]:
        domain = claim.get("domain")
        if domain is not None and domain not in book["paper"]["grids"]:
            raise UserError(
                f"{path}, claim {claim['id']}: the domain {domain!r} has no grid under "
                f"paper.grids (there are {sorted(book['paper']['grids'])}); add it"
            )
    return book
