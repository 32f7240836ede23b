"""`torcheer extract`, as a shell calls it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest

from torcheer import cli
from torcheer.cli import split_names
from torcheer.features import open_features

SOURCE = """
import torch
from torch import nn

def made():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)), torch.randn(7, 4)

def named():
    model, x = made()
    return model, [{"input": x, "name": [f"n{number}" for number in range(7)], "labels": torch.arange(7)}]

def uneven():
    model, _ = made()
    return model, [torch.randn(3, 5, 4), torch.randn(2, 6, 4)]

def broken():
    return nn.Sequential(nn.Linear(3, 4), nn.Linear(5, 6)), torch.rand(2, 3)

def model_alone():
    return nn.Linear(4, 3)

def with_argument(x):
    return made()

def twice(values):
    return values * 2
"""


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """The command in this process, in a folder with a module: what it ends with, prints and complains of."""
    module = f"extracted_{re.sub(r'[^a-z0-9]', '', tmp_path.name)}"
    (tmp_path / f"{module}.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())

    def call(function: str, *arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["torcheer", "extract", f"{module}:{function}", *arguments])
        code = 0
        try:
            cli.main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def test_layers_one_after_the_other(shell: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    code, printed, said = shell("made", "--layers", "0", "1", "2", "--to", "x", "--batch-size", "3")

    assert code == 0, said
    assert open_features(tmp_path / "x").layers == ["0", "1", "2"]
    assert "Features of Sequential at x" in printed
    assert "3 layers of 7 samples" in said


@pytest.mark.parametrize(
    "layers",
    [
        ("--layers", "0,2"),
        ("--layers", "0", "--layers", "2"),
        ("-l", "2", "0,"),
        ("--layers=0, 2",),
    ],
)
def test_lists_of_layers(
    layers: tuple[str, ...], shell: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    code, _, said = shell("made", *layers, "--to", "x")

    assert code == 0, said
    assert open_features(tmp_path / "x").layers == ["0", "2"]


@pytest.mark.parametrize(("word", "count"), [("modules", 3), ("all", 3), ("*", 3)])
def test_words_for_many_layers(
    word: str, count: int, shell: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    code, _, said = shell("made", "--layers", word, "--to", "x")

    assert code == 0, said
    assert len(open_features(tmp_path / "x").layers) == count


def test_transforms_ids_and_silence(shell: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    code, _, said = shell(
        *("named", "--layers", "0", "--to", "x", "--ids", "name", "-t", "float16", "--no-progress")
    )

    features = open_features(tmp_path / "x")
    assert code == 0, said
    assert said == ""
    assert features["0"].dtype == "float16"
    assert features.ids.tolist() == [f"n{number}" for number in range(7)]
    assert features.labels is not None
    assert features.labels.tolist() == list(range(7))


def test_the_same_command_once_more_does_nothing(
    shell: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    shell("made", "--layers", "0", "--to", "x")
    values = numpy.array(open_features(tmp_path / "x")["0"])

    code, _, said = shell("made", "--layers", "0", "--to", "x")

    assert code == 0
    assert "is complete: 7 samples, nothing to do" in said
    assert numpy.array_equal(open_features(tmp_path / "x")["0"][:], values)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing", "--layers", "0", "--to", "x"), "has no 'nothing'"),
        (("model_alone", "--layers", "0", "--to", "x"), "returns (model, data)"),
        (("with_argument", "--layers", "0", "--to", "x"), "takes nothing and returns (model, data)"),
        (("made", "--layers", "nope", "--to", "x"), "layer 'nope' is not in this pass"),
        (("made", "--layers", ",", "--to", "x"), "no layers"),
        (("made", "--layers", "0", "--to", "x", "--batch-size", "0"), "batch_size is 0"),
        (("made", "--layers", "0", "--to", "x", "--shapes", "odd"), "'ragged' or 'pooled'"),
        (("made", "--layers", "0", "--to", "x", "--transform", "odd"), "odd"),
        (("made", "--layers", "0", "--to", "x", "--device", "nowhere"), "cannot be used here"),
        (("made", "--layers", "0", "--to", "x", "--seed", "-1"), "from 0 on"),
        (("made", "--layers", "0"), "--to"),
        (("made", "--to", "x"), "--layers"),
    ],
)
def test_what_is_wrong_is_told_without_a_traceback(
    arguments: tuple[str, ...], message: str, shell: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    code, _, said = shell(*arguments)

    assert code == 2
    assert message in re.sub(r"\x1b\[[0-9;]*m", "", said)
    assert "Traceback" not in said
    assert not (tmp_path / "x").exists()


def test_a_model_that_raises_is_told_with_its_own_lines(
    shell: Callable[..., tuple[int, str, str]],
) -> None:
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        shell("broken", "--layers", "0", "1", "--to", "x")


def test_layers_are_listed_and_nothing_is_written(
    shell: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    before = sorted(tmp_path.glob("*"))

    code, said, _ = shell("made", "--list-layers")
    listed_code, listed, _ = shell("made", "--list-layers", "--layers", "modules", "--transform", "float16")

    assert (code, listed_code) == (0, 0)
    names = [line.split() for line in said.splitlines()[1:]]
    assert [words[0] for words in names] == ["linear_1_1", "relu_1_2", "linear_2_3"]
    assert [words[2] for words in names] == ["0", "1", "2"]
    assert "unit 3" in listed
    assert [line.split()[0] for line in listed.splitlines()[1:]] == ["0", "1", "2"]
    assert sorted(set(tmp_path.glob("*")) - {tmp_path / "__pycache__"}) == before


def test_the_size_of_what_varies_is_not_made_up(shell: Callable[..., tuple[int, str, str]]) -> None:
    code, said, _ = shell("uneven", "--list-layers", "--layers", "0", "--shapes", "ragged")

    assert code == 0
    assert "size not known before" in said
    assert " B" not in said


def test_as_a_module_in_a_process_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "here.py").write_text(SOURCE)
    command = [sys.executable, "-m", "torcheer", "extract", "here:made", "--layers", "0", "2", "--to", "x"]

    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert open_features(tmp_path / "x").layers == ["0", "2"]


def test_the_help_says_what_goes_in(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(sys, "argv", ["torcheer", "extract", "--help"])
    with pytest.raises(SystemExit) as ended:
        cli.main()

    text = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert not ended.value.code
    for word in ("package.module:function", "--layers", "--to", "--transform", "--shapes", "torchrun"):
        assert word in text
    assert "more_layers" not in text.lower()


def test_commas_and_blanks_are_alike() -> None:
    assert split_names(["a,b", " c ", ",", "d , e"]) == ["a", "b", "c", "d", "e"]
