"""Write one batch while the model works on the next: never more than two of them in memory."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import Final

from torcheer.features.journal import Done, Ended, RaggedPlace
from torcheer.features.manifest import ArraySpec
from torcheer.features.stores.protocol import Array, Writer

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
