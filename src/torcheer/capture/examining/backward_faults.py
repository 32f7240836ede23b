"""Walk a backward pass to the first gradient that is not finite, and to the op that made it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from torcheer.capture.examining.findings import Fault, Origin, Range, range_of
from torcheer.capture.examining.forward_faults import count_nonfinite
from torcheer.capture.examining.looking import input_ranges, kept_value, param_value
from torcheer.capture.examining.readable import as_plain, is_finite
from torcheer.capture.nesting import tensors_in
from torcheer.capture.op import Op

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory


class Suspect(NamedTuple):
    """An op whose own gradient is finite, and an input of it whose gradient is not."""

    op: Op
    target: int  # negative: a parameter


def first_in_backward(history: ModelHistory) -> Fault | None:
    """The first op, from the end of the pass, whose backward made a gradient that is not finite."""
    return BackwardSearch(history).run() if history.backward_passes else None


class BackwardSearch:
    """One walk through the ops, from the last to the first."""

    def __init__(self, history: ModelHistory) -> None:
        self._history = history
        self._ops = [Op(history, index) for index in range(len(history._tape.records))]
        self._grads: dict[int, Tensor] = {}  # plain, by op; negative: of a parameter
        self._finite: dict[int, bool] = {}
        self._gather()

    def _gather(self) -> None:
        found: list[tuple[int, Any]] = [(op.index, op.grad_contents) for op in self._ops]
        by_address = self._history.param_grads
        for place, (address, _) in enumerate(self._history._tape.params):
            found.append((-place - 1, by_address.get(address)))
        for index, grad in found:
            plain = as_plain(grad)
            if plain is not None:
                self._grads[index] = plain
                self._finite[index] = is_finite(plain)

    def run(self) -> Fault | None:
        if all(self._finite.values()):
            return None
        unsure: Suspect | None = None
        for op in reversed(self._ops):
            if not self._finite.get(op.index, True):
                origin = self._origin_without_children(op.index)
                if origin is not None:
                    return self._fault(op, op.index, origin)
                continue
            for target in self._faulty_inputs(op):
                made = self._makes_it(op, target)
                is_alone = op.index in self._grads and self._num_readers(target) == 1
                if made or (made is None and is_alone):
                    return self._made_by(Suspect(op, target))
                if made is None:
                    unsure = unsure or Suspect(op, target)
        return self._made_by(unsure) if unsure is not None else self._unexplained()

    def _faulty_inputs(self, op: Op) -> list[int]:
        return [parent for parent in dict.fromkeys(op._record.parents) if not self._finite.get(parent, True)]

    def _origin_without_children(self, index: int) -> Origin | None:
        """Where a gradient came from that no op in sight can have given; None where one can."""
        children = self._history._structure.children[index]
        if any(child in self._grads for child in children):
            return None
        return "unseen" if any(self._ops[child].requires_grad for child in children) else "loss"

    def _num_readers(self, target: int) -> int:
        return sum(target in op._record.parents for op in self._ops)

    def _makes_it(self, op: Op, target: int) -> bool | None:
        """Run the backward of one op again; None where that cannot be done."""
        given = self._grads.get(op.index)
        if given is None:
            return None
        try:
            made = _gradient_again(self._history, op, target, given)
        except Exception:  # whatever a function that is called by itself may raise: it was only a question
            return None
        return None if made is None else not is_finite(made)

    def _made_by(self, suspect: Suspect) -> Fault:
        op, target = suspect
        return self._fault(op, target, "op")

    def _unexplained(self) -> Fault:
        """No op made it: it was added from outside, by a loss on an inner layer or by a hook."""
        target = max(index for index, finite in self._finite.items() if not finite)
        if target >= 0:
            return self._fault(self._ops[target], target, "loss")
        user = next(op for op in reversed(self._ops) if target in op._record.parents)
        return self._fault(user, target, "op")

    def _fault(self, op: Op, target: int, origin: Origin) -> Fault:
        history, grad = self._history, self._grads[target]
        counts = count_nonfinite(grad)
        holder = history._tape.params[-target - 1][0] if target < 0 else history._label(target)
        inputs: tuple[Range, ...] = ()
        if origin == "op":
            given = range_of(f"gradient of {op.layer_label}", self._grads.get(op.index), op.tensor_shape)
            inputs = (given, *input_ranges(history, op))
        return Fault(
            layer=op.layer_label,
            what="nan" if counts.num_nan else "inf",
            phase="backward",
            origin=origin,
            name=f"gradient of {holder}",
            num_nan=counts.num_nan,
            num_inf=counts.num_inf,
            num_values=grad.numel(),
            module=op.containing_module_origin,
            source_line=op.source_line,
            inputs=inputs,
            op=op,
        )


def _gradient_again(history: ModelHistory, op: Op, target: int, given: Tensor) -> Tensor | None:
    """The gradient that one op alone hands to one of its inputs."""
    leaves: dict[int, Tensor] = {}
    record = op._record
    for parent in record.parents:
        value = param_value(history, parent) if parent < 0 else kept_value(history, parent)
        if value is None:
            return None
        leaves[parent] = value.detach().clone().requires_grad_(parent == target)
    with ExitStack() as stack:
        stack.enter_context(torch.enable_grad())
        state = op.func_rng_state
        if state is not None:
            stack.enter_context(torch.random.fork_rng(devices=[]))
            torch.set_rng_state(state)
        for device, dtype in op.func_autocast_state.items():
            stack.enter_context(torch.autocast(device, dtype=dtype, cache_enabled=False))
        # A copy each: an op that writes in place must not write into a leaf.
        copies = {parent: leaf.clone() for parent, leaf in leaves.items()}
        tensors = [copies[parent] for parent in record.parents]
        args, kwargs = op._fill((record.args, record.kwargs or {}), tensors)
        out = record.trait.func(*args, **kwargs)
        outputs = [tensor for _, tensor in tensors_in(out)] or tensors[:1]
        (made,) = torch.autograd.grad(
            outputs[record.position], [leaves[target]], given.to(outputs[record.position].dtype)
        )
    return made
