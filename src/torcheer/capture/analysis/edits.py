"""Replace outputs on their way: ablate, clamp, patch, steer."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from torcheer.capture.aliasing import Write, has_data, private_copy, shape_of
from torcheer.capture.backward.grad_graph import is_checkpointed
from torcheer.capture.inputs import swap_tensors
from torcheer.capture.model_walk import Selection, select
from torcheer.capture.module_scopes import is_in_script, muted
from torcheer.capture.op import Op
from torcheer.capture.tape import is_call
from torcheer.errors import CaptureError, InputError

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory
    from torcheer.capture.layer_numbers import Numbering
    from torcheer.capture.model_walk import ModelWalk
    from torcheer.capture.tape import Record, Tape


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
    selection = select(others if from_end else key, walk, inputs, "edit")
    name = getattr(key, "__name__", repr(key)) if callable(key) else str(key)
    return Rule(key=name, selection=selection, function=function, from_end=from_end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """An output that was replaced."""

    layer: str
    key: str  # by which it was named
    function: str  # that replaced it

    def __str__(self) -> str:
        return f"{self.layer} by {self.function}"


class _Call(threading.local):
    """What was replaced in the call that is being recorded; each thread has its own."""

    def __init__(self) -> None:
        self.newest: dict[int, tuple[Tensor, Tensor]] = {}  # by id: the tensor, and the new one


class Editor:
    """Told of each op as it is recorded; answers with the tensor that goes on."""

    def __init__(
        self, rules: list[Rule], tape: Tape, numbering: Numbering, view: Callable[[int], Op]
    ) -> None:
        self._rules = rules
        self._tape = tape
        self._numbering = numbering
        self._view = view
        self._grad_was_on = torch.is_grad_enabled()
        self._instead: dict[int, tuple[Tensor, Tensor]] = {}  # by id: what the model still holds, and the new
        self._call = _Call()
        self._unwritten: dict[int, tuple[Tensor, Tensor]] = {}  # by op: memory that shows no edit yet
        self.done: list[tuple[int, Rule]] = []
        for rule in rules:
            rule.num_done = 0

    def edit(self, op: int, tensor: Tensor) -> Tensor:
        """The tensor that goes on from an op that was just recorded."""
        return self.apply_all([rule for rule in self._rules if self._names(rule, op)], op, tensor)

    def rules_of_module(self, address: str, pass_num: int) -> list[Rule]:
        names = {address, f"{address}:{pass_num}"}
        return [rule for rule in self._rules if not rule.selection.addresses.isdisjoint(names)]

    def _names(self, rule: Rule, op: int) -> bool:
        if rule.selection.predicate is not None:
            self._numbering.follow()
            with muted():
                return bool(rule.selection.predicate(self._view(op)))
        if rule.selection.everything:
            return is_call(self._tape.records[op])
        unedited = op - len(self._tape.extras)  # where it stands in a pass without edits
        if unedited in rule.selection.indices:
            return True
        expected = rule.planned.get(unedited)
        if expected is None:
            return False
        found = Place.of(self._tape.records[op])
        if found != expected:
            raise CaptureError(
                f"the edit of {rule.key!r} cannot be placed: where a {expected.layer_type} was expected the "
                f"model now runs a {found.layer_type}. {WAY_CHANGED}"
            )
        return True

    def apply_all(self, rules: list[Rule], op: int, tensor: Tensor) -> Tensor:
        """The tensor that goes on from an op, or from a module whose output it made."""
        new = tensor
        for rule in rules:
            new = self._apply(rule, op, new)
        if new is tensor:
            return tensor
        if self._tape.is_registered(tensor) and self._wrote(op):
            # A buffer that the model writes stays after the pass: it gets the edit too.
            tensor.copy_(new)
            self._tape.memory.note_version(tensor)
            new = tensor
        elif self._tape.knows(new):
            # A tensor that is another op's output, or a parameter, stays that; sparse ones have no views.
            has_views = new.layout == torch.strided and not new.is_nested
            new = new.view_as(new) if has_views else new.clone()
        self._go_on_with(op, tensor, new)
        return new

    def _apply(self, rule: Rule, op: int, tensor: Tensor) -> Tensor:
        # A function may write into what it is given, which must reach nothing else.
        given = tensor.clone()
        try:
            with muted():
                new: Any = rule.apply(given)
        except Exception as error:
            shape = tuple(shape_of(tensor))
            error.add_note(f"torcheer: raised by {rule.name}, the edit of {rule.key!r}, on shape {shape}")
            raise
        _check(rule, tensor, new)
        if op not in self._tape.edited_at:
            self._tape.edited_at[op] = len(self._tape.records)
            if self._tape.keep_all:
                with torch.no_grad():
                    self._tape.unedited[op] = private_copy(tensor).detach()
        self.done.append((op, rule))
        self._warn_of_gradients(rule, op)
        # torch does not count all writes, so the numbers say whether there was one.
        is_untouched = new is given and has_data(given) and not given.is_nested and torch.equal(given, tensor)
        replaced: Tensor = tensor if is_untouched else new
        return replaced

    def _warn_of_gradients(self, rule: Rule, op: int) -> None:
        record = self._tape.records[op]
        if self._grad_was_on and (not torch.is_grad_enabled() or is_in_script(record.site)):
            self._tape.warnings.append(
                f"no gradient flows through the edit of {rule.key!r}: grad is off where it runs, as inside a "
                "custom Function, a script or no_grad()."
            )
        elif self._grad_was_on and is_checkpointed(record):
            self._tape.warnings.append(
                f"the edit of {rule.key!r} is inside a checkpoint: backward computes that part again without "
                "it, so that gradients through this pass are not those of the edited model."
            )

    def _go_on_with(self, op: int, old: Tensor, new: Tensor) -> None:
        record = self._tape.records[op]
        self._call.newest[id(old)] = (old, new)
        wrote = self._wrote(op)
        if wrote and new is not old:
            self._unwritten[op] = (old, new)
        if (wrote or not is_call(record)) and new is not old:
            # The model holds the old tensor too, having written into it or brought it along.
            for key, (held, now) in self._instead.items():
                if now is old:
                    self._instead[key] = (held, new)
            self._instead[id(old)] = (old, new)
        self._tape.replace(op, old, new)

    def _wrote(self, op: int) -> bool:
        context = self._tape.records[op].context
        return context is not None and context.num_targets > 0

    def write(self, write: Write) -> Write | None:
        """Another tensor on memory that an edited op wrote is about to be read: it must show the edit.

        Returns the op that it shows, where the edited tensor was written on since.
        """
        old, new = self._unwritten.pop(write.op, (None, None))
        if old is None or new is None:
            return None
        now = self._tape.owner.get(id(new), write.op)
        self._tape.memory.before_write(old)
        old.copy_(new)
        # From here on the old tensor is the edited one, for all who hold either.
        self._tape.replace(now, new, old)
        self._instead = {
            key: (held, old if other is new else other)
            for key, (held, other) in self._instead.items()
            if held is not old
        }
        self._instead[id(new)] = (new, old)
        return None if now == write.op else write._replace(op=now)

    def begin_call(self) -> None:
        self._call.newest = {}

    def swapped(self, value: Any, *, into_objects: bool = False) -> Any:
        """The same with the edited tensors in the place of those that the model still holds."""
        return swap_tensors(value, self._instead, into_objects=into_objects) if self._instead else value

    def swapped_output(self, value: Any) -> Any:
        """The output of the call that was just recorded, as it was edited."""
        newest, self._call.newest = self._call.newest, {}
        return swap_tensors(value, newest, into_objects=True) if newest else value


WAY_CHANGED = (
    "An edit before it, or another input, changed the way through the model: name the layer by its module "
    "address or by a function of an op, which are looked at as the model runs."
)


def _check(rule: Rule, tensor: Tensor, new: Any) -> None:
    if not isinstance(new, Tensor):
        raise InputError(
            f"the edit of {rule.key!r} must return a tensor, and {rule.name} returned {type(new).__name__}."
        )
    for what, of in (
        ("shape", lambda t: tuple(shape_of(t))),
        ("dtype", lambda t: t.dtype),
        ("device", lambda t: t.device),
    ):
        expected, found = of(tensor), of(new)
        if expected != found:
            raise InputError(
                f"the edit of {rule.key!r} must keep the {what} of the output, {expected}, and {rule.name} "
                f"returned {found}."
            )
