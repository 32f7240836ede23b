"""Run the model on some samples, keep what is wanted, and stop after the last of it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from torcheer.capture.capturing import Order, capture
from torcheer.capture.history import ModelHistory
from torcheer.capture.inputs import named_root
from torcheer.capture.op import Op
from torcheer.capture.saving import Selection, Treatment
from torcheer.capture.state import seed_everything
from torcheer.capture.walk import ModelWalk
from torcheer.errors import CaptureError, LayerNotFoundError
from torcheer.features.choosing import Choice, scope_of
from torcheer.features.samples import Samples


def whole_pass(model: nn.Module, samples: Samples, seed: int) -> ModelHistory:
    """Every op, with its values."""
    return _captured(model, samples, Selection(everything=True), Selection(), seed)


def wanted_values(model: nn.Module, samples: Samples, choices: Sequence[Choice], seed: int) -> list[Tensor]:
    """One tensor for each choice. The pass ends with the last of them."""
    indices = {choice.index for choice in choices}
    # The interpreter of a script makes an error of its own of what leaves it.
    is_scripted = any(isinstance(module, torch.jit.ScriptModule) for module in model.modules())
    stop = Selection() if is_scripted else Selection(indices={max(indices)})
    try:
        history = _captured(model, samples, Selection(indices=indices), stop, seed)
    except LayerNotFoundError:
        raise _other_way(max(choices, key=lambda choice: choice.index), None) from None
    found = []
    for choice in choices:
        op = history._op(choice.index) if choice.index < history.num_tensors_total else None
        if op is None or op.layer_type != choice.layer_type or scope_of(op) != choice.scope:
            raise _other_way(choice, op)
        found.append(op.tensor_contents)
    return found


def _other_way(choice: Choice, op: Op | None) -> CaptureError:
    met = "no op" if op is None else f"a {op.layer_type} in {scope_of(op)}"
    return CaptureError(
        f"{choice.name} is op {choice.index} of the first batch, a {choice.layer_type} in {choice.scope}; in "
        f"this batch {met} stands there: the model takes other ways for other data. Layers before the ways "
        "part can be extracted."
    )


def _captured(
    model: nn.Module, samples: Samples, save: Selection, stop: Selection, seed: int
) -> ModelHistory:
    order = Order(save=save, stop=stop, treatment=Treatment(), keep_arguments=False, keep_unsaved=True)
    # A batch draws the same random numbers whoever works on it, and whenever.
    seed_everything(seed)
    with torch.no_grad():
        return capture(model, ModelWalk(named_root(model)), order, samples.call)


def batch_seed(seed: int, number: int) -> int:
    """Of one batch: the same whoever works on it, and another for each."""
    return (seed * 1_000_003 + number * 7_919 + 1) % 2**31
