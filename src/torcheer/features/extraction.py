"""`extract`: the activations of a whole data set, written as they come, by one process or many."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from time import monotonic, sleep
from typing import Any, Final

import msgspec
import numpy
import torch
import torch.distributed
from torch import Tensor, nn

from torcheer import graph
from torcheer.capture import tensors_in
from torcheer.errors import CaptureError, InputError
from torcheer.features.extraction_plan import Plan, PlannedLayer, fit_transforms, plan_of
from torcheer.features.identity import (
    machine_mark,
    refuse_other_marks,
    refuse_other_plan,
    refuse_other_values,
    steady_weights,
    structure_mark,
    weight_marks,
)
from torcheer.features.journal import Done, Ended, Progress, read_journals
from torcheer.features.layer_choice import WantedLayers, batch_seed
from torcheer.features.manifest import NAME, ArraySpec, Fingerprints, Manifest, read_manifest
from torcheer.features.options import Task, set_up
from torcheer.features.samples import Samples, checksum_of, column_of
from torcheer.features.saved_features import Features, shape_text, size_text
from torcheer.features.sources import Piece, StreamSource
from torcheer.features.stores import Array, Store, Writer, store_at
from torcheer.graph import readable_bytes
from torcheer.models import has_process_group, num_ranks, rank_of

_COMMIT_SECONDS: Final = 1.0  # what is younger is computed again after a kill
Kept = list[tuple[ArraySpec, Array | list[Array]]]  # rows of each array; of ragged ones, sample by sample


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

    def set(self) -> AbstractContextManager[None]:
        """For all that is done; afterwards there are as many as before."""
        return num_threads(1 if self._is_chosen else self._wanted or self._most)

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
        # Of the last batch alone, which is shorter, it is not worth a line.
        if not self._is_harmless[shapes] and len(self._is_harmless) == 1:
            self._say(
                f"the last digits of this model depend on the number of threads: it runs with one, and not "
                f"{self._most}. num_threads={self._most} is faster, and other processes must use as many."
            )
        return one


@contextmanager
def num_threads(number: int) -> Iterator[None]:
    before = torch.get_num_threads()
    if number == before:  # in a process that was forked, a change may wait for threads that are not there
        yield
        return
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class WriterThread:
    """Takes one batch at a time. Whoever hands over the next one waits until it is written."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._pool = ThreadPoolExecutor(1, "torcheer-features")
        self._writing: Future[None] | None = None
        self._error: BaseException | None = None  # after it nothing more is called finished
        self._pending: list[Done] = []
        self._last_commit = monotonic()

    def __enter__(self) -> WriterThread:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._submit(self._commit)
        self._pool.shutdown()
        if error is None:
            self._raise_error()
        elif self._error is not None:
            error.add_note(f"torcheer: and writing failed, too: {self._error}")

    def put(self, done: Done, values: Kept) -> None:
        """A batch whose values are all there."""
        if self._writing is not None:
            self._writing.result()
        self._raise_error()
        self._writing = self._submit(self._write, done, values)
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

    def _write(self, done: Done, kept: Kept) -> None:
        places = {}
        for array, values in kept:
            if isinstance(values, list):
                places[array.file] = self._writer.put_ragged(array, values)
            else:
                self._writer.put_rows(array, done.first, values)
        self._pending.append(msgspec.structs.replace(done, places=places))

    def _commit(self, least_seconds: float = 0.0) -> None:
        if monotonic() - self._last_commit >= least_seconds:
            pending, self._pending = self._pending, []
            self._writer.commit(pending)
            self._last_commit = monotonic()


