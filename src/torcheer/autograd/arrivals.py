"""What has arrived at each node on the way back: the sum of all gradients that came there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from torch import Tensor

from torcheer.autograd.ruling import Rule

if TYPE_CHECKING:
    from torcheer.autograd.engine import Node


class Arrivals:
    """At each node, the sum of the gradients that have come so far.

    Of a sequence that is read step by step, each step gives a gradient of its own small part. The first one
    makes a tensor of zeros for the whole; the others are written into that, where a tensor for each would be
    slow.
    """

    def __init__(self, seeds: Mapping[Node, Tensor], *, in_place: bool) -> None:
        self.sums = dict(seeds)
        self._in_place = in_place
        self._ours: set[Node] = set()  # whose sum is a tensor that nobody else has

    def add(self, node: Node, gradient: Tensor, rule: Rule) -> None:
        self.sums[node] = self.sums[node] + gradient if node in self.sums else gradient
        if self._in_place and rule.adds_part is not None:
            self._ours.add(node)

    def took_part(self, node: Node, gradient: Tensor, source: Node) -> bool:
        """Whether it was the gradient of a part, and is in the sum now."""
        if node not in self._ours or source.rule is None or source.rule.adds_part is None:
            return False
        return source.rule.adds_part(self.sums[node], gradient, **source.options)
