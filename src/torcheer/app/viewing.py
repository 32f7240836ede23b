"""`torcheer view` and `torcheer learn`: serve pages until Ctrl-C."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from torcheer.app.addresses import Listener, listen
from torcheer.app.features.finding import is_place_elsewhere
from torcheer.app.features.shelf import shelf_of
from torcheer.app.learning import Learning
from torcheer.app.passes import Shelf, SourceShelf
from torcheer.app.passfile import open_pass_file
from torcheer.app.runs.shelf import RunShelf
from torcheer.app.secret import Secret, user_secret
from torcheer.app.server import Server
from torcheer.app.shelves import shelves, with_folders_of
from torcheer.desktop import open_in_browser
from torcheer.errors import InputError, TorcheerError
from torcheer.features import open_features
from torcheer.learn import Example
from torcheer.run import LinkRule, links_within
from torcheer.training.control import Control

_SWITCH_SECONDS: Final = 0.001
LEARN_PLACE: Final = "#learn"
_PUBLIC: Final = (
    "This server can be reached from other machines, and what it sends is not encrypted: whoever sees the "
    "traffic can come in. An ssh tunnel to 127.0.0.1 is safer."
)


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
    if not controls and is_empty and (features is None or features.is_empty()):
        shown = ", ".join(map(str, paths))
        sys.stderr.write(
            f"torcheer: {shown} has no run and no saved pass yet, and no features: tl.Run, history.save "
            "and tl.extract put them there, and the page shows them when they come.\n"
        )
    listener = listen(host, port)
    start = controls[0].start if is_for_control else _nothing
    _serve(
        lambda secret: Server(shelf, listener, secret, runs, controls, features=features),
        listener,
        place,
        open_browser,
        start,
    )


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
        return SourceShelf([]), None
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
    listener = listen(host, port)
    _serve(
        lambda secret: Server(SourceShelf([]), listener, secret, learning=learning),
        listener,
        LEARN_PLACE,
        open_browser,
        learning.warm_up,
    )


def _nothing() -> None:
    """What else begins when a page is served."""


def _serve(
    make: Callable[[Secret], Server],
    listener: Listener,
    place: str,
    open_browser: bool,
    when_announced: Callable[[], None],
) -> None:
    secret = user_secret()
    try:
        server = make(secret)
        warnings = [*([_PUBLIC] if listener.is_public else []), *([secret.note] if secret.note else [])]

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
            when_announced()

        server.when_started = announce
        with _quick_turns():
            server.serve_until_stopped()
    finally:
        listener.socket.close()


@contextmanager
def _quick_turns() -> Iterator[None]:
    """Let threads take turns more often: those that read large runs hold up the pages less.

    Only where the process is our own, since this holds for all of it.
    """
    former = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(former)


def control_place(control: Control) -> str:
    """Where in the page a training is controlled."""
    return f"#control?c={control.id}"
