"""See inside a PyTorch model: every operation of a pass, in one line of code.

import torcheer as tl
history = tl.log_forward_pass(model, x)
print(history)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from torcheer.version import RELEASE

if TYPE_CHECKING:
    from torcheer.autograd.gradchecking import gradcheck as gradcheck
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
    from torcheer.capture.fields.field import Field
    from torcheer.capture.keeping.loading import load_history as load_history
    from torcheer.errors import (
        AutogradError,
        CaptureError,
        FileFormatError,
        InputError,
        InspectorError,
        LayerNotFoundError,
        ParameterError,
        TorcheerError,
    )
    from torcheer.features.extracting import extract as extract
    from torcheer.features.reading import Features
    from torcheer.features.reading import open_features as open_features
    from torcheer.graph.drawing.picture import Picture
    from torcheer.inspector.handler import ParallelHandler, ParrallelHandler
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
    from torcheer.training.callbacks import Callback, Training
    from torcheer.training.checkpointing.checkpoints import Checkpoint
    from torcheer.training.checkpointing.checkpoints import load_checkpoint as load_checkpoint
    from torcheer.training.checkpointing.checkpoints import save_checkpoint as save_checkpoint
    from torcheer.training.checkpointing.keepingcheckpoints import Checkpoints
    from torcheer.training.control.opening import control as control
    from torcheer.training.datasets import CIFAR10, CIFAR100, ImageFolder
    from torcheer.training.datasets import load_digits as load_digits
    from torcheer.training.evaluations.evaluating import evaluate as evaluate
    from torcheer.training.evaluations.evaluation import Evaluation
    from torcheer.training.fitting import fit as fit
    from torcheer.training.history import History
    from torcheer.training.loop import Loop
    from torcheer.training.looping.criteria import loss_below as loss_below
    from torcheer.training.looping.criteria import no_errors_for as no_errors_for
    from torcheer.training.looping.parameters import Parameters
    from torcheer.training.looping.parameters import parameter as parameter
    from torcheer.training.looping.setup import Setup
    from torcheer.training.ordering.dataorder import DataOrder
    from torcheer.training.scheduling import by_epoch as by_epoch
    from torcheer.training.scheduling import by_step as by_step
    from torcheer.training.stepping import Stepper
    from torcheer.training.stopping import EarlyStopping, StopOnNonFinite
    from torcheer.training.telling import TrainingWarning
    from torcheer.training.trainingrun import TrainingRun
    from torcheer.training.trainingrun import training_run as training_run
    from torcheer.video.from_run import make_video as make_video
    from torcheer.video.recorder import DataRecorder

__version__ = RELEASE

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "AtenCall",
    "AutogradError",
    "BackwardPass",
    "Callback",
    "CaptureError",
    "Checkpoint",
    "Checkpoints",
    "Comparison",
    "DataOrder",
    "DataRecorder",
    "EarlyStopping",
    "Edit",
    "Evaluation",
    "Fault",
    "Features",
    "Field",
    "FileFormatError",
    "History",
    "ImageFolder",
    "InputError",
    "InspectorError",
    "InspectorWarning",
    "LayerNotFoundError",
    "Loop",
    "ModelHistory",
    "NetView",
    "Op",
    "ParallelHandler",
    "ParameterError",
    "Parameters",
    "ParrallelHandler",
    "Picture",
    "Run",
    "RunWarning",
    "SavedRun",
    "Setup",
    "State",
    "StatsTable",
    "Stepper",
    "StopOnNonFinite",
    "Summary",
    "SummaryWriter",
    "Thresholds",
    "TorcheerError",
    "Training",
    "TrainingRun",
    "TrainingWarning",
    "ValidationReport",
    "Watcher",
    "by_epoch",
    "by_step",
    "compare",
    "control",
    "evaluate",
    "extract",
    "fit",
    "gradcheck",
    "load_checkpoint",
    "load_digits",
    "load_history",
    "log_forward_pass",
    "loss_below",
    "make_video",
    "no_errors_for",
    "open_features",
    "open_run",
    "parameter",
    "patch_from",
    "save_checkpoint",
    "show_model_graph",
    "summary",
    "trackable",
    "training_run",
    "validate_saved_activations",
    "watch",
]

# Loaded on first use: `import torcheer` does not import torch.
_HOMES = {
    **{name: "torcheer.errors" if name.endswith("Error") else "torcheer.capture" for name in __all__},
    "AtenCall": "torcheer.capture.aten",
    "BackwardPass": "torcheer.capture.backward.passes",
    "Comparison": "torcheer.capture.examining.comparison",
    "DataOrder": "torcheer.training.ordering.dataorder",
    "DataRecorder": "torcheer.video.recorder",
    "Edit": "torcheer.capture.editing.editor",
    "Features": "torcheer.features.reading",
    "Fault": "torcheer.capture.examining.findings",
    "Field": "torcheer.capture.fields.field",
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
    "extract": "torcheer.features.extracting",
    "open_features": "torcheer.features.reading",
    "make_video": "torcheer.video.from_run",
    "open_run": "torcheer.run.reading.face",
    "show_model_graph": "torcheer.capture.drawing",
    "Thresholds": "torcheer.inspector.thresholds",
    "trackable": "torcheer.capture.choosing",
    "watch": "torcheer.inspector.watching",
    "Watcher": "torcheer.inspector.watcher",
    "CIFAR10": "torcheer.training.datasets",
    "CIFAR100": "torcheer.training.datasets",
    "Callback": "torcheer.training.callbacks",
    "Checkpoint": "torcheer.training.checkpointing.checkpoints",
    "Checkpoints": "torcheer.training.checkpointing.keepingcheckpoints",
    "EarlyStopping": "torcheer.training.stopping",
    "Evaluation": "torcheer.training.evaluations.evaluation",
    "History": "torcheer.training.history",
    "ImageFolder": "torcheer.training.datasets",
    "Loop": "torcheer.training.loop",
    "Parameters": "torcheer.training.looping.parameters",
    "Setup": "torcheer.training.looping.setup",
    "Stepper": "torcheer.training.stepping",
    "StopOnNonFinite": "torcheer.training.stopping",
    "Training": "torcheer.training.callbacks",
    "TrainingRun": "torcheer.training.trainingrun",
    "TrainingWarning": "torcheer.training.telling",
    "by_epoch": "torcheer.training.scheduling",
    "by_step": "torcheer.training.scheduling",
    "control": "torcheer.training.control.opening",
    "evaluate": "torcheer.training.evaluations.evaluating",
    "fit": "torcheer.training.fitting",
    "gradcheck": "torcheer.autograd.gradchecking",
    "load_checkpoint": "torcheer.training.checkpointing.checkpoints",
    "load_digits": "torcheer.training.datasets",
    "loss_below": "torcheer.training.looping.criteria",
    "no_errors_for": "torcheer.training.looping.criteria",
    "parameter": "torcheer.training.looping.parameters",
    "save_checkpoint": "torcheer.training.checkpointing.checkpoints",
    "training_run": "torcheer.training.trainingrun",
}


def __getattr__(name: str) -> Any:
    if name in ("autograd", "features"):  # packages of their own: tl.features.rsa
        return importlib.import_module(f"torcheer.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'torcheer' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