def extract(
    model: nn.Module,
    data: Any,
    *,
    layers: Any,
    to: str | os.PathLike[str],
    transform: Any = None,
    shapes: Any = None,
    ids: Any = None,
    batch_size: int | None = None,
    device: str | torch.device | None = None,
    seed: int = 0,
    num_threads: int | None = None,
    progress: bool = True,
) -> Features:
    """Run a model over a data set and keep what its layers give, for every sample, on disk.

    Values are written batch by batch, so memory holds two batches at most. Interrupted or killed, the same
    call goes on where it was; finished, it does nothing. Under `torchrun` each process takes its share of the
    batches, and another number of processes may finish what these began. The model is in evaluation mode for
    it.

    - `data`: a DataLoader, a Dataset, tensors `x` or `(x, labels)`, or anything that yields batches: `x`,
      `(x, labels)`, or dicts by the names that forward takes. A list of samples, dicts or `(x, label)`, is a
      data set where `batch_size` is given. A loader's shuffling does not count: samples are stored in the
      order of the data set.
    - `layers`: labels of ops, addresses of modules, patterns such as `"features.*"`, types of modules;
      `"modules"` for every module with weights of its own or without modules of its own, `"all"` for every
      op. `{layer: transform}` gives each transforms of its own, before those for all.
    - `to`: a folder, which gets one .npy file a layer; or a URL, or a path that ends in `.zarr`, for Zarr.
    - `transform`: what is done to values on the way: `"pool"`, `"flatten"`, `"float16"`, `"project:512"`,
      `"pca:64"`, a function of a tensor, or several of these in a list.
    - `shapes`: where samples differ in shape: `"padded:128"`, `"ragged"` or `"pooled"`.
    - `ids`: what the samples are called: one for each, or the key of a batch. Else file names where the data
      set has them, or numbers.
    - `batch_size`: of a data set, 32 unless told otherwise; a loader has its own.
    - `device`: where the model runs; `"auto"` takes the fastest there is.
    - `seed`: each batch draws its random numbers from it, the same whoever works on it.
    - `num_threads`: of torch on the CPU. Unless told, as many as give the same bits as one does, so that
      results do not depend on the machine, nor on how many processes there are.
    """
    store = store_at(to)
    with set_up(
        model,
        data,
        layers=layers,
        transform=transform,
        shapes=shapes,
        ids=ids,
        batch_size=batch_size,
        device=device,
        seed=seed,
    ) as task:
        features = _Extraction(task, store, num_threads, is_shown=progress).run()
    wait_for_others(features)
    finish_up(store, features.manifest)
    return Features(store, features.manifest)


