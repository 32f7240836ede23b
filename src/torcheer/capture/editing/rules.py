"""Which outputs an edit names, and what is put in their place."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from torch import Tensor, nn

from torcheer.capture.op import Op
from torcheer.capture.saving import Selection, select
from torcheer.errors import InputError

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory
    from torcheer.capture.tape import Record
    from torcheer.capture.walk import ModelWalk

EditFunction = Callable[[Tensor], Tensor]
Edits = Mapping[Any, EditFunction | Tensor] | Iterable[tuple[Any, EditFunction | Tensor]]


class _Turn(threading.local):
    """Which edit of its rule is being made, for a patch to know, also inside another function."""

    number = 0


_turn = _Turn()


class Patch:
    """An edit that puts in the value of another pass. See `patch_from`."""

    def __init__(self, name: str, values: list[Tensor], at: Any = None) -> None:
        self.__name__ = name
        self._values = values
        self._at = at

    def __call__(self, tensor: Tensor) -> Tensor:
        if len(self._values) > 1 and _turn.number >= len(self._values):
            raise InputError(
                f"{self.__name__} has {len(self._values)} values, and the layer ran once more: name one pass "
                "of it, as in 'tanh_1:3', for all."
            )
        value = self._values[min(_turn.number, len(self._values) - 1)]
        # A copy: the model may write into it.
        value = value.to(device=tensor.device, dtype=tensor.dtype, copy=True)
        if self._at is None:
            return value
        tensor = tensor.clone()
        tensor[self._at] = value[self._at]
        return tensor


def patch_from(history: ModelHistory, layer: int | str, at: Any = None) -> Patch:
    """An edit that puts in the value that a layer had in another pass.

    Of a layer or module that ran more than once the k-th edit gets the k-th value, unless one is named:
    `'tanh_1:3'`. `at` is an index into the value: `at=(slice(None), 3)` patches the fourth position of each
    sequence and leaves the rest.
    """
    ops, name = _ops_to_patch_from(history, layer)
    values = [op.tensor_contents for op in ops]
    missing = [op.layer_label for op, v in zip(ops, values, strict=True) if not isinstance(v, Tensor)]
    if missing:
        raise InputError(f"{missing[0]} has no saved value to patch from: capture with layers_to_save='all'.")
    return Patch(f"patch_from({name})", [value.detach() for value in values], at)


def _ops_to_patch_from(history: ModelHistory, layer: int | str) -> tuple[list[Op], str]:
    op = history[layer]
    if isinstance(layer, int) or ":" in layer:
        return [op], op.layer_label
    calls = history.module_tree.passes_of(layer)
    if calls is not None:
        return [Op(history, call.output_ops[0]) for call in calls if call.output_ops], layer
    return history.passes(layer), op.layer_label_no_pass


class Place(NamedTuple):
    """What stands at an op that is to be edited, to know it again."""

    layer_type: str
    address: str
    site: Any

    @classmethod
    def of(cls, record: Record) -> Place:
        return cls(record.trait.type, record.scope.module().address or "", record.site)


@dataclass(slots=True, kw_only=True)
class Rule:
    """One key, and what is done to the outputs that it names."""

    key: str
    selection: Selection
    function: EditFunction
    from_end: tuple[int, ...] = ()  # negative indices
    planned: dict[int, Place] = field(default_factory=dict)  # ops that the key was found to name
    num_done: int = 0  # in this pass

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", None) or type(self.function).__name__

    @property
    def needs_plan(self) -> bool:
        """Labels are certain only at the end of a pass: such a key is looked up in a pass before."""
        wanted = self.selection
        return bool(wanted.labels or wanted.names or wanted.parts or self.from_end)

    def apply(self, tensor: Tensor) -> Any:
        _turn.number = self.num_done
        self.num_done += 1
        return self.function(tensor)

    def ops_in(self, history: ModelHistory) -> set[int]:
        """The ops that labels and places from the end mean in a pass that is over."""
        num_ops = history.num_tensors_total
        wanted = self.selection
        by_label = Selection(labels=wanted.labels, names=wanted.names, parts=wanted.parts)
        return by_label.ops_in(history) | {num_ops + index for index in self.from_end}


def read_edits(edit: Any, walk: ModelWalk, inputs: list[str]) -> list[Rule]:
    """`{key: function}`, or a list of such pairs."""
    if edit is None:
        return []
    pairs = list(edit.items()) if isinstance(edit, Mapping) else edit
    if not isinstance(pairs, Iterable) or isinstance(pairs, str):
        raise InputError(f"edit must be a dict from layers to functions, not {edit!r}.")
    return [_read_edit(pair, walk, inputs) for pair in pairs]


def _read_edit(pair: Any, walk: ModelWalk, inputs: list[str]) -> Rule:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InputError(f"edit must be a dict from layers to functions, or a list of pairs, not {pair!r}.")
    key, function = pair
    if isinstance(function, Tensor):
        function = Patch("a tensor", [function])
    if not callable(function):
        raise InputError(
            f"the edit of {key!r} must be a tensor or a function of a tensor, not {function!r}: "
            "torch.zeros_like, or lambda t: t.clamp(max=1)."
        )
    if isinstance(key, nn.Module):
        address = walk.address_of.get(id(key))
        hint = f": {address!r}" if address else ", which a module outside the model has not"
        raise InputError(f"a module is named by its address{hint}.")
    if isinstance(key, Op):
        tape = key._history._tape
        if tape.was_loaded:  # there is no code to know it by
            key = key.layer_label
    if isinstance(key, Op):
        planned = {key.index - bisect_left(tape.extras, key.index): Place.of(key._record)}
        return Rule(key=key.layer_label, selection=Selection(), function=function, planned=planned)
    keys = key if isinstance(key, tuple | list) else (key,)
    from_end = tuple(one for one in keys if isinstance(one, int) and not isinstance(one, bool) and one < 0)
    others = [one for one in keys if one not in from_end]
    # A predicate, 'all' or 'none' stands alone.
    wanted = key if not isinstance(key, tuple | list) and not from_end else others
    selection = select(wanted, walk, inputs, "edit")
    name = getattr(key, "__name__", repr(key)) if callable(key) else str(key)
    return Rule(key=name, selection=selection, function=function, from_end=from_end)
