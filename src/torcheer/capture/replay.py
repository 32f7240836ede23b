"""Run one recorded op again, from its saved parents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor

from torcheer.capture.catcher import Unkept, collect_tensors, write_targets
from torcheer.capture.memory import BatchDims, Geometry
from torcheer.capture.nesting import map_leaves
from torcheer.capture.state import same_random_state_after
from torcheer.capture.tape import ALIAS, NOT_CALLS, TENSOR, UPDATED, Context, Record, Tape

Values = Callable[[int], Tensor | None]

_CANNOT = {
    **dict.fromkeys(
        "empty empty_like empty_strided empty_permuted new_empty new_empty_strided resize_ resize_as_".split(),
        "its output is undefined until it is written",
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
    if record.trait.name in _CANNOT:
        return _CANNOT[record.trait.name]
    unkept: list[Unkept] = []
    map_leaves(
        (record.args, record.kwargs or {}), lambda a: unkept.append(a) if isinstance(a, Unkept) else None
    )
    return f"an argument was too large to keep: {unkept[0].what}" if unkept else ""


def replay(record: Record, values: Values) -> list[Tensor]:
    """All outputs of the call, made anew; tensors that it wrote into come last, as when it was recorded."""
    if record.trait is UPDATED:
        return [_written_over(record, values)]
    if record.trait is ALIAS:
        return [_alias(record, values)]
    if record.context is not None and any(record.context.batch_dims):
        return [_under_vmap(record, values, record.context.batch_dims)]
    args, kwargs = _arguments(record, values)
    targets = write_targets(record.trait, args, kwargs)
    with torch.no_grad(), _as_recorded(record.context or Context(), kwargs):
        out = record.trait.func(*args, **kwargs)
    made = collect_tensors(out)
    return made + [target for target in targets if not any(target is tensor for tensor in made)]


def _arguments(record: Record, values: Values) -> tuple[tuple[Any, ...], dict[str, Any]]:
    copies: dict[int, Tensor] = {}
    parents = iter(record.parents)
    writes = bool(record.context and record.context.num_targets) or bool(record.trait.side_writes)

    def fill(leaf: Any) -> Any:
        if leaf is not TENSOR:
            return leaf
        parent = next(parents)
        if parent not in copies:
            value = values(parent)
            assert value is not None, "an op is replayed only when its parents were kept"
            copies[parent] = value.detach().clone() if writes else value.detach()
        return copies[parent]

    args = map_leaves(tuple(record.args), fill)
    kwargs = map_leaves(dict(record.kwargs or {}), fill)
    return args, kwargs


def _under_vmap(record: Record, values: Values, dims: tuple[BatchDims, ...]) -> Tensor:
    """An op that ran inside vmap runs inside vmap again, over the same dimensions."""
    *of_arguments, of_output = [dict(each) for each in dims]

    def call(*tensors: Tensor) -> Tensor:
        by_slot = iter(tensors)
        fill = lambda leaf: next(by_slot) if leaf is TENSOR else leaf  # noqa: E731
        args, kwargs = map_leaves(tuple(record.args), fill), map_leaves(dict(record.kwargs or {}), fill)
        return collect_tensors(record.trait.func(*args, **kwargs))[0]

    run: Callable[..., Any] = call
    for level in sorted({level for each in dims for level, _ in each}, reverse=True):
        in_dims = tuple(each.get(level) for each in of_arguments)
        run = torch.vmap(run, in_dims=in_dims, out_dims=of_output.get(level, 0))
    tensors = [values(parent) for parent in record.parents]
    with torch.no_grad(), _as_recorded(record.context or Context(), {}):
        out: Tensor = run(*(t.detach() for t in tensors if t is not None))
    return out


@contextmanager
def _as_recorded(context: Context, kwargs: dict[str, Any]) -> Iterator[None]:
    """The random state and autocast of the moment, for the length of one call."""
    with ExitStack() as stack:
        if context.rng is not None:
            stack.enter_context(same_random_state_after())
            kind, state = context.rng
            if kind == "generator":
                kwargs["generator"] = context.generator.clone_state()
                kwargs["generator"].set_state(state)
            elif kind == "cpu":
                torch.set_rng_state(state)
            else:
                torch.get_device_module(kind).set_rng_state(state)
        for device, dtype in context.autocast:
            stack.enter_context(torch.autocast(device, dtype=dtype, cache_enabled=False))
        yield


def _written_over(record: Record, values: Values) -> Tensor:
    """A tensor after other tensors on its memory were written: put each where it lies, then look."""
    geometries: tuple[Geometry, ...] = record.args
    parts = [values(parent) for parent in record.parents]
    start = min(g.offset for g in geometries)
    size = (
        max(g.offset + sum((n - 1) * s for n, s in zip(g.shape, g.stride, strict=True)) for g in geometries)
        + 1
    )
    base = parts[0]
    assert base is not None
    flat = torch.zeros(size - start, dtype=base.dtype, device=base.device)
    for geometry, part in zip(geometries, parts, strict=True):
        assert part is not None
        flat.as_strided(geometry.shape, geometry.stride, geometry.offset - start).copy_(part.detach())
    base_at = geometries[0]
    return flat.as_strided(base_at.shape, base_at.stride, base_at.offset - start)


def _alias(record: Record, values: Values) -> Tensor:
    known, wanted = record.args
    value = values(record.parents[0])
    assert value is not None
    start = min(known.offset, wanted.offset)
    reach = [
        g.offset + sum((n - 1) * s for n, s in zip(g.shape, g.stride, strict=True)) for g in (known, wanted)
    ]
    flat = torch.zeros(max(reach) + 1 - start, dtype=value.dtype, device=value.device)
    flat.as_strided(known.shape, known.stride, known.offset - start).copy_(value.detach())
    return flat.as_strided(wanted.shape, wanted.stride, wanted.offset - start)
