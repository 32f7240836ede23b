"""The transforms of one layer, one after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import torch
from torch import Tensor

from torcheer.errors import InputError
from torcheer.features.transforms.protocol import Applied, Fitted, Transform
from torcheer.features.transforms.storable import (
    notes_on,
    numpy_dtype,
    open_dtype,
    open_values,
    refuse_nested,
)

_TRIED_ROWS: Final = 2  # of an example: enough to tell the samples from the rest


class BegunChain:
    """Does the work for one layer. Made by `begin_all`.

    Parts that have to look at data first are fitted in their order, as a later one sees what the earlier ones
    give:

        for key, part in chain.fitted:
            for values in first_batches(part.num_samples):
                chain.look(part, values)
            part.finish()

    or restored: `part.restore(state)`.
    """

    def __init__(self, layer: str, transforms: Sequence[Transform]) -> None:
        self.layer = layer
        self.words = tuple(transform.words for transform in transforms)
        self.shape: tuple[int, ...] = ()  # of a sample afterwards
        self.dtype = torch.float32  # afterwards, one that NumPy has
        self.dims: tuple[str, ...] = ()  # the names of the sample's dimensions afterwards
        self.notes: tuple[str, ...] = ()  # for the user: what is kept in another way than it came
        self.fitted: list[tuple[str, Fitted]] = []
        self._parts: list[Applied] = []

    def __call__(self, values: Tensor) -> Tensor:
        """What is kept of a batch: dense, of `dtype`, with samples of `shape`."""
        refuse_nested(values, self.layer)
        if not len(values):
            return torch.empty(0, *self.shape, dtype=self.dtype, device=values.device)
        result = self._through(values, len(self._parts))
        result = result.detach().resolve_conj().resolve_neg()
        result = result.to(numpy_dtype(result.dtype, self.layer))
        if result.shape != (len(values), *self.shape):
            raise InputError(
                f"layer {self.layer!r}: a sample was of shape {self.shape}, and now one is of "
                f"{tuple(result.shape[1:])}. The features of a layer need one shape: pool the places or "
                "tokens (transform='pool'), or give samples of one size."
            )
        if result.dtype != self.dtype:
            raise InputError(
                f"layer {self.layer!r}: values were {_name(self.dtype)}, and now are {_name(result.dtype)}. "
                f"Keep one dtype with a transform such as {_name(self.dtype)!r}."
            )
        return result

    def as_it_comes(self, values: Tensor) -> Tensor:
        """The same for a sample whose shape is its own."""
        result = self._through(values, len(self._parts)).detach().resolve_conj().resolve_neg()
        return result.to(numpy_dtype(result.dtype, self.layer))

    def look(self, part: Fitted, values: Tensor) -> None:
        """Show a batch of the first samples to a fitted part, through those before it, which are ready."""
        part.look(self._through(values, self._parts.index(part)))

    def _through(self, values: Tensor, num_parts: int) -> Tensor:
        values = open_values(values, self.layer)
        for words, part in zip(self.words[:num_parts], self._parts[:num_parts], strict=True):
            with _named(words, self.layer), torch.no_grad():
                values = open_values(part(values), self.layer)
        return values


def begin_all(
    transforms: Sequence[Transform],
    layer: str,
    shape: tuple[int, ...],
    dtype: torch.dtype,
    dims: tuple[str, ...],
    *,
    example: Tensor | None = None,
) -> BegunChain:
    """For one layer, whose samples arrive with this shape, dtype and these names of dimensions.

    - `example`: a batch as it arrives. Its first rows are sent through to learn what comes out; zeros when
      left out.
    """
    if len(dims) != len(shape):
        raise InputError(f"layer {layer!r}: {len(dims)} names {dims} for a sample of shape {shape}.")
    if transforms and not math.prod(shape):
        raise InputError(f"layer {layer!r}: a sample {shape} has no values that could be transformed.")
    if example is not None:
        refuse_nested(example, layer)
    if example is None or not len(example):
        example = torch.zeros(_TRIED_ROWS, *shape, dtype=open_dtype(dtype))
    is_sparse = example.layout is not torch.strided
    values = open_values(example, layer)[:_TRIED_ROWS]
    chain = BegunChain(layer, transforms)
    notes = []
    for at, transform in enumerate(transforms):
        with _named(transform.words, layer), torch.no_grad():
            arriving = tuple(values.shape[1:])
            part = transform.begin(layer, arriving, values.dtype, dims)
            chain._parts.append(part)
            notes.append(getattr(part, "note", ""))
            if isinstance(part, Fitted):
                chain.fitted.append((f"{at}_{type(transform).__name__.lower()}", part))
                values = torch.zeros(len(values), *part.shape, dtype=part.dtype)
            else:
                values = open_values(part(values), layer)
            dims = transform.dims(dims, arriving, tuple(values.shape[1:]))
    chain.shape, chain.dims = tuple(values.shape[1:]), dims
    chain.dtype = numpy_dtype(values.dtype, layer)
    chain.notes = (*filter(None, notes), *notes_on(dtype, is_sparse, values.dtype))
    return chain


@contextmanager
def _named(words: str, layer: str) -> Iterator[None]:
    """What a function of the user's raises goes through, and says where it was."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        error.add_note(f"in the transform {words!r} of layer {layer!r}")
        raise


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
