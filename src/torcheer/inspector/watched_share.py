"""What one child watches: its layers, parameters and tensors as rows of a plan, and a look at them."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from torcheer.errors import InputError
from torcheer.inspector.child_process import Child
from torcheer.inspector.frame_format import Layout, Plan, Role, Row
from torcheer.inspector.frame_writer import FrameWriter
from torcheer.inspector.layer_hooks import Look, Report, StateOf
from torcheer.inspector.protocol import Wake
from torcheer.inspector.ring import Tally

OBSERVABLE: Final[tuple[Role, ...]] = (
    "activation",
    "gradient",
    "weight",
    "weight_gradient",
    "update",
    "state",
)
_OF_PARAMETERS: Final[tuple[tuple[Role, str, str], ...]] = (  # with what their names end
    ("weight", "weight", ""),
    ("weight_gradient", "gradient", ".Grad"),
    ("update", "update", ".Delta"),
)
Tensors = Literal["sample", "whole"] | None

_UNIT_MODULES = (nn.ReLU, nn.ReLU6)  # whose units can be 0 for good; their values are never negative
_UNIT_BYTES = 16_384
_MOST_SLOTS, _FEWEST_SLOTS = 16, 2
_LEAST_EXCERPT_BYTES = 64
_MEMORY = 0.7  # how much of what was known of the child's time stays with each new figure
_TRANSFER_SECONDS = 2.0  # for what is on its way from another device at the end
_MANY_LOOKS = 20  # between two questions for tensors of the optimizer that came later


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How much of what is seen goes to the child."""

    tensors: Tensors = "sample"
    sample_elements: int = 512
    excerpt_elements: int = 1000  # two such records fit into a page of the database
    ring_bytes: int = 64 << 20  # that are enough for what is usual
    most_bytes: int = 64 << 20  # that it takes where two frames would not fit into less
    copied_bytes: int = 1 << 30  # of weights as they were before an update, to tell what it changed
    exact: bool = False  # all figures are of whole tensors


@dataclass(slots=True, kw_only=True)
class ParameterRows:
    """The rows of one parameter; None where one is not asked for."""

    parameter: Tensor
    is_trained: bool  # when the plan was made
    weight: int | None = None
    gradient: int | None = None
    update: int | None = None
    states: dict[str, int] = field(default_factory=dict)  # by the optimizer's name for the tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan, and which row is whose."""

    plan: Plan
    activations: dict[str, int]
    gradients: dict[str, int]
    parameters: list[ParameterRows]
    tensors: dict[str, int]
    unlimited: frozenset[int]  # rows that have all the room that they were known to need

    def is_outdated(self) -> bool:
        """True if a parameter was frozen or thawed since."""
        return any(rows.is_trained != rows.parameter.requires_grad for rows in self.parameters)


def observed(observe: Any) -> frozenset[Role]:
    """The roles that were asked for; `'all'` or None for everything."""
    if observe is None or (isinstance(observe, str) and observe == "all"):
        return frozenset(OBSERVABLE)
    names = [observe] if isinstance(observe, str) else list(observe)
    known = {name: role for role in OBSERVABLE for name in (role, f"{role}s")}
    wrong = [name for name in names if name not in known]
    if wrong or not names:
        what = f"names {wrong[0]!r}" if wrong else "is empty"
        raise InputError(f"observe {what}: give some of {', '.join(OBSERVABLE)}, or 'all'.")
    return frozenset(known[name] for name in names)


