"""What a transform of features is: a description, and what does the work for one layer.

A `Transform` is shared by all layers and never changes. `begin` makes of it an `Applied` for one layer; one
that has to look at data first is a `Fitted`. Whoever writes one gives it words that say all that matters for
its results: they are part of what says whether features on disk are still the ones asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import torch
from numpy.typing import NDArray
from torch import Tensor


class Applied(Protocol):
    """Does the work for one layer. What it has to tell the user may stand in a `note: str`."""

    def __call__(self, values: Tensor) -> Tensor:
        """The first dimension, of samples, is kept in its order."""
        ...


@runtime_checkable
class Fitted(Applied, Protocol):
    """Has to look at the first samples before it can do its work."""

    num_samples: int  # that it looks at, the first ones; fewer where there are not as many

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a sample afterwards: known before anything was seen."""
        ...

    @property
    def dtype(self) -> torch.dtype:
        """Of the values afterwards."""
        ...

    def look(self, values: Tensor) -> None:
        """The next batch of the first samples, in order. Rows beyond `num_samples` are not looked at."""
        ...

    def finish(self) -> None:
        """All were seen."""
        ...

    def state(self) -> dict[str, NDArray[Any]]:
        """What it found out, to be kept beside the features."""
        ...

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Instead of looking. A state that cannot be of this layer and transform is refused."""
        ...


@runtime_checkable
class Transform(Protocol):
    """An immutable description."""

    @property
    def words(self) -> str:
        """Such as "pool mean". Equal words must mean equal results."""
        ...

    def begin(self, layer: str, shape: tuple[int, ...], dtype: torch.dtype, dims: tuple[str, ...]) -> Applied:
        """For one layer. `shape` and `dims` are those of one sample as it arrives here."""
        ...

    def dims(self, dims: tuple[str, ...], shape: tuple[int, ...], result: tuple[int, ...]) -> tuple[str, ...]:
        """The names of a sample's dimensions afterwards, given its shape before and afterwards."""
        ...
