"""Which elements of a call's arguments its outputs depend on, and the other way round.

A call is run again on random values, with its constants as they are, and differentiated: what has a
derivative depends. On random values a derivative that is not zero everywhere is practically never zero.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial, reduce
from operator import or_

import torch
from torch import Tensor
from torch.autograd import forward_ad

from torcheer.capture.fields.calls import NO_FUNCTIONS, Call, call_of
from torcheer.capture.fields.generic import GenericValues
from torcheer.capture.fields.marks import Found, Masks, marked_rows, taken, weighted
from torcheer.capture.fields.planning import Plan, doubtful_plan, plan_for
from torcheer.capture.fields.standins import UndecidedError
from torcheer.capture.state import same_random_state_after
from torcheer.capture.tape import UPDATED, Tape

# Where a constant meets data and may decide alone: `mask & causal`, `cat([zeros, x])`, `x * mask`.
_MIXES = frozenset(
    (
        "where masked_fill logical_and logical_or bitwise_and bitwise_or and or iand ior mul imul rmul cat "
        "concat concatenate stack hstack vstack setitem index_put index_copy index_add scatter scatter_add "
        "copy masked_scatter slice_scatter select_scatter addcmul getitem"
    ).split()
)
_SATURATES = frozenset(["softmax", "log_softmax"])  # what was masked comes out as a constant
_CUTS = frozenset(
    (
        "pad constant_pad_nd tril triu setitem fill zero index_fill masked_fill diag_embed "
        "pack_padded_sequence pad_packed_sequence"
    ).split()
)


class Dependence:
    """Answers for one call at a time, and remembers where it was in doubt."""

    def __init__(self, tape: Tape, values: GenericValues) -> None:
        self._tape = tape
        self.values = values
        self._plans: dict[int, Plan] = {}
        self._blind: dict[tuple[int, int], bool] = {}
        self.doubts: dict[int, str] = {}  # by op: why everything was taken to reach everything

    def call(self, op: int) -> Call:
        return call_of(self._tape, self.values, op)

    def backward(self, call: Call, masks: Masks) -> Masks:
        """The elements of each parent that the marked elements of the outputs depend on."""
        return self._answer(call, partial(self._pull, call, masks))

    def forward(self, call: Call, masks: Masks) -> Masks:
        """The elements of each output that depend on the marked elements of the parents."""
        return self._answer(call, partial(self._push, call, masks))

    def _answer(self, call: Call, ask: Callable[[Plan], Masks]) -> Masks:
        key = call.ops[0]
        try:
            if key not in self._plans:
                self._plans[key] = plan_for(self._tape, self.values, call)
            found = ask(self._plans[key])
        except Exception as error:
            # Whatever went wrong: an answer that is too large is still right.
            self._plans[key] = doubtful_plan(self._tape, self.values, call, _reason(error, call))
            found = ask(self._plans[key])
        if self._plans[key].doubt:
            self.doubts[key] = self._plans[key].doubt
        return found

    def settle(self, ops: Iterable[int]) -> None:
        """Find elements that no data reaches in tensors that are data, such as the masked half of scores."""
        asked: set[int] = set()
        for op in ops:
            if self.values.is_origin(op):
                continue  # data, whatever it was made of
            call = self.call(op)
            if not call.data:
                self.values.release(op)  # all that it was given turned out to be constant
            elif call.ops[0] not in asked and self._may_settle(call):
                asked.add(call.ops[0])
                reached = self.forward(call, {parent: self._open(parent) for parent in call.data})
                for each, mask in reached.items():
                    if not mask.all() and not self.values.is_origin(each):
                        self.values.fix(each, ~mask)
            self.values.holds(op)  # now, in order: asked for later it would have to go back far
        self.doubts.clear()

    def _open(self, parent: int) -> Tensor:
        fixed = self.values.fixed(parent)
        return torch.ones(self.values.shape(parent), dtype=torch.bool) if fixed is None else ~fixed

    def _may_settle(self, call: Call) -> bool:
        if any(self.values.fixed(parent) is not None for parent in call.data):
            return True
        has_constants = len(call.data) < len(set(call.record.parents))
        if call.name in _SATURATES and any(self.values.holds(parent) for parent in call.data):
            return True
        mixes = has_constants and (call.name in _MIXES or call.record.trait is UPDATED)
        return mixes or call.name in _CUTS

    # --- backward --------------------------------------------------------------------------

    def _pull(self, call: Call, masks: Masks, plan: Plan) -> Masks:
        if plan.aligned:
            return dict.fromkeys(plan.aligned, reduce(or_, masks.values()))
        if plan.pull is not None:
            return {call.data[0]: plan.pull(masks[call.ops[0]])}
        rows = marked_rows(plan, masks)
        found = {parent: Found(self.values.shape(parent), rows) for parent in call.data}
        for trial in plan.trials:
            leaves = [leaf.requires_grad_() for leaf in self._leaves(call, plan, trial, rows)]
            outs = self._outputs(call, plan, leaves, rows)
            ends = [(outs[op], mask) for op, mask in masks.items() if outs[op].requires_grad]
            if len(ends) < len(masks) and not plan.is_trusted:
                raise UndecidedError("it has no derivative")
            if not ends:
                continue
            cotangents = [
                weighted(plan, taken(mask, rows), out.dtype, place) for place, (out, mask) in enumerate(ends)
            ]
            grads = torch.autograd.grad([out for out, _ in ends], leaves, cotangents, allow_unused=True)
            for parent, grad in zip(call.data, grads, strict=True):
                found[parent].add(grad, plan)
        answer = {parent: each.mask() for parent, each in found.items()}
        for parent in call.data:
            if not plan.is_trusted and not answer[parent].any():
                self._check_sight(call, plan, parent)
        return answer

    # --- forward ---------------------------------------------------------------------------

    def _push(self, call: Call, masks: Masks, plan: Plan) -> Masks:
        if plan.aligned:
            marked = [mask for parent, mask in masks.items() if parent in plan.aligned]
            nothing = torch.zeros(self._tape.meta(call.ops[0]).shape, dtype=torch.bool)
            return dict.fromkeys(call.ops, reduce(or_, marked, nothing))
        rows = marked_rows(plan, masks)
        found = {op: Found(self._tape.meta(op).shape, rows) for op in call.ops}
        for trial in plan.trials:
            leaves = self._leaves(call, plan, trial, rows)
            tangents = [
                weighted(plan, taken(masks[p], rows), leaf.dtype, p) if p in masks else torch.zeros_like(leaf)
                for p, leaf in zip(call.data, leaves, strict=True)
            ]
            try:
                moves = self._moves(call, plan, leaves, tangents, rows)
            except NotImplementedError:  # no forward derivative
                moves = self._moves_twice_back(call, plan, leaves, tangents, rows)
            if not plan.is_trusted and any(moves.get(op) is None for op in call.ops):
                raise UndecidedError("it has no derivative")
            for op, move in moves.items():
                found[op].add(move, plan)
        answer = {op: each.mask() for op, each in found.items()}
        if not plan.is_trusted and not any(mask.any() for mask in answer.values()):
            for parent in masks:
                self._check_sight(call, plan, parent)
        return answer

    def _moves(
        self, call: Call, plan: Plan, leaves: list[Tensor], tangents: list[Tensor], rows: Tensor | None
    ) -> dict[int, Tensor | None]:
        if plan.is_counted:  # linear, and nothing is added
            with torch.no_grad():
                return dict(self._outputs(call, plan, tangents, rows))
        with torch.no_grad(), forward_ad.dual_level():
            duals = [
                forward_ad.make_dual(x, t)  # type: ignore[no-untyped-call]
                for x, t in zip(leaves, tangents, strict=True)
            ]
            outs = self._outputs(call, plan, duals, rows)
            return {
                op: forward_ad.unpack_dual(out).tangent  # type: ignore[no-untyped-call]
                for op, out in outs.items()
            }

    def _moves_twice_back(
        self, call: Call, plan: Plan, leaves: list[Tensor], tangents: list[Tensor], rows: Tensor | None
    ) -> dict[int, Tensor | None]:
        """The same by differentiating the backward pass, which is linear in what it is given."""
        leaves = [leaf.requires_grad_() for leaf in leaves]
        outs = {op: out for op, out in self._outputs(call, plan, leaves, rows).items() if out.requires_grad}
        if not outs:
            return {}
        given = [torch.zeros_like(out).requires_grad_() for out in outs.values()]
        grads = torch.autograd.grad(
            list(outs.values()), leaves, given, create_graph=True, allow_unused=True, materialize_grads=True
        )
        moves = torch.autograd.grad(grads, given, tangents, allow_unused=True)
        return dict(zip(outs, moves, strict=True))

    # --- both --------------------------------------------------------------------------------

    def _leaves(self, call: Call, plan: Plan, trial: int, rows: Tensor | None) -> list[Tensor]:
        if plan.is_counted:
            return [taken(torch.zeros(()).expand(self.values.shape(p)), rows).clone() for p in call.data]
        return [self.values.sample(parent, trial, rows) for parent in call.data]

    def _outputs(
        self, call: Call, plan: Plan, leaves: list[Tensor], rows: Tensor | None
    ) -> dict[int, Tensor]:
        made = plan.run(leaves, rows)
        outs = {op: made[0 if len(made) == 1 else call.position(op)] for op in call.ops}
        for op, out in outs.items():
            shape = self._tape.meta(op).shape
            if out.shape != (shape if rows is None else (len(rows), *shape[1:])):
                raise UndecidedError("its output has another shape when it is run again")
        return outs

    def _check_sight(self, call: Call, plan: Plan, parent: int) -> None:
        """Stop where a parent moves the outputs although no derivative says so."""
        key = (call.ops[0], parent)
        if key not in self._blind:
            self._blind[key] = self._is_blind(call, plan, parent)
        if self._blind[key]:
            raise UndecidedError("its derivative does not show what it depends on")

    def _is_blind(self, call: Call, plan: Plan, parent: int) -> bool:
        place = call.data.index(parent)
        for trial in plan.trials:
            leaves = [leaf.requires_grad_() for leaf in self._leaves(call, plan, trial, None)]
            outs = [out for out in self._outputs(call, plan, leaves, None).values() if out.requires_grad]
            if outs:
                ones = [torch.ones_like(out) for out in outs]
                grad = torch.autograd.grad(outs, leaves[place], ones, allow_unused=True)[0]
                if grad is not None and grad.any():
                    return False
        with torch.no_grad():
            before = self._outputs(call, plan, self._leaves(call, plan, 0, None), None)
            leaves = self._leaves(call, plan, 0, None)
            leaves[place] = self.values.sample(parent, 2)
            after = self._outputs(call, plan, leaves, None)
        return any(not torch.equal(before[op], after[op]) for op in before)


def _reason(error: Exception, call: Call) -> str:
    if isinstance(error, UndecidedError):
        return str(error)
    if call.record.trait.func is None:  # another function of the same name was tried
        return NO_FUNCTIONS
    return f"it raised {type(error).__name__} when run again"


@contextmanager
def undisturbed() -> Iterator[None]:
    """Derivatives on, autocast off, warnings quiet; random generators are afterwards as they were."""
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(same_random_state_after())
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        stack.enter_context(torch.autocast("cpu", enabled=False))
        yield
