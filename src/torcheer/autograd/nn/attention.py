"""Attention: each item of a sequence asks all of another, and takes the mean of what they have to say."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd.composed.layers import attend
from torcheer.autograd.nn import functional as F
from torcheer.autograd.nn import init
from torcheer.autograd.nn.linear import Linear
from torcheer.autograd.nn.module import Module
from torcheer.autograd.nn.parameter import Parameter
from torcheer.autograd.nn.placing import in_any_type
from torcheer.errors import InputError


class MultiHeadAttention(Module):
    """Several attentions side by side, each with a part of the numbers, and a matrix that joins them."""

    is_one_layer = True

    @in_any_type
    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
    ) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise InputError(f"{embed_dim} numbers cannot be shared out evenly among {num_heads} heads.")
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.dropout, self.batch_first = dropout, batch_first
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.in_proj_weight = self.q_proj_weight = self.k_proj_weight = self.v_proj_weight = None
        if self.kdim == self.vdim == embed_dim:
            self.in_proj_weight = Parameter(torch.empty(3 * embed_dim, embed_dim))
        else:
            self.q_proj_weight = Parameter(torch.empty(embed_dim, embed_dim))
            self.k_proj_weight = Parameter(torch.empty(embed_dim, self.kdim))
            self.v_proj_weight = Parameter(torch.empty(embed_dim, self.vdim))
        self.in_proj_bias = Parameter(torch.empty(3 * embed_dim)) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None and self.out_proj.bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        """The answers, and how much each looked at each. Masks are True where *not* to look, or added."""
        is_single = len(query.shape) == 2
        queries, keys, values = (self._in_heads(one, is_single) for one in self._projected(query, key, value))
        if is_causal and attn_mask is None:
            raise InputError("is_causal only says what attn_mask is: pass the mask as well.")
        mask = self._mask(attn_mask, key_padding_mask, queries, is_single)
        found, weights = attend(queries, keys, values, mask, self.dropout if self.training else 0.0)
        joined = found.permute(2, 0, 1, 3).flatten(2)  # steps, items, numbers
        answers = F.linear(joined, self.out_proj.weight, self.out_proj.bias)
        if is_single:
            answers, weights = answers.squeeze(1), weights.squeeze(0)
        elif self.batch_first:
            answers = answers.transpose(0, 1)
        if not need_weights:
            return answers, None
        return answers, weights.mean(-3) if average_attn_weights else weights

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Any, Any, Any]:
        size = self.embed_dim
        if self.in_proj_weight is not None and query is key and key is value:
            all_three = F.linear(query, self.in_proj_weight, self.in_proj_bias)
            return all_three[..., :size], all_three[..., size : 2 * size], all_three[..., 2 * size :]
        if self.in_proj_weight is not None:
            weights = [self.in_proj_weight[start * size : (start + 1) * size] for start in range(3)]
        else:
            weights = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]  # type: ignore[list-item]
        bias = self.in_proj_bias
        biases = [None if bias is None else bias[start * size : (start + 1) * size] for start in range(3)]
        q, k, v = (F.linear(*three) for three in zip((query, key, value), weights, biases, strict=True))
        return q, k, v

    def _in_heads(self, x: Tensor, is_single: bool) -> Any:
        """To items, heads, steps, numbers of a head."""
        if is_single:
            x = x.unsqueeze(0)
        elif not self.batch_first:
            x = x.transpose(0, 1)
        num_items, num_steps = x.shape[:2]
        return x.reshape(num_items, num_steps, self.num_heads, -1).transpose(1, 2)

    def _mask(
        self, attn_mask: Tensor | None, padding: Tensor | None, queries: Tensor, is_single: bool
    ) -> Tensor | None:
        """Both masks as one number to be added to each score: -inf where not to look."""
        masks = []
        if attn_mask is not None:
            is_shared = len(attn_mask.shape) == 2
            each = attn_mask if is_shared else attn_mask.reshape(-1, self.num_heads, *attn_mask.shape[1:])
            masks.append(_added(each, queries))
        if padding is not None:
            padding = padding.unsqueeze(0) if is_single else padding
            masks.append(_added(padding, queries)[:, None, None, :])
        return sum(masks[1:], masks[0]) if masks else None

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.embed_dim} ({self.num_heads} heads)"


def _added(mask: Tensor, like: Tensor) -> Tensor:
    if mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=like.dtype, device=like.device).masked_fill(mask, -math.inf)


MultiheadAttention = MultiHeadAttention
