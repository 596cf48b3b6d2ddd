"""Pretrained transformers: from a hub, a folder, or a GGUF file."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from maa.errors import UserError


@dataclass(frozen=True)
class Pretrained:
    """A model that reads texts.

    Attributes:
        name: what it was asked for as.
        model: the module, in evaluation mode and float32.
        tokenizer: what makes its tokens of a text.
        causal: whether it predicts the next token; otherwise it is an encoder.
    """

    name: str
    model: nn.Module
    tokenizer: Any
    causal: bool

    @property
    def shape(self) -> tuple[int, int]:
        """Number of layers and of heads."""
        config = self.model.config
        return int(config.num_hidden_layers), int(config.num_attention_heads)  # type: ignore[union-attr, arg-type]


def load_model(
    name: str, device: str = "cpu", revision: str | None = None
) -> Pretrained:
    """Load a model and its tokenizer.

    Args:
        name: a hub's name, a folder, or a file that ends in ``.gguf``.
        device: where the model lies.
        revision: which state of it, as in ``step1000`` of a Pythia model: a branch, tag
            or commit of a hub's model, or a folder within the folder; None: the only or
            the latest.

    Raises:
        UserError: if transformers is not installed, or the model cannot be had.
    """
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    try:
        import transformers
        from transformers.models.auto.modeling_auto import (
            MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CAUSAL,
        )
    except ImportError as error:
        raise UserError(
            "reading attention of a pretrained model needs transformers; install it "
            "with: pip install 'maa[rows]'"
        ) from error
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    where, options = _location(name, revision)
    try:
        config = transformers.AutoConfig.from_pretrained(where, **options)
        known = CAUSAL.get(config.model_type)  # a GGUF file names no architecture
        architectures = config.architectures or [known]
        causal = set(architectures) & set(CAUSAL.values())
        kind = transformers.AutoModelForCausalLM if causal else transformers.AutoModel
        tokenizer = transformers.AutoTokenizer.from_pretrained(where, **options)
        model = kind.from_pretrained(
            where, dtype=torch.float32, attn_implementation="eager", **options
        )
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = str(error).strip().splitlines()
        asked = name if revision is None else f"{name} at {revision}"
        raise UserError(
            f"the model {asked} cannot be loaded ({reason[0] if reason else error}); "
            "name a folder that holds one, a .gguf file, or a model of a hub that can "
            "be reached from here"
        ) from error
    model.to(torch.device(device))  # type: ignore[arg-type]
    return Pretrained(name, model.eval(), tokenizer, bool(causal))


def check_causal(pretrained: Pretrained) -> None:
    """Stop where a perplexity is asked of a model that predicts no next token.

    Raises:
        UserError: naming the model.
    """
    if not pretrained.causal:
        raise UserError(
            f"{pretrained.name} is an encoder and has no perplexity; take a causal "
            "model, as in the cells of domains.rows.pruning and switching"
        )


def _location(name: str, revision: str | None) -> tuple[str, dict[str, str]]:
    """Return what transformers calls the place of a model, and its options."""
    path = Path(name)
    if revision is not None and path.suffix == ".gguf":
        raise UserError(f"{name} is one file, without revisions; leave {revision} out")
    if revision is not None and path.is_dir():
        if not (path / revision).is_dir():
            raise UserError(f"{path / revision} is missing; name a folder in {name}")
        return str(path / revision), {}
    if path.suffix != ".gguf":
        return name, {} if revision is None else {"revision": revision}
    if not path.is_file():
        raise UserError(f"{name} is missing; name a .gguf file that is there")
    return str(path.parent), {"gguf_file": path.name}
