"""Copies from another device that arrive by themselves: the training queues them and goes on.

Work on a device runs in order, so what is copied is what it was when the copy was queued, whatever the
training does to it afterwards. Tried on the CPU only, where a copy is there at once; never run on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from torcheer.inspector.exact import Moments, Whole


class Transfers:
    """What of one frame is on its way. The frame is complete when all of it has come."""

    def __init__(self) -> None:
        self._parts: list[tuple[Tensor, Callable[[Tensor], Any]]] = []
        self._devices: set[torch.device] = set()
        self._events: list[Any] = []

    def add(self, source: Tensor, put: Callable[[Tensor], Any]) -> None:
        """Copy into memory of the host now, and call `put` with that when the frame is complete."""
        source = source.contiguous()
        # From memory that is not pinned, the copy would be waited for.
        is_pinned = source.device.type == "cuda"
        host = torch.empty(source.shape, dtype=source.dtype, device="cpu", pin_memory=is_pinned)
        host.copy_(source, non_blocking=True)
        self._devices.add(source.device)
        self._parts.append((host, put))

    def add_figures(self, flat: Tensor, put: Callable[[Whole], Any]) -> None:
        """The figures of a whole tensor: there, reading all of it takes little time."""
        is_finite = flat.isfinite()
        num = is_finite.sum()
        finite = flat.where(is_finite, 0.0)
        mean = finite.sum() / num
        spread = torch.linalg.vector_norm((flat - mean).where(is_finite, 0.0))
        low, high = flat.where(is_finite, torch.inf).amin(), flat.where(is_finite, -torch.inf).amax()
        figures = torch.stack(
            [torch.linalg.vector_norm(finite), mean, spread / (num - 1).clamp(min=0).sqrt(), low, high]
        )
        counts = torch.stack([flat.isnan().sum(), flat.isinf().sum(), (flat == torch.inf).sum()])
        found: list[list[int]] = []
        self.add(counts, lambda host: found.append(host.tolist()))

        def put_whole(host: Tensor) -> None:
            norm, *moments = host.tolist()
            num_nan, num_inf, num_positive = found[0]
            put(Whole(norm, num_nan, num_inf, num_positive > 0, Moments(*moments)))

        self.add(figures, put_whole)

    def mark(self) -> None:
        """All of it is queued."""
        for device in self._devices:
            if device.type != "cpu":
                stream: Any = torch.accelerator.current_stream(device)
                self._events.append(stream.record_event())

    def is_done(self) -> bool:
        return all(event.query() for event in self._events)

    def put(self) -> None:
        """It is there: into the frame with it."""
        for host, put in self._parts:
            put(host)
