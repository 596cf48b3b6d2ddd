"""What another norm does to a model that was trained with softmax.

A model's attention is switched to the p-norm as it is, and once more after a short
training with it. The same training at ``p = 1`` is what that is compared with: it may
help by itself.
"""

import copy
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import torch

from maa.attention.adapters.huggingface import use_mass_aware
from maa.audit.audit import next_token_loss
from maa.audit.models import Pretrained, check_causal
from maa.audit.pruning import mean_loss


def switch(
    pretrained: Pretrained,
    powers: Sequence[float],
    train: Sequence[Sequence[int]],
    test: Sequence[Sequence[int]],
    steps: int = 100,
    learning_rate: float = 2e-5,
    seed: int = 0,
    report: Callable[[str], None] = print,
) -> pd.DataFrame:
    """Measure a causal model's perplexity under each norm, before and after training.

    Args:
        pretrained: the model; it stays as it is.
        powers: orders of the norm.
        train: passages as tokens to train on, one a step, in a random order that is the
            same for every power.
        test: passages as tokens to measure on.
        steps: steps of AdamW; 0 trains nothing.
        learning_rate: its step size.
        seed: of the order of passages.
        report: takes one line a power and stage.

    Returns:
        One row a power and stage: ``p``, ``steps`` (0 or the number given), ``loss``
        (nats a token) and ``perplexity``, on the test passages.

    Raises:
        UserError: if the model predicts no next token.
    """
    check_causal(pretrained)
    found = []
    for p in powers:
        model = copy.deepcopy(pretrained.model)
        use_mass_aware(model, p)
        one = Pretrained(pretrained.name, model, pretrained.tokenizer, True)
        for stage in dict.fromkeys((0, steps)):
            if stage:
                _tune(one, train, stage, learning_rate, seed)
            loss = mean_loss(one, test)
            found.append((p, stage, loss, np.exp(loss)))
            report(f"p {p:g} after {stage} steps: perplexity {np.exp(loss):.4g}")
    return pd.DataFrame(found, columns=["p", "steps", "loss", "perplexity"])


def _tune(
    pretrained: Pretrained,
    texts: Sequence[Sequence[int]],
    steps: int,
    learning_rate: float,
    seed: int,
) -> None:
    model = pretrained.model
    order = np.random.default_rng(seed).permutation(np.arange(steps) % len(texts))
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    device = next(model.parameters()).device
    for number in order:
        tokens = torch.tensor([list(texts[number])], device=device)
        loss = next_token_loss(model(tokens).logits, tokens)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
