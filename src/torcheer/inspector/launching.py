"""The training's side of one child: start it, talk to it, start it again when it is killed, end it."""

from __future__ import annotations

import os
import time
import weakref
from contextlib import suppress
from typing import Final

import msgspec

from torcheer.errors import InspectorError
from torcheer.inspector.callbacks import Callbacks
from torcheer.inspector.launchguard import NOT_TOLD, refuse_in_a_child
from torcheer.inspector.launchlast import never_heard, write_the_rest
from torcheer.inspector.launchlife import Deaths, Life
from torcheer.inspector.launchmemory import Unsettled
from torcheer.inspector.launchprocess import Way, reason_of, way_to_start
from torcheer.inspector.launchrings import Rings
from torcheer.inspector.messages import (
    Close,
    Failed,
    Flush,
    Flushed,
    Idle,
    Job,
    Lost,
    Message,
    NewPlan,
    Numbers,
    Ready,
    Told,
    ToParent,
    Wake,
)
from torcheer.inspector.ring import Ring
from torcheer.inspector.rows import Plan
from torcheer.run import OUR_NUMBERS, Ending

_READY_SECONDS: Final = 120.0  # a busy machine, a network file system, a script that imports much
_LOOK_SECONDS: Final = 0.25  # between two questions whether the process lives
_WAIT_SECONDS: Final = 0.02


