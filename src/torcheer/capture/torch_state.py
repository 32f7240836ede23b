"""How torch computes around a model: its modes and random generators, changed for a while and put back."""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import _disable_current_modes


@contextmanager
def undisturbed() -> Iterator[None]:
    """The same under FakeTensorMode, a default device, or a pass that is being recorded."""
    with torch._C.DisableTorchFunction(), _disable_current_modes(), torch.no_grad():
        yield


# --- modes ---------------------------------------------------------------------------------


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
    with (
        computing_alike(modes, with_casts=True),
        torch.inference_mode(modes.inference),
        torch.set_grad_enabled(modes.grad),
    ):
        yield


@contextmanager
def computing_alike(modes: TorchModes, *, with_casts: bool = False) -> Iterator[None]:
    """All as it was but gradients and, for single ops that bring their own autocast, casts."""
    with ExitStack() as stack:
        stack.enter_context(_switched(modes.switches))
        for kind, was_on, dtype in modes.autocast:
            is_on, cache = was_on and with_casts, modes.autocast_cache and with_casts
            cast = torch.autocast(kind, dtype=dtype if is_on else None, enabled=is_on, cache_enabled=cache)
            stack.enter_context(cast)
        yield


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


# --- random generators ----------------------------------------------------------------------


RandomState = list[tuple[str, Callable[[], None]]]  # by the name of a generator: what puts it back


def random_state() -> RandomState:
    """All random generators that a model is likely to draw from, as they are now."""
    steps: RandomState = [
        ("random", partial(random.setstate, random.getstate())),
        ("torch", partial(torch.set_rng_state, torch.get_rng_state())),
    ]
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        steps.append(("numpy.random", partial(numpy.random.set_state, numpy.random.get_state())))
    if torch.cuda._initialized:
        steps.append(("torch.cuda", partial(torch.cuda.set_rng_state_all, torch.cuda.get_rng_state_all())))
    return steps


def restore_random_state(state: RandomState) -> None:
    failed = run_all(state)
    if failed:
        warnings.warn(f"random generators could not be put back: {'; '.join(failed)}", stacklevel=2)


@contextmanager
def same_random_state_after() -> Iterator[None]:
    """Whatever is drawn inside, the generators are afterwards as they were."""
    state = random_state()
    try:
        yield
    finally:
        restore_random_state(state)


def seed_everything(seed: int) -> None:
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def run_all(steps: Iterable[tuple[str, Callable[[], None]]]) -> list[str]:
    """Take every step, whatever becomes of the others; returns in words which failed.

    An interrupt cuts it short no more than an error does: it is raised at the end.
    """
    failed: list[str] = []
    interrupt: BaseException | None = None
    for what, step in steps:
        try:
            try:
                step()
            except Exception:
                raise
            except BaseException as error:
                interrupt = error
                step()
        except Exception as error:
            failed.append(f"{what} ({type(error).__name__}: {error})")
    if interrupt is not None:
        raise interrupt
    return failed
