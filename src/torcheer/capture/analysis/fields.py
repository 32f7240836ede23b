"""Which inputs reach a unit, and which outputs a unit reaches, element by element."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from operator import attrgetter, index
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from torcheer.capture.analysis.dependence import Dependence, Masks
from torcheer.capture.model_state import same_random_state_after, undisturbed
from torcheer.capture.op import Op, some_of
from torcheer.capture.search import ops_between
from torcheer.errors import InputError, LayerNotFoundError
from torcheer.graph import reach

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory

Unit = int | Sequence[int] | None
# Names that say no more than a label does.
_PLAIN_NAMES = frozenset(["", "input", "inputs", "output", "x", "args"])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FieldEnd:
    """The part of one tensor that belongs to a field."""

    label: str
    name: str  # what the model calls it, as `attention_mask`; "" where that says no more than the label
    names: tuple[str, ...]  # all other names that find it, its short label too
    mask: Tensor  # of the tensor's shape: True for each element that belongs

    @property
    def box(self) -> tuple[slice, ...]:
        """The smallest box around it: `x[end.box]` cuts it out."""
        places = self.mask.nonzero()
        if not len(places):
            return (slice(0, 0),) * self.mask.dim()
        ends = zip(places.amin(0).tolist(), places.amax(0).tolist(), strict=True)
        return tuple(slice(first, last + 1) for first, last in ends)

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
            return f"nothing of {_with_name(self.label, self.name)}"
        whole = _with_name(self.label, self.name, _times(self.mask.shape))
        if self.num_elements == self.mask.numel():
            return f"all of {whole}"
        box = ", ".join(map(_range, self.box, self.mask.shape))
        count = self.num_elements
        inside = prod(self.size)
        amount = "every element" if count == inside else f"{count} of {inside} elements"
        return f"{_times(self.size)} of {whole}: [{box}], {amount}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Field:
    """What can reach a unit, or what a unit can reach.

    An element belongs if it can change the unit for some values of the data, with parameters, buffers and
    constants as they are. `field['input_1']` is the part of one tensor; iterating gives them all; where there
    is only one, `field.mask` and `field.box` are its own.
    """

    layer: str
    layer_name: str  # what the model calls it, if it is an input or output; "" where that says nothing
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
            names = some_of(repr(end.label) for end in self.ends)
            raise InputError(
                f"this field has {len(self.ends)} ends ({names}): ask one of them, field[…].mask."
            )
        return self.ends[0]

    mask = property(attrgetter("only.mask"))
    box = property(attrgetter("only.box"))
    size = property(attrgetter("only.size"))

    @property
    def num_elements(self) -> int:
        """Over all ends."""
        return sum(end.num_elements for end in self.ends)

    def __str__(self) -> str:
        verb = "sees" if self.is_receptive else "reaches"
        head = f"{_with_name(self.layer, self.layer_name)} unit {self.unit} {verb}"
        if len(self.ends) == 1:
            lines = [f"{head} {self.ends[0]}"]
        else:
            lines = [f"{head}:", *(f"  {end}" for end in self.ends)] if self.ends else [f"{head} nothing"]
        return "\n".join((*lines, *(f"  note: {note}" for note in self.notes)))

    def __repr__(self) -> str:
        kind = "receptive" if self.is_receptive else "projective"
        return f"<Field {kind} of {self.layer} unit {self.unit}: {self.num_elements} elements>"


@undisturbed()
def find_field(
    history: ModelHistory, layer: int | str, unit: Unit, onto: int | str | None, *, is_receptive: bool
) -> Field:
    """What reaches a unit of the inputs or of an earlier layer; or what it reaches of later ones."""
    if history._tape.was_loaded:
        raise InputError(
            "this history was loaded from a file, which has no functions and no parameters to run again: ask "
            "for fields before it is saved."
        )
    structure = history._structure
    op = history[layer].index
    every_end = structure.inputs if is_receptive else structure.outputs
    ends = every_end if onto is None else [history[onto].index]
    start = _unit_mask(history, op, unit)
    froms, tos = (ends, [op]) if is_receptive else ([op], ends)
    if onto is not None and (is_receptive or op not in structure.inputs):  # an input may lead nowhere
        ops_between(history, history._label(froms[0]), history._label(tos[0]))
    # Derivatives on, autocast off, warnings quiet; random generators are afterwards as they were.
    with (
        warnings.catch_warnings(action="ignore"),
        same_random_state_after(),
        torch.inference_mode(False),
        torch.enable_grad(),
        torch.autocast("cpu", enabled=False),
    ):
        # Both fields ask of the same: the inputs and the starts are data, and what lies only above a start
        # plays no part. That makes them twins.
        above = reach(tos, [() if one in froms else parents for one, parents in enumerate(structure.parents)])
        dependence = Dependence(history, [*structure.inputs, *froms], sorted(above))
        way = sorted((above & reach(froms, structure.children)).difference(froms))
        masks = _sweep(dependence, way, {op: start}, is_back=is_receptive)
    return Field(
        layer=history._label(op),
        layer_name=_own_name(Op(history, op)),
        unit=tuple(start.nonzero()[0].tolist()),
        is_receptive=is_receptive,
        ends=tuple(_end(Op(history, end), masks.get(end)) for end in ends),
        is_exact=not dependence.doubts and not dependence.unknown,
        notes=tuple(_notes(history, dependence, froms, max([op, *ends]))),
    )


def _sweep(dependence: Dependence, ops: list[int], masks: Masks, *, is_back: bool) -> Masks:
    """From marked elements to all that they depend on; else to all that depend on them."""
    asked: set[int] = set()  # calls, by their first output: all outputs of one are asked together
    for op in reversed(ops) if is_back else ops:  # a parent comes before its child
        call = dependence.call(op)
        ends = call.ops if is_back else call.data
        marked = {end: masks[end] for end in ends if end in masks and masks[end].any()}
        if marked and call.data and call.ops[0] not in asked:
            asked.add(call.ops[0])
            for found, mask in dependence.reached(call, marked, is_back=is_back).items():
                masks[found] = masks[found] | mask if found in masks else mask
    return masks


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


def _end(op: Op, mask: Tensor | None) -> FieldEnd:
    own = _own_name(op)
    names = (op.layer_label_no_pass, op.layer_label_short, op.input_output_address, own)
    return FieldEnd(
        label=op.layer_label,
        name=own,
        names=tuple(filter(None, names)),
        mask=torch.zeros(op.tensor_shape, dtype=torch.bool) if mask is None else mask,
    )


def _notes(history: ModelHistory, dependence: Dependence, froms: Sequence[int], before: int) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for op, reason in sorted(dependence.doubts.items()):
        by_reason.setdefault(reason, []).append(history._label(op))
    for reason, labels in by_reason.items():
        yield f"{some_of(labels)}: every element was taken to hang on all that it was given, since {reason}."
    if dependence.unknown:
        yield f"{some_of(dependence.unknown)}: its values are not there, and count as nowhere zero."
    follow = set(froms).union(*map(history._structure.descendants, froms))
    reads = dict.fromkeys(read.op for read in history._tape.reads if read.op < before and read.op in follow)
    read_off = [history._label(op) for op in reads if dependence.is_data(op)]
    if read_off:
        yield f"{some_of(read_off)}: its value went to Python, and what hangs on that is taken as it was."


def _own_name(op: Op) -> str:
    """What the model calls an input or output, such as `attention_mask`; "" where that says nothing."""
    name = (op.input_output_address or "").removeprefix("output.")
    says_nothing = all(part in _PLAIN_NAMES or part.isdigit() for part in name.split("."))
    return "" if says_nothing else name


def _with_name(label: str, *more: str) -> str:
    """A label with what is known besides: `input_2_1 (attention_mask, 2×5)`."""
    known = ", ".join(filter(None, more))
    return f"{label} ({known})" if known else label


def _times(sizes: Sequence[int]) -> str:
    return "×".join(map(str, sizes)) or "scalar"


def _range(side: slice, size: int) -> str:
    if side.start == 0 and side.stop == size:
        return ":"
    return str(side.start) if side.stop - side.start == 1 else f"{side.start}:{side.stop}"
