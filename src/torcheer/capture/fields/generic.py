"""What each tensor is taken to be when dependence is worked out: constants as they are, data at random."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from torcheer.capture.checking.replay import replay, why_not_replayable
from torcheer.capture.memory import has_data
from torcheer.capture.tape import BUFFER

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory

# Values beyond this are an additive mask (-10000, -1e9, the least float, -inf), not activations: they stay.
_DWARFS = 9_000.0
# Through these a mask keeps its values, since what is not known counts as zero.
_CARRIERS = frozenset(
    (
        "add sub iadd isub radd rsub mul imul rmul div true_divide where masked_fill to float double half "
        "baddbmm addmm bfloat16 type type_as view reshape expand expand_as transpose permute unsqueeze "
        "squeeze getitem setitem contiguous clone flatten cat stack concat copy clamp clamp_min maximum "
        "max slice narrow select unbind split chunk repeat detach dropout"
    ).split()
)


class GenericValues:
    """Stand-ins for the values of a pass, so that no chance value of the data hides a dependence.

    Data is what descends from the given ops. Of a tensor that is data, single elements may still be fixed:
    they are told with `fix`, and keep their values.
    """

    def __init__(self, history: ModelHistory, origins: Iterable[int]) -> None:
        self._history = history
        self._tape = history._tape
        self.data: list[bool] = [False] * len(self._tape.records)
        self._origins = frozenset(origins)
        for op in self._origins:
            self.data[op] = True
        for op, parents in enumerate(history._structure.parents):
            self.data[op] = self.data[op] or any(self.data[parent] for parent in parents)
        self._constants: dict[int, Tensor] = {}
        self._held: dict[int, tuple[Tensor, Tensor] | None] = {}
        self._rough: dict[int, Tensor | None] = {}
        self._fixed: dict[int, Tensor] = {}
        self.unknown: dict[str, None] = {}  # constants whose values are not there

    def is_data(self, parent: int) -> bool:
        return parent >= 0 and self.data[parent]

    def shape(self, parent: int) -> torch.Size:
        return self._tape.params[-parent - 1][1].shape if parent < 0 else self._tape.meta(parent).shape

    def dtype(self, parent: int) -> torch.dtype:
        return self._tape.params[-parent - 1][1].dtype if parent < 0 else self._tape.meta(parent).dtype

    # --- constants ------------------------------------------------------------------------

    def constant(self, parent: int) -> Tensor:
        """A parameter, a buffer or a constant, as it was."""
        if parent not in self._constants:
            for each in sorted(self._not_kept_above(parent)):  # one by one, since the way up may be long
                self._constants[each] = self._find(each)
        return self._constants[parent]

    def _not_kept_above(self, parent: int) -> set[int]:
        """A constant, and those above it that were not kept either and must be worked out first."""
        found: set[int] = set()
        queue = [parent]
        while queue:
            each = queue.pop()
            if each not in found and each not in self._constants:
                found.add(each)
                if each >= 0 and not self._tape.has_value(each):
                    queue.extend(self._tape.records[each].parents)
        return found

    def _find(self, parent: int) -> Tensor:
        value = self._known(parent)
        if value is None:
            name = self._tape.params[-parent - 1][0] if parent < 0 else self._history._label(parent)
            self.unknown[name] = None
            value = torch.ones(self.shape(parent), dtype=self.dtype(parent))
        return value

    def _known(self, parent: int) -> Tensor | None:
        value = _usable(self._history._value_of(parent))
        if value is not None or parent < 0:
            return value
        record = self._tape.records[parent]
        if record.trait is BUFFER and not record.parents:
            return self._from_model(parent)
        if why_not_replayable(self._tape, record):
            return None
        try:
            made = replay(record, self.constant)
            return _usable(made[0 if len(made) == 1 else record.position])
        except Exception:
            return None

    def _from_model(self, op: int) -> Tensor | None:
        """A buffer that was not saved, as the model has it now."""
        model = None if self._history._model is None else self._history._model()
        buffers = {} if model is None else dict(model.named_buffers(remove_duplicate=False))
        value = _usable(buffers.get(self._tape.addresses.get(op, "")))
        return value if value is not None and value.shape == self.shape(op) else None

    # --- data -----------------------------------------------------------------------------

    def fix(self, op: int, fixed: Tensor) -> None:
        """Say which elements of an op no data reaches."""
        self._fixed[op] = fixed
        if fixed.all() and self._rough_value(op) is not None:
            self.release(op)

    def release(self, op: int) -> None:
        """Take an op for a constant after all."""
        self.data[op] = False

    def is_origin(self, op: int) -> bool:
        return op in self._origins

    def fixed(self, op: int) -> Tensor | None:
        return self._fixed.get(op)

    def sample(self, op: int, trial: int, rows: Tensor | None = None) -> Tensor:
        """Random values for an op, the same for the same trial; only some rows if they are given."""
        meta = self._tape.meta(op)
        shape = meta.shape if rows is None else torch.Size((len(rows), *meta.shape[1:]))
        dtype = self._wide(op)
        generator = torch.Generator().manual_seed(op * 31 + trial)
        if meta.dtype == torch.bool:
            values = torch.rand(shape, generator=generator, dtype=dtype) * 0.8 + 0.1
        elif trial == 0:
            values = torch.rand(shape, generator=generator, dtype=dtype) + 0.5
        else:
            values = torch.randn(shape, generator=generator, dtype=dtype) * (1 if trial == 1 else 20)
        held = self._held_values(op)
        if held is not None:
            where, value = held if rows is None else (held[0][rows], held[1][rows])
            values = torch.where(where, value, values)
        return values

    def holds(self, op: int) -> bool:
        """Whether some elements of an op keep their values."""
        return self._held_values(op) is not None

    def _held_values(self, op: int) -> tuple[Tensor, Tensor] | None:
        """The elements that keep their values, and the values."""
        if op not in self._held:
            self._held[op] = None  # for the time being: an op does not lie above itself
            if self.is_origin(op):
                return None
            fixed, value = self._fixed.get(op), None
            if fixed is not None:
                value = self._rough_value(op)
                if value is not None and value.isnan().any():  # of this data; with other data it is a number
                    value = _filled(value, self._run_on_certain(op))
                if value is None:
                    self.unknown[self._history._label(op)] = None
            pinned = self._pinned_values(op)
            if fixed is None or value is None:
                self._held[op] = pinned
            else:
                self._held[op] = _either((fixed, value.to(self._wide(op))), pinned)
        return self._held[op]

    def _pinned_values(self, op: int) -> tuple[Tensor, Tensor] | None:
        """Data to which a constant was added that dwarfs it: a mask of scores before their softmax."""
        record = self._tape.records[op]
        if record.trait.name.strip("_") not in _CARRIERS or why_not_replayable(self._tape, record):
            return None
        parents = dict.fromkeys(record.parents)
        if not any(self._is_pinning(parent) for parent in parents):
            return None
        if any(self.is_data(parent) and self.dtype(parent) == torch.bool for parent in parents):
            return None  # the data decides what is masked
        value = self._run_on_certain(op)
        where = None if value is None else _dwarfing(value)
        return (
            None if value is None or where is None or not where.any() else (where, value.to(self._wide(op)))
        )

    def _is_pinning(self, parent: int) -> bool:
        if self.is_data(parent):
            return self._held_values(parent) is not None
        return parent >= 0 and bool(_dwarfing(self.constant(parent)).any())

    def _certain(self, parent: int) -> Tensor:
        """What is known of a parent; zero where nothing is."""
        if not self.is_data(parent):
            return self.constant(parent)
        held = self._held_values(parent)
        nothing = torch.zeros(self.shape(parent), dtype=self.dtype(parent))
        return nothing if held is None else torch.where(held[0], held[1], 0).to(nothing.dtype)

    def _rough_value(self, op: int) -> Tensor | None:
        """The saved value; else what the op gives on what is known: right where no data plays a part."""
        if op not in self._rough:
            value = _usable(self._history._value_of(op))
            self._rough[op] = self._run_on_certain(op) if value is None else value
        return self._rough[op]

    def _run_on_certain(self, op: int) -> Tensor | None:
        record = self._tape.records[op]
        if why_not_replayable(self._tape, record):
            return None
        try:
            made = replay(record, self._certain)
        except Exception:
            return None
        value = _usable(made[0 if len(made) == 1 else record.position])
        return value if value is not None and value.shape == self.shape(op) else None

    def _wide(self, op: int) -> torch.dtype:
        return torch.complex128 if self.dtype(op).is_complex else torch.float64


def _either(a: tuple[Tensor, Tensor], b: tuple[Tensor, Tensor] | None) -> tuple[Tensor, Tensor]:
    return a if b is None else (a[0] | b[0], torch.where(a[0], a[1], b[1]))


def _filled(value: Tensor, other: Tensor | None) -> Tensor:
    return value if other is None else torch.where(value.isnan(), other, value)


def _usable(value: Tensor | None) -> Tensor | None:
    """A value with numbers in it, on the CPU; None where there are none."""
    if (
        value is None
        or not has_data(value)
        or value.layout != torch.strided
        or value.is_nested
        or value.is_quantized
    ):
        return None
    value = value.detach().cpu()
    return value.clone() if value.is_inference() else value


def _dwarfing(value: Tensor) -> Tensor:
    if not (value.is_floating_point() or value.is_complex()):
        return torch.zeros(value.shape, dtype=torch.bool)
    return (value.abs() >= _DWARFS) & ~value.isnan()
