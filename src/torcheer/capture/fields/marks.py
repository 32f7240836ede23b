"""Marked elements of tensors: as weights to differentiate with, and as what several trials found."""

from __future__ import annotations

import torch
from torch import Tensor

from torcheer.capture.fields.planning import Plan

Masks = dict[int, Tensor]  # by op: which of its elements


class Found:
    """The union of what several trials found for one tensor."""

    def __init__(self, shape: torch.Size, rows: Tensor | None) -> None:
        self._shape = shape
        self._rows = rows
        shape = shape if rows is None else torch.Size((len(rows), *shape[1:]))
        self._depends = torch.zeros(shape, dtype=torch.bool)
        self._never_finite: Tensor | None = None

    def add(self, derivative: Tensor | None, plan: Plan) -> None:
        if derivative is None:
            self._never_finite = torch.zeros(())
            return
        derivative = derivative.detach()
        if plan.is_counted:
            self._depends |= derivative > 0.5
            return
        finite = derivative.isfinite()
        self._depends |= (derivative != 0) & finite
        broken = ~finite
        self._never_finite = broken if self._never_finite is None else self._never_finite.bool() & broken

    def mask(self) -> Tensor:
        # What was infinite or not a number in every trial is not known: it may depend.
        found = self._depends
        if self._never_finite is not None:
            found = found | self._never_finite.bool()
        if self._rows is None:
            return found
        whole = torch.zeros(self._shape, dtype=torch.bool)
        whole[self._rows] = found
        return whole


def marked_rows(plan: Plan, masks: Masks) -> Tensor | None:
    """The items of the batch that the marks lie in; None for all."""
    if not plan.is_batched:
        return None
    marked = torch.stack([mask.flatten(1).any(1) for mask in masks.values()]).any(0)
    return None if marked.all() else marked.nonzero().flatten()


def taken(tensor: Tensor, rows: Tensor | None) -> Tensor:
    return tensor if rows is None else tensor[rows]


def weighted(plan: Plan, mask: Tensor, dtype: torch.dtype, seed: int) -> Tensor:
    """Random weights on the marked elements, other ones for each tensor, so that nothing cancels."""
    if plan.is_counted:
        return mask.to(dtype)
    generator = torch.Generator().manual_seed(seed)
    # Complex numbers too are drawn: along one axis alone a derivative may be zero.
    return (torch.rand(mask.shape, generator=generator, dtype=dtype) + 0.5) * mask
