"""Which inputs reach a unit, and which outputs a unit reaches, element by element."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from torcheer.capture.fields.dependence import Dependence, undisturbed
from torcheer.capture.fields.generic import GenericValues
from torcheer.capture.fields.marks import Masks
from torcheer.errors import InputError, LayerNotFoundError

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory

Unit = int | Sequence[int] | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FieldEnd:
    """The part of one tensor that belongs to a field."""

    label: str
    names: tuple[str, ...]  # other names that find it: its short label, `input_ids`
    mask: Tensor  # of the tensor's shape: True for each element that belongs

    @property
    def box(self) -> tuple[slice, ...]:
        """The smallest box around it: `x[end.box]` cuts it out."""
        return tuple(_extent(self.mask, dim) for dim in range(self.mask.dim()))

    @property
    def size(self) -> tuple[int, ...]:
        """How far it extends in each dimension."""
        return tuple(side.stop - side.start for side in self.box)

    @property
    def num_elements(self) -> int:
        return int(self.mask.sum())

    @property
    def is_empty(self) -> bool:
        return not self.mask.any()

    def __str__(self) -> str:
        if self.is_empty:
            return f"nothing of {self.label}"
        whole = _times(self.mask.shape)
        if self.num_elements == self.mask.numel():
            return f"all of {self.label} ({whole})"
        box = ", ".join(map(_range, self.box, self.mask.shape))
        count = self.num_elements
        inside = 1
        for length in self.size:
            inside *= length
        amount = "every element" if count == inside else f"{count} of {inside} elements"
        return f"{_times(self.size)} of {self.label} ({whole}): [{box}], {amount}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Field:
    """What can reach a unit, or what a unit can reach.

    An element belongs if it can change the unit for some values of the data, with parameters, buffers and
    constants as they are. `field['input_1']` is the part of one tensor; iterating gives them all; where there
    is only one, `field.mask` and `field.box` are its own.
    """

    layer: str
    unit: tuple[int, ...]
    is_receptive: bool
    ends: tuple[FieldEnd, ...]
    is_exact: bool  # False: of some ops every element was taken to reach every other, see the notes
    notes: tuple[str, ...]

    def __getitem__(self, key: str | int) -> FieldEnd:
        if isinstance(key, int):
            return self.ends[key]
        for end in self.ends:
            if key == end.label or key in end.names:
                return end
        raise LayerNotFoundError(
            f"{key!r} is no end of this field: it has {', '.join(repr(end.label) for end in self.ends)}."
        )

    def __iter__(self) -> Iterator[FieldEnd]:
        return iter(self.ends)

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def only(self) -> FieldEnd:
        """The one end, where there is one."""
        if len(self.ends) != 1:
            raise InputError(
                f"this field has {len(self.ends)} ends: ask one of them, as in "
                f"field[{self.ends[0].label!r}].mask."
                if self.ends
                else "this field has no ends: the pass has no tensors there."
            )
        return self.ends[0]

    @property
    def mask(self) -> Tensor:
        return self.only.mask

    @property
    def box(self) -> tuple[slice, ...]:
        return self.only.box

    @property
    def size(self) -> tuple[int, ...]:
        return self.only.size

    @property
    def num_elements(self) -> int:
        """Over all ends."""
        return sum(end.num_elements for end in self.ends)

    def __str__(self) -> str:
        verb = "sees" if self.is_receptive else "reaches"
        head = f"{self.layer} unit {self.unit} {verb}"
        if len(self.ends) == 1:
            lines = [f"{head} {self.ends[0]}"]
        else:
            lines = [f"{head}:", *(f"  {end}" for end in self.ends)] if self.ends else [f"{head} nothing"]
        return "\n".join((*lines, *(f"  note: {note}" for note in self.notes)))

    def __repr__(self) -> str:
        kind = "receptive" if self.is_receptive else "projective"
        return f"<Field {kind} of {self.layer} unit {self.unit}: {self.num_elements} elements>"


def receptive_field(history: ModelHistory, layer: int | str, unit: Unit = None) -> Field:
    """Which elements of the inputs can reach a unit of a layer."""
    op = history[layer].index
    structure = history._structure
    start = _unit_mask(history, op, unit)
    with undisturbed():
        dependence = Dependence(history._tape, GenericValues(history, structure.inputs))
        data = dependence.values.data
        cone = sorted(each for each in structure.ancestors(op) | {op} if data[each])
        dependence.settle(cone)
        masks = _go_back(dependence, cone, {op: start})
    return _field(history, dependence, op, start, structure.inputs, masks, is_receptive=True)


def projective_field(
    history: ModelHistory, layer: int | str, unit: Unit = None, onto: int | str | None = None
) -> Field:
    """Which elements of a later layer, or of the outputs, a unit of a layer can reach."""
    op = history[layer].index
    structure = history._structure
    ends = structure.outputs if onto is None else [history[onto].index]
    start = _unit_mask(history, op, unit)
    with undisturbed():
        dependence = Dependence(history._tape, GenericValues(history, [*structure.inputs, op]))
        wanted = set(ends).union(*(structure.ancestors(end) for end in ends))
        data = dependence.values.data
        dependence.settle(sorted(each for each in wanted if data[each]))
        masks = _go_on(dependence, sorted(wanted & structure.descendants(op)), {op: start})
    return _field(history, dependence, op, start, ends, masks, is_receptive=False)


def _go_back(dependence: Dependence, cone: list[int], masks: Masks) -> Masks:
    """From marked elements to all that they depend on, in one sweep: a parent comes before its child."""
    for op in reversed(cone):
        call = dependence.call(op)
        marked = {each: masks[each] for each in call.ops if each in masks and masks[each].any()}
        # The outputs of one call are asked together, when the last of them is met.
        if not marked or op != max(marked) or not call.data:
            continue
        for parent, mask in dependence.backward(call, marked).items():
            masks[parent] = masks[parent] | mask if parent in masks else mask
    return masks


def _go_on(dependence: Dependence, ops: list[int], masks: Masks) -> Masks:
    """From marked elements to all that depend on them."""
    start = dict(masks)
    for op in ops:
        call = dependence.call(op)
        if op in masks and op not in start:
            continue  # another output of a call that was asked
        marked = {parent: masks[parent] for parent in call.data if parent in masks and masks[parent].any()}
        if marked:
            for each, mask in dependence.forward(call, marked).items():
                masks[each] = masks[each] | mask if each in start else mask
    return masks


# --- the unit --------------------------------------------------------------------------------


def _unit_mask(history: ModelHistory, op: int, unit: Unit) -> Tensor:
    shape = tuple(history._tape.meta(op).shape)
    place = _place(shape, unit)
    if place is None or not all(-size <= i < size for i, size in zip(place, shape, strict=True)):
        raise InputError(
            f"{unit!r} is no unit of {history._label(op)}, which has the shape {shape}: give one index for "
            "each dimension, or leave out the first for item 0 of the batch, or give none for the middle."
        )
    mask = torch.zeros(shape, dtype=torch.bool)
    mask[place] = True
    return mask


def _place(shape: tuple[int, ...], unit: Unit) -> tuple[int, ...] | None:
    if unit is None:
        lead = len(shape) > 1  # item 0 of the batch
        return tuple(0 if lead and dim == 0 else size // 2 for dim, size in enumerate(shape))
    try:
        given = tuple(index(i) for i in unit) if isinstance(unit, Iterable) else (index(unit),)
    except TypeError:
        return None
    if len(given) == len(shape) - 1 and given:
        given = (0, *given)
    return given if len(given) == len(shape) else None


# --- the answer ------------------------------------------------------------------------------


def _field(
    history: ModelHistory,
    dependence: Dependence,
    op: int,
    start: Tensor,
    ends: Sequence[int],
    masks: Masks,
    *,
    is_receptive: bool,
) -> Field:
    has_way = is_receptive and dependence.values.data[op]
    is_cut = has_way and not any(masks[end].any() for end in ends if end in masks)
    return Field(
        layer=history._label(op),
        unit=tuple(start.nonzero()[0].tolist()),
        is_receptive=is_receptive,
        ends=tuple(
            FieldEnd(
                label=history._label(end),
                names=_names(history, end),
                mask=masks.get(end, torch.zeros(history._tape.meta(end).shape, dtype=torch.bool)),
            )
            for end in ends
        ),
        is_exact=not dependence.doubts and not dependence.values.unknown,
        notes=tuple(_notes(history, dependence, max([op, *ends]), is_cut)),
    )


def _names(history: ModelHistory, op: int) -> tuple[str, ...]:
    one = history._op(op)
    return tuple(
        name for name in (one.layer_label_no_pass, one.layer_label_short, one.input_output_address) if name
    )


def _notes(history: ModelHistory, dependence: Dependence, before: int, is_cut: bool) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for op, reason in sorted(dependence.doubts.items()):
        by_reason.setdefault(reason, []).append(history._label(op))
    for reason, labels in by_reason.items():
        yield f"{_some(labels)}: every element was taken to hang on all that it was given, since {reason}."
    if is_cut:
        yield "a constant of zero cuts every way: the weights of a layer that was just made, or a mask."
    if dependence.values.unknown:
        yield f"{_some(dependence.values.unknown)}: its values are not there, and count as nowhere zero."
    reads = (read.op for read in history._tape.reads if read.op < before)
    read_off = dict.fromkeys(history._label(op) for op in reads if dependence.values.is_data(op))
    if read_off:
        yield f"{_some(read_off)}: its value went to Python, and what hangs on that is taken as it was."


def _some(labels: Iterable[str]) -> str:
    names = list(labels)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _extent(mask: Tensor, dim: int) -> slice:
    others = [other for other in range(mask.dim()) if other != dim]
    places = (mask.amax(others) if others else mask).nonzero().flatten()
    return slice(int(places[0]), int(places[-1]) + 1) if len(places) else slice(0, 0)


def _times(sizes: Sequence[int]) -> str:
    return "×".join(map(str, sizes)) or "scalar"


def _range(side: slice, size: int) -> str:
    if side.start == 0 and side.stop == size:
        return ":"
    return str(side.start) if side.stop - side.start == 1 else f"{side.start}:{side.stop}"
