"""Tell parameters of two passes apart by a few of their values."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from torcheer.capture.examining.looking import param_value
from torcheer.capture.examining.readable import as_plain

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory

_NUM_SAMPLES = 16
_MOST_ALIKE = 64  # kinds of parameters that are remembered for one value at one place


class ParamKinds:
    """Gives parameters of the same shape and the same values the same number, whatever their type.

    A few elements, spread over the whole, are looked at; most of them must agree when they are rounded. So a
    copy in half precision is the same, and so is one in which somebody has touched a single weight.
    """

    def __init__(self) -> None:
        self._num_kinds = 0
        self._with: defaultdict[tuple[tuple[int, ...], int, int], list[int]] = defaultdict(list)
        self._known: dict[tuple[int, int], int | None] = {}  # by pass and parameter

    def kind_of(self, history: ModelHistory, param: int) -> int | None:
        """None where the values are not known, or are all the same and so tell nothing apart."""
        key = (id(history), param)
        if key not in self._known:
            value = as_plain(param_value(history, param))
            self._known[key] = None if value is None or value.numel() < 2 else self._find(value)
        return self._known[key]

    def _find(self, value: Tensor) -> int | None:
        sample = _rounded_sample(value)
        if len(set(sample)) == 1:
            return None
        keys = [(tuple(value.shape), place, number) for place, number in enumerate(sample)]
        votes = Counter(kind for key in keys for kind in self._with.get(key, ()))
        best, num_alike = max(votes.items(), key=lambda vote: vote[1], default=(-1, 0))
        if 4 * num_alike >= 3 * len(sample):
            return best
        kind, self._num_kinds = self._num_kinds, self._num_kinds + 1
        for key in keys:
            if len(self._with[key]) < _MOST_ALIKE:
                self._with[key].append(kind)
        return kind


def _rounded_sample(value: Tensor) -> list[int]:
    """Elements from the first to the last, as bits of a bfloat16: the other types round to it."""
    num = value.numel()
    count = min(num, _NUM_SAMPLES)
    places = sorted({place * (num - 1) // (count - 1) for place in range(count)})
    taken = value.take(torch.tensor(places, device=value.device)).cpu()
    numbers = torch.view_as_real(taken.to(torch.complex64)).flatten() if taken.is_complex() else taken
    rounded = numbers.to(torch.float32).add(0.0).to(torch.bfloat16)  # minus zero becomes zero
    return [int(bits) for bits in rounded.view(torch.int16).tolist()]
