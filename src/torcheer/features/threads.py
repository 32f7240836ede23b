"""As many threads as change nothing: results are those of one thread, to the last bit, only faster.

A kernel may round in another way when more threads share its work, and torchrun gives each process one
thread. So everything runs with one, but for the model on inputs of a shape for which all threads were seen
to give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from torcheer.capture import tensors_in
from torcheer.errors import InputError
from torcheer.features.recording import WantedLayers
from torcheer.features.samples import Samples, checksum_of


class Threads:
    """Of one extraction. `wanted`: so many, whatever they change; None: as said above."""

    def __init__(self, wanted: int | None, device: torch.device, say: Callable[[str], None]) -> None:
        if wanted is not None and (isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 1):
            raise InputError(f"num_threads={wanted!r}: give a whole number from 1 on.")
        self._wanted = wanted
        self._most = torch.get_num_threads()
        self._is_cpu = device.type == "cpu"
        self._say = say
        self._is_harmless: dict[Any, bool] = {}  # by the shapes of inputs: whether all threads change nothing
        self._first: tuple[Any, list[Tensor]] | None = None

    @property
    def words(self) -> str:
        return "as one" if self._wanted is None else str(self._wanted)

    @contextmanager
    def set(self) -> Iterator[None]:
        """For all that is done; afterwards there are as many as before."""
        with num_threads(self._wanted or (1 if self._is_cpu else self._most)):
            yield

    def remember(self, values: list[Tensor]) -> None:
        """Of the first batch, from planning: it need not go through the model again."""
        self._first = None if self._wanted or not self._is_cpu else (0, values)

    def values(self, wanted: WantedLayers, samples: Samples, seed: int, number: int) -> list[Tensor]:
        """What the model gives for batch `number`."""
        (known_number, known), self._first = self._first or (None, []), None
        if self._wanted or not self._is_cpu or self._most == 1:
            return known if known_number == number else wanted.values(samples, seed, number)
        shapes = tuple(
            (path, tuple(tensor.shape), tensor.stride(), tensor.dtype)
            for path, tensor in tensors_in((samples.call.args, samples.call.kwargs))
        )
        if shapes not in self._is_harmless:
            copied = samples.copied()  # a model may write into what it is given
            with num_threads(self._most):
                many = _checksums(wanted.values(copied, seed, number))
            one = known if known_number == number else wanted.values(samples, seed, number)
            self._is_harmless[shapes] = many == _checksums(one)
            self._tell(self._is_harmless[shapes])
            return one
        with num_threads(self._most if self._is_harmless[shapes] else 1):
            return wanted.values(samples, seed, number)

    def _tell(self, is_harmless: bool) -> None:
        if not is_harmless and len(self._is_harmless) == 1:  # the last batch alone is not worth a word
            self._say(
                f"the last digits of this model depend on the number of threads: it runs with one, and not "
                f"{self._most}. num_threads={self._most} is faster, and other processes must use as many."
            )


@contextmanager
def num_threads(number: int) -> Iterator[None]:
    before = torch.get_num_threads()
    if number == before:
        yield
        return
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _checksums(values: Sequence[Tensor]) -> list[int]:
    return [checksum_of(value) for value in values]
