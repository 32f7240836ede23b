"""Watch a training step by step: decide which steps, look at them, and hear what the children have to say."""

from __future__ import annotations

import atexit
import os
import sys
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any, Literal, Self

import torch
from torch import Tensor

from torcheer.errors import InputError
from torcheer.inspector.child_process import Child, forget_in_forks
from torcheer.inspector.layer_hooks import Look
from torcheer.inspector.protocol import Lost, Numbers, Raised, Told
from torcheer.inspector.watch_names import WatchName
from torcheer.inspector.watched_share import WatchedShare, wait_until
from torcheer.inspector.watched_steps import Every, OptimizerSteps, Pace, Steps
from torcheer.models import begin_eager, end_eager
from torcheer.run import Ending, Run, RunAccess, at_end_of_child, ending_of, ending_of_program, warn_caller

WhenFull = Literal["drop", "block", "thin"]
# Threads wait for the last of them at each operation: what a child takes from one of them, all of them lose.
_HELD_UP = 2.0
_ATTENDING_SECONDS = 0.1  # between two looks at what the children say
_SAYING_SECONDS = 1.0  # between two notes of the rate and the cost
_BLOCK_SECONDS = 30.0  # that a training waits at most for a child that stands still
_CLOSE_SECONDS = 20.0
_MOST_ALARMS = 10_000
_MOST_OF_A_KIND = 3  # that are shown
_EXCERPT_SECONDS = 1.0  # between two frames with tensors, where the budget does not suffice for all


class InspectorWarning(UserWarning):
    """Something could not be watched. The training goes on."""


class Announcer:
    """Tells the user, and remembers what was told."""

    def __init__(self, on_alarm: Callable[[Raised], Any] | None = None) -> None:
        self.alarms: deque[Raised] = deque(maxlen=_MOST_ALARMS)
        self._on_alarm = on_alarm
        self._told: set[str] = set()
        self._shown: dict[str, set[tuple[str, str]]] = {}  # layers and variables, by the kind of alarm

    def hear(self, part: WatchedShare) -> None:
        """All that a child has said since the last time."""
        for message in part.child.poll():
            if isinstance(message, Raised):
                self._alarm(message)
            elif isinstance(message, Lost):  # what the child could not write
                part.dropped.update(message.counts)
            elif isinstance(message, Told):
                self.warn(message.message)

    def warn(self, message: str, cause: str | None = None) -> None:
        """Once for each cause."""
        cause = cause or message
        if cause in self._told:
            return
        self._told.add(cause)
        warn_caller(message, InspectorWarning)

    def report(self, error: Exception, name: str = "") -> None:
        """Something cannot be watched; `name` of the row, where it is one."""
        what = f"{name} cannot be watched" if name else "something cannot be watched"
        self.warn(
            f"{what}: {type(error).__name__}: {error}. The training goes on.",
            f"{type(error).__name__} {name}",
        )

    def _alarm(self, alarm: Raised) -> None:
        self.alarms.append(alarm)
        shown = self._shown.setdefault(alarm.alarm, set())  # once for each layer; of many, the first ones
        if (alarm.layer, alarm.variable) not in shown and len(shown) < _MOST_OF_A_KIND:
            shown.add((alarm.layer, alarm.variable))
            more = " (More of this kind are kept in the run and not shown here.)"
            with suppress(Exception):  # there may be no terminal
                sys.stderr.write(f"torcheer: {alarm.message}{more * (len(shown) == _MOST_OF_A_KIND)}\n")
                sys.stderr.flush()
        if self._on_alarm is not None:
            try:
                self._on_alarm(alarm)
            except Exception as error:
                self.warn(f"on_alarm raised {type(error).__name__}: {error}", "on_alarm")


