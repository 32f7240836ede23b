"""Count what is missing, by the names of rows: frames that nobody read, or whose figures were lost."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

import msgspec

from torcheer.inspector.frames import FRAME, IS_SEEN, Frame, Layout, read_frame
from torcheer.inspector.messages import Lost
from torcheer.inspector.ring import Ring
from torcheer.inspector.rows import Plan

if TYPE_CHECKING:
    from torcheer.run import Run

Reason = Literal["full", "killed", "budget", "error"]

_CALL = "callback("  # before the name of a row, of which a callback was not called
_WORDS: Mapping[str, str] = {
    "full": "the training was faster than the process that watches it",
    "killed": "the process that watches was killed",
    "budget": "watching them would have cost too much time",
    "error": "they could not be computed, or not be written",
}


def lost_frames(ring: Ring, plan: Plan, numbers: Iterable[int], reason: Reason) -> Lost | None:
    """Frames by their numbers, of which the slots may hold others by now; None where there are none.

    What a slot still holds says what was in its frame. In those of others there were the rows that the
    nearest frame has, or all where nothing is known.
    """
    layout = Layout(plan)
    names = [row.name for row in plan.rows]
    counts = dict.fromkeys(names, 0)
    steps: list[int] = []
    seen, num_frames = names, 0
    for number in sorted(numbers, reverse=True):
        num_frames += 1
        slot = ring.slot(number)
        if FRAME.unpack_from(slot)[0] == number:
            frame = read_frame(slot, layout)
            steps.append(frame.step)
            # The head is written last: of a slot that is being filled again, it says what was there before.
            if number > ring.num_filled - ring.num_slots:
                seen = names_seen(frame, names)
        for name in seen:
            counts[name] += 1
    if not num_frames:
        return None
    return Lost(
        reason=reason,
        counts={name: count for name, count in counts.items() if count},
        first_step=min(steps, default=0),
        last_step=max(steps, default=0),
        time=time.time(),
    )


def names_seen(frame: Frame, names: list[str]) -> list[str]:
    """The rows that a frame has something of."""
    flags = (frame.rows["flags"] & IS_SEEN).tolist()
    return [name for name, flag in zip(names, flags, strict=True) if flag]


def lost_now(frames: Iterable[Frame], plan: Plan, reason: Reason) -> Lost:
    """Frames that are at hand, and of which nothing will be kept."""
    names = [row.name for row in plan.rows]
    counts: dict[str, int] = {}
    steps = []
    for frame in frames:
        steps.append(frame.step)
        for name in names_seen(frame, names):
            counts[name] = counts.get(name, 0) + 1
    first, last = min(steps, default=0), max(steps, default=0)
    return Lost(reason=reason, counts=counts, first_step=first, last_step=last, time=time.time())


def lost_calls(names: Iterable[str], step: int) -> Lost:
    """Rows of which the user's callback was not called. Their records are there: calls have other names."""
    counts = {f"{_CALL}{name})": 1 for name in names}
    return Lost(reason="killed", counts=counts, first_step=step, last_step=step, time=time.time())


def words_for(lost: Lost) -> str:
    """As it stands in the run."""
    count = sum(lost.counts.values())
    are = "record is" if count == 1 else "records are"
    where = (
        f"at step {lost.first_step}"
        if lost.first_step == lost.last_step
        else f"from step {lost.first_step} to {lost.last_step}"
    )
    if lost.counts and all(name.startswith(_CALL) for name in lost.counts):
        are = "call of the callback is" if count == 1 else "calls of the callback are"
        return f"{count:,} {are} missing {where}: the training ended before they could be made."
    return f"{count:,} {are} missing {where}: {_WORDS[lost.reason]}."


def log_gap(run: Run, lost: Lost) -> None:
    """Into the run."""
    run.log_gap(
        lost.first_step,
        lost.last_step,
        reason=lost.reason,
        counts=lost.counts,
        message=words_for(lost),
        time=lost.time,
    )


def together(one: Lost | None, other: Lost) -> Lost:
    """Both in one, with the reason and the time of the second."""
    if one is None:
        return other
    counts = dict(one.counts)
    for name, count in other.counts.items():
        counts[name] = counts.get(name, 0) + count
    return msgspec.structs.replace(
        other,
        counts=counts,
        first_step=min(one.first_step, other.first_step),
        last_step=max(one.last_step, other.last_step),
    )
