"""The server: the routes behind the guard, in the foreground until it is told to stop, or in a thread.

Each page has a socket. Its questions are read, a few at a time are answered, and all stop when it goes. Some
questions are answered again and again: each has a task of its own, which ends when the page says so.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import quote

import anyio
import uvicorn
from anyio.abc import TaskGroup
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from torcheer.app.access import Admission, Guard, Secret, user_secret
from torcheer.app.control import Controls
from torcheer.app.dispatch import Answers, read_question
from torcheer.app.features.feature_answers import FeatureAnswers
from torcheer.app.features.feature_sets import FeatureShelf, is_place_elsewhere, shelf_of
from torcheer.app.html_page import static_file
from torcheer.app.lessons import Learning
from torcheer.app.listen import Connection, Listener, listen
from torcheer.app.passes.saved import SavedPasses, open_pass_file
from torcheer.app.passes.source import MAX_REQUEST_BYTES, Shelf
from torcheer.app.runs.run_answers import RunAnswers
from torcheer.app.runs.run_messages import StopQuestion
from torcheer.app.runs.run_shelf import RunShelf
from torcheer.app.wire import Frame, Question, Refusal, as_text
from torcheer.desktop import in_notebook, open_in_browser
from torcheer.errors import InputError, TorcheerError
from torcheer.features import open_features
from torcheer.learn import Example
from torcheer.run import LinkRule, RunReader, find_runs, is_event_file, is_part, links_within
from torcheer.training.control import Control

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
    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._sockets: set[WebSocket] = set()

    async def hold(self, socket: WebSocket) -> None:
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
            leaving = (one.close(_GOING_AWAY, "the server has stopped") for one in self._sockets)
            await asyncio.gather(*leaving, return_exceptions=True)
        self._answers.close()


class _Conversation:
    def __init__(self, socket: WebSocket, answers: Answers) -> None:
        self._socket = socket
        self._answers = answers
        self._under_way = anyio.Semaphore(_MAX_UNDER_WAY)
        self._followed: dict[int, anyio.CancelScope] = {}

    async def run(self) -> None:
        await self._send(as_text(await self._answers.hello()))
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


STATIC_FILES: Final[Mapping[str, str]] = {
    "app.js": "text/javascript",
    "app.css": "text/css",
    "worker.js": "text/javascript",
}

# The mark of the top bar, in colours that can be seen on light and on dark tabs.
_ICON: Final = quote(
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 18 18'>"
    "<g fill='none' stroke='#80868b' stroke-width='1.5'><path d='M8 6.3 5.3 10.8M10 6.3l2.7 4.5'/>"
    "<circle cx='4' cy='13' r='2.5'/><circle cx='14' cy='13' r='2.5'/></g>"
    "<circle cx='9' cy='4' r='3' fill='#1a9e94'/></svg>",
    safe="",
)

# No inline script or style: the page's policy forbids them. Data reach the page over the socket only.
PAGE: Final = f"""\
<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="torcheer-worker" content="/static/worker.js">
    <title>torcheer</title>
    <link rel="icon" href="data:image/svg+xml,{_ICON}">
    <link rel="stylesheet" href="/static/app.css">
    <script type="module" src="/static/app.js"></script>
  </head>
  <body>
    <div id="app"></div>
    <noscript>This page needs JavaScript.</noscript>
  </body>
