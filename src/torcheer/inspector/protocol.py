"""What the training and its child say to each other beside the ring: seldom, and never much."""

from __future__ import annotations

import math
import os
import select
import socket
import struct
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar

import msgspec

from torcheer.errors import InputError
from torcheer.inspector.frame_format import Plan
from torcheer.run import WATCHER_PREFIX


class Message(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """One line between the processes."""


class Job(Message, frozen=True, tag="job"):
    """What the child is for. The first thing that it hears."""

    run: str | None  # the folder of the run; None where nothing is kept
    rank: int
    every: str  # as it was asked for, for people
    thresholds: Thresholds | None  # None: no alarms
    keeps_tensors: bool
    parent: int  # the process to watch
    max_bytes: int = 1 << 30  # of tensors in the run
    histogram_seconds: float = 5.0  # between two histograms of a row; 0 for none
    idle_seconds: float = 0.0  # ends by itself when nothing came for so long; 0 for never
    is_again: bool = False  # the child before this one was killed
    follows_losses: bool = False  # looks for losses that the training logs into the run by itself
    name: str = ""  # of the watch, where several watch the same run
    callbacks: bytes | None = None  # pickled, where the child is a new interpreter

    def named(self, numbers: Numbers) -> Numbers:
        """With the names that these have in the run: those of rank 0 of a watch without a name as they are.

        So each series has one point a step, and those of other ranks stand beside it: `rank-1/loss`.
        """
        own = (f"rank-{self.rank}/" if self.rank else "") + (f"{self.name}/" if self.name else "")
        ours = WATCHER_PREFIX  # stay in front, by which they are known
        values = {
            f"{ours}{own}{name.removeprefix(ours)}" if name.startswith(ours) else f"{own}{name}": value
            for name, value in numbers.values.items()
        }
        return msgspec.structs.replace(numbers, values=values) if own else numbers


class NewPlan(Message, frozen=True, tag="plan"):
    """Rows, and the ring in which they come: its descriptor comes along. The old ring is emptied first."""

    plan: Plan


class Numbers(Message, frozen=True, tag="numbers"):
    """Scalars that the training gave, such as the loss."""

    step: int
    time: float
    values: dict[str, float]
    are_kept: bool = False  # the training writes them into the run itself: they are for alarms alone


class Wake(Message, frozen=True, tag="wake"):
    """The ring is filling up."""


class Flush(Message, frozen=True, tag="flush"):
    """Put all that came before on disk, and say so."""

    ticket: int


class Close(Message, frozen=True, tag="close"):
    """Nothing more will come. `reason` where the training died of something."""

    reason: str = ""


ToChild = Job | NewPlan | Numbers | Wake | Flush | Close


class Ready(Message, frozen=True, tag="ready"):
    """The child runs."""


class Raised(Message, frozen=True, tag="raised"):
    """An alarm."""

    alarm: str  # its kind: nan, exploding_gradient…
    layer: str
    variable: str
    step: int
    time: float
    value: float | None
    threshold: float | None
    message: str


class Told(Message, frozen=True, tag="told"):
    """Something to say to the user, once: a callback failed, the disk is full."""

    message: str


Reason = Literal["full", "killed", "budget", "error"]


class Lost(Message, frozen=True, tag="lost"):
    """Records that are missing from the run, by the names of rows. The child tells what the disk refused."""

    reason: Reason
    counts: dict[str, int]
    first_step: int
    last_step: int
    time: float


class Flushed(Message, frozen=True, tag="flushed"):
    ticket: int


class Failed(Message, frozen=True, tag="failed"):
    """The child could not begin, and ends."""

    message: str


class Idle(Message, frozen=True, tag="idle"):
    """Nothing came for a long time: the child ends. What comes later starts another."""


ToParent = Ready | Raised | Told | Flushed | Failed | Idle | Lost


_LENGTH = struct.Struct("<I")
_PIECE_BYTES = 1 << 16
_MOST_BYTES = 1 << 30
_MOST_DESCRIPTORS = 8

Heard = TypeVar("Heard")


class Channel(Generic[Heard]):
    """One end. What cannot be sent at once waits here, and goes with the next message or `pump`."""

    def __init__(self, end: socket.socket, heard: Any) -> None:
        """`heard` is what the other side says: `ToChild` or `ToParent`."""
        self._socket = end
        self._socket.setblocking(False)
        self._decoder: msgspec.msgpack.Decoder[Heard] = msgspec.msgpack.Decoder(heard)
        self._waiting: deque[tuple[Message, bytes, int | None]] = deque()
        self._sent = 0  # bytes of the first that waits
        self._received = bytearray()
        self._descriptors: deque[int] = deque()
        self.is_open = True  # False: the other side is gone

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def num_waiting(self) -> int:
        return len(self._waiting)

    def waiting(self) -> list[Message]:
        """What was not sent, or not all of it."""
        return [message for message, _, _ in self._waiting]

    def send(self, message: Message, descriptor: int | None = None) -> None:
        """The descriptor is copied: it may be closed afterwards."""
        data = msgspec.msgpack.encode(message)
        copy = None if descriptor is None else os.dup(descriptor)
        self._waiting.append((message, _LENGTH.pack(len(data)) + data, copy))
        self.pump()

    def pump(self) -> None:
        """Send what waits, as far as that is possible now."""
        while self._waiting and self.is_open:
            _, data, descriptor = self._waiting[0]
            rest = memoryview(data)[self._sent :]
            try:
                if descriptor is not None and self._sent == 0:
                    self._sent += socket.send_fds(self._socket, [rest], [descriptor])
                else:
                    self._sent += self._socket.send(rest)
            except BlockingIOError:
                return
            except OSError:
                self.is_open = False
                return
            if self._sent == len(data):
                self._sent = 0
                self._waiting.popleft()
                if descriptor is not None:
                    os.close(descriptor)

    def hear(self) -> Iterator[Heard]:
        """Messages that are here. Where one brings a descriptor, `take_descriptor` has it."""
        self._receive()
        while len(self._received) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._received)
            if length > _MOST_BYTES:
                self.is_open = False
                return
            end = _LENGTH.size + length
            if len(self._received) < end:
                return
            data = bytes(self._received[_LENGTH.size : end])
            del self._received[:end]
            yield self._decoder.decode(data)

    def take_descriptor(self) -> int:
        """The descriptor of the message that was heard last; to be closed by whoever takes it."""
        return self._descriptors.popleft()

    def _receive(self) -> None:
        while self.is_open:
            try:
                data, descriptors, _, _ = socket.recv_fds(self._socket, _PIECE_BYTES, _MOST_DESCRIPTORS)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                self.is_open = False
                return
            for descriptor in descriptors:
                os.set_inheritable(descriptor, False)
                self._descriptors.append(descriptor)
            if not data:
                self.is_open = False
            self._received += data

    def close(self) -> None:
        self.is_open = False
        for _, _, descriptor in self._waiting:
            if descriptor is not None:
                os.close(descriptor)
        self._waiting.clear()
        while self._descriptors:
            os.close(self._descriptors.popleft())
        self._socket.close()


