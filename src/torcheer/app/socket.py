"""One page's socket: read its questions, answer a few of them at a time, and stop when it goes.

Some questions are answered again and again: each has a task of its own, which ends when the page says so.
"""

from __future__ import annotations

from contextlib import aclosing, suppress
from importlib.metadata import version
from typing import Final

import anyio
from anyio.abc import TaskGroup
from starlette.websockets import WebSocket, WebSocketDisconnect

from torcheer.app.dispatch import Answers, read_question
from torcheer.app.passes.source import Hello
from torcheer.app.runs.messages import StopQuestion
from torcheer.app.wire import Frame, Question, Refusal, as_text

_MAX_UNDER_WAY: Final = 8  # of one page; while there are as many, nothing more is read from its socket
_MAX_FOLLOWED: Final = 64  # questions of one page that are answered again and again
_MAX_PAGES: Final = 64

# Codes of RFC 6455 for why a socket is closed.
_GOING_AWAY: Final = 1001
_NOT_UNDERSTOOD: Final = 1003
_COME_BACK_LATER: Final = 1013

_CLOSING_SECONDS: Final = 0.5
# What Starlette raises for a socket that the page has left, and for one that we have closed.
_GONE: Final = (WebSocketDisconnect, RuntimeError)


class Conversations:
    """All the pages that are connected."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._sockets: set[WebSocket] = set()

    async def hold(self, socket: WebSocket) -> None:
        """Talk to a page until either side leaves."""
        await socket.accept()
        if len(self._sockets) >= _MAX_PAGES:
            await socket.close(_COME_BACK_LATER, f"{_MAX_PAGES} pages are open already")
            return
        self._sockets.add(socket)
        try:
            await _Conversation(socket, self._answers).run()
        finally:
            self._sockets.discard(socket)

    async def close(self) -> None:
        """Say to all pages that the server leaves."""
        # A page that does not read its socket is not waited for.
        with anyio.move_on_after(_CLOSING_SECONDS):
            async with anyio.create_task_group() as tasks:
                for socket in self._sockets:
                    tasks.start_soon(_leave, socket)
        self._answers.close()


async def _leave(socket: WebSocket) -> None:
    with suppress(*_GONE):
        await socket.close(_GOING_AWAY, "the server has stopped")


class _Conversation:
    def __init__(self, socket: WebSocket, answers: Answers) -> None:
        self._socket = socket
        self._answers = answers
        self._under_way = anyio.Semaphore(_MAX_UNDER_WAY)
        self._followed: dict[int, anyio.CancelScope] = {}

    async def run(self) -> None:
        passes = await self._answers.listing()
        hello = Hello(
            version=version("torcheer"),
            has_runs=self._answers.has_runs,
            has_lessons=self._answers.has_lessons,
            passes=passes,
        )
        await self._send(as_text(hello))
        async with anyio.create_task_group() as tasks:
            while (text := await self._receive()) is not None:
                question = read_question(text)
                if isinstance(question, Refusal):
                    await self._send(as_text(question))
                elif isinstance(question, StopQuestion):
                    self._stop(question.which)
                elif self._answers.is_followed(question):
                    await self._begin(tasks, question)
                else:
                    await self._under_way.acquire()
                    tasks.start_soon(self._answer, question)
            tasks.cancel_scope.cancel()

    async def _begin(self, tasks: TaskGroup, question: Question) -> None:
        self._stop(question.id)  # a page that uses a number again has done with the former question
        if len(self._followed) >= _MAX_FOLLOWED:
            message = f"a page can follow {_MAX_FOLLOWED} questions at a time: stop one of them first."
            await self._send(as_text(Refusal(id=question.id, message=message)))
            return
        scope = self._followed[question.id] = anyio.CancelScope()
        tasks.start_soon(self._follow, question, scope)

    def _stop(self, number: int) -> None:
        scope = self._followed.pop(number, None)
        if scope is not None:
            scope.cancel()

    async def _follow(self, question: Question, scope: anyio.CancelScope) -> None:
        try:
            with scope:
                async with aclosing(self._answers.follow(question, self)) as frames:
                    async for frame in frames:
                        await self._send(frame)
        finally:
            if self._followed.get(question.id) is scope:
                del self._followed[question.id]

    async def _receive(self) -> str | None:
        """The next text; None once there is no more to come."""
        try:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return None
            text: str | None = message.get("text")
            if text is None:
                await self._socket.close(_NOT_UNDERSTOOD, "questions are text")
            return text
        except _GONE:
            return None

    async def _answer(self, question: Question) -> None:
        try:
            await self._send(await self._answers.answer(question))
        finally:
            self._under_way.release()

    async def _send(self, frame: Frame) -> None:
        # Where the page has gone, the next receive says so, too.
        with suppress(*_GONE):
            if isinstance(frame, str):
                await self._socket.send_text(frame)
            else:
                await self._socket.send_bytes(frame)