</html>
"""


async def _page(request: Request) -> Response:
    return HTMLResponse(PAGE)


async def _static(request: Request) -> Response:
    # The name is looked up in a table, so it never becomes part of a path.
    name = request.path_params["name"]
    media_type = STATIC_FILES.get(name)
    if media_type is None:
        return PlainTextResponse("There is nothing here.\n", status_code=404)
    return Response(static_file(name), media_type=media_type)


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
        of_runs = None if runs is None else RunAnswers(runs)
        of_features = None if features is None else FeatureAnswers(features)
        self._conversations = Conversations(Answers(shelf, of_runs, self._controls, learning, of_features))
        app = Starlette(
            routes=[
                Route("/", _page),
                Route("/static/{name}", _static),
                WebSocketRoute("/socket", self._conversations.hold),
            ]
        )
        app.router.redirect_slashes = False  # a path is right or it is not
        guard = Guard(app=app, host_names=listener.host_names, admission=self.admission)
        config = uvicorn.Config(
            guard,
            loop="asyncio",
            http=Connection,
            ws="websockets-sansio",
            ws_max_size=MAX_REQUEST_BYTES,
            # Compression takes more time than a connection within one machine does.
            ws_per_message_deflate=False,
            # A page that is busy may answer late. That one is gone shows when a ping cannot be delivered.
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
        super().__init__(config)

    @property
    def urls(self) -> Sequence[str]:
        return self.listener.urls(self.admission.token)

    def one_time_url(self) -> str:
        """An address that can be opened once, for the command line of a browser."""
        return self.listener.urls(self.admission.ticket())[0]

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


# --- Serve what paths lead to: until Ctrl-C (`torcheer view`, `torcheer learn`), or beside a program --


_WANTED: Final = (
    "give a folder of runs, a run, a folder of TensorBoard event files, features, or a saved pass"
)


def shelves(paths: Sequence[Path], links: LinkRule | None = None) -> tuple[Shelf, RunShelf | None]:
    """The passes and the runs that some paths lead to. Runs are looked for wherever there is a folder.

    Links are followed that stay within the paths, or as the rule says.
    """
    if not paths:
        raise InputError(f"there is no path: {_WANTED}.")
    for path in paths:
        if not path.exists():
            raise InputError(f"there is no {path}: {_WANTED}.")
        if not path.is_dir() and not path.is_file():
            raise InputError(f"{path} is no ordinary file: {_WANTED}.")
    # A file of a run stands for the run.
    paths = [
        path.absolute().parent
        if path.is_file() and (is_part(path.name) or is_event_file(path.name))
        else path
        for path in paths
    ]
    folders = [path for path in paths if path.is_dir()]
    links = links or links_within(*folders)
    links = replace(links, roots=(*links.roots, *map(os.path.realpath, folders)))  # of files: their folders
    finder, opener = partial(find_runs, links=links), partial(RunReader, reads_now=False, links=links)
    runs = RunShelf(folders, finder, opener) if folders else None
    return SavedPasses(paths, links), runs


def with_folders_of(paths: Sequence[Path], controls: Sequence[Control]) -> Sequence[Path]:
    """The paths, and the folders to which these trainings write, where none of the paths leads there."""
    found = list(paths)
    for control in controls:
        try:
            control.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"runs cannot go to {control.folder}: {error}. Name another folder.") from error
        if not any(_leads_to(path, control.folder) for path in found):
            found.append(control.folder)
    return found


def _leads_to(path: Path, folder: Path) -> bool:
    """Whether runs of this folder are found from there. Hidden folders are not looked into."""
    start = Path(os.path.abspath(path))
    if not folder.is_relative_to(start):
        return False
    return not any(part.startswith(".") for part in folder.relative_to(start).parts)


_SWITCH_SECONDS: Final = 0.001
LEARN_PLACE: Final = "#learn"


def view(
    paths: Sequence[str | Path],
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    open_browser: bool = True,
    controls: Sequence[Control] = (),
    follow_links: bool = False,
) -> None:
    """Serve folders of runs, runs, event files, saved passes and features until Ctrl-C or SIGTERM.

    Features may be at a URL, too. Links that lead out of the folders are followed if `follow_links`.

    Pages may control the trainings that are given; the folders of their runs are served, too. Without paths
    it opens at the page of the first of them, which comes up at once.

    Without a port, one from 6180 on is taken; 0 is any that is free. The server answers to the host that was
    given, and on this machine alone to `localhost` too; for 0.0.0.0, to this machine's name and to whichever
    of its addresses was connected to.
    """
    is_for_control = bool(controls) and not paths
    place = control_place(controls[0]) if is_for_control else ""
    urls = [str(path) for path in paths if is_place_elsewhere(str(path))]
    here = with_folders_of([Path(path) for path in paths if str(path) not in urls], controls)
    links = links_within(*here, follow_links=follow_links)
    shelf, runs = _shelves(here, urls, links)
    features = shelf_of([*here, *urls], links)
    is_empty = not shelf.listing() and (runs is None or runs.is_empty())
    if not controls and is_empty and (features is None or not features.sets()):
        shown = ", ".join(map(str, paths))
        sys.stderr.write(
            f"torcheer: {shown} has no run and no saved pass yet, and no features: tl.Run, history.save "
            "and tl.extract put them there, and the page shows them when they come.\n"
        )
    make = partial(Server, shelf, runs=runs, controls=controls, features=features)
    start = controls[0].start if is_for_control else None
    _serve(make, listen(host, port), place, open_browser, start)


def _shelves(here: Sequence[Path], urls: Sequence[str], links: LinkRule) -> tuple[Shelf, RunShelf | None]:
    """What is wrong with what was named is said here, rather than in a page."""
    for url in urls:
        try:
            open_features(url)
        except TorcheerError:
            raise
        except Exception as error:  # whatever the library that leads there may raise
            why = (str(error).strip().splitlines() or [""])[0]  # some write pages
            raise InputError(f"{url} cannot be read: {type(error).__name__}: {why}.") from error
    if urls and not here:
        return SavedPasses(()), None
    shelf, runs = shelves(here, links)
    if len(here) == 1 and runs is None:
        open_pass_file(here[0])
    return shelf, runs


def learn(
    own: Example | None = None, *, host: str = "127.0.0.1", port: int | None = None, open_browser: bool = True
) -> None:
    """Serve the page Learn until Ctrl-C or SIGTERM, with an expression of the user's own as the first."""
    learning = Learning(own)
    if not learning.has_lessons:
        raise InputError("torch is not installed here, and expressions are computed with it.")
    make = partial(Server, SavedPasses(()), learning=learning)
    _serve(make, listen(host, port), LEARN_PLACE, open_browser, learning.warm_up)


