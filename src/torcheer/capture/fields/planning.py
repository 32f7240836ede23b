"""Decide how a recorded call is run again, on values of one's own, to see what depends on what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torcheer.capture.catcher import write_targets
from torcheer.capture.checking.replay import why_not_replayable, written_over
from torcheer.capture.fields import choosing  # noqa: F401  (it fills the table of stand-ins)
from torcheer.capture.fields.calls import Call, first_that_takes, functions_of
from torcheer.capture.fields.generic import GenericValues
from torcheer.capture.fields.standins import (
    STAND_INS,
    About,
    StandIn,
    UndecidedError,
    everything,
    pointwise,
    same,
)
from torcheer.capture.nesting import collect_tensors, map_leaves
from torcheer.capture.tape import ALIAS, IDENTITY, OUTPUT, TENSOR, UPDATED, Record, Tape

# From the data of a call, one tensor a parent, to its outputs; the rows are those taken of the batch.
Run = Callable[[list[Tensor], Tensor | None], list[Tensor]]

# Linear in their one argument that is data: counted in whole numbers, which is fast and exact.
_COUNTED = frozenset(
    (
        "linear matmul rmatmul mm bmm addmm baddbmm conv1d conv2d conv3d conv_transpose1d conv_transpose2d "
        "conv_transpose3d convolution"
    ).split()
)
_SUMS = frozenset("add sub iadd isub radd rsub".split())
_ADDED = {"addmm": 0, "baddbmm": 0}  # where what is only added stands; else third, as the bias does
# One run is enough: they have no corners in which a dependence could hide.
_SMOOTH = _COUNTED | frozenset(
    (
        "add sub mul div true_divide iadd isub imul itruediv radd rsub rmul rtruediv rdiv addcmul addcdiv "
        "lerp view reshape permute transpose t T mT H mH flatten unflatten squeeze unsqueeze expand "
        "expand_as view_as reshape_as cat concat concatenate stack hstack vstack dstack split "
        "split_with_sizes chunk tensor_split unbind narrow select slice movedim moveaxis swapaxes swapdims "
        "repeat repeat_interleave roll flip fliplr pad constant_pad_nd unfold fold im2col col2im diagonal "
        "diag diag_embed tril triu pixel_shuffle pixel_unshuffle copy fill zero softmax log_softmax "
        "layer_norm group_norm batch_norm instance_norm rms_norm native_layer_norm sum mean var std var_mean "
        "std_mean logsumexp cumsum einsum avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d "
        "adaptive_avg_pool2d adaptive_avg_pool3d upsample_nearest1d upsample_nearest2d upsample_nearest3d "
        "upsample_linear1d upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d index_put index_add "
        "index_copy view_as_real view_as_complex real imag glu broadcast_to broadcast_tensors meshgrid "
        "bilinear tensordot outer dot mv ger kron"
    ).split()
)
# Only the shape, type or device of their argument counts, or they write over what was there.
_SHAPE_ONLY = frozenset(
    "normal_ uniform_ random_ exponential_ geometric_ cauchy_ log_normal_ resize_as_ new".split()
)
# The items of a batch do not meet: whether all tensors have it as their first dimension or only the first,
# and how many dimensions they must have.
_BATCHED: dict[str, tuple[bool, int]] = {
    "linear": (False, 2),
    **{
        f"{kind}{n}d": (False, n + 2)
        for kind in ("conv", "conv_transpose", "max_pool", "avg_pool", "adaptive_avg_pool")
        for n in (1, 2, 3)
    },
    **dict.fromkeys(["group_norm", "upsample_nearest2d", "upsample_bilinear2d"], (False, 3)),
    **dict.fromkeys(["scaled_dot_product_attention", "matmul", "bmm"], (True, 3)),
}


class Plan(NamedTuple):
    """How the dependence of a call is worked out."""

    run: Run
    trials: tuple[int, ...] = (0,)
    is_counted: bool = False
    is_trusted: bool = True  # where there is no derivative there is no dependence
    is_batched: bool = False
    aligned: tuple[int, ...] = ()  # known beforehand: the same place of these, and nothing else
    pull: Callable[[Tensor], Tensor] | None = None  # a shorter way back for a single output
    doubt: str = ""  # why every element is taken to reach every other


def plan_for(tape: Tape, values: GenericValues, call: Call) -> Plan:
    record, name = call.record, call.name
    if record.trait is OUTPUT or record.trait is IDENTITY:
        return Plan(lambda leaves, _: [leaves[0]], aligned=call.data)
    if _is_shape_only(record, values):
        return Plan(lambda *_: [torch.zeros(tape.meta(op).shape) for op in call.ops])
    reason = why_not_replayable(tape, record)
    if reason:
        return doubtful_plan(tape, values, call, reason)
    if record.trait is UPDATED or record.trait is ALIAS:
        return Plan(_moving(values, call))
    is_batched = _is_batched(tape, values, call)
    if _is_counted(values, call):
        return Plan(
            _Again(tape, values, call, None, counted=True),
            is_counted=True,
            is_batched=is_batched,
            pull=_linear_back(values, call) if name == "linear" else None,
        )
    stand_in = STAND_INS.get(name)
    is_smooth = stand_in is not None or name in _SMOOTH
    return Plan(
        _Again(tape, values, call, stand_in),
        trials=(0,) if is_smooth else (0, 1, 2),
        is_trusted=is_smooth,
        is_batched=is_batched,
        aligned=_aligned(tape, values, call),
    )


def doubtful_plan(tape: Tape, values: GenericValues, call: Call, reason: str) -> Plan:
    """Every element reaches every other: too much, but never too little."""
    shapes = [tape.meta(op).shape for op in call.ops]

    def run(leaves: list[Tensor], _: Tensor | None) -> list[Tensor]:
        total = everything(leaves)
        return [total.expand(shape) for shape in shapes]

    return Plan(run, doubt=reason)


def _aligned(tape: Tape, values: GenericValues, call: Call) -> tuple[int, ...]:
    """The parents of an op that works element by element, where nothing can cut them off."""
    record, stand_in = call.record, STAND_INS.get(call.name)
    shapes = {tape.meta(op).shape for op in call.ops}
    if call.is_in_vmap or shapes != {values.shape(parent) for parent in call.data}:
        return ()
    if stand_in is same or (call.name == "batch_norm" and _scales_all(tape, values, call)):
        return call.data if call.data == record.parents[:1] else ()
    is_sum = call.name in _SUMS and "alpha" not in (record.kwargs or {}) and len(record.args) == 2
    is_pointwise = stand_in is pointwise or is_sum
    return call.data if is_pointwise and len(set(record.parents)) == len(record.parents) else ()


def _scales_all(tape: Tape, values: GenericValues, call: Call) -> bool:
    """Whether a batch norm takes its statistics from elsewhere, and no channel is scaled by zero."""
    record, shape = call.record, values.shape(call.data[0])
    training = (record.kwargs or {}).get("training", record.args[5] if len(record.args) > 5 else False)
    if training or len(call.data) > 1 or len(shape) < 2:
        return False
    one = torch.zeros(1, shape[1], *[1] * (len(shape) - 2), dtype=torch.float64, requires_grad=True)
    out = _Again(tape, values, call, None)([one], None)[0]
    return bool(torch.autograd.grad(out.sum(), one)[0].all())


def _is_shape_only(record: Record, values: GenericValues) -> bool:
    name = record.trait.name
    data = [slot for slot, parent in enumerate(record.parents) if values.is_data(parent)]
    return data == [0] and (name in _SHAPE_ONLY or name.startswith("new_") or name.endswith("_like"))


def _is_counted(values: GenericValues, call: Call) -> bool:
    parents, kwargs = call.record.parents, call.record.kwargs or {}
    data = [slot for slot, parent in enumerate(parents) if values.is_data(parent)]
    return (
        call.name in _COUNTED
        and not call.is_in_vmap
        and len(data) == 1
        and data[0] != _ADDED.get(call.name, 2)
        and kwargs.keys().isdisjoint(("alpha", "beta", "out"))
        and all(values.dtype(parent).is_floating_point for parent in parents)
    )


def _is_batched(tape: Tape, values: GenericValues, call: Call) -> bool:
    every, num_dims = _BATCHED.get(call.name, (False, 0))
    if not num_dims or call.is_in_vmap or (not every and call.record.parents[:1] != call.data):
        return False
    out = tape.meta(call.ops[0]).shape
    shapes = [values.shape(parent) for parent in call.data]
    return all(len(s) == len(out) >= num_dims and s[0] == out[0] > 1 for s in shapes)


def _linear_back(values: GenericValues, call: Call) -> Callable[[Tensor], Tensor] | None:
    """Only the marked rows and features: the last layer of a language model has very many."""
    if call.record.parents[:1] != call.data or len(call.record.parents) < 2:
        return None
    weight, shape = values.constant(call.record.parents[1]), values.shape(call.data[0])

    def pull(mask: Tensor) -> Tensor:
        rows = mask.reshape(-1, weight.shape[0])
        marked, features = rows.any(1), rows.any(0)
        found = torch.zeros(len(rows), weight.shape[1], dtype=torch.bool)
        counts = rows[marked][:, features].to(torch.float32) @ weight[features].ne(0).to(torch.float32)
        found[marked] = counts > 0.5
        return found.reshape(shape)

    return pull


def _moving(values: GenericValues, call: Call) -> Run:
    """A tensor whose memory was written through others: follow each element by its number."""
    record, parents = call.record, call.record.parents
    if len({values.dtype(parent).itemsize for parent in parents}) > 1:
        raise UndecidedError("its memory was written as another type")
    sizes = [values.shape(parent).numel() for parent in parents]
    numbers = torch.split(torch.arange(sum(sizes)), sizes)
    parts = [part.reshape(values.shape(parent)) for part, parent in zip(numbers, parents, strict=True)]
    geometries = record.args if record.trait is UPDATED else (record.args[1], record.args[0])
    origins = written_over(geometries, parts)

    def run(leaves: list[Tensor], _: Tensor | None) -> list[Tensor]:
        of_parent = dict(zip(call.data, leaves, strict=True))
        blank = leaves[0].new_zeros(())
        flat = [of_parent.get(p, blank.expand(values.shape(p))).flatten() for p in parents]
        return [torch.cat(flat)[origins]]

    return run


class _Again:
    """A call as a function of its data: its constants stand where they stood."""

    def __init__(
        self,
        tape: Tape,
        values: GenericValues,
        call: Call,
        stand_in: StandIn | None,
        counted: bool = False,
    ) -> None:
        self._values = values
        self._call = call
        self._record = record = call.record
        self._counted = counted
        self._writes = bool(record.context and record.context.num_targets) or bool(record.trait.side_writes)
        self._stand_in = stand_in
        self._crops_all = _BATCHED.get(call.name, (False, 0))[0]
        slots = [slot for slot, parent in enumerate(record.parents) if values.is_data(parent)]
        self._functions = functions_of(values, record)
        self._about = About(
            func=self._functions[0],
            shapes=[tape.meta(op).shape for op in call.ops],
            dtypes=frozenset(values.dtype(record.parents[slot]) for slot in slots),
            data=frozenset(slots),
        )

    def __call__(self, leaves: list[Tensor], rows: Tensor | None) -> list[Tensor]:
        parents = self._record.parents
        of_parent = dict(zip(self._call.data, leaves, strict=True))
        tensors = [
            of_parent[parent] if parent in of_parent else self._constant(slot, parent, rows)
            for slot, parent in enumerate(parents)
        ]
        if self._writes:
            # A leaf cannot be written into; and `x.mul_(x)` must read what it was.
            tensors = [tensor.clone() for tensor in tensors]
        if not self._call.is_in_vmap:
            return self._run(tensors)
        return [self._run_in_vmap(tensors)]

    def _constant(self, slot: int, parent: int, rows: Tensor | None) -> Tensor:
        value = self._values.constant(parent)
        if rows is not None and self._crops_all and value.dim() == len(self._about.shapes[0]):
            value = value[rows] if value.shape[0] > 1 else value
        if self._counted and slot == _ADDED.get(self._call.name, 2):
            return torch.zeros(value.shape)
        if self._counted:
            return value.ne(0).to(torch.float32)
        if value.is_complex():
            return value.to(torch.complex128)
        # A target that takes data takes numbers; an index or a mask keeps its type.
        if value.is_floating_point() or (self._writes and slot == 0):
            return value.to(torch.float64)
        return value

    def _run(self, tensors: list[Tensor]) -> list[Tensor]:
        by_slot = iter(tensors)
        fill = lambda leaf: next(by_slot) if leaf is TENSOR else _in_double(leaf)  # noqa: E731
        args = map_leaves(tuple(self._record.args), fill)
        kwargs = map_leaves(dict(self._record.kwargs or {}), fill)
        kwargs.pop("out", None)
        if self._stand_in is not None:
            kwargs.pop("inplace", None)
            return collect_tensors(self._stand_in(self._about, *args, **kwargs))
        targets = write_targets(self._record.trait, args, kwargs)
        made = collect_tensors(first_that_takes(self._functions, args, kwargs))
        return made + [target for target in targets if not any(target is tensor for tensor in made)]

    def _run_in_vmap(self, tensors: list[Tensor]) -> Tensor:
        context = self._record.context
        assert context is not None
        *of_arguments, of_output = [dict(each) for each in context.batch_dims]
        run: Callable[..., Any] = lambda *inner: self._run(list(inner))[0]  # noqa: E731
        for level in sorted({level for each in context.batch_dims for level, _ in each}, reverse=True):
            in_dims = tuple(each.get(level) for each in of_arguments)
            run = torch.vmap(run, in_dims=in_dims, out_dims=of_output.get(level, 0))
        out: Tensor = run(*tensors)
        return out


def _in_double(leaf: Any) -> Any:
    if isinstance(leaf, torch.dtype):
        return torch.complex128 if leaf.is_complex else torch.float64
    return torch.device("cpu") if isinstance(leaf, torch.device) else leaf
