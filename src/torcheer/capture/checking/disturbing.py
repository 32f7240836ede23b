"""Disturb an op's parents one at a time: if the output does not move, say why it need not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from torcheer.capture.checking.replay import SlotValues, Values, replay
from torcheer.capture.pytree import map_leaves
from torcheer.capture.tape import TENSOR, UPDATED, Record

_SHAPE_ONLY = frozenset(
    (
        "zeros_like ones_like full_like empty_like rand_like randn_like randint_like new_zeros new_ones "
        "new_full new_empty new_tensor expand_as view_as reshape_as type_as broadcast_tensors "
        "broadcast_to is_same_size resize_as_ to type new_empty_strided meshgrid"
    ).split()
)


def unmoved_parents(record: Record, values: Values, outputs: list[Tensor]) -> list[tuple[int, str]]:
    """Parents whose disturbance leaves every output as it was, each with the reason, if one is known."""
    unmoved: list[tuple[int, str]] = []
    for parent in dict.fromkeys(record.parents):
        value = values(parent)
        if value is None or value.is_meta:
            continue
        if not _moves(record, values, outputs, parent, value):
            unmoved.append((parent, _reason(_Still(record, values, outputs, parent, value))))
    return unmoved


def _moves(record: Record, values: Values, outputs: list[Tensor], parent: int, value: Tensor) -> bool:
    slots = [slot for slot, one in enumerate(record.parents) if one == parent]
    return any(
        _gives_other(record, values, outputs, dict.fromkeys(slots, other)) for other in disturbances(value)
    )


def _gives_other(record: Record, values: Values, outputs: list[Tensor], instead: SlotValues) -> bool:
    try:
        now = replay(record, values, instead)
        return len(now) != len(outputs) or any(
            not alike(a, b, exact=True) for a, b in zip(now, outputs, strict=True)
        )
    except Exception:
        return True  # it looked at the value, and did not like it


class _Still(NamedTuple):
    """A call whose output did not move when one of its parents was disturbed."""

    record: Record
    values: Values
    outputs: list[Tensor]
    parent: int
    value: Tensor

    @property
    def num_targets(self) -> int:
        return 0 if self.record.context is None else self.record.context.num_targets


def _is_empty(still: _Still) -> bool:
    return still.value.numel() == 0 or all(out.numel() == 0 for out in still.outputs)


def _is_written_over(still: _Still) -> bool:
    is_first, has_out = still.parent in still.record.parents[:1], "out" in (still.record.kwargs or {})
    overwrites = is_first and still.record.trait.name not in _ARITHMETIC
    return still.record.trait is UPDATED or bool(still.num_targets and (overwrites or has_out))


_ARITHMETIC = frozenset("add_ sub_ mul_ div_ pow_ addcmul_ addcdiv_ lerp_ floor_divide_ remainder_".split())


def _writes_nothing(still: _Still) -> bool:
    target = still.values(still.record.parents[0])
    return bool(still.num_targets) and target is not None and alike(still.outputs[-1], target, exact=True)


def _has_one_key(still: _Still) -> bool:
    key = still.values(still.record.parents[1]) if len(still.record.parents) > 1 else None
    is_attention = still.record.trait.name == "scaled_dot_product_attention"
    return is_attention and key is not None and key.dim() > 1 and key.shape[-2] == 1


def _is_part_of_a_block_mask(still: _Still) -> bool:
    """Whether flex_attention was given it in its block mask: without the compiler only mask_mod counts."""
    record = still.record
    if record.trait.name != "flex_attention" or len(record.args) < 5:
        return False
    counts = [_num_tensors(arg) for arg in record.args[:5]]
    first = sum(counts[:4])
    slots = [slot for slot, one in enumerate(record.parents) if one == still.parent]
    return all(first <= slot < first + counts[4] for slot in slots)


def _num_tensors(value: object) -> int:
    found: list[object] = []
    map_leaves(value, lambda leaf: found.append(leaf) if leaf is TENSOR else None)
    return len(found)


# The first that holds is the reason; the costly one comes late.
_REASONS: tuple[tuple[Callable[[_Still], bool], str], ...] = (
    (_is_empty, "there is nothing in it"),
    (lambda s: s.record.trait.name in _SHAPE_ONLY, "only its shape, type or device is used"),
    (_is_written_over, "its old value is written over"),
    (_writes_nothing, "nothing is written"),
    (_has_one_key, "attention over a single key is that key's value"),
    (_is_part_of_a_block_mask, "the blocks of a mask only say what a compiled kernel may leave out"),
    (lambda s: _hidden_by_others(s), "the values of its other arguments hide it"),
    (
        lambda s: bool(s.record.trait.side_writes),
        "it is a running statistic, which training updates but does not read",
    ),
    (lambda s: all(map(_is_constant, s.outputs)), "its output is one constant"),
    (lambda s: bool(s.num_targets), "its old value drowns in what is written"),
)


def _reason(still: _Still) -> str:
    return next((reason for holds, reason in _REASONS if holds(still)), "")


def _hidden_by_others(still: _Still) -> bool:
    """Whether the parent does move the output once every other argument has some other value."""
    record, values, _, parent, value = still
    slots = [slot for slot, one in enumerate(record.parents) if one == parent]
    others = [slot for slot, one in enumerate(record.parents) if one != parent]
    for turn in range(5):
        instead = {slot: _turned(values(record.parents[slot]), turn + slot) for slot in others}
        try:
            before = replay(record, values, instead)
        except Exception:
            continue
        for other in disturbances(value):
            if _gives_other(record, values, before, {**instead, **dict.fromkeys(slots, other)}):
                return True
    return False


def _turned(value: Tensor | None, turn: int) -> Tensor:
    assert value is not None
    choices = list(disturbances(value))
    return choices[turn % len(choices)] if choices else value


def _is_constant(tensor: Tensor) -> bool:
    flat = _comparable(tensor).flatten()
    return bool((flat == flat[0]).all()) if flat.numel() else True


# Types that torch computes with hardly at all.
_WIDER = {
    torch.uint16: torch.int64,
    torch.uint32: torch.int64,
    torch.uint64: torch.int64,
    torch.float8_e4m3fn: torch.float32,
    torch.float8_e5m2: torch.float32,
    torch.float8_e4m3fnuz: torch.float32,
    torch.float8_e5m2fnuz: torch.float32,
}


def disturbances(value: Tensor) -> Iterator[Tensor]:
    """Other values of the same shape and type, from mild to harsh."""
    real = value.detach()
    if real.layout != torch.strided or real.is_quantized or real.is_nested:
        yield from _odd_disturbances(real)
        return
    wide = _WIDER.get(real.dtype)
    if wide is not None:
        yield from (other.to(real.dtype) for other in disturbances(real.to(wide)))
        return
    generator = torch.Generator().manual_seed(12345)
    if real.dtype == torch.bool:
        yield ~real
        yield torch.rand(real.shape, generator=generator).to(real.device) < 0.5
        yield torch.zeros_like(real)
        yield torch.ones_like(real)
    elif real.is_floating_point() or real.is_complex():
        noise = torch.randn(real.shape, generator=generator).to(real)
        finite = torch.nan_to_num(real, 0.0, 1.0, -1.0)
        yield finite + noise * (finite.abs().mean() + 1)
        yield noise
        yield -finite * 3 + 1
        yield noise * 1000
        yield torch.zeros_like(real)
    else:
        low, high = (int(real.min()), int(real.max())) if real.numel() else (0, 0)
        yield real.flip(0) if real.dim() else real * 0
        yield torch.randint(low, high + 1, real.shape, generator=generator).to(real)
        yield torch.full_like(real, low)
        yield real + 1
        yield torch.zeros_like(real)
        yield -1 - real
        yield real + 1000


def _odd_disturbances(value: Tensor) -> Iterator[Tensor]:
    for factor in (3, 0):
        try:
            if value.is_quantized:
                numbers = (value.dequantize().flip(0) * factor).clamp(-1, 1)
                yield torch.quantize_per_tensor(numbers, value.q_scale(), value.q_zero_point(), value.dtype)
            else:
                yield value * factor
        except Exception:
            return


def alike(a: Tensor, b: Tensor, *, exact: bool) -> bool:
    """Whether two tensors hold the same numbers; NaN is like NaN."""
    if a.dtype != b.dtype or a.is_nested != b.is_nested or (not a.is_nested and a.shape != b.shape):
        return False
    if a.is_meta:
        return True
    a, b = _comparable(a), _comparable(b)
    if a.shape != b.shape:
        return False
    if a.is_complex():
        a, b = torch.view_as_real(a.resolve_conj()), torch.view_as_real(b.resolve_conj())
    if exact or not a.is_floating_point():
        return (
            bool(torch.allclose(a, b, rtol=0, atol=0, equal_nan=True))
            if a.is_floating_point()
            else a.equal(b)
        )
    loose = a.element_size() <= 2
    size = float(b.nan_to_num(0, 0, 0).abs().max()) if b.numel() else 0.0
    return torch.allclose(
        a, b, rtol=1e-2 if loose else 1e-4, atol=size * (1e-2 if loose else 1e-5), equal_nan=True
    )


def _comparable(tensor: Tensor) -> Tensor:
    tensor = tensor.detach()
    if tensor.is_quantized:
        return tensor.dequantize()
    if tensor.is_nested:
        return torch.cat([part.flatten() for part in tensor.unbind()])
    return tensor.to_dense() if tensor.layout != torch.strided else tensor
