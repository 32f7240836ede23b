"""Parts of large tensors, taken while a step runs, and looked at together when it ends.

To read a large tensor once from memory would take longer than a layer may be held up. So a part of it is
gathered, from all over the tensor, which then stands for the whole. Between two layers all that a processor
keeps at hand is gone, and a line of code costs many times what it does elsewhere: so no more is done there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from torcheer.inspector.exact import SAFE, Exact, of_the_finite
from torcheer.inspector.pieces import PART_RUN, RUN


class Found(NamedTuple):
    """The parts of a step."""

    rows: list[int]
    notes: list[Any]  # what was said with each
    values: Tensor  # [row][run][value], float32

    @property
    def samples(self) -> Tensor:
        """The first values of each run, [row][sample]."""
        return self.values[:, :, :RUN].reshape(len(self.rows), -1)

    def figures(self, nums_elements: Sequence[int]) -> list[Exact]:
        """Those of tensors with so many elements, as far as their parts can tell."""
        values = self.values.view(len(self.rows), -1)
        lows, highs = values.amin(1).tolist(), values.amax(1).tolist()
        totals, norms = values.sum(1).tolist(), torch.linalg.vector_norm(values, dim=1).tolist()
        found = []
        for place, num_elements in enumerate(nums_elements):
            low, high = lows[place], highs[place]
            if low > -SAFE and high < SAFE:  # so neither is NaN
                figures = Exact(totals[place], norms[place] ** 2, low, high, 0, 0)
            else:
                figures = of_the_finite(values[place])
            found.append(_scaled(figures, num_elements / values.shape[1]))
        return found


class Parts:
    """Room for a part of each row that may have one; only what is used takes memory."""

    def __init__(self, num_rows: int, num_runs: int) -> None:
        self._shape = (num_rows, num_runs, PART_RUN)
        self._room: Tensor | None = None
        self._places: dict[int, tuple[int, Tensor]] = {}  # of rows, in the order in which they first came
        self._notes: dict[int, Any] = {}

    def place_of(self, row: int, note: Any) -> Tensor:
        """Where to copy it, now; of a row that comes twice in a step, the last holds."""
        place = self._places.get(row)
        if place is None:
            place = self._places[row] = self._new_place()
        self._notes[row] = note
        return place[1]

    def forget(self, row: int) -> None:
        self._notes.pop(row, None)

    def forget_all(self) -> None:
        self._notes.clear()

    def found(self) -> Found | None:
        if not self._notes or self._room is None:
            return None
        rows = list(self._notes)
        places = [self._places[row][0] for row in rows]
        # In most steps all that there are have come, and no copy is needed.
        is_all = places == list(range(len(places)))
        values = self._room[: len(places)] if is_all else self._room[places]
        return Found(rows, list(self._notes.values()), values)

    def _new_place(self) -> tuple[int, Tensor]:
        # In inference mode it would become a tensor that nobody can write into afterwards.
        with torch.inference_mode(False):
            if self._room is None:
                self._room = torch.empty(self._shape, dtype=torch.float32, device="cpu")
            place = len(self._places)
            return place, self._room[place]


def _scaled(of_part: Exact, times: float) -> Exact:
    """Sums and counts as they would be of the whole; what was found is not rounded away."""
    return Exact(
        times * of_part.total,
        times * of_part.squares,
        of_part.low,
        of_part.high,
        math.ceil(times * of_part.num_nan),
        math.ceil(times * of_part.num_inf),
    )
