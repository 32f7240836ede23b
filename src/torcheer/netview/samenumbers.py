"""Are two tensors the same, number by number?"""

from __future__ import annotations

import torch
from torch import Tensor


def are_same_numbers(one: Tensor, other: Tensor) -> bool:
    """NaN is the same as NaN, and as nothing else."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if torch.equal(one, other):
        return True
    if not (one.is_floating_point() or one.is_complex()):
        return False
    is_nan = torch.isnan(one)
    if not bool(is_nan.any()) or not torch.equal(is_nan, torch.isnan(other)):
        return False
    return torch.equal(one[~is_nan], other[~is_nan])
