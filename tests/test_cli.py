"""The `torcheer` command, as a shell calls it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.copying import run_copy
from torcheer import cli

ROOT = Path(__file__).parents[1]
MAIN = ["-c", "from torcheer.cli import main; main()"]


def torcheer(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return run_copy([*MAIN, *arguments], cwd=folder)


@pytest.fixture
def refusal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What the command says to a call that it refuses, in this process: to load torch anew takes seconds."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", sys.path.copy())

    def call(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["torcheer", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == 2
        return capsys.readouterr().err

    return call


def test_a_summary_in_the_shell() -> None:
    # In an interpreter that has imported nothing yet, as the first call of a user is.
    command = [sys.executable, *MAIN, "summary", "examples.alexnet:alexnet_and_image"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)

    assert result.returncode == 0, result.stderr
    assert "61,100,840 parameters" in result.stdout
    assert "1×384×13×13" in result.stdout


def test_a_wrong_target_in_the_shell_is_told_without_a_traceback() -> None:
    result = torcheer("summary", "examples.alexnet")

    assert result.returncode == 2
    assert "is not package.module:function" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_wrong_target_says_what_is_wrong(refusal: Callable[..., str]) -> None:
    for target, message in (
        (":alexnet", "is not package.module:function"),
        ("examples.nothing:x", "there is no module 'examples.nothing'"),
        ("examples.alexnet:nothing", "has no 'nothing'"),
        ("examples.alexnet:AlexNet", "must be a function that takes nothing and returns (model, input_args)"),
    ):
        assert message in refusal("summary", target)


def test_a_model_that_raises_is_told_without_our_own_frames(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(
        "import torch\nfrom torch import nn\n"
        "def make():\n    return nn.Sequential(nn.Linear(3, 4), nn.Linear(5, 6)), torch.rand(2, 3)\n"
    )
    result = torcheer("summary", "broken:make", folder=tmp_path)

    assert result.returncode == 2
    assert "the model raised RuntimeError" in result.stderr
    assert "linear_1_1" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_version() -> None:
    assert torcheer("--version").stdout.startswith("torcheer 0.")


def test_a_picture_in_the_shell(tmp_path: Path) -> None:
    result = torcheer(
        "draw", "examples.alexnet:alexnet_and_image", "-o", str(tmp_path / "net.svg"), "--depth", "1"
    )

    assert result.returncode == 0, result.stderr
    assert "net.svg" in result.stderr
    svg = (tmp_path / "net.svg").read_text(encoding="utf-8")
    assert ">classifier" in svg
    assert ">conv2d_1_1<" not in svg


def test_a_saved_pass_is_drawn_without_its_model(tmp_path: Path) -> None:
    from torch import nn, ones

    import torcheer as tl

    tl.log_forward_pass(nn.ReLU(), ones(2)).save(tmp_path / "pass.safetensors")

    result = torcheer("draw", str(tmp_path / "pass.safetensors"), "-o", str(tmp_path / "net.png"))

    assert result.returncode == 0, result.stderr
    assert (tmp_path / "net.png").read_bytes().startswith(b"\x89PNG")


def test_a_wrong_option_of_a_picture_is_said_in_a_sentence(
    tmp_path: Path, refusal: Callable[..., str]
) -> None:
    target = "examples.alexnet:alexnet_and_image"
    for arguments, message in (
        (["-o", str(tmp_path / "nowhere" / "net.svg")], "a folder that is not there"),
        (["-o", str(tmp_path / "net.svg"), "--direction", "up"], "vis_direction"),
        (["-o", str(tmp_path / "net.svg"), "--color-by", "speed"], "vis_color_by"),
    ):
        assert message in refusal("draw", target, *arguments)


def test_looking_at_what_is_no_pass_is_refused_in_a_sentence(
    tmp_path: Path, refusal: Callable[..., str]
) -> None:
    (tmp_path / "a.safetensors").write_bytes(b"no pass at all")
    for path, message in ((tmp_path / "a.safetensors", "a.safetensors"), (tmp_path / "b", "no ")):
        assert message in refusal("view", str(path), "--no-browser")
