"""The process that watches, from the training's side: start it, talk to it, replace it when killed, end it.

It is a new interpreter without the script, or a process of multiprocessing where callbacks are part of the
script.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.spawn import get_executable
from typing import Any, Final

import msgspec

from torcheer.errors import InputError, InspectorError
from torcheer.inspector import protocol
from torcheer.inspector.child.run_writer import Missing, lost_frames, write_gaps
from torcheer.inspector.frame_format import Layout, Plan
from torcheer.inspector.ring import TALLIES, Ring
from torcheer.run import Ending

# The places of modules come first: whatever the training could import, the child can.
_CODE: Final = (
    "import sys\n"
    "sys.path[:] = sys.argv[2:]\n"
    "from torcheer.inspector.child.lifetime import begin_fresh\n"
    "begin_fresh(int(sys.argv[1]))"
)
_SIGNALS: Final = ("SIGINT", "SIGHUP", "SIGTERM")
# A few numbers at a time: more threads would only take the training's cores.
_ONE_THREAD: Final = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_DYING_SECONDS: Final = 3.0  # for a process that has closed its channel


_of_the_training: weakref.WeakSet[Any] = weakref.WeakSet()


def forget_in_forks(one: Any) -> None:
    """In a fork of the training, `become_inert` of it is called."""
    _of_the_training.add(one)


def _after_fork() -> None:
    for one in list(_of_the_training):
        one.become_inert()
    _of_the_training.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


NAME: Final = "torcheer inspector"  # of the processes that multiprocessing makes for us
UNGUARDED: Final = 86  # the exit code that says so
NOT_TOLD: Final = 87  # the exit code of one that ended in order, but not because it was told to

WORDS: Final = (
    "the start method {method!r} runs your script again in each new process, and the script has no guard "
    "against that. Put what starts the training into a function, and call it at the end of the script like "
    "this:\n\n"
    '    if __name__ == "__main__":\n'
    "        main()\n\n"
    "Or leave out start_method: then nothing of the script is run again."
)

_is_child = False


def usual_start_method() -> str:
    """What multiprocessing does where nothing is said. Merely asking for it must not settle it."""
    return multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]


def note_that_this_is_a_child() -> None:
    global _is_child
    _is_child = True


def check_start(method: str | None) -> None:
    """Raises where no child can be started from here, or ends the process that is our own."""
    if method not in (None, "spawn", "fork", "forkserver"):
        raise InputError(f"start_method is {method!r}: give spawn, fork or forkserver, or leave it out.")
    process = multiprocessing.current_process()
    if getattr(process, "_inheriting", False):
        if process.name == NAME:
            # Nothing was done here yet, and the script might catch what is raised and train on, unseen.
            os._exit(UNGUARDED)
        raise InspectorError(WORDS.format(method=method or usual_start_method()))
    if _is_child:
        raise InspectorError("this process watches a training itself: nothing can be watched from within.")


Process = Any  # a Popen, or a process of multiprocessing
Start = Callable[[socket.socket], Process]  # with its end of the channel; raises InputError or InspectorError


def way_to_start(
    callbacks: protocol.Callbacks | None, start_method: str | None
) -> tuple[Start, bytes | None]:
    """How to start a child, and callbacks that come with its job. Raises InspectorError on this system."""
    if os.name != "posix":
        raise InspectorError(
            "a training is watched from another process with shared memory as Linux and macOS have it, and "
            "this system has not. Log from the training itself: tl.Run."
        )
    is_bundled = getattr(sys, "frozen", False)  # the executable is the program itself, and no Python
    if start_method is None and not is_bundled:
        if callbacks is None:
            return _start_fresh, None
        with suppress(Exception):
            pickled = pickle.dumps(callbacks)
            # A process that does not have the script's own names could not read those.
            if b"__main__" not in pickled and b"__mp_main__" not in pickled:
                return _start_fresh, pickled
    return partial(_start_by_multiprocessing, callbacks, start_method or usual_start_method()), None


def _start_fresh(end: socket.socket) -> Process:
    """A new interpreter. It starts fast, imports no torch, and needs no guard in the script."""
    executable = os.fsdecode(get_executable() or "")
    try:
        with _signals_held_back():
            return subprocess.Popen(
                [executable, "-c", _CODE, str(end.fileno()), *map(str, sys.path)],
                pass_fds=[end.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, **_ONE_THREAD},
            )
    except (OSError, ValueError) as error:
        raise InspectorError(
            f"the process that watches cannot be started ({error}): {executable!r} is run for it. Perhaps "
            "there is too little memory, or there are too many processes."
        ) from error


def _start_by_multiprocessing(
    callbacks: protocol.Callbacks | None, method: str, end: socket.socket
) -> Process:
    """Where callbacks are part of the script, or somebody asks for it."""
    from torcheer.inspector.child.lifetime import begin_in_process  # which imports this module

    context: Any = multiprocessing.get_context(method)
    process = context.Process(target=begin_in_process, args=(end, callbacks), name=NAME, daemon=True)
    try:
        # The server that forks would hold them back for ever, in all processes that it makes.
        if method == "forkserver":
            process.start()
        else:
            with _signals_held_back():
                process.start()
    except (EOFError, ConnectionError) as error:
        raise InspectorError(WORDS.format(method=method)) from error
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"the callbacks cannot be handed to another process ({error}): with start_method="
            f"{method!r} they must be functions of a module, or methods of objects that pickle; no "
            "lambdas, and no functions inside functions. Or give start_method='fork'."
        ) from error
    except (OSError, RuntimeError, AssertionError) as error:  # a daemon may start no process that way
        raise InspectorError(
            f"the process that watches cannot be started with start_method={method!r} ({error}). Leave "
            "start_method out, and put callbacks into a module of their own."
        ) from error
    return process


def reason_of(exit_code: int | None, start_method: str | None) -> str:
    """Why a process that was to watch is not there."""
    if exit_code == UNGUARDED:
        return WORDS.format(method=start_method or usual_start_method())
    if exit_code is None:
        return "it does not answer. The machine may be very busy; try again."
    if exit_code < 0:
        with suppress(ValueError):
            return f"it was ended by {signal.Signals(-exit_code).name}. Perhaps there is too little memory."
    hint = "what it printed above says why."
    if start_method in ("spawn", "forkserver"):
        hint += " It runs your script again: guard what trains with `if __name__ == '__main__':`."
    return f"it ended at once, with exit code {exit_code}: {hint}"


@contextmanager
def _signals_held_back() -> Iterator[None]:
    """What comes during the start, a process that does not heed signals yet must not die of."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {getattr(signal, name) for name in _SIGNALS})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Life:
    """One process and the channel to it. Raises InputError or InspectorError where it cannot be started."""

    def __init__(self, start: Start) -> None:
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise InspectorError(f"there can be no channel to the process that watches ({error}).") from error
        self.channel: protocol.Channel[protocol.ToParent] = protocol.Channel(ours, protocol.ToParent)
        # Before the start: a fork that kept this end would hide that it was closed.
        forget_in_forks(self)
        try:
            self._process = start(theirs)
        except BaseException:
            self.channel.close()
            raise
        finally:
            theirs.close()
        self.pid: int = self._process.pid
        self._code: int | None = None
        self.is_ready = False
        self.failure = ""  # why it could not begin
        self.is_expected_to_end = False  # it said that it was idle, or was told to close
        self._dying_since = 0.0

    def become_inert(self) -> None:
        self.channel.close()

    @property
    def exit_code(self) -> int | None:
        """None while it lives."""
        if self._code is None:
            if isinstance(self._process, subprocess.Popen):
                self._code = self._process.poll()
            else:
                self._code = self._process.exitcode
                if self._code is not None:
                    self._process.close()  # it holds pipes, and would until it is collected
        return self._code

    @property
    def is_alive(self) -> bool:
        return self.exit_code is None

    def wait_for_news(self, seconds: float) -> None:
        """Until it says something, or can be told something, or the time is up."""
        if self.channel.is_open:
            protocol.wait_for(self.channel.fileno(), seconds, writing=self.channel.num_waiting > 0)
        else:
            time.sleep(seconds)

    def hasten(self, now: float) -> None:
        """Without its channel it is of no use: where it does not end by itself, it is killed."""
        if not self.channel.is_open:
            self._dying_since = self._dying_since or now
            if now - self._dying_since > _DYING_SECONDS and self.is_alive:
                self._process.kill()

    def stop(self) -> None:
        """One that never became ready."""
        while self.exit_code is None:
            self._process.kill()
            time.sleep(0.01)
        self.let_go()

    def let_go(self) -> None:
        """Close our end of the channel. The process, where it still lives, ends by itself."""
        self.channel.close()
        if self.is_alive:  # somebody has to wait for its end, else it stays a zombie
            with suppress(RuntimeError):  # the interpreter is ending
                threading.Thread(target=self._wait, name="torcheer end", daemon=True).start()

    def _wait(self) -> None:
        with suppress(ValueError):  # another thread saw its end
            self._process.wait() if isinstance(self._process, subprocess.Popen) else self._process.join()
            self._code = self.exit_code


