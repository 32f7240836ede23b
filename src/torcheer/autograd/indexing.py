"""Put elements back where an index took them from."""

from __future__ import annotations

from types import EllipsisType
from typing import Any

import torch
from torch import Tensor


def placed(values: Tensor, *, shape: tuple[int, ...], key: Any) -> Tensor:
    """Zeros of this shape, with the values added where `key` points to; what it names twice gets both."""
    result = torch.zeros(shape, dtype=values.dtype, device=values.device)
    if _names_nothing_twice(key):
        result[key] = values
        return result
    if isinstance(key, Tensor) and key.dtype == torch.int64 and key.dim():
        # Whole rows, as of an embedding.
        return result.index_add_(0, key.reshape(-1) % shape[0], values.reshape(key.numel(), *shape[1:]))
    # Whatever the key is made of, masks, lists, slices: used on the places it says where each was.
    places = torch.arange(result.numel(), device=values.device).reshape(shape)[key]
    result.view(-1).index_add_(0, places.reshape(-1), values.reshape(-1))
    return result


def add_part(whole: Tensor, values: Tensor, *, key: Any) -> bool:
    """Add them where `key` points to, if it can be done in place; whether it was."""
    if not _names_nothing_twice(key):
        return False
    whole[key].add_(values)
    return True


def _names_nothing_twice(key: Any) -> bool:
    """Numbers and slices take each element once at most; lists of places may not."""
    parts = key if isinstance(key, tuple) else (key,)
    return all(
        part is None or (isinstance(part, int | slice | EllipsisType) and not isinstance(part, bool))
        for part in parts
    )
