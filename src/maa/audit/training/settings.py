"""What decides how a small transformer is trained."""

import math
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any

from maa.errors import UserError


@dataclass(frozen=True)
class Settings:
    """A training.

    Attributes:
        layers: number of layers.
        heads: attention heads of a layer.
        width: size of the residual stream, a multiple of the heads; a head's size is
            even, as rotary positions need it.
        context: tokens of a window, the start token included.
        vocabulary: tokens of the tokenizer.
        batch: windows a step.
        steps: steps of AdamW.
        learning_rate: its largest step size.
        warmup: share of the steps in which it rises from 0.
        final_rate: what is left of it at the end of the cosine, as a share.
        weight_decay: of matrices.
        clip: the largest norm of a gradient.
        seed: of the initial weights and of the order of the data, each a stream of its
            own.
        per_doubling: checkpoints each time that the step doubles.
        windows: windows of held-out text that the loss is taken on.
        save_every: steps between states from which a killed training goes on.
    """

    layers: int
    heads: int
    width: int
    context: int
    vocabulary: int
    batch: int
    steps: int
    learning_rate: float
    warmup: float = 0.02
    final_rate: float = 0.1
    weight_decay: float = 0.1
    clip: float = 1.0
    seed: int = 0
    per_doubling: int = 1
    windows: int = 64
    save_every: int = 250

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            UserError: for the first that is wrong.
        """
        for field in fields(self):
            value, least = getattr(self, field.name), _LEAST.get(field.name, 1)
            whole = isinstance(value, int) and not isinstance(value, bool)
            if field.type is int and not (whole and value >= least):
                raise UserError(
                    f"{field.name}: {value!r} is wrong; expected a whole number of at "
                    f"least {least}"
                )
            if field.type is float:
                _check_real(field.name, value)
        if self.width % (2 * self.heads):
            raise UserError(
                f"width: {self.width} does not give {self.heads} heads an even size; "
                f"expected a multiple of {2 * self.heads}"
            )

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Settings":
        """Return the settings that a mapping holds.

        Raises:
            UserError: for a key that is unknown or missing, or a wrong value.
        """
        known = {field.name: field.default is MISSING for field in fields(cls)}
        unknown = sorted(set(values) - set(known))
        missing = [name for name in known if known[name] and name not in values]
        if unknown or missing:
            raise UserError(
                f"the settings of a training lack {missing} and have {unknown}, which "
                f"are unknown; expected some of {', '.join(known)}"
            )
        return cls(**values)

    def as_mapping(self) -> dict[str, Any]:
        """Return the settings as a mapping, defaults included."""
        return asdict(self)

    def rate(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0: warm-up, then cosine."""
        warm = max(1, round(self.warmup * self.steps))
        if step < warm:
            return self.learning_rate * (step + 1) / warm
        gone = (step - warm) / max(1, self.steps - warm)
        share = (1 + math.cos(math.pi * gone)) / 2
        return self.learning_rate * (self.final_rate + (1 - self.final_rate) * share)

    def checkpoints(self) -> list[int]:
        """Return the steps after which the model is saved: 0, 1, 2, 4, … and last.

        With more than one checkpoint a doubling, those between are rounded.
        """
        count = math.floor(self.per_doubling * math.log2(self.steps)) + 1
        between = {round(2 ** (i / self.per_doubling)) for i in range(count)}
        return sorted({0, *between, self.steps})


_LEAST = {"seed": 0, "context": 2, "vocabulary": 2}
_SHARES = ("warmup", "final_rate")


def _check_real(name: str, value: Any) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    most = 1.0 if name in _SHARES else math.inf
    least = 0.0 if name in (*_SHARES, "weight_decay") else None
    above = number and (value >= least if least is not None else value > 0)
    if not (above and math.isfinite(value) and value <= most):
        expected = f"from 0 to {most:g}" if most == 1 else "above 0"
        raise UserError(f"{name}: {value!r} is wrong; expected a number {expected}")
