"""backward(show=True): a chain prints as a list, everything else with numbers, and where gradients meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from torcheer.autograd import nn, tracer
from torcheer.autograd.show import SIGN

Shown = Callable[[Any], list[str]]


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Shown:
    def show(loss: Any) -> list[str]:
        loss.backward(show=True)
        first, *lines = capsys.readouterr().out.splitlines()
        assert first == "BackProp:"
        return lines

    return show


def leaf(*shape: int) -> tracer:
    return tracer(torch.ones(shape), requires_grad=True)


def test_the_sign_is_an_arrow_that_is_text() -> None:
    assert SIGN == "\N{SOUTH EAST ARROW}\N{VARIATION SELECTOR-15}"


def test_a_chain_of_ops_shows_their_arguments(shown: Shown) -> None:
    x = leaf(2, 6)

    lines = shown((torch.relu(x.View(3, 4)[1:, 0] * 2) ** 3).mean())

    names = ("Mean()", "Pow(3)", "ReLU()", "Mul(2)", "Index([1:, 0])", "View((3, 4))", "Input")
    assert lines == [f"{SIGN} {name}" for name in names]
    assert x.grad is not None


def test_layers_are_one_line_each_whatever_is_inside(shown: Shown) -> None:
    model = nn.Sequential(nn.Embedding(9, 4), nn.LayerNorm(4), nn.GELU(), nn.Flatten(), nn.Linear(8, 2))

    lines = shown(nn.CrossEntropy()(model(torch.zeros(3, 2).long()), torch.tensor([0, 1, 1])))

    layers = (
        "CrossEntropyLoss()",
        "Linear layer (8 X 2)",
        repr(torch.nn.Flatten()),
        repr(torch.nn.GELU()),
        repr(torch.nn.LayerNorm(4)),
        "Embedding(9, 4)",
    )
    assert lines == [f"{SIGN} {layer}" for layer in (*layers, "Input")]


def test_convolutions_show_the_shapes_of_gradients_in_layers_and_outside(shown: Shown) -> None:
    sequences = nn.Sequential(nn.Conv1d(2, 3, 3), nn.ReLU(), nn.ConvTranspose1d(3, 1, 2))
    assert shown(sequences(torch.ones(4, 2, 5)).sum()) == [
        f"{SIGN} Sum()",
        f"{SIGN} ConvTranspose1d 3 -> 1   GRAD:torch.Size([4, 1, 4]) -> torch.Size([4, 3, 3])",
        f"{SIGN} ReLU()",
        f"{SIGN} Conv1d 2 -> 3   GRAD:torch.Size([4, 3, 3]) -> torch.Size([4, 2, 5])",
        f"{SIGN} Input",
    ]
    assert shown(F.conv2d(torch.ones(1, 4, 5, 5), leaf(6, 2, 3, 3), groups=2).sum())[1] == (
        f"{SIGN} Conv2d 4 -> 6   GRAD:torch.Size([1, 6, 3, 3]) -> torch.Size([1, 4, 5, 5])"
    )


def test_where_gradients_part_and_meet_is_said(shown: Shown) -> None:
    linear, relu = nn.Linear(4, 4), nn.ReLU()
    h = relu(linear(torch.ones(2, 4)))
    for _ in range(2):
        h = h + relu(linear(h))

    assert shown(h.sum()) == [
        f"1 {SIGN} Sum()                  -> 2",
        f"2 {SIGN} Add()                  -> 3, 5",
        f"3 {SIGN} ReLU()                 -> 4",
        f"4 {SIGN} Linear layer (4 X 4)   -> 5",
        f"5 {SIGN} Add()                  2 + 4 meet -> 6, 8",
        f"6 {SIGN} ReLU()                 -> 7",
        f"7 {SIGN} Linear layer (4 X 4)   -> 8",
        f"8 {SIGN} ReLU()                 5 + 7 meet -> 9",
        f"9 {SIGN} Linear layer (4 X 4)   -> Input",
    ]


def test_tensors_outside_of_layers_where_gradients_end_have_lines(shown: Shown) -> None:
    x, w = leaf(3), leaf(3)

    assert shown((x * w + x).sum()) == [
        f"1 {SIGN} Sum()                  -> 2",
        f"2 {SIGN} Add()                  -> 3, 5",
        f"3 {SIGN} Mul()                  -> 4, 5",
        f"4 {SIGN} Leaf torch.Size([3])",
        f"5 {SIGN} Leaf torch.Size([3])   2 + 3 meet",
    ]


def test_a_transformer_is_readable(shown: Shown) -> None:
    model = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)

    lines = shown(model(leaf(2, 3, 8)).mean())

    assert [line.split(SIGN)[1].split("  ")[0].strip() for line in lines] == [
        "Mean()",
        repr(torch.nn.LayerNorm(8)),
        "Add()",
        "Linear layer (16 X 8)",
        "ReLU()",
        "Linear layer (8 X 16)",
        repr(torch.nn.LayerNorm(8)),
        "Add()",
        "MultiheadAttention()",
        "Leaf torch.Size([2, 3, 8])",
    ]
    assert lines[6].endswith(" 3 + 6 meet -> 8")
    assert lines[9].endswith(" 8 + 9 meet")


def test_a_leaf_alone_is_the_input(shown: Shown) -> None:
    assert shown(leaf()) == [f"{SIGN} Input"]


def test_it_prints_before_a_walk_that_fails(capsys: pytest.CaptureFixture[str]) -> None:
    loss = (leaf(3) ** 2).sum()
    loss.backward()

    with pytest.raises(RuntimeError, match="walked back already"):
        loss.backward(show=True)

    assert "Pow(2)" in capsys.readouterr().out
