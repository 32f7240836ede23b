"""How far apart, or how alike, two vectors of each item are."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from torcheer.autograd.nn import functional as F
from torcheer.autograd.nn.module import Module


class CosineSimilarity(Module):
    """1 for the same direction, -1 for the opposite."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Any:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The length of the difference."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Any:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
