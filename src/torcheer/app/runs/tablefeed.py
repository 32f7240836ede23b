"""Rows of tables: those that there are, the newest where they are many, then each that is new."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from torcheer.app.frames import as_json
from torcheer.app.runs import pacing
from torcheer.app.runs.listing import clipped, countable
from torcheer.app.runs.openrun import OpenRun
from torcheer.app.runs.tablecells import plain_cell
from torcheer.app.runs.tables import Wish, last_of, read_many, table_head
from torcheer.app.runs.watching import Watch
from torcheer.app.tablemessages import TableAnswer, TableQuestion, TableRows
from torcheer.errors import TorcheerError
from torcheer.run import Cells, RecordEntry, RunReader, TableHead, record_id

_LOG: Final = logging.getLogger("torcheer.app")
MAX_ROWS: Final = 20_000  # of what is there when it is asked for, and of one record
_CHUNK_CELLS: Final = 1 << 16  # of one answer, about
_CHUNK_BYTES: Final = 1 << 24  # of records that are read at a time, about
_AT_A_TIME: Final = 256  # records: others may want to know of a run, too


class _Place(NamedTuple):
    """How far the records of a part were seen."""

    restarts: int
    last_record: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Records of a run that the page does not have yet."""

    run: OpenRun
    version: int
    places: Mapping[str, _Place]  # by part
    is_fresh: bool  # what was seen before is void
    entries: Sequence[RecordEntry]


class _Rows(NamedTuple):
    """Rows that were read, and what is wrong with those that were not."""

    parts: Sequence[TableRows]
    fault: str


class TableFeed:
    """The answers to one question about a table."""

    def __init__(self, watch: Watch, question: TableQuestion) -> None:
        self._watch = watch
        self._question = question
        self._run_ids = list(dict.fromkeys(question.run_ids))
        self._known: dict[str, _Found] = {}
        self._num_rows = self._num_left_out = 0  # of what was there when it was asked for
        self._fault = ""

    async def frames(self) -> AsyncGenerator[str, None]:
        is_first = True
        with self._watch.following(self._run_ids):
            await self._watch.find(self._run_ids)
            while True:
                news, began = self._watch.news, time.monotonic()
                found = await self._new_records()
                is_all = is_first or any(one.is_fresh and one.run.place.id in self._known for one in found)
                if is_all:
                    if not is_first:
                        self._known = {}
                        found = await self._new_records()
                    self._fault = ""
                    found, self._num_rows, self._num_left_out = _newest(found)
                self._known |= {one.run.place.id: replace(one, entries=()) for one in found}
                async for frame in self._frames_of(found, is_all):
                    yield frame
                is_first = False
                await pacing.rest_after(began)
                await pacing.next_news(news, self._watch.lacks(self._run_ids, self._known))

    async def _new_records(self) -> list[_Found]:
        found = []
        for run_id in self._run_ids:
            run, known = self._watch.shelf.known(run_id), self._known.get(run_id)
            if run is None or (known is not None and (known.run, known.version) == (run, run.version)):
                continue
            look = run.turns.take if len(self._run_ids) == 1 else run.turns.glance
            looked = await look(_look, run, self._question, known)
            if looked is not None:
                found.append(looked)
        return found

    async def _frames_of(self, found: Sequence[_Found], is_all: bool) -> AsyncGenerator[str, None]:
        parts: list[TableRows] = []
        num_cells = 0
        fault = self._fault
        for one in found:
            for first in range(0, len(one.entries), _AT_A_TIME):
                some = one.entries[first : first + _AT_A_TIME]
                for entries in _by_size(some):
                    rows = await one.run.turns.take(_read_rows, one.run, entries)
                    self._fault = rows.fault or self._fault
                    parts += rows.parts
                    num_cells += sum(len(part.rows) * len(part.columns) for part in rows.parts)
                    if num_cells > _CHUNK_CELLS:
                        yield self._frame(parts, is_all)
                        parts, num_cells, is_all = [], 0, False
        if parts or is_all or self._fault != fault:
            yield self._frame(parts, is_all)

    def _frame(self, parts: Sequence[TableRows], is_all: bool) -> str:
        notes = []
        if self._num_left_out:
            notes.append(
                f"The {self._num_rows:,} newest rows are here; {self._num_left_out:,} others are left out."
            )
        if self._fault:
            notes.append(f"Some rows cannot be shown: {self._fault}")
        answer = TableAnswer(id=self._question.id, is_all=is_all, parts=parts, note=clipped(" ".join(notes)))
        return as_json(answer).decode()


