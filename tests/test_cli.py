"""The `torcheer` command, as a shell calls it."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def torcheer(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from torcheer.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_a_summary_in_the_shell() -> None:
    result = torcheer("summary", "examples.alexnet:alexnet_and_image")

    assert result.returncode == 0, result.stderr
    assert "61,100,840 parameters" in result.stdout
    assert "1×384×13×13" in result.stdout


def test_a_wrong_target_says_what_is_wrong() -> None:
    for target, message in (
        ("examples.alexnet", "is not package.module:function"),
        ("examples.nothing:x", "there is no module 'examples.nothing'"),
        ("examples.alexnet:nothing", "has no 'nothing'"),
        ("examples.alexnet:AlexNet", "must be a function that takes nothing and returns (model, input_args)"),
    ):
        result = torcheer("summary", target)

        assert result.returncode == 2
        assert message in result.stderr
        assert "Traceback" not in result.stderr


def test_a_model_that_raises_is_told_without_our_own_frames(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(
        "import torch\nfrom torch import nn\n"
        "def make():\n    return nn.Sequential(nn.Linear(3, 4), nn.Linear(5, 6)), torch.rand(2, 3)\n"
    )
    command = [sys.executable, "-c", "from torcheer.cli import main; main()", "summary", "broken:make"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    assert result.returncode == 2
    assert "the model raised RuntimeError" in result.stderr
    assert "linear_1_1" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_version() -> None:
    assert torcheer("--version").stdout.startswith("torcheer 0.")
