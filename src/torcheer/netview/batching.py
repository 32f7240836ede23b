"""How many items a batch has: how long the first dimension of its tensors is; and how many are kept."""

from __future__ import annotations

from typing import Any

from torcheer.errors import InputError
from torcheer.netview.flow import Flow
from torcheer.netview.optypes import CONVOLUTIONS, TRANSPOSED_CONVOLUTIONS


def checked_items(items: Any) -> int:
    """How many are kept, as somebody wants it."""
    if isinstance(items, bool) or not isinstance(items, int) or items < 1:
        raise InputError(f"items is {items!r}: keep at least one item of a batch.")
    return items


def num_items_of(flow: Flow) -> int | None:
    """The length of the first dimension of the first input; None where the model was given one item only."""
    inputs = [op for op in range(len(flow.records)) if flow.is_input(op) and len(flow.shape(op)) > 0]
    if not inputs or _is_single(flow, inputs[0]):
        return None
    return flow.shape(inputs[0])[0]


def _is_single(flow: Flow, first: int) -> bool:
    """A picture without a dimension for items goes into a convolution, or a vector into a matrix."""
    for op in range(len(flow.records)):
        kind = flow.type(op)
        num_dims = CONVOLUTIONS.get(kind) or TRANSPOSED_CONVOLUTIONS.get(kind)
        read = flow.argument(op, 0, "input")
        if read is None or read < 0 or flow.origin(read) != first:
            continue
        num_read = len(flow.shape(read))
        if num_dims is not None and num_read == num_dims + 1 == len(flow.shape(first)):
            return True
        if kind == "linear" and num_read == 1 == len(flow.shape(first)):
            return True
    return False
