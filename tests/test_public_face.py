"""What `import torcheer` gives, and that it does nothing else."""

import subprocess
import sys

import torcheer

PUBLIC_NAMES = [
    "AtenCall",
    "AutogradError",
    "BackwardPass",
    "CIFAR10",
    "CIFAR100",
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


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, where a warning is an error and all logging is shown."""
    setup = "import logging, sys; logging.basicConfig(level=logging.DEBUG)\n"
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", setup + code], capture_output=True, text=True, check=False
    )


def test_the_public_names_are_these() -> None:
    assert sorted(torcheer.__all__) == sorted(PUBLIC_NAMES)


def test_every_public_name_is_there_and_listed() -> None:
    for name in torcheer.__all__:
        assert getattr(torcheer, name) is not None
        assert name in dir(torcheer)


def test_importing_does_not_import_torch() -> None:
    result = run_python("import torcheer; sys.exit('torch' in sys.modules)")

    assert result.returncode == 0, result.stderr


def test_importing_prints_logs_and_warns_nothing() -> None:
    result = run_python("import torcheer")

    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_loading_every_public_name_replaces_nothing_in_torch() -> None:
    result = run_python(
        """
import torch
places = [torch, torch.Tensor, torch.nn.functional, torch.nn.Module, torch.autograd.Function, torch.jit]
before = [dict(vars(place)) for place in places]

import torcheer
for name in torcheer.__all__:
    getattr(torcheer, name)

for place, names in zip(places, before, strict=True):
    for name, value in names.items():
        if vars(place).get(name) is not value:
            sys.exit(f"{place.__name__}.{name} was replaced")
"""
    )

    assert result.returncode == 0, result.stderr


def test_the_inspector_has_what_its_users_import_from_it() -> None:
    from torcheer.inspector import DataRecorder, ParallelHandler, ParrallelHandler

    assert (DataRecorder, ParallelHandler) == (torcheer.DataRecorder, torcheer.ParallelHandler)
    assert ParrallelHandler is torcheer.ParrallelHandler
