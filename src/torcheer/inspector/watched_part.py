"""One child and what it watches, from the side of the training."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import msgspec
import torch
from torch import Tensor

from torcheer.inspector.child_handle import Child
from torcheer.inspector.frame_format import Plan, Role
from torcheer.inspector.frame_writer import FrameWriter
from torcheer.inspector.layer_hooks import Look, Report, StateOf
from torcheer.inspector.protocol import Wake
from torcheer.inspector.ring import Tally
from torcheer.inspector.row_plan import Room, Share, parameters_of, planned

_MEMORY = 0.7
_MANY_LOOKS = 20  # between two questions for tensors of the optimizer that came later


class Watched:
    """A share of the layers, the child that gets them, and how to look at them now."""

    writer_type = FrameWriter

    def __init__(self, child: Child, share: Share, roles: Collection[Role], room: Room) -> None:
        self.child, self.share = child, share
        self.dropped: Counter[str] = Counter()  # records that did not fit into the ring, or on the disk
        self.num_left_out = 0  # looks that were asked for, and would have cost too much
        self.look: Look | None = None
        self.is_changed = True  # there is a new plan to be made
        self.is_standing = False  # the child stands still: it is not waited for again
        self.child_seconds = 0.0  # of a processor, for one frame
        self.cut: list[str] = []  # rows that are to be whole, and for which there is no room
        self._roles, self._room = roles, room
        self._known_bytes: dict[str, int] = {}
        self._states: dict[int, tuple[str, ...]] = {}
        self._num_plans = self._num_looks = 0
        self._counted = (0, 0.0)  # frames and seconds of the child, when they were last looked at

    def has_room(self) -> bool:
        """Whether it makes sense to begin: there is a slot, or nobody who will ever empty one."""
        self.settle()
        return self.child.is_given_up or self.look is None or self.look.writer.has_room

    @property
    def plan(self) -> Plan | None:
        return None if self.look is None else self.look.planned.plan

    def begin(self, step: int, report: Report, *, needs_grad: bool, with_excerpts: bool) -> bool:
        """Look at this step. False: there is no room for it."""
        is_changed = self.is_changed or self.look is None or self.look.planned.is_outdated()
        # What is on its way belongs to the old ring, and must be there before the child goes on to the next.
        if is_changed and self.settle():
            self._make_plan(report)
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

    def let_go(self) -> None:
        """Look at nothing any more, and hold no memory for it."""
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

    def count_pending(self, step: int) -> None:
        """What is on its way comes too late."""
        for _ in range(0 if self.look is None else self.look.writer.num_pending):
            self.count("full", step)

    def note_child(self) -> None:
        """Learn how much the child computes for a frame."""
        ring = self.child.ring
        if ring is None:
            return
        frames, seconds = ring.num_given_back, ring.busy_seconds
        if frames < self._counted[0] or seconds < self._counted[1]:  # a new ring
            self._counted = (0, 0.0)
        num_new = frames - self._counted[0]
        if num_new:
            each = (seconds - self._counted[1]) / num_new
            known = self.child_seconds or each
            self.child_seconds = _MEMORY * known + (1 - _MEMORY) * each
            self._counted = (frames, seconds)

    def _make_plan(self, report: Report) -> None:
        made = planned(self.share, self._roles, self._states, self._room, self._known_bytes)
        self.is_changed = False
        if not made.plan.rows:
            self.look = None
            return
        plan = msgspec.structs.replace(made.plan, number=self._num_plans)
        self._num_plans += 1
        ring = self.child.new_plan(plan)
        # Of what is to be whole, a piece would be taken for it: until its size is known, there is none.
        unknown = made.unlimited if self._room.tensors == "whole" else frozenset()
        how: dict[str, Any] = {"exact": self._room.exact, "copied_bytes": self._room.copied_bytes}
        writer = self.writer_type(ring, plan, unknown, **how)
        self.look = Look(self.share, replace(made, plan=plan), writer, report)
        if self._room.tensors == "whole":
            self.cut = [row.name for place, row in enumerate(plan.rows) if place not in made.unlimited]

    def _learn(self, look: Look, state_of: StateOf) -> None:
        """What is known only after a step: the order of the layers, the optimizer's tensors, sizes."""
        rows = look.planned.plan.rows
        if look.planned.plan.number == 0 and look.order:
            self._sort({rows[row].layer: place for row, place in look.order.items()})
        if self._room.tensors == "whole":
            for row, num_bytes in look.writer.wanted_bytes.items():
                name = rows[row].name
                if num_bytes > self._known_bytes.get(name, 0):
                    self._known_bytes[name] = (
                        num_bytes if name not in self._known_bytes else 3 * num_bytes // 2
                    )
                    self.is_changed = True
            look.writer.wanted_bytes.clear()
        self._num_looks += 1
        if "state" in self._roles and (self._num_looks <= _MANY_LOOKS or not self._num_looks % _MANY_LOOKS):
            self.learn_states(state_of)

    def learn_states(self, state_of: StateOf) -> None:
        """Of parameters of which nothing is known yet: some are trained from a later step on."""
        for _, _, parameter in parameters_of(self.share) if "state" in self._roles else ():
            if id(parameter) not in self._states:
                size = parameter.numel()
                kept = state_of(parameter).items()
                if keys := tuple(str(key) for key, value in kept if _is_like(value, size)):
                    self._states[id(parameter)] = keys
                    self.is_changed = True

    def _sort(self, places: Mapping[str, int]) -> None:
        """Layers in the order in which the model comes by; those that it does not, last."""
        order = sorted(self.share.layers, key=lambda name: places.get(name, len(places) + 1))
        if order != list(self.share.layers):
            self.share.order = order
            self.is_changed = True


def _is_like(value: Any, size: int) -> bool:
    return isinstance(value, Tensor) and value.numel() == size and value.dim() > 0


def wait_until(is_done: Callable[[], bool], attend: Callable[[], None], seconds: float) -> bool:
    """Whether it is done, after so many seconds at most."""
    until = time.monotonic() + seconds
    while not is_done():
        if time.monotonic() > until:
            return False
        time.sleep(0.001)
        attend()
    return True


def is_crowded() -> bool:
    """Whether a child takes a processor away from the training: torch, or somebody else, uses all of them."""
    num_processors = _num_processors()
    if torch.get_num_threads() >= num_processors:
        return True
    try:
        return os.getloadavg()[0] >= num_processors
    except OSError:  # there is no such figure here
        return False


def _num_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
