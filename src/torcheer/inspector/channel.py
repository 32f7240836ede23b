"""Messages over a pair of sockets, with file descriptors where one has one. The training never waits."""

from __future__ import annotations

import os
import socket
import struct
from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

import msgspec

from torcheer.inspector.messages import Message, ToChild, ToParent

_LENGTH = struct.Struct("<I")
_PIECE_BYTES = 1 << 16
_MOST_BYTES = 1 << 28
_MOST_DESCRIPTORS = 8

Heard = TypeVar("Heard")


class Channel(Generic[Heard]):
    """One end. What cannot be sent at once waits here, and goes with the next message or `pump`."""

    def __init__(self, end: socket.socket, heard: type[Heard]) -> None:
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


def to_child(end: socket.socket) -> Channel[ToParent]:
    """The end of the training."""
    return Channel(end, ToParent)  # type: ignore[arg-type]


def to_parent(end: socket.socket) -> Channel[ToChild]:
    """The end of the child."""
    return Channel(end, ToChild)  # type: ignore[arg-type]