class Child:
    """One child. Used by one thread; in a fork of the training it does nothing at all."""

    def __init__(self, job: Job, callbacks: Callbacks | None, start_method: str | None) -> None:
        self._job, self._callbacks, self._start_method = job, callbacks, start_method
        self._way: Way | None = None
        self._life: Life | None = None  # None: it has gone idle, was given up, or was never started
        self._last: Life | None = None  # the same, also when it is over
        self._rings = Rings()
        self._unsettled = Unsettled()
        self._heard: list[ToParent] = []
        self._deaths = Deaths()
        self._ticket, self._flushed, self._looked_at = 0, 0, 0.0
        self._is_closed = False
        self.is_inert = False  # this process is a fork of the training
        self.is_given_up = False  # it died again and again: there is none any more
        self.num_restarts = 0
        self._num_told = 0  # messages with numbers of the user's
        _all_children.add(self)

    # --- the beginning ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Returns when the child is ready. Raises InputError or InspectorError, with what to do."""
        refuse_in_a_child(self._start_method)
        if self._way is not None or self.is_inert:
            return
        self._way = way_to_start(self._callbacks, self._start_method)
        life = self._launch(is_again=False)
        try:
            self._wait_until_ready(life, time.monotonic() + _READY_SECONDS)
        except BaseException:
            life.stop()
            self._life, self._is_closed = None, True
            raise

    def _wait_until_ready(self, life: Life, end: float) -> None:
        while not life.is_ready:
            code = life.exit_code  # asked first: its last words are heard after that
            life.wait_for_news(_WAIT_SECONDS)
            self._take(life)
            if not life.is_ready and (life.failure or code is not None or time.monotonic() > end):
                reason = life.failure or reason_of(code, self._start_method)
                raise InspectorError(f"the process that watches the training cannot begin: {reason}")

    def new_plan(self, plan: Plan) -> Ring:
        """The ring for these rows. The one before is emptied, and must not be filled any more."""
        ring = self._rings.add(plan)
        if self._life is not None and not self.is_inert:
            self._life.send(NewPlan(plan=plan), ring.memory.descriptor)
        return ring

    @property
    def ring(self) -> Ring | None:
        """The current one."""
        return self._rings.current

    @property
    def pid(self) -> int | None:
        return None if self._last is None or self.is_inert else self._last.pid

    def is_alive(self) -> bool:
        return self._last is not None and not self.is_inert and self._last.is_alive

    # --- while the training runs -------------------------------------------------------------------------

    def tell(self, message: Message) -> None:
        """Send, now or as soon as there is room. It never waits."""
        if self.is_inert or self._is_closed:
            return
        if isinstance(message, Numbers):
            message = self._numbered(message)
        if isinstance(message, Numbers | Lost):
            self._unsettled.remember(message, is_sent=self._life is not None)
        if self._life is None:
            return
        num_waiting = self._life.channel.num_waiting
        if isinstance(message, Wake) and num_waiting:
            return
        if isinstance(message, Numbers) and not self._unsettled.may_send(message, num_waiting):
            return
        self._life.send(message)

    def _numbered(self, message: Numbers) -> Numbers:
        """Where the training is killed before it could send them, the child knows how many are missing."""
        if all(name.startswith(OUR_NUMBERS) for name in message.values):
            return message
        self._num_told += 1
        if self.ring is not None:
            self.ring.note_told(self._num_told)
        return msgspec.structs.replace(message, number=self._num_told)

    def poll(self) -> list[ToParent]:
        """What the child said since. Starts another where it was killed; none of this waits."""
        if not self.is_inert and not self._is_closed:
            if self._life is not None:
                self._take(self._life)
                self._look_after(self._life)
            elif not self.is_given_up and (self._rings.has_something_left or self._unsettled.are_many):
                self._launch_again()
        heard, self._heard = self._heard, []
        return heard

    def flush(self, timeout: float) -> bool:
        """Wait until all that came before is on disk. False: it takes longer, or there is no child."""
        if self.is_inert or self._is_closed:
            return False
        self._ticket += 1
        ticket, asked = self._ticket, None
        end = time.monotonic() + timeout
        while self._flushed < ticket and not self.is_given_up:
            if self._life is None:
                self._launch_again()
                continue
            if asked is not self._life:
                asked = self._life  # another child has to be asked again
                asked.send(Flush(ticket=ticket))
            if time.monotonic() > end:
                return False
            asked.wait_for_news(_WAIT_SECONDS)
            self._take(asked)
            self._look_after(asked)
        return self._flushed >= ticket

    def close(self, timeout: float, reason: str = "") -> bool:
        """Let the child finish, and wait for it. False: it takes longer, and finishes by itself.

        `reason`: what the training died of. What the child said last, `poll` still gives.
        """
        if self.is_inert or self._is_closed:
            return True
        end = time.monotonic() + timeout
        if self._life is not None and self._life.is_expected_to_end:
            # It was idle. What came after that is for another one.
            self._wait_for_the_end(self._life, end)
        is_over = True
        while is_over and (self._life is not None or self._rings.has_something_left):
            if self._life is None:
                if self.is_given_up:
                    break
                self._launch_again()
                continue
            self._life.send(Close(reason=reason))
            self._life.is_expected_to_end = True
            is_over = self._wait_for_the_end(self._life, end)
        self._is_closed = True
        with suppress(Exception):  # there is nobody left who could be told
            self._write_the_rest(reason)
        if self._life is not None:
            self._life.let_go()
        self._rings.let_go()
        return is_over

    def _write_the_rest(self, reason: str) -> None:
        """What no child was there for. What one could not write that ended in order, its run has counted."""
        if self._life is not None:
            left = never_heard(self._life, self._rings)
            write_the_rest(self._job, [*left, *self._unsettled.overflows()])
            return
        if self._last is not None and self._last.exit_code != 0:
            self._unsettled.remember_all(self._rings.lost(also_waiting=True))
        # Nobody else says how it ended.
        ending = Ending("died", reason) if reason and self.is_given_up else None
        write_the_rest(self._job, self._unsettled.all_again(), ending)

    def _wait_for_the_end(self, life: Life, end: float) -> bool:
        """False: it takes longer. One that was killed before it had finished counts as dead."""
        while life.is_alive:
            if time.monotonic() > end:
                return False
            life.wait_for_news(_WAIT_SECONDS)
            self._take(life)
        self._take(life)
        if life.exit_code == 0:
            self._unsettled.settle_all()
        self._bury(life, was_killed=life.exit_code not in (0, NOT_TOLD))
        return True

    # --- inside ------------------------------------------------------------------------------------------

    def _launch(self, *, is_again: bool) -> Life:
        assert self._way is not None
        self._life = self._last = life = Life(self._way)
        self._looked_at = time.monotonic()
        life.send(msgspec.structs.replace(self._job, is_again=is_again))
        # What may be lost comes first: it is looked for in the run, where nothing new must stand by then.
        again = self._unsettled.all_again()
        for message in again:
            if isinstance(message, Lost):
                life.send(message)
        for plan, ring in self._rings:
            life.send(NewPlan(plan=plan), ring.memory.descriptor)
        for message in again:
            if not isinstance(message, Lost):
                life.send(message)
        return life

    def _launch_again(self) -> None:
        """After a death, or because something came after it had gone idle."""
        if self._way is None:
            self.is_given_up = True
            return
        self._unsettled.remember_all(self._rings.lost())
        try:
            self._launch(is_again=True)
        except Exception as error:
            self._give_up(str(error))

    def _take(self, life: Life) -> None:
        if life.channel.num_waiting:
            life.channel.pump()
        for message in life.channel.hear():
            if isinstance(message, Flushed):
                self._flushed = max(self._flushed, message.ticket)
                self._unsettled.settle(message.ticket)
                continue
            if isinstance(message, Ready):
                life.is_ready = True
            elif isinstance(message, Failed):
                life.failure = message.message
            else:
                life.is_expected_to_end |= isinstance(message, Idle)
                self._heard.append(message)

    def _look_after(self, life: Life) -> None:
        """Ask for what is on disk, let go of old rings, and see whether the process lives."""
        now = time.monotonic()
        if now - self._looked_at < _LOOK_SECONDS and life.channel.is_open:
            return
        self._looked_at = now
        ticket = self._unsettled.question(now)
        if ticket is not None:
            life.send(Flush(ticket=ticket))
        overflow = self._unsettled.overflow(life.channel.num_waiting, self._num_told)
        if overflow is not None:
            self.tell(overflow)
        self._rings.attend()
        if life.is_alive:
            life.hasten(now)
            return
        self._bury(life, was_killed=not life.is_expected_to_end)
        if not life.is_expected_to_end and not self.is_given_up:
            self._launch_again()

    def _bury(self, life: Life, *, was_killed: bool) -> None:
        """The process is gone."""
        life.let_go()
        self._life = None
        if not was_killed:
            return
        self.num_restarts += 1
        self._deaths.note(time.monotonic())
        if life.failure:
            self._give_up(life.failure)
        elif self._deaths.are_too_many:
            self._give_up(f"it ended again and again: {reason_of(life.exit_code, self._start_method)}")

    def _give_up(self, reason: str) -> None:
        self.is_given_up = True
        self._heard.append(
            Told(message=f"the training is no longer watched. The process that did so: {reason}")
        )

    def _become_inert(self) -> None:
        """In a fork: the child is the parent's."""
        self.is_inert = True
        self._heard = []


_all_children: weakref.WeakSet[Child] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for child in list(_all_children):
        child._become_inert()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
