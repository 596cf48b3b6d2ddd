"""Training a small GPT-NeoX, the architecture of the Pythia models, on a text.

The model is one of transformers' own, so that whatever reads a pretrained model reads
its checkpoints too.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from maa.audit.training import state
from maa.audit.training.settings import Settings
from maa.audit.training.tokens import batch_of, encode, train_tokenizer, unigram_loss
from maa.errors import UserError
from maa.files import write_json
from maa.seeds import derive, generator


@dataclass(frozen=True)
class Material:
    """What a model is trained and measured on.

    Attributes:
        tokenizer: that of the text.
        train: the text as tokens, int64[N].
        read: held-out windows as a model reads them, int64[W, context].
        following: their next tokens, int64[W, context].
    """

    tokenizer: Any
    train: Tensor
    read: Tensor
    following: Tensor


def pretrain(
    train: Sequence[str],
    held_out: Sequence[str],
    settings: Settings,
    folder: str | Path,
    report: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Train a model and save its checkpoints, ``folder/step0``, ``step1`` and so on.

    Each is a folder that `maa.audit.models.load_model` loads. All is made in
    ``folder.part`` beside it, so that the folder is whole once it is there. A training
    that was killed goes on from its last state, and one that is finished is not done
    again; in both cases the bytes are those of a training in one go, on one machine and
    with the same number of threads.

    Args:
        train: texts to train on; the tokenizer learns from them too.
        held_out: texts that the loss is measured on.
        settings: of the training.
        folder: where the checkpoints go.
        report: takes one line a checkpoint.

    Returns:
        What ``folder/training.json`` says: ``settings``, ``text`` (checksum of both
        texts), ``tokens``, ``parameters``, ``unigram_loss``, and ``losses``: a mapping
        a checkpoint with ``step``, ``train`` (of the step's batch, before it; None for
        0) and ``held_out``, nats a token.

    Raises:
        UserError: if a text is too short, transformers is missing, the folder holds
            another training or anything else, or cannot be written.
    """
    final = Path(folder)
    about: dict[str, Any] = {
        "settings": settings.as_mapping(),
        "text": _checksum(train, held_out),
    }
    done = state.finished(final)
    if done is not None:
        state.check_same(final, done, about)
        return done
    part = final.with_name(f"{final.name}.part")
    material = prepare(train, held_out, settings)
    model = build(settings, material.tokenizer)
    losses = _train(model, material, settings, part, about, report)
    unigrams = unigram_loss(
        material.train, material.following.flatten(), settings.vocabulary
    )
    about |= {
        "tokens": len(material.train),
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "unigram_loss": unigrams,
        "losses": losses,
    }
    write_json(part / state.DONE, about)
    (part / state.STATE).unlink(missing_ok=True)
    _rename(part, final)
    return about


def _rename(part: Path, final: Path) -> None:
    try:
        os.replace(part, final)
    except OSError as error:
        raise UserError(
            f"{final} could not be written ({error.strerror or error}); empty it or "
            "mend the permissions of its folder, then run again"
        ) from error


def _checksum(*texts: Sequence[str]) -> str:
    parts = [hashlib.sha256("\0".join(part).encode()).hexdigest() for part in texts]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()


