"""A training watched from another process: hooks, a ring of shared memory, and a child that looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from torcheer.inspector.announcer import InspectorWarning
    from torcheer.inspector.frame_writer import FrameWriter
    from torcheer.inspector.handler import ParallelHandler, ParrallelHandler
    from torcheer.inspector.pace import every_of
    from torcheer.inspector.protocol import Thresholds
    from torcheer.inspector.watch_api import rank_of, watch
    from torcheer.inspector.watcher import Watcher
else:
    __getattr__, __dir__ = lazy_imports(__name__)