_READY_SECONDS: Final = 120.0  # a busy machine, a network file system, a script that imports much
_LOOK_SECONDS: Final = 0.25  # between two questions whether the process lives
_WAIT_SECONDS: Final = 0.02
_CLOSE_SECONDS: Final = 10.0  # for gaps that the training writes itself
_MOST_DEATHS, _DEATHS_SECONDS = 5, 60.0
_MOST_WAITING: Final = 2_000  # messages to a child that does not listen


class Child:
    """One child. Used by one thread; in a fork of the training it does nothing at all."""

    def __init__(
        self, job: protocol.Job, callbacks: protocol.Callbacks | None, start_method: str | None
    ) -> None:
        self.job = job
        self._callbacks, self._start_method = callbacks, start_method
        self._start: Start | None = None
        self._life: Life | None = None  # None: it has gone idle, was given up, or was never started
        self._rings: list[tuple[Plan, Ring]] = []  # the current one last; older ones until all is on disk
        self._heard: list[protocol.ToParent] = []
        self._deaths: deque[float] = deque(maxlen=_MOST_DEATHS + 1)
        self._ticket, self._flushed, self._looked_at = 0, 0, 0.0
        self._is_closed = False
        self.is_inert = False  # this process is a fork of the training
        self.is_given_up = False  # it died again and again: there is none any more
        self.num_restarts = 0
        forget_in_forks(self)

    def start(self) -> None:
        """Returns when the child is ready. Raises InputError or InspectorError, with what to do."""
        check_start(self._start_method)
        if self._start is not None or self.is_inert:
            return
        self._start, pickled = way_to_start(self._callbacks, self._start_method)
        self.job = msgspec.structs.replace(self.job, callbacks=pickled)
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
        slot_bytes = Layout(plan).num_bytes
        try:
            ring = Ring.of_size(plan.num_slots, slot_bytes, len(plan.rows))
        except (OSError, MemoryError, ValueError, OverflowError) as error:
            raise InspectorError(
                f"there is no room for {plan.num_slots * slot_bytes / 1e6:,.0f} MB of shared memory "
                f"({error}): watch fewer layers, or raise the limit (ulimit, the memory of a container)."
            ) from error
        self._rings.append((plan, ring))
        if self._life is not None and not self.is_inert:
            self._life.channel.send(protocol.NewPlan(plan=plan), ring.descriptor)
        return ring

    @property
    def ring(self) -> Ring | None:
        """The current one."""
        return self._rings[-1][1] if self._rings else None

    @property
    def pid(self) -> int | None:
        return None if self._life is None or self.is_inert else self._life.pid

    def is_alive(self) -> bool:
        return self._life is not None and not self.is_inert and self._life.is_alive

    def tell(self, message: protocol.Message) -> None:
        """Send, now or as soon as there is room. It never waits; who does not listen misses numbers."""
        if self.is_inert or self._is_closed or self._life is None:
            return
        most = {protocol.Wake: 1, protocol.Numbers: _MOST_WAITING}.get(type(message), math.inf)
        if self._life.channel.num_waiting < most:
            self._life.channel.send(message)

    def poll(self) -> list[protocol.ToParent]:
        """What the child said since. Starts another where it was killed; none of this waits."""
        if not self.is_inert and not self._is_closed:
            if self._life is not None:
                self._take(self._life)
                self._look_after(self._life)
            elif not self.is_given_up and self._has_frames_left():
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
                asked.channel.send(protocol.Flush(ticket=ticket))
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
        while is_over and (self._life is not None or self._has_frames_left()):
            if self._life is None:
                if self.is_given_up:
                    break
                self._launch_again()
                continue
            self._life.channel.send(protocol.Close(reason=reason))
            self._life.is_expected_to_end = True
            is_over = self._wait_for_the_end(self._life, end)
        self._is_closed = True
        with suppress(Exception):  # there is nobody left who could be told
            self._write_the_rest(reason)
        if self._life is not None:
            self._life.let_go()
        for _, ring in self._rings:
            ring.close()
        return is_over

    def _write_the_rest(self, reason: str) -> None:
        """Gaps that no child will write: none is left, or it does not listen and never heard of a ring."""
        ending = Ending("died", reason) if self._life is None and self.is_given_up and reason else None
        unheard = None
        if self._life is not None:
            waiting = self._life.channel.waiting()
            unheard = {message.plan.number for message in waiting if isinstance(message, protocol.NewPlan)}
        gaps = [] if self.job.run is None else self._gaps_left(self.job.run, unheard)
        if self.job.run is not None and (gaps or ending):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that this run cannot be written, was told before
                write_gaps(self.job, gaps, ending or Ending("finished"), _CLOSE_SECONDS)

    def _gaps_left(self, folder: str, only: Collection[int] | None) -> list[protocol.Lost]:
        """`only`: of these plans, by their numbers."""
        missing, found = Missing(folder, self.job.rank), []
        for plan, ring in self._rings:
            if only is None or plan.number in only:
                found += missing.after_kill(ring, plan)
                waiting = range(ring.num_given_back, ring.num_filled)
                lost = lost_frames(ring, plan, waiting, "full" if only else "killed")
                found += [] if lost is None else [lost]
        return found

    def _wait_for_the_end(self, life: Life, end: float) -> bool:
        """False: it takes longer. One that was killed before it had finished counts as dead."""
        while life.is_alive:
            if time.monotonic() > end:
                return False
            life.wait_for_news(_WAIT_SECONDS)
            self._take(life)
        self._take(life)
        self._bury(life, was_killed=life.exit_code not in (0, NOT_TOLD))
        return True

    def _has_frames_left(self) -> bool:
        """True if a child would have something to do: to read, or to say that it is lost."""
        return any(ring.num_waiting or ring.num_kept < ring.num_given_back for _, ring in self._rings)

    def _launch(self, *, is_again: bool) -> Life:
        assert self._start is not None
        self._life = life = Life(self._start)
        self._looked_at = time.monotonic()
        life.channel.send(msgspec.structs.replace(self.job, is_again=is_again))
        for plan, ring in self._rings:
            life.channel.send(protocol.NewPlan(plan=plan), ring.descriptor)
        return life

    def _launch_again(self) -> None:
        """After a death, or because something came after it had gone idle."""
        if self._start is None:
            self.is_given_up = True
            return
        try:
            self._launch(is_again=True)
        except Exception as error:
            self._give_up(str(error))

    def _take(self, life: Life) -> None:
        if life.channel.num_waiting:
            life.channel.pump()
        for message in life.channel.hear():
            if isinstance(message, protocol.Flushed):
                self._flushed = max(self._flushed, message.ticket)
            elif isinstance(message, protocol.Ready):
                life.is_ready = True
            elif isinstance(message, protocol.Failed):
                life.failure = message.message
            else:
                life.is_expected_to_end |= isinstance(message, protocol.Idle)
                self._heard.append(message)

    def _look_after(self, life: Life) -> None:
        """Let go of old rings, and see whether the process lives."""
        now = time.monotonic()
        if now - self._looked_at < _LOOK_SECONDS and life.channel.is_open:
            return
        self._looked_at = now
        while len(self._rings) > 1 and _is_done_with(self._rings[0][1]):
            self._rings.pop(0)[1].close()
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
        self._deaths.append(time.monotonic())
        if life.failure:
            self._give_up(life.failure)
        elif len(self._deaths) > _MOST_DEATHS and self._deaths[-1] - self._deaths[0] < _DEATHS_SECONDS:
            self._give_up(f"it ended again and again: {reason_of(life.exit_code, self._start_method)}")

    def _give_up(self, reason: str) -> None:
        self.is_given_up = True
        self._heard.append(
            protocol.Told(message=f"the training is no longer watched. The process that did so: {reason}")
        )

    def become_inert(self) -> None:
        """In a fork: the child is the parent's."""
        self.is_inert = True
        self._heard = []


def _is_done_with(ring: Ring) -> bool:
    """All that came through it is on disk, or counted there as lost."""
    return ring.num_kept >= ring.num_filled and not any(ring.counted(tally).num_new for tally in TALLIES)
