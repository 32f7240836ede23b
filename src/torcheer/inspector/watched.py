"""One child and what it watches, from the side of the training."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

import torch
from torch import Tensor

from torcheer.inspector.devices import Transfers
from torcheer.inspector.framewriting import FrameWriter
from torcheer.inspector.launching import Child
from torcheer.inspector.looking import Look, StateOf
from torcheer.inspector.losses import Losses
from torcheer.inspector.messages import Wake
from torcheer.inspector.planning import Room, Share, planned
from torcheer.inspector.rows import Plan, Role

_MEMORY = 0.7


class Watched:
    """A share of the layers, the child that gets them, and how to look at them now."""

    def __init__(self, child: Child, share: Share, roles: Collection[Role], room: Room) -> None:
        self.child, self.share = child, share
        self.losses = Losses()
        self.look: Look | None = None
        self.is_changed = True  # there is a new plan to be made
        self.child_seconds = 0.0  # of a processor, for one frame
        self._roles, self._room = roles, room
        self._known_bytes: dict[str, int] = {}
        self._states: dict[int, tuple[str, ...]] = {}
        self._pending: Transfers | None = None
        self._num_plans = 0
        self._counted = (0, 0.0)  # frames and seconds of the child, when they were last looked at

    @property
    def plan(self) -> Plan | None:
        return None if self.look is None else self.look.planned.plan

    def begin(
        self, step: int, report: Callable[[Exception], None], *, needs_grad: bool, with_excerpts: bool
    ) -> bool:
        """Look at this step. False: there is no room for it."""
        if self.is_changed or self.look is None or self.look.planned.is_outdated():
            self._make_plan(report)
        if self.look is None or not self.settle():
            return False
        with_excerpts &= self._room.tensors is not None
        return self.look.begin(step, with_excerpts=with_excerpts, needs_grad=needs_grad)

    def finish(self, state_of: StateOf) -> float:
        """Hand over what was seen. How long the training was held up by it, in seconds."""
        look = self.look
        if look is None:
            return 0.0
        look.remove_hooks()
        if not look.num_seen:
            look.writer.abandon()
            return 0.0
        look.look_after_update(state_of)
        self._pending = look.writer.finish()
        self.settle()
        ring = look.writer.ring
        if 2 * ring.num_waiting > ring.num_slots:
            self.child.tell(Wake())
        self._learn(look, state_of)
        return look.seconds

    def abandon(self) -> None:
        """Leave no hook behind, and forget what was seen in this step."""
        if self.look is not None:
            self.look.remove_hooks()
            self.look.writer.abandon()

    def settle(self) -> bool:
        """Publish what came from another device. False: it is still on its way."""
        if self._pending is not None:
            if not self._pending.is_done():
                return False
            self._pending.publish()
            self._pending = None
        return True

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

    def _make_plan(self, report: Callable[[Exception], None]) -> None:
        made = planned(self.share, self._roles, self._states, self._room, self._known_bytes)
        self.is_changed = False
        if not made.plan.rows:
            self.look = None
            return
        plan = Plan(
            number=self._num_plans,
            rows=made.plan.rows,
            sample_elements=made.plan.sample_elements,
            num_slots=made.plan.num_slots,
        )
        self._num_plans += 1
        ring = self.child.new_plan(plan)
        self.look = Look(self.share, made, FrameWriter(ring, plan), report)

    def _learn(self, look: Look, state_of: StateOf) -> None:
        """What is known only after a step: the order of the layers, the optimizer's tensors, sizes."""
        rows = look.planned.plan.rows
        if look.planned.plan.number == 0 and look.order:
            self._sort({rows[row].layer: place for row, place in look.order.items()})
        if self._room.tensors == "whole":
            for row, num_bytes in look.writer.wanted_bytes.items():
                name = rows[row].name
                if num_bytes > self._known_bytes.get(name, 0):
                    self._known_bytes[name] = num_bytes
                    self.is_changed = True
            look.writer.wanted_bytes.clear()
        if "state" in self._roles and not self._states:
            self._learn_states(look, state_of)

    def _learn_states(self, look: Look, state_of: StateOf) -> None:
        for rows in look.planned.parameters:
            size = rows.parameter.numel()
            keys = (key for key, value in state_of(rows.parameter).items() if _is_like(value, size))
            self._states[id(rows.parameter)] = tuple(map(str, keys))
        self.is_changed |= any(self._states.values())

    def _sort(self, places: Mapping[str, int]) -> None:
        """Layers in the order in which the model comes by; those that it does not, last."""
        layers = self.share.layers
        names = sorted(layers, key=lambda name: places.get(name, len(places) + 1))
        if names != list(layers):
            self.share.layers = {name: layers[name] for name in names}
            self.is_changed = True


def _is_like(value: Any, size: int) -> bool:
    return isinstance(value, Tensor) and value.numel() == size and value.dim() > 0


def wait_for_room(part: Watched, attend: Callable[[], None], seconds: float) -> None:
    """Until the child has room again, as long as there is a child."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and not part.child.is_given_up:
        if part.child.ring is None or part.child.ring.has_room:
            return
        time.sleep(0.001)
        attend()


def is_crowded() -> bool:
    """Whether a child takes a processor away from the training: torch, or somebody else, uses all of them."""
    num_processors = _num_processors()
    return torch.get_num_threads() >= num_processors or os.getloadavg()[0] >= num_processors


def _num_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
