"""Walk a backward pass to the first gradient that is not finite, and to the op that made it."""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from torcheer.capture.examining.findings import Fault, Origin, Range, range_of
from torcheer.capture.examining.forward_faults import count_nonfinite
from torcheer.capture.examining.looking import input_ranges, kept_value, param_value
from torcheer.capture.examining.readable import as_plain, is_finite
from torcheer.capture.op import Op
from torcheer.capture.pytree import tensors_in

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory


class Suspect(NamedTuple):
    """An op, and the gradient that is not finite: of one of its inputs where the op made it, else its own."""

    op: Op
    target: int  # negative: a parameter
    origin: Origin


def faults_in_backward(history: ModelHistory) -> list[Fault]:
    """All that made a gradient which is not finite: first what the step is spoilt by.

    What reaches the gradient of a parameter or of an input comes before what later steps leave out, and
    both are in the order in which they were made.
    """
    found = BackwardSearch(history).run() if history.backward_passes else []
    return sorted(found, key=lambda fault: not fault.reaches_output)


class BackwardSearch:
    """One walk through the ops, from the last to the first."""

    def __init__(self, history: ModelHistory) -> None:
        self._history = history
        self._ops = [Op(history, index) for index in range(len(history._tape.records))]
        self._grads: dict[int, Tensor] = {}  # plain, by op; negative: of a parameter
        self._finite: dict[int, bool] = {}
        self._readers: defaultdict[int, list[int]] = defaultdict(list)
        for op in self._ops:
            for parent in dict.fromkeys(op._record.parents):
                self._readers[parent].append(op.index)
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

    def run(self) -> list[Fault]:
        if all(self._finite.values()):
            return []
        sure: list[Suspect] = []
        unsure: dict[int, Suspect] = {}  # by target, the first of each
        for op in reversed(self._ops):
            if not self._finite.get(op.index, True):
                origin = self._origin_without_children(op.index)
                sure += [] if origin is None else [Suspect(op, op.index, origin)]
                continue
            for target in self._faulty_inputs(op):
                made = self._makes_it(op, target)
                is_alone = op.index in self._grads and len(self._readers[target]) == 1
                if made or (made is None and is_alone):
                    sure.append(Suspect(op, target, "op"))
                elif made is None:
                    unsure.setdefault(target, Suspect(op, target, "op"))
        explained = {suspect.target for suspect in sure}
        rest = [target for target in self._without_faulty_readers() if target not in explained]
        doubtful = [unsure[target] for target in rest if target in unsure]
        return [self._fault(one) for one in sure + doubtful + self._unexplained(set(rest) - unsure.keys())]

    def _without_faulty_readers(self) -> list[int]:
        """Gradients that are not finite though those of all readers are, from the end of the pass."""
        bad = sorted((index for index, finite in self._finite.items() if not finite), reverse=True)
        return [target for target in bad if all(self._finite.get(r, True) for r in self._readers[target])]

    def _faulty_inputs(self, op: Op) -> list[int]:
        return [parent for parent in dict.fromkeys(op._record.parents) if not self._finite.get(parent, True)]

    def _origin_without_children(self, index: int) -> Origin | None:
        """Where a gradient came from that no op in sight can have given; None where one can."""
        children = self._history._structure.children[index]
        if any(child in self._grads for child in children):
            return None
        return "unseen" if any(self._ops[child].requires_grad for child in children) else "loss"

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

    def _unexplained(self, targets: set[int]) -> list[Suspect]:
        """No op made them: they were added from outside, by a loss on an inner layer or by a hook."""
        found = []
        for target in sorted(targets, reverse=True):
            if target >= 0:
                has_readers = any(reader in self._grads for reader in self._readers[target])
                found.append(Suspect(self._ops[target], target, "between" if has_readers else "loss"))
            elif self._readers[target]:
                found.append(Suspect(self._ops[self._readers[target][-1]], target, "op"))
        return found

    def _reaches_a_leaf(self, start: int) -> bool:
        """Whether some of it, or what came of it, is in the gradient of a parameter or of an input."""
        tainted = {start}
        for index in range(start, -1, -1):
            record = self._ops[index]._record
            if index not in tainted:
                continue
            if not record.parents:
                return True
            tainted.update(parent for parent in record.parents if self._may_be_bad(parent))
        return any(index < 0 for index in tainted)

    def _may_be_bad(self, index: int) -> bool:
        """Not finite, or not kept. Of parameters every gradient is kept."""
        if index in self._finite:
            return not self._finite[index]
        return index >= 0 and self._ops[index].requires_grad

    def _fault(self, suspect: Suspect) -> Fault:
        op, target, origin = suspect
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
            reaches_output=self._reaches_a_leaf(target),
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
        args, kwargs = op._call_with(tensors)
        out = record.trait.func(*args, **kwargs)
        outputs = [tensor for _, tensor in tensors_in(out)] or tensors[:1]
        (made,) = torch.autograd.grad(
            outputs[record.position], [leaves[target]], given.to(outputs[record.position].dtype)
        )
    return made
