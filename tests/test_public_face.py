"""What `import torcheer` gives, and that it does nothing else."""

import subprocess
import sys

import torcheer

PUBLIC_NAMES = [
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