class _Extraction:
    """The share of one process."""

    def __init__(self, task: Task, store: Store, num_threads: int | None, *, is_shown: bool) -> None:
        self._task = task
        self._store = store
        self._rank = rank_of()
        self._num_ranks = max(num_ranks(), self._rank + 1)
        self._is_shown = is_shown and self._rank == 0
        self._threads = Threads(num_threads, task.device, self.say)
        self._machine = machine_mark(task.device)

    def run(self) -> Features:
        with self._threads.set():
            return self._run()

    def _run(self) -> Features:
        content = self._store.read(NAME)
        there = None if content is None else read_manifest(content, self._store.where)
        marks = Fingerprints(
            weights=weight_marks(self._task.model),
            structure=structure_mark(self._task.model),
            data=self._task.source.marks(),
            call={**self._task.words(), "threads": self._threads.words},
        )
        if there is not None:
            refuse_other_marks(there.fingerprints, marks, self._store.where)
        plan, samples, values = plan_of(self._task)
        manifest = self._settled(there, self._manifest(plan, marks))
        features = Features(self._store, manifest)
        is_complete = features.is_complete
        if not is_complete:
            self._begin(manifest, plan, is_new=there is None)
        fit_transforms(plan, self._store, partial(self._batches, plan), self.say)
        if features.progress.done:
            self._refuse_other_values(plan, features, samples, values)
        if is_complete:
            self.say(f"{self._store.where} is complete: {features.num_samples:,} samples, nothing to do.")
            return features
        self._threads.remember(values)
        del samples, values  # no third batch in memory
        self._extract(plan, features)
        return features

    def say(self, line: str) -> None:
        if self._is_shown:
            graph.say(f"torcheer: {line}")

    def _manifest(self, plan: Plan, marks: Fingerprints) -> Manifest:
        # The model ran twice by now: a buffer that this changed tells nothing.
        marks = msgspec.structs.replace(marks, weights=steady_weights(self._task.model, marks.weights))
        source = self._task.source
        return Manifest(
            storage=self._store.kind,
            model=type(self._task.model).__name__,
            data=source.words,
            num_samples=source.num_samples,
            batch_size=source.batch_size,
            num_batches=source.num_batches,
            arrays=plan.arrays,
            origins=tuple(layer.origin for layer in plan.layers),
            fingerprints=marks,
            notes=(*source.notes, *plan.notes),
            classes=source.classes(),
        )

    def _settled(self, there: Manifest | None, asked: Manifest) -> Manifest:
        """The manifest that holds for all processes: whoever comes first writes it, the others agree."""
        if there is None:
            check_room(self._store, asked)
            # Asked in this order: another process may begin in between, and writes its manifest first.
            others = self._store.names()
            if others and self._store.read(NAME) is None:
                some = ", ".join(others[:3]) + (", …" if len(others) > 3 else "")
                raise InputError(
                    f"{self._store.where} has other things in it ({some}): features need a folder of their "
                    "own."
                )
            there = read_manifest(self._store.write_new(NAME, asked.encoded()), self._store.where)
        refuse_other_plan(there, asked, self._store.where)
        return there

    def _begin(self, manifest: Manifest, plan: Plan, *, is_new: bool) -> None:
        if not is_new:
            check_room(self._store, manifest)
        self.say(f"{'' if is_new else 'going on: '}{size_text(manifest)} to {self._store.where}")
        for note in manifest.notes if is_new else ():
            self.say(note)
        for column in plan.columns:
            if column.role == "ids" and column.is_text and self._task.ids is not None:
                self._store.write_texts(column, self._task.ids)
        self._store.make_room(manifest.arrays, manifest.num_samples, manifest.batch_size)

    def _refuse_other_values(
        self, plan: Plan, features: Features, samples: Samples, values: list[Tensor]
    ) -> None:
        """One batch that is done is computed again: code, hooks and transforms are told by what they do.

        `samples` and `values` are those of the first batch.
        """
        if not features.manifest.fingerprints.has_steady_data:
            self.say(
                "a sample is another one each time it is read: nothing tells whether the code of the model, "
                "its hooks and the transforms are still those of what is there."
            )
            return
        done = next(iter(features.progress.done.values()))
        if done.batch:  # planning ran on another one
            samples, values, _ = next(self._batches(plan, done.batch.__eq__))
        again = plan.kept(list(values), samples, done.batch)
        refuse_other_values(again, self._store, done, is_exact=done.machine == self._machine != "")

    def _batches(
        self, plan: Plan, wanted: Callable[[int], bool]
    ) -> Iterator[tuple[Samples, list[Tensor], int]]:
        """The samples and values of some batches."""
        layers = WantedLayers(self._task.model, plan.choices)
        for piece in self._task.source.pieces(wanted):
            samples = self._task.caller.samples_of(piece.batch).moved_to(self._task.device)
            seed = batch_seed(self._task.seed, piece.number)
            yield samples, layers.values(samples, seed, piece.number), piece.number

    def _extract(self, plan: Plan, features: Features) -> None:
        progress = read_journals(self._store.journals())
        self._refuse_other_batches(progress, features.manifest)
        source = self._task.source
        is_stream = isinstance(source, StreamSource)
        wanted = WantedLayers(self._task.model, plan.choices)
        host = "".join(letter if letter.isalnum() else "-" for letter in socket.gethostname())[:24]
        # No other process has this name, not even this rank's when it was started before.
        name = f"rank-{self._rank:04}-{host}-{os.getpid()}-{os.urandom(4).hex()}"
        writer = self._store.writer(name)
        total = features.manifest.num_samples
        left = None if total is None else (total - progress.num_rows) // self._num_ranks
        title = "extracting" if self._num_ranks == 1 else f"rank 0 of {self._num_ranks}"
        try:
            with ExtractionProgress(left, title) as bar, WriterThread(writer) as thread:
                # Dealt out in turn. Nothing else decides it, so nobody has to ask.
                for piece in source.pieces(
                    lambda number: (
                        number % self._num_ranks == self._rank and (is_stream or number not in progress.done)
                    )
                ):
                    if piece.number in progress.done:  # of a stream, whose batches go by in any case
                        self._refuse_other_batch(piece, progress)
                        continue
                    done, values = self._finished(piece, plan, wanted)
                    thread.put(done, values)
                    if self._is_shown:
                        bar.add(done.rows)
                    del values  # the writer has it, and lets it go
                if isinstance(source, StreamSource) and source.end is not None:
                    thread.ended(Ended(batches=source.end[0], total_rows=source.end[1]))
        except KeyboardInterrupt:
            num_done = read_journals(self._store.journals()).num_rows
            self.say(
                f"interrupted: {num_done:,} samples are in {self._store.where}. The same call goes on from "
                "there."
            )
            raise
        finally:
            writer.close()

    def _finished(self, piece: Piece, plan: Plan, wanted: WantedLayers) -> tuple[Done, Kept]:
        """Run the model on a batch, and bring what it gives into the form in which it is kept."""
        given = self._task.caller.samples_of(piece.batch)
        checksum = given.checksum  # before the model, which may write into it
        samples = given.moved_to(self._task.device)
        seed = batch_seed(self._task.seed, piece.number)
        values = self._threads.values(wanted, samples, seed, piece.number)
        kept: Kept = list(plan.kept(values, samples, piece.number))
        texts: dict[str, tuple[str, ...]] = {}
        for column in plan.columns:
            found = self._column(column, given, piece)
            if isinstance(found, tuple):
                texts[column.file] = found
            elif found is not None:
                kept.append((column, found))
        done = Done(
            batch=piece.number,
            first=piece.first,
            rows=given.num_samples,
            inputs=checksum,
            machine=self._machine,
            texts=texts,
        )
        return done, kept

    def _column(self, column: ArraySpec, samples: Samples, piece: Piece) -> Array | tuple[str, ...] | None:
        if column.role == "lengths":
            mask = samples.mask
            lengths = torch.full((samples.num_samples,), -1) if mask is None else mask.sum(dim=1)
            return lengths.numpy().astype(numpy.int64)
        if column.role == "ids" and self._task.ids is not None:
            own = self._task.ids[piece.first : piece.first + samples.num_samples]
            return None if column.is_text else own  # texts that are known before are written at once
        found = column_of(samples.ids if column.role == "ids" else samples.labels, samples.num_samples)
        if isinstance(found, tuple) and column.is_text:
            return found
        what = "of another kind"
        if isinstance(found, numpy.ndarray) and not column.is_text:
            is_same_kind = numpy.can_cast(found.dtype, column.numpy_dtype, "same_kind")
            if found.shape[1:] == column.shape and is_same_kind:
                return found
            what = f"{found.dtype} of the shape {found.shape[1:]}"
        raise InputError(
            f"the {column.name} of batch {piece.number} are {what}, and those of the first are "
            f"{column.dtype} of {column.shape}: make them alike."
        )

    def _refuse_other_batches(self, progress: Progress, manifest: Manifest) -> None:
        """Of what is done, two batches are read again: they must be what went through the model then."""
        is_stream = isinstance(self._task.source, StreamSource)  # its batches are compared as they go by
        if is_stream or not progress.done or not manifest.fingerprints.has_steady_data:
            return
        numbers = sorted(progress.done)
        looked_at = {numbers[0], numbers[len(numbers) // 2]}
        for piece in self._task.source.pieces(looked_at.__contains__):
            self._refuse_other_batch(piece, progress)

    def _refuse_other_batch(self, piece: Piece, progress: Progress) -> None:
        if self._task.caller.samples_of(piece.batch).checksum != progress.done[piece.number].inputs:
            raise InputError(
                f"{self._store.where} holds features of other data: samples from {piece.first:,} on are "
                "no longer what they were. Extract to another place, or remove these features first."
            )


def finish_up(store: Store, manifest: Manifest) -> None:
    """Does nothing before the end. Any process may do it, and any number of them."""
    features = Features(store, manifest)
    if not features.is_complete:
        return
    if manifest.num_samples is None:
        store.end_at(manifest.arrays, features.num_samples)
    for array in manifest.arrays:
        if array.is_text and store.texts(array) is None:
            store.write_texts(array, features.texts(array))


_SPARE: Final = 1.02  # what the journals take, and the disk itself


def check_room(store: Store, manifest: Manifest) -> None:
    """What is there already needs no more room. Streams and ragged samples: nobody knows before."""
    total, free = manifest.num_bytes, store.free_bytes()
    if total is None or free is None:
        return
    if max(0, total - store.used_bytes()) * _SPARE > free:
        largest = max(manifest.layers, key=lambda layer: layer.row_bytes)
        share = largest.row_bytes / max(1, sum(layer.row_bytes for layer in manifest.layers))
        raise InputError(
            f"these features take {readable_bytes(total)}, and {store.where} has room for "
            f"{readable_bytes(free)}: extract fewer layers ({largest.name} alone is {share:.0%}), make them "
            "smaller on the way (transform='pool', 'float16', 'project:512'), or choose another place."
        )


_LINE_SECONDS: Final = 30.0


class ExtractionProgress(graph.Progress):
    """Of the samples of this process: a bar on a terminal, elsewhere a line now and then."""

    def __init__(self, num_samples: int | None, title: str) -> None:
        super().__init__(title, num_samples, "samples")
        self.title, self.num_samples, self.num_done = title, num_samples, 0
        self.pace = graph.Pace()
        self.pace.note(0)
        self._due = monotonic() + _LINE_SECONDS

    def add(self, num_more: int) -> None:
        super().add(num_more)
        self.num_done += num_more
        self.pace.note(self.num_done)
        if monotonic() >= self._due and not graph.is_terminal():
            text = graph.progress_text(self.num_done, self.num_samples, self.pace, "samples")
            graph.say(f"torcheer: {self.title}: {text}")
            self._due = monotonic() + _LINE_SECONDS


def layers_text(model: nn.Module, data: Any, *, layers: Any = "all", **options: Any) -> str:
    """One line for each layer, with all names that it answers to.

    The model runs on the first batch, and nothing is written. `options` are those of `extract` that say how
    values are kept.
    """
    with set_up(model, data, layers=layers, **options) as task:
        plan, _, _ = plan_of(task)
        num_samples = task.source.num_samples
    rows = [_row(layer, num_samples) for layer in plan.layers]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in rows]
    samples = "a stream of samples" if num_samples is None else f"{num_samples:,} samples"
    head = f"{type(task.model).__name__}: {len(rows)} layers that can be extracted, of {samples}"
    return "\n".join([head, *(f"  {line}".rstrip() for line in lines), *plan.notes])


def _row(layer: PlannedLayer, num_samples: int | None) -> tuple[str, str, str, str]:
    name, *others = dict.fromkeys((layer.choice.name, layer.choice.label, *layer.choice.modules))
    spec = layer.spec
    size = readable_bytes(spec.row_bytes * (num_samples or 1)) + (" a sample" if num_samples is None else "")
    return (
        name,
        f"also {', '.join(others)}" if others else "",
        shape_text(spec),
        "size not known before" if spec.layout == "ragged" else size,
    )


_PATIENCE_SECONDS: Final = 1800.0
_FIRST_PAUSE_SECONDS: Final = 0.05
_LONGEST_PAUSE_SECONDS: Final = 2.0


def wait_for_others(features: Features) -> None:
    """Where the processes form a group, whoever is done first waits; else each goes its way.

    By looking at the journals, because a barrier gives up after half an hour, however well the others get on.
    """
    if not has_process_group() or torch.distributed.get_world_size() == 1:
        return
    num_done, since, pause = -1, monotonic(), _FIRST_PAUSE_SECONDS
    while not features.is_complete:
        if features.num_done != num_done:
            num_done, since = features.num_done, monotonic()
        elif monotonic() - since > _PATIENCE_SECONDS:
            raise CaptureError(
                f"this process is done, and the others have not written anything to {features.path} for "
                f"{_PATIENCE_SECONDS / 60:.0f} minutes: {num_done:,} of {features.num_samples:,} samples are "
                "there. The same call goes on."
            )
        sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
    torch.distributed.barrier()
