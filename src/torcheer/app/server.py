"""The running server: in the foreground until it is told to stop, or in a thread beside a program."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import uvicorn

from torcheer.app.addresses import Listener, listen, urls
from torcheer.app.admission import Admission
from torcheer.app.answering import Answers
from torcheer.app.connections import Connection
from torcheer.app.controls import Controls
from torcheer.app.conversation import Conversations
from torcheer.app.features.answering import FeatureAnswers
from torcheer.app.features.shelf import FeatureShelf, shelf_of
from torcheer.app.learning import Learning
from torcheer.app.messages import MAX_REQUEST_BYTES
from torcheer.app.passes import PassSource, Shelf, SourceShelf
from torcheer.app.routes import STATIC_FILES, application, static_file
from torcheer.app.runs.answering import RunAnswers
from torcheer.app.runs.shelf import RunShelf
from torcheer.app.secret import Secret, user_secret
from torcheer.app.security import Guard
from torcheer.app.shelves import shelves, with_folders_of
from torcheer.run import links_within
from torcheer.training.control import Control

_SHUTDOWN_SECONDS: Final = 1  # with what pages are told before, less than two in all
_MAX_CONNECTIONS: Final = 256  # with those that wait before the door, which have a limit of their own


class Server(uvicorn.Server):
    """A server for the passes of a shelf and the runs of another, on a socket that is bound already.

    The trainings that it lets pages control end with it.
    """

    def __init__(
        self,
        shelf: Shelf,
        listener: Listener,
        secret: Secret,
        runs: RunShelf | None = None,
        controls: Sequence[Control] = (),
        learning: Learning | None = None,
        features: FeatureShelf | None = None,
    ) -> None:
        for name in STATIC_FILES:
            static_file(name)  # what is missing is said now, not in a page that stays empty
        self.listener = listener
        self.admission = Admission(listener.port, secret.value)
        self.when_started: Callable[[], None] = lambda: None
        self._controls = Controls(controls, runs)
        self._conversations = Conversations(
            Answers(
                shelf,
                None if runs is None else RunAnswers(runs),
                self._controls,
                learning,
                None if features is None else FeatureAnswers(features),
            )
        )
        guard = Guard(
            app=application(self._conversations), host_names=listener.host_names, admission=self.admission
        )
        super().__init__(_config(guard))

    @property
    def urls(self) -> Sequence[str]:
        """The addresses to open."""
        return tuple(urls(self.listener, self.admission.token))

    def one_time_url(self) -> str:
        """An address that can be opened once, for the command line of a browser."""
        return next(iter(urls(self.listener, self.admission.ticket())))

    def serve_until_stopped(self) -> None:
        """Serve until `should_exit` is set or, in the main thread, a signal says so."""
        try:
            self.run(sockets=[self.listener.socket])
        finally:
            self._controls.close()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.when_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Pages are told that the server leaves; uvicorn itself would tell them that it restarts.
        await self._conversations.close()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # uvicorn raises a signal again once it has stopped. To us it is the usual way to end.
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        former = {
            number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)


def _config(guard: Guard) -> uvicorn.Config:
    return uvicorn.Config(
        guard,
        loop="asyncio",
        http=Connection,
        ws="websockets-sansio",
        ws_max_size=MAX_REQUEST_BYTES,
        # Compression takes more time than a connection within one machine does.
        ws_per_message_deflate=False,
        # A page that is busy may answer late. One that is gone is noticed when a ping cannot be delivered.
        ws_ping_timeout=None,
        lifespan="off",
        # Addresses are not logged: the first one has the token in it.
        access_log=False,
        log_config=None,
        log_level="warning",
        # Nobody stands between the browser and us, so nobody may say where a request came from.
        proxy_headers=False,
        server_header=False,
        limit_concurrency=_MAX_CONNECTIONS,
        backlog=_MAX_CONNECTIONS,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )


class Serving:
    """A server in a thread of its own. Close it, or use it as a context manager."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._has_started = threading.Event()
        self._failure: BaseException | None = None
        server.when_started = self._has_started.set
        # Not kept alive by it: a program that ends without close() ends.
        self._thread = threading.Thread(target=self._run, name="torcheer server", daemon=True)
        self._thread.start()
        self._has_started.wait()
        if self._failure is not None:
            raise self._failure
        atexit.register(self.close)

    @property
    def url(self) -> str:
        """The address to open, with the token that lets one in."""
        return self._server.urls[0]

    @property
    def port(self) -> int:
        return self._server.listener.port

    def close(self) -> None:
        """Stop serving, and wait until it has stopped."""
        atexit.unregister(self.close)
        self._server.should_exit = True
        self._thread.join()

    def __enter__(self) -> Serving:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        try:
            self._server.serve_until_stopped()
        except BaseException as error:
            self._failure = error
        finally:
            self._has_started.set()


def serve_in_background(*sources: PassSource, port: int | None = 0, secret: Secret | None = None) -> Serving:
    """Serve passes to this machine alone, beside the program that runs. Port 0 is any that is free."""
    return _serving(SourceShelf(sources), None, port, secret)


def serve_runs_in_background(
    *folders: str | os.PathLike[str],
    port: int | None = 0,
    secret: Secret | None = None,
    controls: Sequence[Control] = (),
    follow_links: bool = False,
) -> Serving:
    """Serve runs, saved passes and features of folders to this machine alone, beside the program that runs.

    Pages may control the trainings that are given; the folders of their runs are served, too. Links that lead
    out of the folders are followed if `follow_links`.
    """
    paths = with_folders_of([Path(folder) for folder in folders], controls)
    links = links_within(*paths, follow_links=follow_links)
    shelf, runs = shelves(paths, links)
    return _serving(shelf, runs, port, secret, controls, shelf_of(paths, links))


def _serving(
    shelf: Shelf,
    runs: RunShelf | None,
    port: int | None,
    secret: Secret | None,
    controls: Sequence[Control] = (),
    features: FeatureShelf | None = None,
) -> Serving:
    listener = listen(port=port)
    try:
        server = Server(shelf, listener, secret or user_secret(), runs, controls, features=features)
        return Serving(server)
    except BaseException:
        listener.socket.close()
        raise
