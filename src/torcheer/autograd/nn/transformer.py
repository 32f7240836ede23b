"""The encoder of a transformer: attention and a small network for each step, again and again."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd.nn import functional as F
from torcheer.autograd.nn.attention import MultiHeadAttention
from torcheer.autograd.nn.containers import ModuleList
from torcheer.autograd.nn.dropout import Dropout
from torcheer.autograd.nn.linear import Linear
from torcheer.autograd.nn.module import Module
from torcheer.autograd.nn.norms import LayerNorm
from torcheer.autograd.nn.placing import in_any_type
from torcheer.errors import InputError


class TransformerEncoderLayer(Module):
    """Look around, then think about it. Both add to what was there, so gradients have a short way back."""

    @in_any_type
    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Any] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, nhead, dropout, bias, batch_first=batch_first)
        self.linear1 = Linear(d_model, dim_feedforward, bias)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _activation(activation)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Any:
        x: Any = src
        if self.norm_first:
            x = x + self._look(self.norm1(x), src_mask, src_key_padding_mask)
            return x + self._think(self.norm2(x))
        x = self.norm1(x + self._look(x, src_mask, src_key_padding_mask))
        return self.norm2(x + self._think(x))

    def _look(self, x: Tensor, mask: Tensor | None, padding: Tensor | None) -> Any:
        found, _ = self.self_attn(x, x, x, key_padding_mask=padding, need_weights=False, attn_mask=mask)
        return self.dropout1(found)

    def _think(self, x: Tensor) -> Any:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoder(Module):
    """Copies of such a layer, one after the other; each learns for itself."""

    def __init__(
        self, encoder_layer: TransformerEncoderLayer, num_layers: int, norm: Module | None = None
    ) -> None:
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(encoder_layer) for _ in range(num_layers))
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Any:
        x: Any = src
        for layer in self.layers:
            x = layer(x, mask, src_key_padding_mask)
        return x if self.norm is None else self.norm(x)


def causal_mask(num_steps: int) -> Tensor:
    """For attention that may not look ahead: -inf above the diagonal, 0 elsewhere."""
    return torch.full((num_steps, num_steps), -math.inf).triu(1)


def _activation(given: str | Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
    if callable(given):
        return given
    if given not in ("relu", "gelu"):
        raise InputError(f"activation is 'relu', 'gelu' or a function, not {given!r}.")
    found: Callable[[Tensor], Any] = getattr(F, given)
    return found
