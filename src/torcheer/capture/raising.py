"""Say where in a model an exception came from."""

from __future__ import annotations

import linecache
import traceback
from types import FrameType, TracebackType

from torch import nn

from torcheer.capture.op import is_torchs
from torcheer.capture.walk import ModelWalk

_OUR_HOME = __file__.removesuffix("capture/raising.py").removesuffix("capture\\raising.py")


def what_was_raised(error: BaseException, walk: ModelWalk) -> str:
    """`RuntimeError: …`, and in a second line the module and the line of source that it came from."""
    frames = [(frame, line) for frame, line in _frames(error.__traceback__) if not _is_ours(frame)]
    module = next(filter(None, (_module_of(frame, walk) for frame, _ in reversed(frames))), "")
    own = [(frame, line) for frame, line in frames if not is_torchs(frame.f_code.co_filename)]
    place = ""
    if own:
        frame, number = own[-1]
        file = frame.f_code.co_filename
        place = f"{file}:{number} in {frame.f_code.co_qualname}: {linecache.getline(file, number).strip()}"
    where = ", ".join(filter(None, (module, place)))
    said = f"{type(error).__name__}: {error}"
    return f"{said}\nin {where}" if where else said


def _frames(trace: TracebackType | None) -> list[tuple[FrameType, int]]:
    return list(traceback.walk_tb(trace))


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_OUR_HOME)


def _module_of(frame: FrameType, walk: ModelWalk) -> str:
    """`m.0 (Linear)`, where the frame is a method of a module of the model."""
    holder = frame.f_locals.get("self")
    if not isinstance(holder, nn.Module) or id(holder) not in walk.address_of:
        return ""
    address = walk.address_of[id(holder)]
    return f"{address} ({type(holder).__name__})" if address else type(holder).__name__