class WatchedShare:
    """A share of the layers and tensors, the child that gets them, and how to look at them now."""

    writer_type = FrameWriter

    def __init__(
        self,
        child: Child,
        roles: Collection[Role],
        room: Room,
        layers: dict[str, nn.Module],
        tensors: dict[str, Tensor] | None = None,
    ) -> None:
        self.child, self.layers, self.tensors = child, layers, {} if tensors is None else tensors
        self.dropped: Counter[str] = Counter()  # records that did not fit into the ring, or on the disk
        self.num_left_out = 0  # looks that were asked for, and would have cost too much
        self.look: Look | None = None
        self.is_changed = True  # there is a new plan to be made
        self.is_standing = False  # the child stands still: it is not waited for again
        self.child_seconds = 0.0  # of a processor, for one frame
        self.cut: list[str] = []  # rows that are to be whole, and for which there is no room
        self._roles, self._room = roles, room
        self._places: dict[str, int] = {}  # of layers, in the order in which the model calls them
        self._known_bytes: dict[str, int] = {}  # that whole rows take
        self._states: dict[int, tuple[str, ...]] = {}  # tensors of the optimizer, by the id of a parameter
        self._num_plans = self._num_looks = 0
        self._counted = (0, 0.0)  # frames and seconds of the child, when they were last looked at

    @property
    def plan(self) -> Plan | None:
        return None if self.look is None else self.look.planned.plan

    def has_room(self) -> bool:
        """True if it makes sense to begin: there is a slot, or nobody who will ever empty one."""
        self.settle()
        return self.child.is_given_up or self.look is None or self.look.writer.has_room

    def begin(self, step: int, report: Report, *, needs_grad: bool, with_excerpts: bool) -> bool:
        """Look at this step. False: there is no room for it."""
        is_changed = self.is_changed or self.look is None or self.look.planned.is_outdated()
        # What is on its way belongs to the old ring, and must be there before the child goes on to the next.
        if is_changed and self.settle():
            self._renew(report)
        if self.look is None:
            return False
        with_excerpts &= self._room.tensors is not None
        return self.look.begin(step, with_excerpts=with_excerpts, needs_grad=needs_grad)

    def finish(self, state_of: StateOf, *, is_step: bool) -> None:
        """Hand over what was seen. `is_step`: somebody said that it was one, also where nothing was seen."""
        look = self.look
        if look is None:
            return
        look.remove_hooks()
        if look.num_seen or is_step:
            look.look_after_update(state_of)
        if not look.num_seen:
            look.writer.abandon()
            return
        look.writer.finish()
        ring = look.writer.ring
        if 2 * ring.num_waiting > ring.num_slots:
            self.child.tell(Wake())
        self._learn(look, state_of)

    def abandon(self) -> None:
        """Leave no hook behind, and forget what was seen in this step."""
        if self.look is not None:
            self.look.remove_hooks()
            self.look.writer.abandon()

    def settle(self) -> bool:
        """Publish what came from another device. False: some of it is still on its way."""
        return self.look is None or self.look.writer.settle()

    def end(self, step: int) -> None:
        """Wait a moment for what is on its way from another device, and hold no memory any more."""
        if self.look is not None and not wait_until(self.settle, _TRANSFER_SECONDS):
            for _ in range(self.look.writer.num_pending):  # it comes too late
                self.count("full", step)
        self.look = None

    def count(self, tally: Tally, step: int) -> None:
        """A look at this step came to nothing. The child reads it from the ring."""
        if self.plan is None or self.child.ring is None:
            return
        self.child.ring.count(tally, step)
        if tally == "full":
            self.dropped.update(row.name for row in self.plan.rows)
        else:
            self.num_left_out += 1

    def note_child(self) -> None:
        """Learn how much the child computes for a frame."""
        ring = self.child.ring
        if ring is None:
            return
        frames, seconds = ring.num_given_back, ring.busy_seconds
        if frames < self._counted[0] or seconds < self._counted[1]:  # a new ring
            self._counted = (0, 0.0)
        if num_new := frames - self._counted[0]:
            each = (seconds - self._counted[1]) / num_new
            self.child_seconds = _MEMORY * (self.child_seconds or each) + (1 - _MEMORY) * each
            self._counted = (frames, seconds)

    def _learn(self, look: Look, state_of: StateOf) -> None:
        """The order of the layers, sizes, and the optimizer's tensors."""
        rows = look.planned.plan.rows
        if look.planned.plan.number == 0 and look.order:
            self._places = {rows[row].layer: place for row, place in look.order.items()}
            self.is_changed |= self._names() != list(self.layers)
        if self._room.tensors == "whole":
            for row, num_bytes in look.writer.wanted_bytes.items():
                name = rows[row].name
                if num_bytes > (known := self._known_bytes.get(name, 0)):
                    self._known_bytes[name] = 3 * num_bytes // 2 if known else num_bytes
                    self.is_changed = True
            look.writer.wanted_bytes.clear()
        self._num_looks += 1
        if self._num_looks <= _MANY_LOOKS or not self._num_looks % _MANY_LOOKS:
            self.learn_states(state_of)

    def learn_states(self, state_of: StateOf) -> None:
        """Of parameters of which nothing is known yet: some are trained from a later step on."""
        for _, _, parameter in self._parameters() if "state" in self._roles else ():
            if id(parameter) not in self._states:
                keys = tuple(
                    str(key)
                    for key, value in state_of(parameter).items()
                    if isinstance(value, Tensor) and value.numel() == parameter.numel() and value.dim() > 0
                )
                if keys:
                    self._states[id(parameter)] = keys
                    self.is_changed = True

    def _renew(self, report: Report) -> None:
        """A new plan, and a ring for it."""
        made, room = self._planned(), self._room
        self.is_changed = False
        if not made.plan.rows:
            self.look = None
            return
        self._num_plans += 1
        is_whole = room.tensors == "whole"
        # Of what is to be whole, a piece would be taken for it: until its size is known, there is none.
        uncut = made.unlimited if is_whole else frozenset[int]()
        ring = self.child.new_plan(made.plan)
        writer = self.writer_type(ring, made.plan, uncut, exact=room.exact, copied_bytes=room.copied_bytes)
        self.look = Look(self.layers, self.tensors, made, writer, report)
        if is_whole:
            self.cut = [row.name for place, row in enumerate(made.plan.rows) if place not in uncut]

    def _planned(self) -> Planned:
        rows: list[Row] = []
        roles, room = self._roles, self._room

        def add(role: Role, layer: str, variable: str, tensor: Tensor | None = None, **more: Any) -> int:
            # What is the model's own stands by itself, as in its state_dict.
            name = f"{layer}.{variable}" if layer and variable else layer or variable
            num_bytes = 0 if room.tensors is None else 4 * room.excerpt_elements
            if room.tensors == "whole":
                of_tensor = 0 if tensor is None else tensor.numel() * tensor.element_size()
                num_bytes = max(num_bytes, of_tensor, self._known_bytes.get(name, 0))
            shape = tuple(tensor.shape) if role == "weight" and tensor is not None else None
            size: dict[str, Any] = {"excerpt_bytes": num_bytes, "shape": shape}
            rows.append(Row(name=name, layer=layer, variable=variable, role=role, **size, **more))
            return len(rows) - 1

        layers = [(name, self.layers[name]) for name in self._names()]
        activations, gradients = {}, {}
        for name, module in layers if "activation" in roles else ():
            units = _UNIT_BYTES if isinstance(module, _UNIT_MODULES) else 0
            kind = type(module).__name__
            activations[name] = add("activation", name, "Act", module=kind, unit_bytes=units)
        for name, module in layers if "gradient" in roles else ():
            gradients[name] = add("gradient", name, "Grad", module=type(module).__name__)
        for name, tensor in self.tensors.items():
            if tensor.requires_grad:
                gradients[name] = add("gradient", name, "Grad", tensor)
        tensors = {name: add("tensor", name, "", tensor) for name, tensor in self.tensors.items()}
        parameters = self._parameter_rows(add)
        plan = _fitted(self._num_plans, rows, room)
        return Planned(
            plan=plan,
            activations=activations,
            gradients=gradients,
            parameters=parameters,
            tensors=tensors,
            unlimited=frozenset(
                index for index, row in enumerate(rows) if plan.rows[index].excerpt_bytes == row.excerpt_bytes
            ),
        )

    def _parameter_rows(self, add: Callable[[Role, str, str, Tensor], int]) -> list[ParameterRows]:
        parameters = self._parameters()
        found = [ParameterRows(parameter=known, is_trained=known.requires_grad) for *_, known in parameters]
        for role, attribute, ending in _OF_PARAMETERS:
            for (layer, local, parameter), rows in zip(parameters, found, strict=True):
                # A row for the gradient of a weight says that one is awaited.
                if role in self._roles and (role == "weight" or rows.is_trained):
                    setattr(rows, attribute, add(role, layer, local + ending, parameter))
        for (layer, local, parameter), rows in zip(parameters, found, strict=True):
            for key in self._states.get(id(parameter), ()) if "state" in self._roles else ():
                rows.states[key] = add("state", layer, f"{local}.{key}", parameter)
        return found

    def _names(self) -> list[str]:
        """The layers in the order in which the model calls them, as far as that is known."""
        return sorted(self.layers, key=lambda name: self._places.get(name, math.inf))

    def _parameters(self) -> list[tuple[str, str, Tensor]]:
        """Each parameter once, under the first of its names in the model, in the order of the layers."""
        found: dict[int, tuple[str, str, Tensor]] = {}
        for layer, module in self.layers.items():
            for local, parameter in module.named_parameters(recurse=False):
                if not is_lazy(parameter):
                    found.setdefault(id(parameter), (layer, local, parameter))
        places = {name: place for place, name in enumerate(self._names())}
        return sorted(found.values(), key=lambda known: places[known[0]])


