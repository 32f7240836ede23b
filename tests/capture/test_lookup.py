"""Finding an op by whatever name a person has for it."""

import pytest
import torch
from torch import Tensor, nn

import torcheer as tl


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.norm(self.conv(x)))
        return self.relu(y + x)


@pytest.fixture(scope="module")
def history() -> tl.ModelHistory:
    model = nn.Sequential(Block(), Block()).eval()
    return tl.log_forward_pass(model, torch.randn(1, 3, 5, 5))


@pytest.mark.parametrize(
    ("key", "short"),
    [
        ("conv2d_2", "conv2d_2"),
        (0, "input_1"),
        (-1, "output_1"),
        ("0.conv", "conv2d_1"),
        ("0.relu", "relu_1"),
        ("0.relu:2", "relu_2"),
        ("1.relu:1", "relu_3"),
        ("1", "relu_4"),
        ("output", "output_1"),
        ("batchnorm_2", "batchnorm_2"),
        ("0.norm.running_mean", "buffer_1"),
        ("input", "input_1"),
    ],
)
def test_every_kind_of_key_finds_its_op(history: tl.ModelHistory, key: int | str, short: str) -> None:
    assert history[key].layer_label_short == short
    assert key in history


def test_full_labels_and_indices_agree(history: tl.ModelHistory) -> None:
    for number, label in enumerate(history.layer_labels):
        assert history[label].index == history[number].index == number
        assert label.endswith(f"_{number}")


def test_slices_and_iteration(history: tl.ModelHistory) -> None:
    assert [op.layer_label for op in history[:3]] == history.layer_labels[:3]
    assert [op.layer_label for op in history] == history.layer_labels


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("relu_9", "the last relu is 'relu_4_"),
        ("conv", "could be any of 'conv2d_1_"),
        ("0.rellu", "did you mean '0.relu'"),
        ("0.relu:3", "ran 2 times"),
        (99, "there is no op 99"),
        ("nonsense", "history.layer_labels"),
        ("", "is not in this pass"),
    ],
)
def test_a_failed_look_up_names_the_nearest(history: tl.ModelHistory, key: int | str, message: str) -> None:
    with pytest.raises(tl.LayerNotFoundError, match=message):
        history[key]
    assert key not in history


def test_a_key_of_another_kind_is_refused(history: tl.ModelHistory) -> None:
    with pytest.raises(tl.InputError, match="by label, module address or index"):
        history[2.5]  # type: ignore[call-overload]


def test_all_passes_of_a_layer() -> None:
    class Loop(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            for _ in range(3):
                x = torch.sin(x)
            return x

    history = tl.log_forward_pass(Loop(), torch.randn(2))

    assert [op.layer_label for op in history.passes("sin_1")] == ["sin_1_1:1", "sin_1_1:2", "sin_1_1:3"]
    assert history["sin_1"].pass_num == 1
    assert history["sin_1:3"].layer_passes_total == 3
    assert history.layer_labels_no_pass == ["input_1_0", "sin_1_1", "output_1_2"]
