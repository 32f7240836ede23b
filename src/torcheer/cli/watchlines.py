"""What `torcheer runs show` says of a training that was watched: what, how it went, what was missed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from torcheer.cli.runtables import plain
from torcheer.run import Alarm, Gap, SavedRun, every_text

_MOST_ALARMS: Final = 5
_MOST_GAPS: Final = 3
_REASONS: Final = {
    "full": "the ring was full",
    "killed": "the child was killed",
    "budget": "to stay within the budget",
    "error": "of an error",
}


def watch_rows(run: SavedRun) -> dict[str, Any]:
    """The same for programs."""
    ranks = []
    watched = run.watched
    for rank in watched.ranks:
        its = watched.of_rank(rank)
        steps = its.steps
        ranks.append(
            {
                "rank": rank,
                "every": its.every,
                "got": its.got,
                "names": its.names,
                "columns": its.columns,
                "num_steps": len(steps),
                "last_step": int(steps[-1]) if len(steps) else None,
            }
        )
    return {"watched": ranks, "alarms": run.alarms, "gaps": run.gaps}


def watch_lines(run: SavedRun) -> list[str]:
    """A few lines; none of a run that nobody watched."""
    return [*_watched_lines(run), *_alarm_lines(run.alarms), *_gap_lines(run.gaps)]


def _watched_lines(run: SavedRun) -> Iterator[str]:
    watched = run.watched
    for rank in watched.ranks:
        its = watched.of_rank(rank)
        of_rank = f"rank {rank}: " if len(watched.ranks) > 1 else ""
        every = f", {plain(every_text(its.every, its.got))}" if its.every else ""
        rows = f"{len(its):,} rows of {len(its.layers):,} layers"
        yield f"watched: {of_rank}{rows} at {len(its.steps):,} steps{every}"


def _alarm_lines(alarms: Sequence[Alarm]) -> Iterator[str]:
    if not alarms:
        return
    kinds = Counter(alarm.alarm for alarm in alarms)
    counted = ", ".join(f"{plain(kind)} {count:,}" for kind, count in kinds.most_common())
    yield f"alarms: {len(alarms):,} ({counted})"
    for alarm in alarms[:_MOST_ALARMS]:
        said = plain(alarm.message) or f"{plain(alarm.alarm)} of {plain(alarm.row)}"
        yield f"  step {alarm.step}: {said}"
    if len(alarms) > _MOST_ALARMS:
        yield f"  and {len(alarms) - _MOST_ALARMS:,} more: torcheer runs export csv --events"


def _gap_lines(gaps: Sequence[Gap]) -> Iterator[str]:
    if not gaps:
        return
    yield f"gaps: {len(gaps):,}, {sum(gap.num_missing for gap in gaps):,} records missing"
    for gap in gaps[:_MOST_GAPS]:
        is_one = gap.first_step == gap.last_step
        steps = f"step {gap.first_step}" if is_one else f"steps {gap.first_step}–{gap.last_step}"
        yield f"  {steps}: {gap.num_missing:,} missing, {_REASONS.get(gap.reason, gap.reason)}"
    if len(gaps) > _MOST_GAPS:
        yield f"  and {len(gaps) - _MOST_GAPS:,} more"
