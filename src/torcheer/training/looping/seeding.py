"""Seeds: one for each run of a training; and random numbers that nobody else draws from."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy

from torcheer.capture import seed_everything
from torcheer.errors import InputError
from torcheer.training.ordering.randomness import Tree, random_state, set_random_state

_MOST = 2**32  # what NumPy takes, and what a page can hold exactly
_READABLE = 100_000  # below this a new seed is easily read and typed


def seed_of_run(seed: int, run: int) -> int:
    """The first run has the seed itself; each later one its own, which no other seed is likely to give."""
    return seed if run == 0 else int(numpy.random.SeedSequence([seed, run]).generate_state(1)[0])


def new_seed() -> int:
    return secrets.randbelow(_READABLE)


def checked_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < _MOST:
        raise InputError(f"the seed is {seed!r}: give a whole number from 0 to {_MOST - 1}.")
    return seed


class OwnRandomness:
    """The random numbers of a training that stops and goes on: whoever draws some meanwhile changes nothing.

    Torch, NumPy and Python have one generator each for all that runs in a process.
    """

    def __init__(self) -> None:
        self._state: Tree | None = None

    def seed(self, seed: int) -> None:
        """Inside of `in_use` only."""
        seed_everything(seed)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        outside = random_state()
        if self._state is not None:
            set_random_state(self._state)
        try:
            yield
        finally:
            self._state = random_state()
            set_random_state(outside)