def _newest(found: Sequence[_Found]) -> tuple[list[_Found], int, int]:
    """As many of the newest as may be sent, how many rows these are, and how many are left out."""
    chosen = []
    num_rows = num_left_out = 0
    for one in reversed(found):
        entries = []
        for entry in reversed(one.entries):
            size = _num_rows(entry)
            if num_left_out or (num_rows and num_rows + size > MAX_ROWS):
                num_left_out += size  # as is all that is older: there are no gaps
                continue
            num_rows += min(size, MAX_ROWS)
            num_left_out += max(0, size - MAX_ROWS)
            entries.append(entry)
        chosen.append(replace(one, entries=entries[::-1]))
    return chosen[::-1], num_rows, num_left_out


def _by_size(entries: Sequence[RecordEntry]) -> Iterator[Sequence[RecordEntry]]:
    """A few at a time, and fewer where they are large."""
    chunk: list[RecordEntry] = []
    num_rows = num_bytes = 0
    for entry in entries:
        chunk.append(entry)
        num_rows += _num_rows(entry)
        num_bytes += entry.num_bytes
        if num_rows > MAX_ROWS // 8 or num_bytes > _CHUNK_BYTES:
            yield chunk
            chunk, num_rows, num_bytes = [], 0, 0
    if chunk:
        yield chunk


def _num_rows(entry: RecordEntry) -> int:
    """As many as it says, but not more than it has bytes."""
    return min(entry.head.num_rows, entry.num_bytes) if isinstance(entry.head, TableHead) else 0


# --- in threads ------------------------------------------------------------------------------------


def _look(run: OpenRun, question: TableQuestion, known: _Found | None) -> _Found | None:
    """Records that are new; None where the run cannot be read: the list of runs says why."""
    with run.lock:
        try:
            reader = run.look()
            places = {} if known is None or known.run is not run else known.places
            is_fresh = not places or any(
                part not in reader.parts() or reader.restarts(part) != place.restarts
                for part, place in places.items()
            )
            entries, reached = _records_after(reader, question.name, {} if is_fresh else places)
        except (TorcheerError, OSError):
            return None
        except Exception:
            _LOG.exception("tables of %r could not be read", run.place.name)
            return None
        if question.only_last and entries:
            entries = [last_of(entries)]
        return _Found(run=run, version=run.version, places=reached, is_fresh=is_fresh, entries=entries)


def _records_after(
    reader: RunReader, name: str, places: Mapping[str, _Place]
) -> tuple[list[RecordEntry], Mapping[str, _Place]]:
    found: list[RecordEntry] = []
    reached = {}
    for part_name, part in reader.parts().items():
        last = places[part_name].last_record if part_name in places else 0
        new = part.records("table", name, last)
        found += new
        reached[part_name] = _Place(reader.restarts(part_name), new[-1].id if new else last)
    return sorted(found, key=lambda entry: (entry.step, entry.time)), reached


def _read_rows(run: OpenRun, entries: Sequence[RecordEntry]) -> _Rows:
    with run.lock:
        try:
            found = read_many(run.look(), [_plain_columns(entry) for entry in entries])
        except (TorcheerError, OSError) as error:
            return _Rows((), f"{error}.")
    parts, fault = [], ""
    for entry, cells in zip(entries, found, strict=True):
        if isinstance(cells, TorcheerError):
            fault = str(cells)
        else:
            parts.append(_rows_of(run, entry, table_head(entry), cells))
    return _Rows(parts, fault)


def _plain_columns(entry: RecordEntry) -> Wish:
    """Numbers and texts. What the head says is checked before it is believed."""
    if not isinstance(entry.head, TableHead):
        return Wish(entry, ())
    names = {column.name for column in entry.head.columns if column.form != "tensor"}
    return Wish(entry, names, range(min(MAX_ROWS, entry.head.num_rows)))


def _rows_of(run: OpenRun, entry: RecordEntry, head: TableHead, cells: Mapping[str, Cells]) -> TableRows:
    columns = [cells.get(column.name) for column in head.columns]
    rows = [
        [None if column is None else plain_cell(column[row]) for column in columns]
        for row in range(min(MAX_ROWS, head.num_rows))
    ]
    return TableRows(
        run_id=run.place.id,
        record=record_id(entry),
        step=countable(entry.step) or 0,
        columns=head.columns,
        rows=rows,
    )
