"""Layers that mix all numbers of an item by a matrix, and the one that looks a row up."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd.nn import functional as F
from torcheer.autograd.nn import init
from torcheer.autograd.nn.module import Module
from torcheer.autograd.nn.parameter import Parameter
from torcheer.autograd.nn.placing import in_any_type


class Linear(Module):
    """Each output is a weighted sum of all inputs, plus a bias: y = x wᵀ + b."""

    @in_any_type
    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(torch.empty(out_features, in_features))
        self.bias = Parameter(torch.empty(out_features)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features else 0.0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, x: Tensor) -> Any:
        return F.linear(x, self.weight, self.bias)

    def __repr__(self) -> str:
        return f"Linear layer ({self.in_features} X {self.out_features})"


class Bilinear(Module):
    """Each output weighs all products of a number of one input with one of the other: y = x₁ w x₂ᵀ + b."""

    @in_any_type
    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = Parameter(torch.empty(out_features, in1_features, in2_features))
        self.bias = Parameter(torch.empty(out_features)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, x1: Tensor, x2: Tensor) -> Any:
        products = x1.unsqueeze(-1) * x2.unsqueeze(-2)
        return F.linear(products.flatten(-2), self.weight.flatten(1), self.bias)

    def __repr__(self) -> str:
        return f"Bilinear layer ({self.in1_features} X {self.in2_features} X {self.out_features})"


class Embedding(Module):
    """A vector for each of so many things, found by its number, and learned. That of padding stays."""

    @in_any_type
    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.max_norm, self.norm_type = max_norm, norm_type
        self.weight = Parameter(torch.empty(num_embeddings, embedding_dim))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.data[self.padding_idx] = 0.0

    def forward(self, x: Tensor) -> Any:
        return F.embedding(x, self.weight, self.padding_idx, self.max_norm, self.norm_type)

    def __repr__(self) -> str:
        return f"Embedding {self.num_embeddings} -> {self.embedding_dim}"