def _serve(
    make: Callable[..., Server],
    listener: Listener,
    place: str,
    open_browser: bool,
    when_announced: Callable[[], None] | None,
) -> None:
    secret = user_secret()
    # Threads take turns more often: those that read large runs hold up the pages less. Only here, where the
    # process is our own, since this holds for all of it.
    former = sys.getswitchinterval()
    try:
        server = make(listener=listener, secret=secret)
        warnings = [secret.note] if secret.note else []
        if listener.is_public:
            warnings.insert(
                0,
                "This server can be reached from other machines, and what it sends is not encrypted: whoever "
                "sees the traffic can come in. An ssh tunnel to 127.0.0.1 is safer.",
            )

        def announce() -> None:
            for warning in warnings:
                sys.stderr.write(f"torcheer: {warning}\n")
            # A line each, and nothing else in it: terminals make a link of it.
            sys.stdout.write("".join(f"{url}{place}\n" for url in server.urls) + "Ctrl-C stops it.\n")
            sys.stdout.flush()
            if open_browser:
                # Some browsers do not come back before they are closed.
                url = f"{server.one_time_url()}{place}"
                threading.Thread(target=open_in_browser, args=[url], daemon=True).start()
            if when_announced is not None:
                when_announced()

        server.when_started = announce
        sys.setswitchinterval(_SWITCH_SECONDS)
        server.serve_until_stopped()
    finally:
        sys.setswitchinterval(former)
        listener.socket.close()


def control_place(control: Control) -> str:
    return f"#control?c={control.id}"


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
    listener = listen(port=port)
    try:
        secret = secret or user_secret()
        return Serving(Server(shelf, listener, secret, runs, controls, features=shelf_of(paths, links)))
    except BaseException:
        listener.socket.close()
        raise


_beside: Final[dict[Path, Serving]] = {}
_beside_lock: Final = threading.Lock()


def address_of(folder: str | os.PathLike[str], view: str) -> str:
    path = Path(os.path.abspath(folder))
    with _beside_lock:
        if path not in _beside:
            _beside[path] = serve_runs_in_background(path)
        return f"{_beside[path].url}#{view}"


def announced(what: str, url: str, *, open_browser: bool = True) -> str:
    """Print where something is, and open it in a browser. Returns the address."""
    sys.stdout.write(f"{what} at {url}\n")
    sys.stdout.flush()
    if open_browser:
        open_in_browser(url)
    return url


def show_features(path: str) -> str:
    """Serve the page beside the program, until that ends, and open it. Returns its address."""
    if is_place_elsewhere(path):
        raise InputError(f"features at a URL are shown from the shell: torcheer view {path}")
    return announced("The features are", address_of(path, "features"))


def show_control(control: Control, *, open_browser: bool, port: int | None) -> str | None:
    """Serve it until Ctrl-C; in a notebook, which has to go on, beside it. Returns the address there."""
    if not in_notebook():
        view([], controls=[control], port=port, open_browser=open_browser)
        return None
    serving = serve_runs_in_background(port=port, controls=[control])
    url = f"{serving.url}{control_place(control)}"
    return announced("The training can be controlled", url, open_browser=open_browser)
