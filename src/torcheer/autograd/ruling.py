"""What a rule is: one kind of operation, and how the gradient gets to each of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor

from torcheer.autograd.likeness import like
from torcheer.errors import AutogradError

if TYPE_CHECKING:
    from torcheer.autograd.engine import Node

Vjp = Callable[..., Tensor]


class Way(NamedTuple):
    """How the gradient gets to one input: the function that computes it, and its formula as LaTeX."""

    vjp: Vjp  # of (gradient of the output, output, *inputs, **options)
    formula: str
    words: str = ""  # the formula said to a person, where those of the whole rule do not fit; {a} is a name


class Rule:
    """One kind of operation. Its inputs come by place; what has no gradient comes by name, as an option."""

    __slots__ = ("adds_part", "forward", "name", "symbols", "takes_many", "ways", "words")

    def __init__(
        self,
        name: str,
        forward: Callable[..., Tensor],
        ways: Mapping[str, Way],
        *,
        words: str = "",
        takes_many: bool = False,
    ) -> None:
        self.name = name
        self.forward = forward
        self.symbols = tuple(ways)  # what the inputs are called in the formulas
        self.ways = tuple(ways.values())
        self.words = words  # what the formulas say, for a person
        self.takes_many = takes_many  # any number of inputs, one way for all: its vjp is told which is meant
        self.adds_part: Callable[..., bool] | None = None  # of an op that takes a part: see Arrivals

    def way(self, position: int) -> Way:
        """That to the input at this place."""
        place = 0 if self.takes_many else position
        if place >= len(self.ways):
            raise AutogradError(
                f"input {position} of {self.name} wants a gradient, and its rule has none for it: it has "
                f"{', '.join(self.symbols)}."
            )
        return self.ways[place]

    def contribution(self, position: int, gradient: Tensor, output: Tensor, node: Node) -> Tensor:
        """What the gradient of the output makes that of one input, in the shape and type of the input."""
        which = (position,) if self.takes_many else ()
        raw = self.way(position).vjp(gradient, output, *which, *node.inputs, **node.options)
        if not isinstance(raw, Tensor):
            raise AutogradError(f"{self._way_to(position)} gave a {type(raw).__name__}, not a tensor.")
        try:
            return like(raw, node.inputs[position])
        except RuntimeError as error:
            raise AutogradError(
                f"{self._way_to(position)} gave the shape {tuple(raw.shape)}, and that input has "
                f"{tuple(node.inputs[position].shape)}: it must be the same, or one it was broadcast to."
            ) from error

    def _way_to(self, position: int) -> str:
        return f"the gradient for {self.symbols[0 if self.takes_many else position]} of the rule {self.name}"

    def __repr__(self) -> str:
        return f"<rule {self.name}>"
