"""One page's socket: read its questions, answer a few of them at a time, and stop when it goes."""

from __future__ import annotations

from contextlib import suppress
from importlib.metadata import version
from typing import Final

import anyio
from starlette.websockets import WebSocket, WebSocketDisconnect

from torcheer.app.answering import Answers, Frame, text_of
from torcheer.app.messages import AnyQuestion, Hello, Refusal, read_question

_MAX_UNDER_WAY: Final = 8  # of one page; while there are as many, nothing more is read from its socket
_MAX_PAGES: Final = 64

# Codes of RFC 6455 for why a socket is closed.
_GOING_AWAY: Final = 1001
_NOT_UNDERSTOOD: Final = 1003
_COME_BACK_LATER: Final = 1013

_CLOSING_SECONDS: Final = 1.0
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


async def _leave(socket: WebSocket) -> None:
    with suppress(*_GONE):
        await socket.close(_GOING_AWAY, "the server has stopped")


class _Conversation:
    def __init__(self, socket: WebSocket, answers: Answers) -> None:
        self._socket = socket
        self._answers = answers
        self._under_way = anyio.Semaphore(_MAX_UNDER_WAY)

    async def run(self) -> None:
        await self._send(text_of(Hello(version=version("torcheer"), passes=await self._answers.listing())))
        async with anyio.create_task_group() as tasks:
            while (text := await self._receive()) is not None:
                question = read_question(text)
                if isinstance(question, Refusal):
                    await self._send(text_of(question))
                    continue
                await self._under_way.acquire()
                tasks.start_soon(self._answer, question)
            tasks.cancel_scope.cancel()

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

    async def _answer(self, question: AnyQuestion) -> None:
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
