"""A tokenizer of a text's own, and texts as one tensor of its tokens."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from maa.errors import UserError

START = "<|start|>"
BYTES = 256


def train_tokenizer(texts: Sequence[str], vocabulary: int, context: int) -> Any:
    """Train a byte-level BPE tokenizer that puts a start token before every text.

    The start token is where a first-token sink can form. Every text can be encoded and
    decoded without loss.

    Args:
        texts: what its merges are learned from.
        vocabulary: number of tokens, start token included.
        context: the longest text of a model, in tokens.

    Returns:
        A tokenizer of transformers.

    Raises:
        UserError: if the vocabulary is smaller than the bytes and the start token, or
            the texts are too short for it.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from tokenizers.trainers import BpeTrainer
    from transformers import PreTrainedTokenizerFast

    if vocabulary <= BYTES:
        raise UserError(
            f"vocabulary: {vocabulary} is too small; expected more than {BYTES}, one "
            "token a byte and one for the start"
        )
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[START],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    found = tokenizer.get_vocab_size()
    if found < vocabulary:
        raise UserError(
            f"vocabulary: the text yields {found} tokens where {vocabulary} are asked "
            "for; give a longer text or a smaller vocabulary"
        )
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{START} $A", special_tokens=[(START, tokenizer.token_to_id(START))]
    )
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer,
        bos_token=START,
        eos_token=START,
        model_max_length=context,
        clean_up_tokenization_spaces=False,
    )


def encode(tokenizer: Any, texts: Sequence[str]) -> Tensor:
    """Return texts, joined by a blank line, as tokens without start, int64[N]."""
    pieces = [f"{text}\n\n" for text in texts]
    ids = tokenizer(pieces, add_special_tokens=False, verbose=False)["input_ids"]
    return torch.tensor([token for piece in ids for token in piece])


def batch_of(
    tokens: Tensor, starts: Tensor, context: int, start_token: int
) -> tuple[Tensor, Tensor]:
    """Cut windows out of a text: what a model reads, and the next tokens.

    Args:
        tokens: a text, int64[N].
        starts: where windows begin, int64[B], at most N - context.
        context: length of a window, T.
        start_token: what stands first in every window.

    Returns:
        int64[B, T] twice: the start token with the first T - 1 tokens of the window,
        and its T tokens.
    """
    windows = tokens[starts.unsqueeze(1) + torch.arange(context)]
    first = windows.new_full((len(windows), 1), start_token)
    return torch.cat([first, windows[:, :-1]], 1), windows


def unigram_loss(train: Tensor, held_out: Tensor, vocabulary: int) -> float:
    """Return the loss of the tokens' own frequencies, nats a token, add-one smoothed.

    What a model that reads no context can reach.
    """
    counts = torch.bincount(train, minlength=vocabulary).double() + 1
    return float(-(counts / counts.sum()).log()[held_out].mean())
