"""A model that raises midway: its own exception, the pass so far, and a model that can be used again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn
from torch.nn.modules import module as torch_module

import torcheer as tl
from tests.capture.models.registry import module_with
from tests.capture.outcomes import Does


class Fragile(nn.Module):
    """Raises in its second layer, as long as it is told to."""

    class Second(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 3)
            self.error: BaseException | None = ValueError("midway")

        def forward(self, x: Tensor) -> Tensor:
            y = self.linear(x).relu()
            if self.error is not None:
                raise self.error
            return y + 1

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), self.Second()

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x)).sin()


def test_the_history_so_far_is_on_the_exception() -> None:
    with pytest.raises(ValueError, match="midway") as raised:
        tl.log_forward_pass(Fragile(), torch.rand(2, 3))

    history = raised.value.history
    assert history.layer_labels == ["input_1_0", "linear_1_1", "linear_2_2", "relu_1_3"]
    assert history["relu_1"].tensor_contents.shape == (2, 3)
    assert history["relu_1"].containing_module_origin == "second"
    assert history.output_layers == []


def test_the_exception_is_the_models_own() -> None:
    model = Fragile()
    model.second.error = error = KeyError("mine")

    with pytest.raises(KeyError) as raised:
        tl.log_forward_pass(model, torch.rand(2, 3))

    assert raised.value is error
    assert any(".history" in note for note in error.__notes__)


def test_what_was_recorded_can_be_checked() -> None:
    model = Fragile()
    with pytest.raises(ValueError, match="midway") as raised:
        tl.log_forward_pass(model, torch.rand(2, 3))

    report = raised.value.history.validate()

    assert report
    assert report.num_replayed == 3
    assert not report.forward_checked


def test_the_model_can_be_used_afterwards() -> None:
    model, x = Fragile(), torch.rand(2, 3)
    with pytest.raises(ValueError, match="midway"):
        tl.log_forward_pass(model, x)
    model.second.error = None

    history = tl.log_forward_pass(model, x)

    assert torch.equal(history["output_1"].tensor_contents, model(x))
    assert not torch_module._global_forward_hooks
    assert not torch_module._global_forward_pre_hooks
    assert not torch.overrides._get_current_function_mode_stack()


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_even_what_is_no_error_leaves_nothing_behind(error: type[BaseException]) -> None:
    model = Fragile()
    model.second.error = error()

    with pytest.raises(error):
        tl.log_forward_pass(model, torch.rand(2, 3))

    assert not torch_module._global_forward_hooks
    assert not torch.overrides._get_current_function_mode_stack()


def test_an_op_that_torch_refuses_is_not_recorded() -> None:
    with pytest.raises(RuntimeError, match="must match") as raised:
        tl.log_forward_pass(Does(lambda x: x.sin() + torch.ones(7)), torch.rand(2, 3))

    assert raised.value.history.layer_labels == ["input_1_0", "sin_1_1", "ones_1_2"]


def test_a_model_that_catches_its_own_error_goes_on() -> None:
    @module_with(lambda: {"part": Fragile()})
    def tries(self, x: Tensor) -> Tensor:
        try:
            return self.part(x)
        except ValueError:
            return x.cos()

    model, x = tries(), torch.rand(2, 3)

    history = tl.log_forward_pass(model, x)

    assert history["cos_1"].containing_module_origin == ""
    assert history["cos_1"].parent_layers == ["input_1_0"]
    assert history["output_1"].parent_layers == ["cos_1_4"]
    assert history.orphan_layers == ["linear_1_1", "linear_2_2", "relu_1_3"]
    assert history.validate()


def test_a_write_that_fails_halfway_leaves_saved_values_alone() -> None:
    class Halfway(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            y = x.sin()
            try:
                y.add_(torch.ones(7))
            except RuntimeError:
                y.mul_(2)
            return y

    model, x = Halfway(), torch.rand(3)

    history = tl.log_forward_pass(model, x)

    assert torch.equal(history["sin_1"].tensor_contents, x.sin())
    assert torch.equal(history["mul_1"].tensor_contents, x.sin() * 2)
    assert history["mul_1"].parent_layers == ["sin_1_1"]
    assert history.validate()


class Steps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Iterator[Tensor]:
        for _ in range(3):
            x = self.layer(x)
            yield x


def test_an_output_of_which_nothing_has_run_yet_is_noted() -> None:
    history = tl.log_forward_pass(Steps(), torch.ones(1, 2))

    assert any("returned a generator" in note for note in history.notes)
