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


def test_a_wrong_option_of_a_picture_is_said_in_a_sentence(tmp_path: Path) -> None:
    target = "examples.alexnet:alexnet_and_image"
    for arguments, message in (
        (["-o", str(tmp_path / "nowhere" / "net.svg")], "a folder that is not there"),
        (["-o", str(tmp_path / "net.svg"), "--direction", "up"], "vis_direction"),
        (["-o", str(tmp_path / "net.svg"), "--color-by", "speed"], "vis_color_by"),
    ):
        result = torcheer("draw", target, *arguments)

        assert result.returncode == 2
        assert message in result.stderr
        assert "Traceback" not in result.stderr


def test_looking_at_what_is_no_pass_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(b"no pass at all")
    for path, message in ((tmp_path / "a.safetensors", "a.safetensors"), (tmp_path / "b", "no ")):
        result = torcheer("view", str(path), "--no-browser")

        assert result.returncode == 2
        assert message in result.stderr
        assert "Traceback" not in result.stderr
