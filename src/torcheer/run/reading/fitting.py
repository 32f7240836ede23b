"""Does a record's head fit its bytes? Nothing is read, or made room for, before it does."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from torcheer.run.figuretables import is_fitting
from torcheer.run.records import (
    AlarmHead,
    AnyHead,
    ConfusionHead,
    EmbeddingHead,
    GapHead,
    HistogramHead,
    HparamsHead,
    LayoutHead,
    PassHead,
    PrCurveHead,
    StatisticsHead,
    TensorHead,
    VideoHead,
    WatchHead,
)
from torcheer.tensorfile import RAW_TYPES

MAX_DIMS: Final = 64  # torch's own

# Bytes of one element, by torch's names.
ITEM_BYTES: Final = {
    **RAW_TYPES,
    **dict.fromkeys(("bool", "uint8", "int8"), 1),
    **dict.fromkeys(("uint16", "int16", "float16"), 2),
    **dict.fromkeys(("uint32", "int32", "float32"), 4),
    **dict.fromkeys(("uint64", "int64", "float64", "complex64"), 8),
    "complex128": 16,
    "complex32": 4,
}


def fits(head: AnyHead, num_bytes: int) -> bool:
    """False where the bytes cannot be what the head says."""
    rule = _RULES.get(type(head))
    return num_bytes >= 0 and (rule is None or rule(head, num_bytes))


def _tensor(head: TensorHead, num_bytes: int) -> bool:
    size = ITEM_BYTES.get(head.dtype)
    if size is None or len(head.shape) > MAX_DIMS or any(length < 0 for length in head.shape):
        return False
    return size * math.prod(head.shape) == num_bytes


def _histogram(head: HistogramHead, num_bytes: int) -> bool:
    return head.num_bins >= 0 and 8 * (2 * head.num_bins + 1) == num_bytes


def _video(head: VideoHead, num_bytes: int) -> bool:
    return all(size >= 0 for size in head.frame_bytes) and sum(head.frame_bytes) == num_bytes


def _embedding(head: EmbeddingHead, num_bytes: int) -> bool:
    sizes = (head.matrix_bytes, head.label_bytes, head.sprite_bytes, head.num_points, head.num_dims)
    if any(size < 0 for size in sizes) or head.matrix_bytes != 4 * head.num_points * head.num_dims:
        return False
    return head.matrix_bytes + head.label_bytes + head.sprite_bytes == num_bytes


def _pr_curve(head: PrCurveHead, num_bytes: int) -> bool:
    return head.num_thresholds >= 0 and 8 * 6 * head.num_thresholds == num_bytes


def _confusion(head: ConfusionHead, num_bytes: int) -> bool:
    return 8 * len(head.labels) ** 2 == num_bytes


def _pass(head: PassHead, num_bytes: int) -> bool:
    return head.num_ops >= 0 and 8 * head.num_ops * len(head.figures) == num_bytes


def _watch(head: WatchHead, num_bytes: int) -> bool:
    return 0 <= head.num_rows <= num_bytes  # a row takes more than a byte


def _nothing(head: AnyHead, num_bytes: int) -> bool:
    return num_bytes == 0


_RULES: Final[dict[type, Callable[[Any, int], bool]]] = {
    TensorHead: _tensor,
    HistogramHead: _histogram,
    VideoHead: _video,
    EmbeddingHead: _embedding,
    PrCurveHead: _pr_curve,
    ConfusionHead: _confusion,
    PassHead: _pass,
    HparamsHead: _nothing,
    LayoutHead: _nothing,
    WatchHead: _watch,
    StatisticsHead: is_fitting,
    AlarmHead: _nothing,
    GapHead: _nothing,
}
