"""See inside a PyTorch model: every operation of a pass, in one line of code.

import torcheer as tl
history = tl.log_forward_pass(model, x)
print(history)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports
from torcheer.version import RELEASE

# Each public name once; imported on first use, so that `import torcheer` does not import torch.
if TYPE_CHECKING:
    from torcheer import autograd, features
    from torcheer.autograd import gradcheck
    from torcheer.capture import (
        AtenCall,
        BackwardPass,
        Comparison,
        Edit,
        Fault,
        Field,
        ModelHistory,
        Op,
        StatsTable,
        Summary,
        ValidationReport,
        compare,
        load_history,
        log_forward_pass,
        patch_from,
        show_model_graph,
        summary,
        validate_saved_activations,
    )
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
    from torcheer.features import Features, extract, open_features
    from torcheer.graph import Picture
    from torcheer.inspector import (
        InspectorWarning,
        ParallelHandler,
        ParrallelHandler,
        Thresholds,
        Watcher,
        watch,
    )
    from torcheer.models import trackable
    from torcheer.netview import NetView, State
    from torcheer.run import Run, RunWarning, SavedRun, SummaryWriter, open_run
    from torcheer.training import (
        CIFAR10,
        CIFAR100,
        Callback,
        Checkpoint,
        Checkpoints,
        DataOrder,
        EarlyStopping,
        Evaluation,
        History,
        ImageFolder,
        Loop,
        Parameters,
        Setup,
        Stepper,
        StopOnNonFinite,
        Training,
        TrainingRun,
        TrainingWarning,
        by_epoch,
        by_step,
        evaluate,
        fit,
        load_checkpoint,
        load_digits,
        loss_below,
        no_errors_for,
        parameter,
        save_checkpoint,
        training_run,
    )
    from torcheer.training.control import control
    from torcheer.video import DataRecorder, make_video
else:
    __getattr__, __dir__ = lazy_imports(__name__)

__version__ = RELEASE
