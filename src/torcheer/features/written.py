"""From a batch of the data to what is written of it."""

from __future__ import annotations

import numpy
import torch

from torcheer.errors import InputError
from torcheer.features.manifest import ArraySpec
from torcheer.features.planning import Plan
from torcheer.features.recording import WantedLayers, batch_seed
from torcheer.features.samples import Samples, column_of
from torcheer.features.sources import Piece
from torcheer.features.stores.protocol import Array
from torcheer.features.tasks import Task
from torcheer.features.threads import Threads
from torcheer.features.writing import Finished


class BatchWorker:
    """Runs the model on a batch, and brings what it gives into the form in which it is kept."""

    def __init__(self, task: Task, plan: Plan, threads: Threads) -> None:
        self._task = task
        self._plan = plan
        self._threads = threads
        self._wanted = WantedLayers(task.model, plan.choices)

    def finished(self, piece: Piece) -> Finished:
        given = self._task.caller.samples_of(piece.batch)
        checksum = given.checksum  # before the model, which may write into it
        samples = given.moved_to(self._task.device)
        seed = batch_seed(self._task.wishes.seed, piece.number)
        values = self._threads.values(self._wanted, samples, seed, piece.number)
        rows: list[tuple[ArraySpec, Array]] = []
        ragged: list[tuple[ArraySpec, list[Array]]] = []
        while values:  # what is done with is let go
            layer = self._plan.layers[-len(values)]
            kept = layer.kept(values.pop(0), samples, piece.number)
            if isinstance(kept, list):
                ragged.append((layer.spec, kept))
            else:
                rows.append((layer.spec, kept))
        texts: dict[str, tuple[str, ...]] = {}
        for column in self._plan.columns:
            found = self._column(column, given, piece)
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

    def _column(self, column: ArraySpec, samples: Samples, piece: Piece) -> Array | tuple[str, ...] | None:
        if column.role == "lengths":
            mask = samples.mask
            lengths = torch.full((samples.num_samples,), -1) if mask is None else mask.sum(dim=1)
            return lengths.numpy().astype(numpy.int64)
        given, ids = samples.labels, self._task.wishes.ids
        if column.role == "ids":
            if ids is not None:
                own = ids[piece.first : piece.first + samples.num_samples]
                return None if column.is_text else own  # texts that are known before are written at once
            given = samples.ids
        found = column_of(given, samples.num_samples)
        if found is None or isinstance(found, tuple) != column.is_text:
            raise InputError(
                f"the {column.name} of batch {piece.number} are of another kind than those of the first."
            )
        if isinstance(found, tuple):
            return found
        can_cast = numpy.can_cast(found.dtype, column.numpy_dtype, "same_kind")
        if not can_cast or found.shape[1:] != column.shape:
            raise InputError(
                f"the {column.name} of batch {piece.number} are {found.dtype} of the shape "
                f"{found.shape[1:]}, and those of the first are {column.numpy_dtype} of {column.shape}: make "
                "them alike."
            )
        return found
