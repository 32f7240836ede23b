"""Videos of tensors over a training: as MP4, GIF or PNG, while it runs or afterwards from a run.

`recorder` makes files of the frames that `charts` draws. Pillow draws, and PyAV (extra `video`) encodes MP4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from torcheer.video.recorder import DataRecorder, make_video
else:
    __getattr__, __dir__ = lazy_imports(__name__)
