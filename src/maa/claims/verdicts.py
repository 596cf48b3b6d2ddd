"""The verdicts, and the conditions behind one."""

from dataclasses import dataclass

REPRODUCED = "reproduced"
DIRECTION_ONLY = "direction only"
NOT_REPRODUCED = "not reproduced"
CONTRADICTED = "contradicted"
NOT_RUN = "not run"
VERDICTS = (REPRODUCED, DIRECTION_ONLY, NOT_REPRODUCED, CONTRADICTED, NOT_RUN)


@dataclass(frozen=True)
class Check:
    """One condition of a rule.

    Attributes:
        text: what was found.
        passed: whether it meets the condition.
        asked: False for a condition that so few cells cannot decide; it then passes.
    """

    text: str
    passed: bool
    asked: bool = True


@dataclass(frozen=True)
class Finding:
    """A verdict with the conditions it rests on.

    Attributes:
        verdict: one of `VERDICTS`.
        reason: one sentence.
        checks: the rule's conditions; empty if there was nothing to judge.
    """

    verdict: str
    reason: str
    checks: tuple[Check, ...] = ()


def not_run(reason: str) -> Finding:
    """Return the finding of a claim for which there is no measurement."""
    return Finding(NOT_RUN, reason)


def finding(verdict: str, checks: tuple[Check, ...]) -> Finding:
    """Give as reason all that holds, or what stands against the claim."""
    if verdict == REPRODUCED:
        said = [check.text for check in checks]
    else:
        said = [check.text for check in checks if not check.passed]
    sentence = "; ".join(said) + "."
    if verdict == DIRECTION_ONLY and checks[0].passed:
        sentence = f"{checks[0].text}, but {sentence}"
    return Finding(verdict, sentence[0].upper() + sentence[1:], checks)
