"""`torcheer view`: serve runs and saved passes to a page until Ctrl-C."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from torcheer.app.addresses import listen
from torcheer.app.passfile import open_pass_file
from torcheer.app.secret import user_secret
from torcheer.app.server import Server
from torcheer.app.shelves import shelves
from torcheer.desktop import open_in_browser

_PUBLIC: Final = (
    "This server can be reached from other machines, and what it sends is not encrypted: whoever sees the "
    "traffic can come in. An ssh tunnel to 127.0.0.1 is safer."
)


def view(
    paths: Sequence[Path], *, host: str = "127.0.0.1", port: int | None = None, open_browser: bool = True
) -> None:
    """Serve folders of runs, runs, event files and saved passes until Ctrl-C or SIGTERM.

    Without a port, one from 6180 on is taken; 0 is any that is free. The server answers to the host that was
    given, and on this machine alone to `localhost` too; for 0.0.0.0, to this machine's name and to whichever
    of its addresses was connected to.
    """
    shelf, runs = shelves(paths)
    if len(paths) == 1 and runs is None:
        open_pass_file(paths[0])  # what is wrong with it is said here, rather than in a page
    if not shelf.listing() and (runs is None or runs.is_empty()):
        shown = ", ".join(map(str, paths))
        sys.stderr.write(
            f"torcheer: {shown} has no run and no saved pass yet: "
            "tl.Run and history.save put them there, and the page shows them when they come.\n"
        )
    secret = user_secret()
    listener = listen(host, port)
    try:
        server = Server(shelf, listener, secret, runs)
        warnings = [*([_PUBLIC] if listener.is_public else []), *([secret.note] if secret.note else [])]

        def announce() -> None:
            for warning in warnings:
                sys.stderr.write(f"torcheer: {warning}\n")
            # A line each, and nothing else in it: terminals make a link of it.
            sys.stdout.write("".join(f"{url}\n" for url in server.urls) + "Ctrl-C stops it.\n")
            sys.stdout.flush()
            if open_browser:
                # Some browsers do not come back before they are closed.
                url = server.one_time_url()
                threading.Thread(target=open_in_browser, args=[url], daemon=True).start()

        server.when_started = announce
        server.serve_until_stopped()
    finally:
        listener.socket.close()
