"""Run one recorded op again, from its saved parents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor

from torcheer.capture.aliasing import Geometry
from torcheer.capture.function_mode import Unkept, write_targets
from torcheer.capture.inputs import collect_tensors, map_leaves
from torcheer.capture.model_state import same_random_state_after
from torcheer.capture.tape import ALIAS, NOT_CALLS, OWN_TRAITS, TENSOR, UPDATED, Context, Record, Tape

Values = Callable[[int], Tensor | None]
SlotValues = dict[int, Tensor]  # other values for single arguments, by the position of the tensor in the call

# Their output is whatever the memory held before.
UNDEFINED = frozenset(
    "empty empty_like empty_strided empty_permuted new_empty new_empty_strided resize_ resize_as_".split()
)
_CANNOT = {
    **dict.fromkeys(UNDEFINED, "its output is undefined until it is written"),
    **dict.fromkeys(
        ["_make_dual", "_unpack_dual", "make_dual", "unpack_dual"], "it belongs to a torch.func transform"
    ),
    **dict.fromkeys(["grad", "backward"], "it runs the autograd graph of the pass"),
    **dict.fromkeys(["from_numpy", "from_dlpack", "frombuffer"], "it reads memory outside torch"),
}


def why_not_replayable(tape: Tape, record: Record) -> str:
    """Why an op cannot be run again; "" where it can."""
    if record.context is not None and record.context.note:
        return record.context.note
    if id(record.trait) in NOT_CALLS:
        return "it is no operation"
    if record.trait.name == "new" and all(isinstance(size, int) for size in record.args[1:]):
        return _CANNOT["empty"]
    if record.trait.name in _CANNOT:
        return _CANNOT[record.trait.name]
    if namespace_of(record) in _COLLECTIVE:
        return "it exchanges tensors with other ranks"
    context = record.context or Context()
    if record.trait.name == "requires_grad_" and (context.is_below_vmap or any(context.batch_dims)):
        return "it belongs to a torch.func transform"
    unkept: list[Unkept] = []
    map_leaves(
        (record.args, record.kwargs or {}), lambda a: unkept.append(a) if isinstance(a, Unkept) else None
    )
    return f"an argument was too large to keep: {unkept[0].what}" if unkept else ""


_COLLECTIVE = ("c10d", "_c10d_functional", "_c10d_functional_autograd", "c10d_functional", "symm_mem")


def namespace_of(record: Record) -> str:
    """Where an operator was registered, such as "aten"; "" for a function of Python."""
    name = getattr(record.trait.func, "_qualified_op_name", None) or getattr(record.trait.func, "_name", "")
    return name.partition("::")[0] if isinstance(name, str) and "::" in name else ""


def is_same_call(record: Record, following: Record) -> bool:
    """True if the next record is the next output of the same call."""
    return (
        record.trait not in OWN_TRAITS
        and following.position == record.position + 1
        and following.trait is record.trait
        and following.args is record.args
        and following.parents == record.parents
        and following.site is record.site
        and following.seconds == record.seconds
    )


def replay(record: Record, values: Values, instead: SlotValues | None = None) -> list[Tensor]:
    """All outputs of the call, made anew; tensors that it wrote into come last, as when it was recorded."""
    tensors = []
    for parent in record.parents:
        value = values(parent)
        assert value is not None, "an op is replayed only when its parents were kept"
        tensors.append(_requiring_grad_as(value.detach(), value))
    for slot, other in (instead or {}).items():
        tensors[slot] = _requiring_grad_as(other, tensors[slot])
    if record.trait is UPDATED:
        return [written_over(record.args, tensors)]
    if record.trait is ALIAS:
        return [written_over((record.args[1], record.args[0]), [tensors[0]])]
    context = record.context or Context()
    writes = context.num_targets or record.trait.side_writes
    # The schema of somebody's own operator need not say what it writes into.
    if writes or namespace_of(record) not in ("", "aten", "prims"):
        # One copy for one tensor: `x.add_(x)` must stay what it is.
        copies = {id(tensor): tensor.clone() for tensor in tensors}
        tensors = [copies[id(tensor)] for tensor in tensors]
    with torch.no_grad(), as_recorded(context) as more:

        def call(*args: Any, **kwargs: Any) -> Any:
            kwargs |= more
            if context.is_below_vmap and context.autocast and not any(context.batch_dims):
                # torch casts less below a vmap, also what is not batched.
                return torch.vmap(lambda _: record.trait.func(*args, **kwargs), out_dims=None)(torch.zeros(1))
            return record.trait.func(*args, **kwargs)

        return called(record, tensors, call)


def called(
    record: Record,
    tensors: list[Tensor],
    function: Callable[..., Any],
    change: Callable[[Any], Any] | None = None,
) -> list[Tensor]:
    """What a function gives for the arguments of a call, with these tensors; then the tensors it wrote into.

    `change` is asked for all arguments that are no tensors.
    """

    def run(*tensors: Tensor) -> list[Tensor]:
        by_slot = iter(tensors)

        def fill(leaf: Any) -> Any:
            return next(by_slot) if leaf is TENSOR else leaf if change is None else change(leaf)

        args, kwargs = map_leaves(tuple(record.args), fill), map_leaves(dict(record.kwargs or {}), fill)
        targets = write_targets(record.trait, args, kwargs)
        made = collect_tensors(function(*args, **kwargs))
        return made + [target for target in targets if not any(target is tensor for tensor in made)]

    if record.context is None or not any(record.context.batch_dims):
        return run(*tensors)
    # An op that ran inside vmap runs inside vmap again, over the same dimensions.
    *of_arguments, of_output = [dict(each) for each in record.context.batch_dims]
    batched: Callable[..., Tensor] = lambda *inner: run(*inner)[0]  # noqa: E731
    for level in sorted({level for each in record.context.batch_dims for level, _ in each}, reverse=True):
        in_dims = tuple(each.get(level) for each in of_arguments)
        batched = torch.vmap(batched, in_dims=in_dims, out_dims=of_output.get(level, 0))
    return [batched(*tensors)]


def _requiring_grad_as(value: Tensor, other: Tensor) -> Tensor:
    """torch chooses some kernels by this flag, also where no gradient is wanted."""
    wanted = other.requires_grad and value.is_leaf and not value.is_inference()
    return value.requires_grad_() if wanted else value


@contextmanager
def as_recorded(context: Context) -> Iterator[dict[str, Any]]:
    """The random state and autocast of the moment, for one call; gives the arguments that it needs more."""
    more: dict[str, Any] = {}
    with ExitStack() as stack:
        if context.rng is not None:
            stack.enter_context(same_random_state_after())
            kind, state = context.rng
            if kind == "generator":
                more["generator"] = context.generator.clone_state()
                more["generator"].set_state(state)
            elif kind == "cpu":
                torch.set_rng_state(state)
            else:
                torch.get_device_module(kind).set_rng_state(state)
        for device, dtype in context.autocast:
            stack.enter_context(torch.autocast(device, dtype=dtype, cache_enabled=False))
        yield more


def written_over(geometries: tuple[Geometry, ...], parts: list[Tensor]) -> Tensor:
    """What a tensor shows after others on its memory were written: lay down the bytes, then look.

    The first geometry is that of the tensor itself; where there are fewer parts than geometries the
    tensor has no bytes of its own.
    """
    own = geometries[0]
    laid = geometries if len(parts) == len(geometries) else geometries[1:]
    size = parts[0].element_size()
    places = [_bytes_of(geometry, part.element_size()) for geometry, part in zip(laid, parts, strict=True)]
    own_places = _bytes_of(own, size)
    memory = torch.zeros(int(max(p.max() for p in (*places, own_places) if p.numel())) + 1, dtype=torch.uint8)
    for place, part in zip(places, parts, strict=True):
        plain = part.detach().cpu().resolve_conj().resolve_neg()
        dense = torch.empty(plain.numel(), dtype=plain.dtype).copy_(plain.flatten())
        memory[place.flatten()] = dense.view(torch.uint8)
    seen = memory[own_places.flatten()].view(parts[0].dtype).reshape(own.shape)
    return seen.to(parts[0].device)


def _bytes_of(geometry: Geometry, size: int) -> Tensor:
    """The bytes of its storage that a tensor's elements take, in order."""
    positions = torch.tensor(geometry.offset)
    for dim, (length, step) in enumerate(zip(geometry.shape, geometry.stride, strict=True)):
        shape = [1] * len(geometry.shape)
        shape[dim] = length
        positions = positions + (torch.arange(length) * step).reshape(shape)
    return positions.reshape(-1, 1) * size + torch.arange(size)
