"""Copies from another device that arrive by themselves: the training queues them and goes on.

Work on a device runs in order, so what is copied is what it was when the copy was queued, whatever the
training does to it afterwards. Tried on the CPU only, where a copy is there at once; never run on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from torcheer.inspector.frames import FIGURES, FIGURES_AT
from torcheer.inspector.ring import Ring


class Transfers:
    """What of one frame is on its way. The frame is complete when all of it has come."""

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self._parts: list[tuple[Tensor, Callable[[Tensor], Any]]] = []
        self._devices: set[torch.device] = set()
        self._events: list[Any] = []

    def add(self, source: Tensor, put: Callable[[Tensor], Any]) -> None:
        """Copy into memory of the host now, and call `put` with that when the frame is complete."""
        source = source.contiguous()
        # From memory that is not pinned, the copy would be waited for.
        host = torch.empty(source.shape, dtype=source.dtype, pin_memory=source.device.type == "cuda")
        host.copy_(source, non_blocking=True)
        self._devices.add(source.device)
        self._parts.append((host, put))

    def add_figures(self, flat: Tensor, where: tuple[memoryview, int, bytes]) -> None:
        """The figures of a whole tensor; `where` is a slot, the place of the row in it, and its head."""
        finite = flat.nan_to_num(0.0, 0.0, 0.0)
        low, high = torch.aminmax(finite)
        num_nan, num_inf = flat.isnan().sum(), flat.isinf().sum()
        figures = [finite.sum(), torch.dot(finite, finite), low, high]
        self.add(torch.stack([*figures, num_nan.to(finite.dtype), num_inf.to(finite.dtype)]), _putting(where))

    def mark(self) -> None:
        """All of it is queued."""
        for device in self._devices:
            if device.type != "cpu":
                stream: Any = torch.accelerator.current_stream(device)
                self._events.append(stream.record_event())

    def is_done(self) -> bool:
        return all(event.query() for event in self._events)

    def publish(self) -> None:
        for host, put in self._parts:
            put(host)
        self._ring.publish()


def _putting(where: tuple[memoryview, int, bytes]) -> Callable[[Tensor], None]:
    def put(host: Tensor) -> None:
        slot, place, head = where
        slot[place : place + FIGURES_AT] = head
        total, squares, low, high, num_nan, num_inf = host.tolist()
        FIGURES.pack_into(slot, place + FIGURES_AT, total, squares, low, high, int(num_nan), int(num_inf), 0)

    return put
