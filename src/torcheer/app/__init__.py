"""The app: a web server on this machine, and pages that show passes, runs and features. No torch in here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from torcheer.app.lessons import show_lesson, write_lesson_page
    from torcheer.app.netview.net_page import show_net, write_net_page
    from torcheer.app.passes.pass_page import show_page, write_page
    from torcheer.app.server import learn, serve_runs_in_background, show_control, show_features, view
else:
    __getattr__, __dir__ = lazy_imports(__name__)
