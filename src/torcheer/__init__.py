"""See inside a PyTorch model: every operation of a pass, in one line of code.

import torcheer as tl
history = tl.log_forward_pass(model, x)
print(history)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torcheer.capture import ModelHistory, Op, Summary, ValidationReport
    from torcheer.capture import log_forward_pass as log_forward_pass
    from torcheer.capture import patch_from as patch_from
    from torcheer.capture import summary as summary
    from torcheer.capture import validate_saved_activations as validate_saved_activations
    from torcheer.capture.aten import AtenCall
    from torcheer.capture.backward.passes import BackwardPass
    from torcheer.capture.choosing import trackable as trackable
    from torcheer.capture.drawing import show_model_graph as show_model_graph
    from torcheer.capture.editing.editor import Edit
    from torcheer.capture.examining.comparing import compare as compare
    from torcheer.capture.examining.comparison import Comparison
    from torcheer.capture.examining.findings import Fault
    from torcheer.capture.examining.statistics import StatsTable
    from torcheer.capture.fields.fields import Field
    from torcheer.capture.keeping.loading import load_history as load_history
    from torcheer.errors import (
        CaptureError,
        FileFormatError,
        InputError,
        InspectorError,
        LayerNotFoundError,
        TorcheerError,
    )
    from torcheer.graph.drawing.picture import Picture
    from torcheer.inspector.handler import ParallelHandler, ParrallelHandler
    from torcheer.inspector.recording.making import make_video as make_video
    from torcheer.inspector.recording.recorder import DataRecorder
    from torcheer.inspector.telling import InspectorWarning
    from torcheer.inspector.thresholds import Thresholds
    from torcheer.inspector.watcher import Watcher
    from torcheer.inspector.watching import watch as watch
    from torcheer.netview.state import State
    from torcheer.netview.view import NetView
    from torcheer.run.reading.face import SavedRun
    from torcheer.run.reading.face import open_run as open_run
    from torcheer.run.run import Run
    from torcheer.run.summarywriter import SummaryWriter
    from torcheer.run.telling import RunWarning

__version__ = "0.1.0"

__all__ = [
    "AtenCall",
    "BackwardPass",
    "CaptureError",
    "Comparison",
    "DataRecorder",
    "Edit",
    "Fault",
    "Field",
    "FileFormatError",
    "InputError",
    "InspectorError",
    "InspectorWarning",
    "LayerNotFoundError",
    "ModelHistory",
    "NetView",
    "Op",
    "ParallelHandler",
    "ParrallelHandler",
    "Picture",
    "Run",
    "RunWarning",
    "SavedRun",
    "State",
    "StatsTable",
    "Summary",
    "SummaryWriter",
    "Thresholds",
    "TorcheerError",
    "ValidationReport",
    "Watcher",
    "compare",
    "load_history",
    "log_forward_pass",
    "make_video",
    "open_run",
    "patch_from",
    "show_model_graph",
    "summary",
    "trackable",
    "validate_saved_activations",
    "watch",
]

# Loaded on first use: `import torcheer` does not import torch.
_HOMES = {
    **{name: "torcheer.errors" if name.endswith("Error") else "torcheer.capture" for name in __all__},
    "AtenCall": "torcheer.capture.aten",
    "BackwardPass": "torcheer.capture.backward.passes",
    "Comparison": "torcheer.capture.examining.comparison",
    "DataRecorder": "torcheer.inspector.recording.recorder",
    "Edit": "torcheer.capture.editing.editor",
    "Fault": "torcheer.capture.examining.findings",
    "Field": "torcheer.capture.fields.fields",
    "InspectorWarning": "torcheer.inspector.telling",
    "NetView": "torcheer.netview.view",
    "ParallelHandler": "torcheer.inspector.handler",
    "ParrallelHandler": "torcheer.inspector.handler",
    "Picture": "torcheer.graph.drawing.picture",
    "Run": "torcheer.run.run",
    "RunWarning": "torcheer.run.telling",
    "SavedRun": "torcheer.run.reading.face",
    "State": "torcheer.netview.state",
    "StatsTable": "torcheer.capture.examining.statistics",
    "compare": "torcheer.capture.examining.comparing",
    "SummaryWriter": "torcheer.run.summarywriter",
    "load_history": "torcheer.capture.keeping.loading",
    "make_video": "torcheer.inspector.recording.making",
    "open_run": "torcheer.run.reading.face",
    "show_model_graph": "torcheer.capture.drawing",
    "Thresholds": "torcheer.inspector.thresholds",
    "trackable": "torcheer.capture.choosing",
    "watch": "torcheer.inspector.watching",
    "Watcher": "torcheer.inspector.watcher",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'torcheer' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
