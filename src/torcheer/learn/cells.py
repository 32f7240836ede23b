"""Numbers of a tensor as a page shows them: rows and columns, cut off where there are too many."""

from __future__ import annotations

import math
from typing import Final

import torch
from torch import Tensor

from torcheer.autograd.modes import as_plain
from torcheer.learn.document import Cells

MAX_SIDE: Final = 16


def cells_of(value: Tensor, side: int = MAX_SIDE) -> Cells:
    """The last dimension goes across, all others down."""
    with as_plain():
        value = value.detach().as_subclass(Tensor)
        if value.is_complex():
            value = value.real
        columns = value.shape[-1] if value.dim() else 1
        rows = value.numel() // columns if columns else 0
        shown = value.reshape(rows, columns)[:side, :side].cpu()
    return Cells(
        shape=tuple(value.shape),
        num_rows=shown.shape[0],
        num_columns=shown.shape[1],
        values=_numbers(shown),
        is_whole=shown.shape == (rows, columns),
    )


def _numbers(value: Tensor) -> tuple[float | str, ...]:
    if value.dtype == torch.float32:
        # The shortest that is the same number: 0.1, not 0.10000000149011612.
        return tuple(_number(float(str(one))) for one in value.numpy().reshape(-1))
    return tuple(_number(float(one)) for one in value.reshape(-1).tolist())


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value + 0.0  # -0.0 is 0.0
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
