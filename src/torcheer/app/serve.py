"""Serve what paths lead to: until Ctrl-C (`torcheer view`, `torcheer learn`), or beside a program."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from torcheer.app.access import Secret, user_secret
from torcheer.app.features.feature_sets import is_place_elsewhere, shelf_of
from torcheer.app.lessons import Learning
from torcheer.app.listen import Listener, listen
from torcheer.app.passes.saved import SavedPasses, open_pass_file
from torcheer.app.passes.source import Shelf, SourceShelf
from torcheer.app.runs.run_shelf import RunShelf
from torcheer.app.server import Server, Serving
from torcheer.desktop import in_notebook, open_in_browser
from torcheer.errors import InputError, TorcheerError
from torcheer.features import open_features
from torcheer.learn import Example
from torcheer.run import LinkRule, RunReader, find_runs, is_event_file, is_part, links_within
from torcheer.training.control import Control

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
    paths = [path.absolute().parent if _is_of_run(path) else path for path in paths]
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


def _is_of_run(path: Path) -> bool:
    name = os.path.basename(path)
    return path.is_file() and (is_part(name) or is_event_file(name))


# --- until Ctrl-C ---------------------------------------------------------------------------------


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
    return f"#control?c={control.id}"


# --- beside a program -----------------------------------------------------------------------------


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


_servings: Final[list[Serving]] = []  # of a notebook, which go on until it ends


def show_control(control: Control, *, open_browser: bool, port: int | None) -> str | None:
    """Serve it until Ctrl-C; in a notebook, which has to go on, beside it. Returns the address there."""
    if not in_notebook():
        view([], controls=[control], port=port, open_browser=open_browser)
        return None
    serving = serve_runs_in_background(port=port, controls=[control])
    _servings.append(serving)
    url = f"{serving.url}{control_place(control)}"
    return announced("The training can be controlled", url, open_browser=open_browser)
