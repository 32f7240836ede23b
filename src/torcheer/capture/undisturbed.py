"""Torch without anybody's say in it: no modes, no tensor subclasses, no gradients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch.utils._python_dispatch import _disable_current_modes


@contextmanager
def undisturbed() -> Iterator[None]:
    """The same under FakeTensorMode, a default device, or a pass that is being recorded."""
    with torch._C.DisableTorchFunction(), _disable_current_modes(), torch.no_grad():
        yield
