"""Look at a model in the middle of its training, and leave no trace of that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torcheer.capture import named_root, same_model_after
from torcheer.training.looping.setup import Setup
from torcheer.training.ordering.randomness import random_state, set_random_state


@contextmanager
def as_it_was_after(setup: Setup) -> Iterator[None]:
    """Random numbers, also those of the loaders; mode, buffers and gradients of the model: all put back."""
    holders = (setup.train, setup.test)
    state = random_state(*holders)
    try:
        with same_model_after(named_root(setup.model)):
            yield
    finally:
        set_random_state(state, *holders)
