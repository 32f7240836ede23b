"""What a forward pass may change besides its output: generators and the state of modules. Put it back."""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

import torch
from torch import Tensor, nn

from torcheer.capture.snapshot import Snapshot, run_all

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


@contextmanager
def same_model_after(model: nn.Module) -> Iterator[None]:
    """Whatever a forward inside does to buffers, gradients, flags, attributes and what they hold is undone.

    Writes into parameters are undone where a pass was captured inside, which has seen them.
    """
    before = Snapshot(model)
    written: list[Written] = []
    token = _written.set(written)
    try:
        yield
    finally:
        _written.reset(token)
        memory = [("a parameter", partial(_write, *one)) for one in reversed(written)]
        failed = [*run_all(memory), *before.put_back()]
        if failed:
            name = type(model).__name__
            warnings.warn(f"not put back in {name}: {'; '.join(failed)}. All else was.", stacklevel=4)


Written = tuple[Tensor, Tensor]  # the memory of a parameter, and what was in it
_written: ContextVar[list[Written] | None] = ContextVar("written", default=None)


def note_written(parameter: Tensor, before: Tensor) -> None:
    """A pass wrote into a parameter: whoever wants the model back as it was has to know."""
    written = _written.get()
    if written is not None:
        written.append((parameter.detach(), before.detach()))


def _write(memory: Tensor, values: Tensor) -> None:
    with torch.no_grad():
        memory.copy_(values)
