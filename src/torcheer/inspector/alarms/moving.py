"""Whether weights moved since they were last seen: by samples from the same places each time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy
from numpy.typing import NDArray

from torcheer.inspector.alarms.sight import Indices, Marks, Sight
from torcheer.inspector.rows import Plan


class Moving:
    """Keeps the last sample of each weight. Where only updates are watched, they say the same."""

    def __init__(self, plan: Plan, parameters: Sequence[str]) -> None:
        places = {row.name: index for index, row in enumerate(plan.rows)}
        weights = [places.get(name, -1) for name in parameters]
        updates = [places.get(f"{name}.Delta", -1) for name in parameters]
        rows = [update if weight < 0 else weight for weight, update in zip(weights, updates, strict=True)]
        self._rows = numpy.maximum(numpy.array(rows, dtype=numpy.intp), 0)
        self._is_watched = numpy.array(rows, dtype=numpy.intp) >= 0
        self._is_update = self._is_watched & (numpy.array(weights, dtype=numpy.intp) < 0)
        # An update is the change itself: it is compared with nothing.
        self._before = numpy.zeros((len(rows), plan.sample_elements), dtype=numpy.float32)
        self._now = self._before
        self._num_before = numpy.full(len(rows), -1, dtype=numpy.int64)  # of the sample; -1: not seen
        self._is_sampled = numpy.zeros(self._before.shape, dtype=numpy.bool_)

    def look(self, sight: Sight) -> tuple[Marks, Marks]:
        """Which parameters moved, and which stayed exactly the same; neither where it is not known."""
        is_seen = sight.is_seen(self._rows) & self._is_watched
        num_now = numpy.where(is_seen, sight.frame.rows["num_sampled"][self._rows], -1).astype(numpy.int64)
        self._before, self._now = self._now, sight.frame.samples[self._rows]
        self._before[self._is_update] = 0
        is_known = is_seen & (num_now > 0) & ((num_now == self._num_before) | self._is_update)
        if not numpy.array_equal(num_now, self._num_before):
            self._num_before = num_now
            self._is_sampled = numpy.arange(self._now.shape[1]) < num_now[:, None]
        is_changed = ((self._now != self._before) & self._is_sampled).any(axis=1)
        return is_changed & is_known, ~is_changed & is_known

    def has_gradient(self, sight: Sight, gradients: Indices) -> Marks:
        """Whether an element of the sample has one: if not, there is no reason why it should move."""
        has: Marks = ((sight.frame.samples[gradients] != 0) & self._is_sampled).any(axis=1)
        return has

    def expected_changes(
        self, sight: Sight, norms: NDArray[numpy.float64], is_moved: Marks
    ) -> NDArray[numpy.float64]:
        """How much of each weight should have changed since it was last seen, by those that moved.

        Some optimizers change a weight by its gradient, and some make all changes alike. This is right for
        the first, and good enough for the others.
        """
        gradients = norms / numpy.sqrt(numpy.maximum(sight.frame.rows["num_elements"][self._rows], 1))
        rates = (self._sizes(self._now - self._before) / gradients)[is_moved]
        rates = rates[numpy.isfinite(rates)]
        if not len(rates):
            return numpy.zeros(len(norms))
        sizes = self._sizes(self._now)
        expected = numpy.median(rates) * gradients / sizes
        # Of updates alone, or of weights that are 0, it is not known how much would be little.
        return numpy.where(self._is_update | (sizes == 0), numpy.inf, expected)

    def _sizes(self, samples: NDArray[numpy.float32]) -> NDArray[numpy.float64]:
        """Of an element, as the square root of the mean square."""
        wide = numpy.where(self._is_sampled, samples, 0).astype(numpy.float64)
        squares = numpy.einsum("ij,ij->i", wide, wide) / numpy.maximum(self._num_before, 1)
        sizes: NDArray[numpy.float64] = numpy.sqrt(squares)
        return sizes