def wait_until(
    is_done: Callable[[], bool], seconds: float, attend: Callable[[], None] = lambda: None
) -> bool:
    """False if it is not done after so many seconds."""
    until = time.monotonic() + seconds
    while not is_done():
        if time.monotonic() > until:
            return False
        time.sleep(0.001)
        attend()
    return True


def _fitted(number: int, rows: list[Row], room: Room) -> Plan:
    """As many slots as there is memory for; where that would be less than two, the largest rows are cut."""

    def plan(num_slots: int, limit: int) -> Plan:
        cut = (
            msgspec.structs.replace(row, excerpt_bytes=limit) if row.excerpt_bytes > limit else row
            for row in rows
        )
        how: dict[str, int] = {"sample_elements": room.sample_elements, "num_slots": num_slots}
        return Plan(number=number, rows=tuple(cut), **how)

    most_bytes = max(room.ring_bytes, room.most_bytes) // _FEWEST_SLOTS
    limit = max((row.excerpt_bytes for row in rows), default=0)
    while (slot_bytes := Layout(plan(0, limit)).num_bytes) > most_bytes and limit > _LEAST_EXCERPT_BYTES:
        limit = limit * 3 // 4
    num_slots = max(_FEWEST_SLOTS, min(_MOST_SLOTS, room.ring_bytes // max(1, slot_bytes)))
    return plan(num_slots, limit)
