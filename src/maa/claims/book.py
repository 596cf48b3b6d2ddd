"""The book of claims: ``config/claims.yaml``, read and checked."""

from collections import Counter
from pathlib import Path
from typing import Any

from maa.config import check, load
from maa.errors import UserError


def load_book(path: str | Path, schema: str | Path) -> dict[str, Any]:
    """Read the claims and check them against their schema.

    Returns:
        A mapping with ``paper`` (what was published on which grid), ``companions``
        (the same of the papers that belong to it, by domain), ``sections``,
        ``claims``, ``notes`` (defaults taken where the paper is silent) and
        ``exhibits`` (figures and tables of the page).

    Raises:
        UserError: naming the key that is wrong, an id that occurs twice, or a name
            that nothing has.
    """
    book: dict[str, Any] = load(path)
    check(book, schema, str(path))
    ids = Counter(claim["id"] for claim in book["claims"])
    twice = [name for name, count in ids.items() if count > 1]
    if twice:
        raise UserError(f"{path} states the claim {twice[0]!r} twice; rename one")
    sections = [section["name"] for section in book["sections"]]
    for claim in book["claims"]:
        where = f"{path}, claim {claim['id']}"
        domains = book["paper"]["grids"]
        if claim["kind"] == "fact":
            domains = book["companions"]
        _check_claim(claim, where, sections, set(ids), domains)
    return book


def _check_claim(
    claim: dict[str, Any],
    where: str,
    sections: list[str],
    ids: set[str],
    domains: dict[str, Any],
) -> None:
    """Check what no schema can: that the names a claim uses exist."""
    if claim["section"] not in sections:
        raise UserError(
            f"{where}: there is no section {claim['section']!r} (there are "
            f"{sections}); add it under sections"
        )
    domain = claim.get("domain")
    if domain is not None and domain not in domains:
        under = "companions" if claim["kind"] == "fact" else "paper.grids"
        raise UserError(
            f"{where}: the domain {domain!r} has no grid under {under} (there are "
            f"{sorted(domains)}); add it"
        )
    for key in ("of", "against"):
        unknown = [name for name in claim.get(key, []) if name not in ids]
        if unknown:
            raise UserError(
                f"{where}: {key} names the claim {unknown[0]!r}, which does not exist"
            )
    names = Counter(entry["name"] for entry in claim.get("numbers", []))
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise UserError(f"{where}: two numbers are called {twice[0]!r}; rename one")
