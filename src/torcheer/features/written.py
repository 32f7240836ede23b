"""From a batch of the data to what is written of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy
import torch
from torch import Tensor

from torcheer.errors import InputError
from torcheer.features.manifest import ArraySpec
from torcheer.features.planning import Plan
from torcheer.features.recording import WantedLayers, batch_seed
from torcheer.features.samples import Caller, Samples, column_of
from torcheer.features.sources import Piece
from torcheer.features.stores.protocol import Array
from torcheer.features.threads import Threads
from torcheer.features.wishes import Wishes
from torcheer.features.writing import Finished


class Work(NamedTuple):
    """What is done to each batch."""

    wanted: WantedLayers
    plan: Plan
    caller: Caller
    device: torch.device
    wishes: Wishes
    threads: Threads

    def finished(self, piece: Piece) -> Finished:
        """Run the model, and bring what it gave into the form in which it is kept."""
        given = self.caller.samples_of(piece.batch)
        checksum = given.checksum  # before the model, which may write into it
        samples = given.moved_to(self.device)
        seed = batch_seed(self.wishes.seed, piece.number)
        values = self.threads.values(self.wanted, samples, seed, piece.number)
        return _finished(values, given, samples, piece, self.plan, self.wishes, checksum)


def _finished(
    values: list[Tensor],
    given: Samples,
    samples: Samples,
    piece: Piece,
    plan: Plan,
    wishes: Wishes,
    checksum: str,
) -> Finished:
    rows: list[tuple[ArraySpec, Array]] = []
    ragged: list[tuple[ArraySpec, list[Array]]] = []
    while values:  # what is done with is let go
        layer = plan.layers[-len(values)]
        kept = layer.kept(values.pop(0), samples, piece.number)
        if isinstance(kept, list):
            ragged.append((layer.spec, kept))
        else:
            rows.append((layer.spec, kept))
    texts: dict[str, tuple[str, ...]] = {}
    for column in plan.columns:
        found = _column(column, given, piece, wishes)
        if isinstance(found, tuple):
            texts[column.file] = found
        elif found is not None:
            rows.append((column, found))
    return Finished(
        number=piece.number,
        first=piece.first,
        num_rows=given.num_samples,
        rows=rows,
        ragged=ragged,
        texts=texts,
        checksum=checksum,
    )


def _column(
    column: ArraySpec, samples: Samples, piece: Piece, wishes: Wishes
) -> Array | tuple[str, ...] | None:
    if column.role == "lengths":
        return _lengths(samples)
    given: Any = samples.labels
    if column.role == "ids":
        if wishes.ids is not None:
            own = wishes.ids[piece.first : piece.first + samples.num_samples]
            return None if column.is_text else own  # texts that are known before are written at once
        given = samples.ids
    found = column_of(given, samples.num_samples)
    if found is None or isinstance(found, tuple) != column.is_text:
        raise InputError(
            f"the {column.name} of batch {piece.number} are of another kind than those of the first."
        )
    if isinstance(found, tuple):
        return found
    if not numpy.can_cast(found.dtype, column.numpy_dtype, "same_kind") or found.shape[1:] != column.shape:
        raise InputError(
            f"the {column.name} of batch {piece.number} are {found.dtype} of the shape {found.shape[1:]}, "
            "and those of "
            f"the first are {column.numpy_dtype} of {column.shape}: make them alike."
        )
    return found


def _lengths(samples: Samples) -> Array:
    mask: Tensor | None = samples.mask
    if mask is None:
        return numpy.full(samples.num_samples, -1, dtype=numpy.int64)
    return mask.sum(dim=1).numpy().astype(numpy.int64)
