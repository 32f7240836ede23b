"""Modes of torch that a model runs in, changed for a while and put back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import torch


class TorchModes(NamedTuple):
    """What decides beside a model's own code how torch computes: read when a pass begins."""

    grad: bool
    inference: bool
    autocast: tuple[tuple[str, bool, torch.dtype], ...]  # kind of device, whether it is on, to what
    autocast_cache: bool
    switches: tuple[Any, ...]  # in the order of _SWITCHES


def torch_modes() -> TorchModes:
    return TorchModes(
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        tuple(
            (kind, torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind))
            for kind in _kinds_of_device()
        ),
        torch.is_autocast_cache_enabled(),
        tuple(read() for read, _ in _SWITCHES),
    )


@contextmanager
def under(modes: TorchModes) -> Iterator[None]:
    """Run as somebody did who read these modes."""
    with ExitStack() as stack:
        stack.enter_context(_switched(modes.switches))
        for kind, enabled, dtype in modes.autocast:
            stack.enter_context(_cast(kind, enabled, dtype, modes.autocast_cache))
        stack.enter_context(torch.inference_mode(modes.inference))
        stack.enter_context(torch.set_grad_enabled(modes.grad))
        yield


@contextmanager
def computing_alike(modes: TorchModes) -> Iterator[None]:
    """For single ops, each of which brings its own autocast: all else as it was, and no cast."""
    with ExitStack() as stack:
        stack.enter_context(_switched(modes.switches))
        for kind, _, dtype in modes.autocast:
            stack.enter_context(_cast(kind, False, dtype, False))
        yield


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _cast(kind: str, enabled: bool, dtype: torch.dtype, cache: bool) -> torch.autocast:
    return torch.autocast(kind, dtype=dtype if enabled else None, enabled=enabled, cache_enabled=cache)


def _kinds_of_device() -> Iterable[str]:
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return ("cpu",) if accelerator is None else ("cpu", accelerator.type)


@contextmanager
def _switched(wanted: tuple[Any, ...]) -> Iterator[None]:
    changed = [
        (write, before, value)
        for (read, write), value in zip(_SWITCHES, wanted, strict=True)
        if (before := read()) != value
    ]
    try:
        for write, _, value in changed:
            write(value)
        yield
    finally:
        for write, before, _ in reversed(changed):
            write(before)


def _set_deterministic(wanted: tuple[bool, bool]) -> None:
    torch.use_deterministic_algorithms(wanted[0], warn_only=wanted[1])


def _deterministic() -> tuple[bool, bool]:
    return torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()


def _flag(name: str) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    return getattr(torch._C, f"_get_{name}"), getattr(torch._C, f"_set_{name}")


# How each is read, and how it is set.
_SWITCHES: tuple[tuple[Callable[[], Any], Callable[[Any], None]], ...] = (
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_num_threads, torch.set_num_threads),  # sums are split among them
    (_deterministic, _set_deterministic),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    _flag("mkldnn_enabled"),
    _flag("cudnn_enabled"),
    _flag("cudnn_benchmark"),
    _flag("cudnn_deterministic"),
    (torch.backends.cuda.flash_sdp_enabled, torch.backends.cuda.enable_flash_sdp),
    (torch.backends.cuda.mem_efficient_sdp_enabled, torch.backends.cuda.enable_mem_efficient_sdp),
    (torch.backends.cuda.math_sdp_enabled, torch.backends.cuda.enable_math_sdp),
    (torch.backends.cuda.cudnn_sdp_enabled, torch.backends.cuda.enable_cudnn_sdp),
)