def listed(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


class Watcher:
    """A training that is watched. `close()` ends it, and so does the end of a `with`."""

    def __init__(
        self,
        parts: Sequence[WatchedShare],
        steps: Steps,
        every: Every,
        *,
        budget: float | None = None,
        when_full: WhenFull = "drop",
        on_alarm: Callable[[Raised], Any] | None = None,
        has_callback: bool = False,
        first_step: int = 0,
        taken: WatchName | None = None,
    ) -> None:
        """`has_callback`: it gets each tensor of each step that is watched."""
        self.step = self._first_step = first_step
        self._taken = taken or WatchName("", 0, "", None)
        self._taken.step = first_step
        self._parts, self._steps = list(parts), steps
        self._when_full, self._has_callback = when_full, has_callback
        self._pace = Pace(every, budget)
        self._announcer = Announcer(on_alarm)
        self._run: Run | None = None  # for what the user logs
        self._armed: list[WatchedShare] = []
        self._missed: list[WatchedShare] = []  # that had no room for this step
        self._logged_early: set[str] = set()  # names of numbers that come before the optimizer's step
        self._is_enabled, self._is_closed = True, False
        self._step_ahead: int | None = None  # that was to be looked at when it was switched off
        self._pid = os.getpid()
        self._attended_at = self._said_at = self._step_at = time.monotonic()
        self._num_looks = 0  # since the rate was last noted
        self.rate = 0.0  # how often it looked in a second, lately
        self.cost = 0.0  # the share of the time that this took, in the training and in its children
        self._arming_seconds = 0.0
        self._excerpts_at = -_EXCERPT_SECONDS
        _open.add(self)
        at_end_of_child(_close_all, priority=10)  # before runs are closed
        forget_in_forks(self)
        children = [part.child for part in self._parts]
        weakref.finalize(self, _close_children, children, self._taken).atexit = False

    def start(self) -> None:
        """Begin with the step that comes next."""
        self._pace.is_due(time.monotonic(), self.step)
        self.renew()

    @property
    def name(self) -> str:
        """What stands before the names of its layers in the run; empty where nothing does."""
        return self._taken.name

    @property
    def enabled(self) -> bool:
        """True if it looks. Can be changed at any time: off leaves no hook behind."""
        return self._is_enabled

    @enabled.setter
    def enabled(self, enabled: bool) -> None:
        was_enabled, self._is_enabled = self._is_enabled, bool(enabled)
        if was_enabled and not enabled:
            # Nothing of the step was seen yet: switched on in time, it can be looked at after all.
            is_ahead = all(look.seconds == 0 for look in self.looks)
            self._step_ahead = self.step if self._armed and is_ahead else None
            self._disarm()
        elif enabled and not was_enabled and self._step_ahead == self.step and not self._is_closed:
            self._arm()

    @property
    def alarms(self) -> list[Raised]:
        """Those of this watching, the latest of them where there are very many. The run has them all."""
        return list(self._announcer.alarms)

    @property
    def dropped(self) -> Counter[str]:
        """Records that did not fit into the ring, by name. The run has them, too."""
        return sum((part.dropped for part in self._parts), Counter())

    @property
    def num_dropped(self) -> int:
        return sum(self.dropped.values())

    @property
    def num_left_out(self) -> int:
        """Looks that were asked for and left out for the budget, or where the rate was thinned."""
        return max((part.num_left_out for part in self._parts), default=0)

    @property
    def num_restarts(self) -> int:
        """How often a child was killed and another took its place."""
        return sum(part.child.num_restarts for part in self._parts)

    def is_alive(self) -> bool:
        """True if there are children that look."""
        return not self._is_closed and any(part.child.is_alive() for part in self._parts)

    def log(self, values: dict[str, Any] | None = None, /, *, step: int | None = None, **named: Any) -> None:
        """Keep numbers of a step in the run, such as the loss: `watcher.log(loss=loss)`.

        `step` is the one that is under way for what was first logged before `optimizer.step()`, and the one
        that ended last for what was first logged after it.
        """
        if self._is_closed or not self._parts:
            return
        given = {**(values or {}), **named}
        of_step = self._step_of_log(given) if step is None else step
        try:
            numbers = {
                name: float(value.detach() if isinstance(value, Tensor) else value)
                for name, value in given.items()
            }
        except Exception as error:
            self._announcer.warn(f"watcher.log: {error}: give numbers, by name.", "log")
            return
        self._guarded(lambda: self._keep_numbers(numbers, of_step))

    def _keep_numbers(self, numbers: dict[str, float], step: int) -> None:
        """In a part of the run that is this process's own; alarms look at them in the child."""
        child = self._parts[0].child
        told = Numbers(step=step, time=time.time(), values=numbers, are_kept=True)
        child.tell(told)
        if child.job.run is not None:
            if self._run is None:
                self._run = Run(child.job.run, rank=child.job.rank)
            RunAccess(self._run).put_scalars(step, told.time, child.job.named(told).values)

    def _step_of_log(self, names: Iterable[str]) -> int:
        if self.step == self._first_step:  # whoever logs before the first step ends, always logs that early
            self._logged_early.update(names)
        if not self._steps.knows_update or not self._logged_early.isdisjoint(names):
            return self.step
        return self.step - 1

    def renew(self) -> None:
        """There are layers or tensors that were not there before."""
        self._steps.stop()
        self._disarm()
        for part in self._parts:
            part.is_changed = True
        self._steps.start(self)
        if self._is_enabled:
            self._arm()

    def flush(self, timeout: float = 30.0) -> bool:
        """Wait until all that was seen is on disk. False: it takes longer."""
        until = time.monotonic() + timeout
        is_logged = self._run is None or self._run.flush(timeout)
        done = [part.child.flush(max(0.0, until - time.monotonic())) for part in self._parts]
        self._attend(time.monotonic())
        return is_logged and all(done)

    def untrack(self, *names: str) -> list[str]:
        """Look no more at these layers or tensors, by name or pattern. Returns what it no longer looks at."""
        names = (*names, *(f"{self.name}.{name}" for name in names if self.name))
        gone = []
        for part in self._parts:
            for known in (part.layers, part.tensors):
                for name in [name for name in known if any(fnmatchcase(name, wanted) for wanted in names)]:
                    del known[name]
                    gone.append(name)
                    part.is_changed = True
        if self._armed:  # with hooks on what is to be seen no more
            self.renew()
        if not gone:
            raise InputError(
                f"nothing that is watched answers to {', '.join(map(repr, names)) or 'no name'}."
            )
        return gone

    def close(self) -> None:
        """Look no more, and wait until the children have written what they have."""
        self.close_with("")

    def close_with(self, reason: str, seconds: float = _CLOSE_SECONDS) -> None:
        """The same, with what the training died of."""
        if self._is_closed:
            return
        self._is_closed = True
        self._steps.stop()
        if os.getpid() != self._pid:
            return
        until = time.monotonic() + seconds
        if self._armed and not self._steps.knows_update:  # nothing else says when the step is complete
            self._guarded(self._finish)
        self._disarm()
        for part in self._parts:
            part.end(self.step)
        self._attend(time.monotonic())
        is_done = [self._close_run(reason, max(0.0, until - time.monotonic()) / 2)]
        is_done += [part.child.close(max(0.0, until - time.monotonic()), reason) for part in self._parts]
        for part in self._parts:
            self._announcer.hear(part)
        self._taken.release()
        if not all(is_done):
            self._announcer.warn("what was watched is still being written: that goes on by itself, and ends.")

    def _close_run(self, reason: str, seconds: float) -> bool:
        """Of what was logged. False: it takes longer, and goes on by itself."""
        if self._run is None:
            return True
        access, ending = RunAccess(self._run), Ending("died", reason) if reason else Ending("finished")
        is_done = access.writer.close_with(ending, seconds)
        if is_done:  # else this would wait once more
            access.close(ending)
        return is_done

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> None:
        self.close_with(ending_of(error).reason)

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else "watching" if self._is_enabled else "switched off"
        num_rows = sum(0 if part.plan is None else len(part.plan.rows) for part in self._parts)
        return f"<Watcher {state}, {num_rows} tensors, step {self.step}>"

    @property
    def looks(self) -> list[Look]:
        """Those at the step that is under way."""
        return [part.look for part in self._armed if part.look is not None]

    def end_step(self) -> None:
        """The step is over. To be called where neither an optimizer nor a forward pass says so."""
        if self._is_closed or os.getpid() != self._pid:
            return
        self._guarded(self._end_step)

    def _guarded(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:
            self._announcer.report(error)

    def _end_step(self) -> None:
        if self._armed:
            self._finish()
        for part in self._missed:
            part.count("full", self.step)
        self._missed.clear()
        if self._is_enabled and self._pace.left_out is not None:
            for part in self._parts:
                part.count(self._pace.left_out, self.step)
        now = time.monotonic()
        seconds, self._step_at = now - self._step_at, now
        self._pace.note_step(seconds)
        self.step = self._taken.step = self.step + 1
        if now - self._attended_at > _ATTENDING_SECONDS:
            self._attend(now)
        # Somebody may have closed it meanwhile: an alarm calls what it was told to.
        if self._is_enabled and not self._is_closed and self._pace.is_due(now, self.step):
            self._arm()

    def _arm(self) -> None:
        """Make ready to look at the step that begins now."""
        started = time.perf_counter()
        # Where there is no time for everything, figures come first.
        is_enough = not self._pace.is_limited or self._has_callback
        with_excerpts = is_enough or started - self._excerpts_at > _EXCERPT_SECONDS
        if with_excerpts:
            self._excerpts_at = started
        for part in self._parts:
            if part.look is None:  # there may be something to look at by now
                part.learn_states(self._state_of)
            if self._begin(part, with_excerpts):
                self._armed.append(part)
        for look in () if self._steps.knows_update else self.looks:
            look.await_weight_gradients()
            look.look_before_update(None)
        if self._armed and self._steps.is_outside:
            begin_eager(self)
        self._arming_seconds = time.perf_counter() - started

    def _begin(self, part: WatchedShare, with_excerpts: bool) -> bool:
        how: dict[str, Any] = {"needs_grad": self._steps.knows_update, "with_excerpts": with_excerpts}
        if part.child.is_given_up:
            self._missed.append(part)
            return False
        if part.begin(self.step, self._announcer.report, **how):
            part.is_standing = False
            if part.cut:
                words = f"of {listed(part.cut)} only a piece is kept: there is no room for it in memory."
                self._announcer.warn(words, "cut")
            return True
        if part.plan is None:
            return False
        if self._when_full == "block" and not part.is_standing:
            is_free = wait_until(part.has_room, _BLOCK_SECONDS, lambda: self._attend(time.monotonic()))
            if is_free and part.begin(self.step, self._announcer.report, **how):
                return True
            part.is_standing = not is_free
        if self._when_full == "thin":
            self._pace.thin(time.monotonic())
        self._missed.append(part)
        return False

    def _finish(self) -> None:
        started = time.perf_counter()
        in_step = sum(look.seconds for look in self.looks)
        armed, self._armed = self._armed, []
        for part in armed:
            try:
                part.finish(self._state_of, is_step=self._steps.knows_update)
            except Exception as error:
                part.abandon()
                self._announcer.report(error)
        end_eager(self)
        self._num_looks += 1
        spent = self._arming_seconds + in_step + time.perf_counter() - started
        children = sum(part.child_seconds for part in self._parts)
        self._pace.note_look(spent + (_HELD_UP * children if _is_crowded() else 0.0))

    def _state_of(self, parameter: Tensor) -> Mapping[str, Any]:
        """What the optimizers keep for a parameter. Asked with care: their states are made by asking."""
        if isinstance(self._steps, OptimizerSteps):
            for optimizer in self._steps.optimizers:
                if parameter in optimizer.state:
                    kept = optimizer.state[parameter]
                    return kept if isinstance(kept, Mapping) else {}
        return {}

    def become_inert(self) -> None:
        """In a fork of the training: the children are not ours, and nothing is watched."""
        self._is_closed = True
        _open.discard(self)
        self._taken.release(in_fork=True)
        self._steps.stop()
        for look in self.looks:
            look.remove_hooks()
        self._armed = []

    def _disarm(self) -> None:
        armed, self._armed = self._armed, []
        self._missed.clear()
        for part in armed:
            part.abandon()
        end_eager(self)

    def _attend(self, now: float) -> None:
        """Hear what the children say, and tell them what they cannot see."""
        self._attended_at = now
        for part in self._parts:
            part.settle()
            self._announcer.hear(part)
            part.note_child()
        seconds = now - self._said_at
        if seconds > _SAYING_SECONDS:
            self.rate = self._num_looks / seconds
            self.cost = self.rate * (self._pace.cost or 0.0)
            self._said_at, self._num_looks = now, 0
            values = {"watch/records a second": self.rate, "watch/cost": self.cost}
            if self._parts and not self._is_closed:
                told = Numbers(step=self.step, time=time.time(), values=values)
                self._parts[0].child.tell(told)

    def tell_unseen(self, layers: Sequence[str], why: str) -> None:
        """Say that of these layers only the parameters are watched."""
        self._announcer.warn(f"of {listed(layers)} only the parameters are watched: {why}.", "unseen")


def _is_crowded() -> bool:
    """True if a child takes a processor away from the training: torch, or somebody else, uses all of them."""
    has_affinity = hasattr(os, "sched_getaffinity")
    num_processors = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    if torch.get_num_threads() >= num_processors:
        return True
    try:
        return os.getloadavg()[0] >= num_processors
    except OSError:  # there is no such figure here
        return False


def _close_children(children: Sequence[Child], taken: WatchName) -> None:
    for child in children:
        child.close(0.0)
    taken.release()


_EXIT_SECONDS = 10.0  # for all of them together
_open: weakref.WeakSet[Watcher] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    reason = ending_of_program().reason
    until = time.monotonic() + _EXIT_SECONDS
    for watcher in list(_open):
        watcher.close_with(reason, max(0.0, until - time.monotonic()))
