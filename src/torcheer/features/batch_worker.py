"""From a batch of the data to its rows on disk: the model runs on one while the one before is written."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import Any, Final

import numpy
import torch
from torch import Tensor

from torcheer.capture import tensors_in
from torcheer.errors import InputError
from torcheer.features.extraction_plan import Plan
from torcheer.features.journal import Done, Ended, RaggedPlace
from torcheer.features.layer_choice import WantedLayers, batch_seed
from torcheer.features.manifest import ArraySpec
from torcheer.features.options import Task
from torcheer.features.samples import Samples, checksum_of, column_of
from torcheer.features.sources import Piece
from torcheer.features.stores.store import Array, Writer


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


_COMMIT_SECONDS: Final = 1.0  # what is younger is computed again after a kill


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Finished:
    """A batch whose values are all there."""

    number: int
    first: int
    num_rows: int
    rows: list[tuple[ArraySpec, Array]]
    ragged: list[tuple[ArraySpec, list[Array]]]
    texts: dict[str, tuple[str, ...]]
    checksum: str  # of what went in


class WriterThread:
    """Takes one batch at a time. Whoever hands over the next one waits until it is written."""

    def __init__(self, writer: Writer, machine: str) -> None:
        self._writer = writer
        self._machine = machine
        self._batch: Finished | None = None
        self._state = threading.Condition()
        self._is_ending = False
        self._error: BaseException | None = None
        self._pending: list[Done] = []
        self._last_commit = monotonic()
        self._thread = threading.Thread(target=self._run, name="torcheer-features", daemon=True)
        self._thread.start()

    def __enter__(self) -> WriterThread:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
        if error is None:
            self._raise_error()
        elif self._error is not None:
            error.add_note(f"torcheer: and writing failed, too: {self._error}")

    def put(self, batch: Finished) -> None:
        with self._state:
            self._state.wait_for(lambda: self._batch is None or self._error is not None)
            self._raise_error()
            self._batch = batch
            self._state.notify_all()

    def ended(self, entry: Ended) -> None:
        """The last thing that is said of a stream."""
        self._end()
        self._raise_error()
        self._writer.commit([entry])

    def _end(self) -> None:
        with self._state:
            self._is_ending = True
            self._state.notify_all()
        self._thread.join()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            while self._write_next():
                pass
            self._commit()
        except BaseException as error:
            with self._state:
                self._error = error
                self._state.notify_all()

    def _write_next(self) -> bool:
        with self._state:
            self._state.wait_for(lambda: self._batch is not None or self._is_ending)
            batch = self._batch
        if batch is None:
            return False
        self._pending.append(self._written(batch))
        is_due = monotonic() - self._last_commit >= _COMMIT_SECONDS
        # Room for the next batch first: syncing may go on beside the model.
        with self._state:
            self._batch = None
            self._state.notify_all()
        del batch
        if is_due:
            self._commit()
        return True

    def _written(self, batch: Finished) -> Done:
        for array, values in batch.rows:
            self._writer.put_rows(array, batch.first, values)
        places: dict[str, RaggedPlace] = {
            array.file: self._writer.put_ragged(array, samples) for array, samples in batch.ragged
        }
        return Done(
            batch=batch.number,
            first=batch.first,
            rows=batch.num_rows,
            inputs=batch.checksum,
            machine=self._machine,
            places=places,
            texts=batch.texts,
        )

    def _commit(self) -> None:
        pending, self._pending = self._pending, []
        self._writer.commit(pending)
        self._last_commit = monotonic()
