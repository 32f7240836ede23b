"""Weights that are DTensors, as those of FSDP2 and of tensor parallel models are.

Batches are dealt out to processes, so each process must be able to run the model by itself: that is so on a
mesh of one process, and where the weights are replicated. A model that is spread over processes is refused;
so is any that FSDP manages, on one process, too: it frees and allocates the memory of weights while it runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from torcheer.errors import InputError

_WHAT_TO_DO = (
    "each process needs all of it. Gather the weights first (torch.distributed.checkpoint.state_dict."
    "get_model_state_dict with StateDictOptions(full_state_dict=True)), load them into a model that is not "
    "spread, and extract from that."
)


def whole(tensor: Tensor) -> Tensor:
    """An ordinary tensor with all values of a DTensor; any other as it is."""
    if not _is_dtensor(tensor):
        return tensor
    full: Tensor = tensor.full_tensor()  # type: ignore[attr-defined]
    return full


def check_whole(model: nn.Module) -> None:
    """Refuse a model of which this process has only a part."""
    for address, module in model.named_modules():
        if hasattr(module, "_get_fsdp_state") or type(module).__name__ == "FullyShardedDataParallel":
            what = f"module {address!r}" if address else "model"
            raise InputError(f"the {what} is managed by FSDP, which spreads its weights: {_WHAT_TO_DO}")
    named: tuple[tuple[str, Any], ...] = (*model.named_parameters(), *model.named_buffers())
    for name, tensor in named:
        if _is_dtensor(tensor) and _is_spread(tensor):
            mesh = tensor.device_mesh
            raise InputError(f"{name} is spread over the {mesh.size()} processes of {mesh}: {_WHAT_TO_DO}")


@contextmanager
def running(model: nn.Module) -> Iterator[None]:
    """Inside, a model whose weights are DTensors takes ordinary tensors."""
    tensors = (*model.parameters(), *model.buffers())
    if not any(map(_is_dtensor, tensors)):
        yield
        return
    from torch.distributed.tensor.experimental import implicit_replication

    with implicit_replication():
        yield


def _is_dtensor(tensor: Any) -> bool:
    return callable(getattr(tensor, "full_tensor", None)) and hasattr(tensor, "device_mesh")


def _is_spread(tensor: Any) -> bool:
    return any(
        tensor.device_mesh.size(dim) > 1 and not placement.is_replicate()
        for dim, placement in enumerate(tensor.placements)
    )
