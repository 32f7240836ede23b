"""What the models of text have in common: small sizes, and something to read."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tests.zoo.specimen import Example, from_config

VOCAB = 99

# name, model, sizes, facts
Row = tuple[str, str, dict[str, Any], dict[str, Any]]

# What most configurations call their sizes.
SMALL = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
}
GPT = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}


def text(length: int = 12, *, batch: int = 2) -> Tensor:
    return torch.randint(3, VOCAB, (batch, length))


def padding(length: int = 12) -> Tensor:
    """Two texts, the second four tokens shorter."""
    mask = torch.ones(2, length, dtype=torch.long)
    mask[1, -4:] = 0
    return mask


def reader(model: str, sizes: dict[str, Any], **inputs: Any) -> Example:
    """A model over a vocabulary of 99 words."""
    tokens = {"vocab_size": VOCAB, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    return from_config(model, {**tokens, **sizes}, **inputs)
