"""Log what an inspector sees: what is watched, its figures over steps, alarms, and what was missed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import msgspec

from torcheer.errors import InputError
from torcheer.run.figuretables import checked_table
from torcheer.run.observations import EncodedRecord
from torcheer.run.observing.guarding import never_raising
from torcheer.run.observing.handing import Handing
from torcheer.run.observing.plaintext import plain_text
from torcheer.run.observing.steps import checked_name, step_of, time_of
from torcheer.run.records import AlarmHead, GapHead, Kind, WatchedRow, WatchHead

GapReason = Literal["full", "killed", "budget", "error"]

WATCH = "watch"  # the name of the series of plans, of statistics and of gaps
_REASONS = get_args(GapReason)


class ObservingWatches(Handing):
    """Not one of these methods raises. All is encoded at once: there is little of it."""

    def keep_encoded(self, records: Sequence[EncodedRecord]) -> None:
        raise NotImplementedError

    @never_raising
    def log_watch(
        self,
        step: int,
        rows: Sequence[WatchedRow],
        columns: Sequence[str],
        *,
        digest: str,
        every: str = "",
        watch: str | None = None,
        time: float | None = None,
    ) -> None:
        """Say what is watched from here on, and which figures there are. The last one with a digest holds.

        - `digest`: by which statistics name these rows.
        - `every`: how often, as somebody asked for it.
        - `watch`: the name of whoever watches, empty for one without.
        """
        head = WatchHead(
            digest=plain_text(digest),
            num_rows=len(rows),
            columns=[plain_text(column) for column in columns],
            every=plain_text(every),
            watch=None if watch is None else plain_text(watch),
        )
        self._keep_now(
            "watch", WATCH, step, time, head, msgspec.json.encode([_plain_row(row) for row in rows])
        )

    @never_raising
    def log_statistics(self, digest: str, steps: Any, times: Any, values: Any) -> None:
        """Keep figures of all rows of a plan over some steps.

        - `steps`, `times`: one for each, times in seconds since 1970.
        - `values`: [column][row][step]; NaN where something was not seen, or has no meaning.
        """
        table = checked_table(plain_text(digest), steps, times, values)
        when = int(table.steps[0]), float(table.times[0])
        self._keep_now("statistics", WATCH, *when, table.head(), table.data())

    @never_raising
    def log_alarm(
        self,
        step: int,
        alarm: str,
        *,
        layer: str = "",
        variable: str = "",
        value: float | None = None,
        threshold: float | None = None,
        message: str = "",
        time: float | None = None,
    ) -> None:
        """Keep that something should be looked at. `alarm` is its kind, and the name of its series."""
        head = AlarmHead(
            layer=plain_text(layer),
            variable=plain_text(variable),
            value=_finite(value),
            threshold=_finite(threshold),
            message=plain_text(message),
        )
        self._keep_now("alarm", checked_name(alarm), step, time, head, b"")

    @never_raising
    def log_gap(
        self,
        first_step: int,
        last_step: int,
        *,
        reason: GapReason,
        counts: Mapping[str, int],
        message: str = "",
        time: float | None = None,
    ) -> None:
        """Keep that something was missed. `counts`: how many records, by name."""
        if reason not in _REASONS:
            raise InputError(f"the reason is {reason!r}: give one of {', '.join(_REASONS)}.")
        head = GapHead(
            reason=reason,
            counts={plain_text(name): int(count) for name, count in counts.items()},
            last_step=step_of(last_step),
            message=plain_text(message),
        )
        self._keep_now("gap", WATCH, first_step, time, head, b"")

    def _keep_now(self, kind: Kind, name: str, step: Any, time: Any, head: Any, data: bytes) -> None:
        self.keep_encoded([EncodedRecord(kind, name, step_of(step), time_of(time), head, data)])


def _finite(value: Any) -> float | None:
    """JSON has no NaN and no infinities."""
    number = None if value is None else float(value)
    return number if number is not None and math.isfinite(number) else None


def _plain_row(row: WatchedRow) -> WatchedRow:
    texts = (row.name, row.layer, row.variable, row.role, row.module)
    if all(text.isascii() for text in texts):
        return row
    name, layer, variable, role, module = map(plain_text, texts)
    return WatchedRow(name=name, layer=layer, variable=variable, role=role, module=module, shape=row.shape)