def prepare(
    train: Sequence[str], held_out: Sequence[str], settings: Settings
) -> Material:
    """Train the tokenizer, and make tokens of the texts.

    Raises:
        UserError: if a text is shorter than a window, or transformers is missing.
    """
    try:
        tokenizer = train_tokenizer(train, settings.vocabulary, settings.context)
    except ImportError as error:
        raise UserError(
            "training a small transformer needs transformers; install it with: pip "
            "install 'maa[rows]'"
        ) from error
    tokens, held = encode(tokenizer, train), encode(tokenizer, held_out)
    for name, text in (("text to train on", tokens), ("held-out text", held)):
        if len(text) <= settings.context:
            raise UserError(
                f"the {name} has {len(text)} tokens, not more than one window of "
                f"{settings.context}; give a longer one"
            )
    last = len(held) - settings.context
    count = min(settings.windows, 1 + last // settings.context)
    starts = torch.linspace(0, last, count, dtype=torch.float64).long()
    read, following = batch_of(held, starts, settings.context, tokenizer.bos_token_id)
    return Material(tokenizer, tokens, read, following)


def build(settings: Settings, tokenizer: Any) -> nn.Module:
    """Return the model with its initial weights, which the seed decides."""
    import transformers

    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    config = transformers.GPTNeoXConfig(
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        hidden_size=settings.width,
        intermediate_size=4 * settings.width,
        vocab_size=settings.vocabulary,
        max_position_embeddings=settings.context,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(settings.seed, "initialisation"))
        model: nn.Module = transformers.GPTNeoXForCausalLM._from_config(  # type: ignore[no-untyped-call]
            config, attn_implementation="sdpa"
        )
    return model


def _train(
    model: nn.Module,
    material: Material,
    settings: Settings,
    folder: Path,
    about: dict[str, Any],
    report: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Take all steps that are left; return the losses of the checkpoints."""
    optimizer = _optimizer(model, settings)
    known = state.restore(folder, model, optimizer)
    losses: list[dict[str, Any]] = []
    begun = 0
    if known is not None:
        state.check_same(folder, known, about)
        begun, losses = known["step"], known["losses"]
        report(f"goes on after step {begun} of {settings.steps}")
    starts = _order(len(material.train), settings)
    due = set(settings.checkpoints())
    model.train()
    loss = None
    for step in range(begun, settings.steps + 1):
        if step > begun or known is None:
            if step in due:
                losses.append(_checkpoint(model, material, folder, step, loss))
                report(_line(losses[-1], settings))
            if step % settings.save_every == 0 and step:
                told = about | {"step": step, "losses": losses}
                state.save(folder, model, optimizer, told)
        if step < settings.steps:
            loss = _step(model, optimizer, material, starts[step], settings, step)
    return losses


def _order(length: int, settings: Settings) -> Tensor:
    """Return where the windows of every step begin, int64[steps, batch]."""
    drawn = generator(settings.seed, "order").integers(
        0, length - settings.context + 1, (settings.steps, settings.batch)
    )
    return torch.from_numpy(drawn)


def _optimizer(model: nn.Module, settings: Settings) -> torch.optim.AdamW:
    weights = list(model.parameters())
    groups: list[dict[str, Any]] = [
        {"params": [w for w in weights if w.ndim > 1]},
        {"params": [w for w in weights if w.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        groups, betas=(0.9, 0.95), weight_decay=settings.weight_decay, fused=True
    )


def _step(
    model: nn.Module,
    optimizer: torch.optim.AdamW,
    material: Material,
    starts: Tensor,
    settings: Settings,
    step: int,
) -> float:
    """Take one step; return the loss of its batch before it."""
    start = material.tokenizer.bos_token_id
    read, following = batch_of(material.train, starts, settings.context, start)
    logits = model(read, use_cache=False).logits
    loss = cross_entropy(logits.flatten(0, 1), following.flatten())
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
    for group in optimizer.param_groups:
        group["lr"] = settings.rate(step)
    optimizer.step()
    optimizer.zero_grad()
    return float(loss.detach())


def held_out_loss(model: nn.Module, material: Material, batch: int = 16) -> float:
    """Return the loss on the held-out windows, nats a token."""
    total = 0.0
    with torch.inference_mode():
        for at in range(0, len(material.read), batch):
            part = slice(at, at + batch)
            logits = model(material.read[part], use_cache=False).logits.flatten(0, 1)
            following = material.following[part].flatten()
            total += float(cross_entropy(logits, following, reduction="sum"))
    return total / material.following.numel()


def _checkpoint(
    model: nn.Module,
    material: Material,
    folder: Path,
    step: int,
    loss: float | None,
) -> dict[str, Any]:
    """Save the model as it is after a step; return its losses."""
    final = folder / f"step{step}"
    part = folder / f".step{step}.part"
    for old in (part, final):
        shutil.rmtree(old, ignore_errors=True)
    try:
        model.save_pretrained(part)  # type: ignore[operator]
        material.tokenizer.save_pretrained(part)
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"{final} could not be written ({error}); free some space or mend the "
            "permissions of its folder, then run again"
        ) from error
    _rename(part, final)
    return {"step": step, "train": loss, "held_out": held_out_loss(model, material)}


def _line(losses: dict[str, Any], settings: Settings) -> str:
    return (
        f"step {losses['step']} of {settings.steps}: loss "
        f"{losses['held_out']:.3f} on held-out text"
    )
