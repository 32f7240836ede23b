"""The part of one tensor that belongs to a field, and how it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory

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
            return f"nothing of {with_name(self.label, self.name)}"
        whole = with_name(self.label, self.name, _times(self.mask.shape))
        if self.num_elements == self.mask.numel():
            return f"all of {whole}"
        box = ", ".join(map(_range, self.box, self.mask.shape))
        count = self.num_elements
        inside = 1
        for length in self.size:
            inside *= length
        amount = "every element" if count == inside else f"{count} of {inside} elements"
        return f"{_times(self.size)} of {whole}: [{box}], {amount}"


def own_name(history: ModelHistory, op: int) -> str:
    """What the model calls an input or output, such as `attention_mask`; "" where that says nothing."""
    name = (history._op(op).input_output_address or "").removeprefix("output.")
    says_nothing = all(part in _PLAIN_NAMES or part.isdigit() for part in name.split("."))
    return "" if says_nothing else name


def names_of(history: ModelHistory, op: int) -> tuple[str, ...]:
    one = history._op(op)
    names = (
        one.layer_label_no_pass,
        one.layer_label_short,
        one.input_output_address,
        own_name(history, op),
    )
    return tuple(dict.fromkeys(name for name in names if name))


def with_name(label: str, *more: str) -> str:
    """A label with what is known besides: `input_2_1 (attention_mask, 2×5)`."""
    known = ", ".join(filter(None, more))
    return f"{label} ({known})" if known else label


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
