"""From a batch of the data to its rows on disk: the model runs on one while the one before is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
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
from torcheer.features.journal import Done, Ended
from torcheer.features.layer_choice import WantedLayers, batch_seed
from torcheer.features.manifest import ArraySpec
from torcheer.features.options import Task
from torcheer.features.samples import Samples, checksum_of, column_of
from torcheer.features.sources import Piece
from torcheer.features.stores import Array, Writer

_COMMIT_SECONDS: Final = 1.0  # what is younger is computed again after a kill


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Finished:
    """A batch whose values are all there."""

    number: int
    first: int
    num_rows: int
    values: list[tuple[ArraySpec, Array | list[Array]]]  # rows; of ragged ones, sample by sample
    texts: dict[str, tuple[str, ...]]
    checksum: str  # of what went in


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
        seed = batch_seed(self._task.seed, piece.number)
        values = self._threads.values(self._wanted, samples, seed, piece.number)
        kept: list[tuple[ArraySpec, Array | list[Array]]] = []
        while values:  # what is done with is let go
            layer = self._plan.layers[-len(values)]
            kept.append((layer.spec, layer.kept(values.pop(0), samples, piece.number)))
        texts: dict[str, tuple[str, ...]] = {}
        for column in self._plan.columns:
            found = self._column(column, given, piece)
            if isinstance(found, tuple):
                texts[column.file] = found
            elif found is not None:
                kept.append((column, found))
        return Finished(
            number=piece.number,
            first=piece.first,
            num_rows=given.num_samples,
            values=kept,
            texts=texts,
            checksum=checksum,
        )

    def _column(self, column: ArraySpec, samples: Samples, piece: Piece) -> Array | tuple[str, ...] | None:
        if column.role == "lengths":
            mask = samples.mask
            lengths = torch.full((samples.num_samples,), -1) if mask is None else mask.sum(dim=1)
            return lengths.numpy().astype(numpy.int64)
        ids = self._task.ids
        if column.role == "ids" and ids is not None:
            own = ids[piece.first : piece.first + samples.num_samples]
            return None if column.is_text else own  # texts that are known before are written at once
        found = column_of(samples.ids if column.role == "ids" else samples.labels, samples.num_samples)
        if isinstance(found, tuple) and column.is_text:
            return found
        if not isinstance(found, numpy.ndarray) or column.is_text:
            what = "of another kind"
        elif found.shape[1:] != column.shape or not numpy.can_cast(
            found.dtype, column.numpy_dtype, "same_kind"
        ):
            what = f"{found.dtype} of the shape {found.shape[1:]}"
        else:
            return found
        raise InputError(
            f"the {column.name} of batch {piece.number} are {what}, and those of the first are "
            f"{column.dtype} of {column.shape}: make them alike."
        )


class Threads:
    """How many threads of torch the model runs with on the CPU.

    `wanted`: so many, whatever they change; None: as many as give the same bits as one does.
    """

    def __init__(self, wanted: int | None, device: torch.device, say: Callable[[str], None]) -> None:
        if wanted is not None and (type(wanted) is not int or wanted < 1):
            raise InputError(f"num_threads={wanted!r}: give a whole number from 1 on.")
        self._wanted = wanted
        self._most = torch.get_num_threads()
        self._is_chosen = wanted is None and device.type == "cpu"
        self._say = say
        self._is_harmless: dict[Any, bool] = {}  # by the shapes of inputs: whether all threads change nothing
        self._first: list[Tensor] | None = None

    @property
    def words(self) -> str:
        return "as one" if self._wanted is None else str(self._wanted)

    @contextmanager
    def set(self) -> Iterator[None]:
        """For all that is done; afterwards there are as many as before."""
        with num_threads(1 if self._is_chosen else self._wanted or self._most):
            yield

    def remember(self, values: list[Tensor]) -> None:
        """Of the first batch, from planning: it need not go through the model again."""
        self._first = values if self._is_chosen else None

    def values(self, wanted: WantedLayers, samples: Samples, seed: int, number: int) -> list[Tensor]:
        """What the model gives for batch `number`."""
        known, self._first = self._first if number == 0 else None, None
        if not self._is_chosen or self._most == 1:
            return wanted.values(samples, seed, number) if known is None else known
        shapes = tuple(
            (path, tuple(tensor.shape), tensor.stride(), tensor.dtype)
            for path, tensor in tensors_in((samples.call.args, samples.call.kwargs))
        )
        if shapes in self._is_harmless:
            with num_threads(self._most if self._is_harmless[shapes] else 1):
                return wanted.values(samples, seed, number)
        copied = samples.copied()  # a model may write into what it is given
        with num_threads(self._most):
            many = [checksum_of(value) for value in wanted.values(copied, seed, number)]
        one = wanted.values(samples, seed, number) if known is None else known
        self._is_harmless[shapes] = many == [checksum_of(value) for value in one]
        if (
            not self._is_harmless[shapes] and len(self._is_harmless) == 1
        ):  # the last batch alone is not worth it
            self._say(
                f"the last digits of this model depend on the number of threads: it runs with one, and not "
                f"{self._most}. num_threads={self._most} is faster, and other processes must use as many."
            )
        return one


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


class WriterThread:
    """Takes one batch at a time. Whoever hands over the next one waits until it is written."""

    def __init__(self, writer: Writer, machine: str) -> None:
        self._writer = writer
        self._machine = machine
        self._pool = ThreadPoolExecutor(1, "torcheer-features")
        self._writing: Future[None] | None = None
        self._error: BaseException | None = None  # after it nothing more is called finished
        self._pending: list[Done] = []
        self._last_commit = monotonic()

    def __enter__(self) -> WriterThread:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._submit(self._commit)
        self._pool.shutdown()
        if error is None:
            self._raise_error()
        elif self._error is not None:
            error.add_note(f"torcheer: and writing failed, too: {self._error}")

    def put(self, batch: Finished) -> None:
        if self._writing is not None:
            self._writing.result()
        self._raise_error()
        self._writing = self._submit(self._write, batch)
        # Behind it: syncing may go on beside the model.
        self._submit(self._commit, _COMMIT_SECONDS)

    def ended(self, entry: Ended) -> None:
        """The last thing that is said of a stream."""
        self._submit(self._commit).result()
        self._raise_error()
        self._writer.commit([entry])

    def _submit(self, work: Callable[..., None], *args: Any) -> Future[None]:
        return self._pool.submit(self._guarded, work, *args)

    def _guarded(self, work: Callable[..., None], *args: Any) -> None:
        if self._error is None:
            try:
                work(*args)
            except BaseException as error:
                self._error = error

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    def _write(self, batch: Finished) -> None:
        places = {}
        for array, values in batch.values:
            if isinstance(values, list):
                places[array.file] = self._writer.put_ragged(array, values)
            else:
                self._writer.put_rows(array, batch.first, values)
        self._pending.append(
            Done(
                batch=batch.number,
                first=batch.first,
                rows=batch.num_rows,
                inputs=batch.checksum,
                machine=self._machine,
                places=places,
                texts=batch.texts,
            )
        )

    def _commit(self, least_seconds: float = 0.0) -> None:
        if monotonic() - self._last_commit >= least_seconds:
            pending, self._pending = self._pending, []
            self._writer.commit(pending)
            self._last_commit = monotonic()
