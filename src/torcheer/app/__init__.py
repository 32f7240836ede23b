"""The app: a web server on this machine, and the page that it shows passes in. No torch in here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from torcheer.app.server import serve_runs_in_background
    from torcheer.app.viewing import learn, view
else:
    __getattr__, __dir__ = lazy_imports(__name__)
