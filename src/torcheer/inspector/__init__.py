"""Watch a training from another process: hooks copy what layers compute into a ring, a child reads it.

`watch` is for users, `ParallelHandler` for those who know the seed's face; `Watcher` is what both work with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from torcheer.inspector.frame_writer import FrameWriter
    from torcheer.inspector.parallel_handler import ParallelHandler, ParrallelHandler
    from torcheer.inspector.protocol import Thresholds
    from torcheer.inspector.watch_api import watch
    from torcheer.inspector.watched_steps import parse_rate
    from torcheer.inspector.watcher import InspectorWarning, Watcher
    from torcheer.video import DataRecorder
else:
    __getattr__, __dir__ = lazy_imports(__name__)