# What a threshold must be above, and the most that it can be.
_LIMITS: Final[dict[str, tuple[float, float]]] = {
    "exploding_gradient": (1, math.inf),
    "gradient_norm": (0, math.inf),
    "vanishing_gradient": (0, math.inf),
    "dead_units": (0, 1),
    "saturated": (0, 1),
    "loss_spike": (1, math.inf),
}
_COUNTS: Final = ("stuck_weight", "steps", "well_steps")  # whole numbers from 1 on


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of the alarms. Steps are watched steps: those in between are not seen."""

    nonfinite: bool | None = True  # NaN or infinite values anywhere
    exploding_gradient: float | None = 100.0  # the norm of all gradients together, by its usual size
    gradient_norm: float | None = 1e15  # the same norm, whatever is usual
    vanishing_gradient: float | None = 1e-5  # the norm at the first layer, by that where it is largest
    dead_units: float | None = 0.8  # share of a layer's units that give nothing but 0
    saturated: float | None = 0.95  # share of what a Sigmoid, Tanh… gives that lies at the ends of its range
    loss_spike: float | None = 10.0  # a loss above its usual one, by how far it usually strays from that
    stuck_weight: int | None = 20  # steps in which a weight has a gradient and stays the same, or has none
    steps: int = 20  # so long dead, saturated and vanishing must last: a few may be chance
    well_steps: int = 50  # so long all must be well before the same alarm can be raised again

    def __post_init__(self) -> None:
        for name, (low, high) in _LIMITS.items():
            value = getattr(self, name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if value is not None and not (is_number and low < value <= high):
                most = "" if high == math.inf else f", at most {high}"
                raise InputError(
                    f"{name} is {value!r}: give a number above {low}{most}, or None for no alarm."
                )
        for name in _COUNTS:
            value = getattr(self, name)
            if not (isinstance(value, int) and value >= 1) and (value is not None or name != "stuck_weight"):
                raise InputError(f"{name} is {value!r}: give a whole number from 1 on.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Callbacks:
    """`on_run(name, step, tensor)` for each tensor that is seen, `on_closing()` when nothing more comes.

    Both are handed over together: two methods of one object are methods of one object there, too.
    """

    on_run: Callable[[str, int, Any], object] | None = None
    on_closing: Callable[[], object] | None = None

    def __post_init__(self) -> None:
        for name, function in (("callback", self.on_run), ("on_closing", self.on_closing)):
            if function is not None and not callable(function):
                raise InputError(f"{name} is a {type(function).__name__}: give a function.")


def wait_for(descriptor: int, seconds: float, *, reading: bool = True, writing: bool = False) -> bool:
    """True if it can be read or written now, or the other side is gone."""
    poll = select.poll()
    poll.register(descriptor, reading * select.POLLIN | writing * select.POLLOUT)
    return bool(poll.poll(1000 * seconds))
