"""Hooks of the user's own: what they make of an output is what the module gives."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import torcheer as tl
from tests.capture.models.registry import module_with


@module_with(lambda: {"first": nn.Linear(4, 4), "act": nn.ReLU(), "last": nn.Linear(4, 2)})
def net(self, x: Tensor) -> Tensor:
    return self.last(self.act(self.first(self.act(self.first(x)))))


def outputs_of(model: nn.Module, x: Tensor) -> dict[str, list[Tensor]]:
    """What a hook that comes last is given."""
    found: dict[str, list[Tensor]] = {}
    handles = [
        module.register_forward_hook(
            lambda _, __, output, name=name: found.setdefault(name, []).append(output.clone())
        )
        for name, module in model.named_modules()
    ]
    model(x)
    for handle in handles:
        handle.remove()
    return found


def check(model: nn.Module) -> tl.ModelHistory:
    x = torch.randn(3, 4)
    expected = outputs_of(model, x)
    num_hooks = [len(module._forward_hooks) for module in model.modules()]

    history = tl.log_forward_pass(model, x)

    for name, values in expected.items():
        for number, value in enumerate(values, 1):
            key = name if len(values) == 1 else f"{name}:{number}"
            assert name == "" or torch.equal(history[key].tensor_contents, value), key
    assert torch.equal(history["output_1"].tensor_contents, model(x))
    assert history.validate()
    assert [len(module._forward_hooks) for module in model.modules()] == num_hooks
    return history


def double(_: nn.Module, __: Any, output: Tensor) -> Tensor:
    return output * 2


def look_on(_: nn.Module, __: Any, output: Tensor) -> None:
    output.sum()


@pytest.mark.parametrize("name", ["first", "act", "last", ""])
def test_what_a_hook_gives_is_what_the_module_gives(name: str) -> None:
    model = net()
    model.get_submodule(name).register_forward_hook(double)

    history = check(model)

    doubled = history["mul_1"]
    assert doubled.containing_module_origin == name
    assert name == "" or doubled.modules_exited[0].partition(":")[0] == name


def test_several_hooks_of_several_modules() -> None:
    model = net()
    for module in (model.first, model.act, model):
        module.register_forward_hook(double)
        module.register_forward_hook(look_on)
        module.register_forward_hook(lambda _, args, kwargs, output: output + 1, with_kwargs=True)

    check(model)


def test_a_hook_that_only_looks_on_changes_nothing() -> None:
    model = net()
    model.first.register_forward_hook(look_on)

    history = check(model)

    assert history["first:1"].layer_type == "linear"


def test_a_hook_that_takes_itself_away() -> None:
    model = net()

    def once(_: nn.Module, __: Any, output: Tensor) -> Tensor:
        handle.remove()
        return output + 1

    handle = model.first.register_forward_hook(once)
    x = torch.randn(3, 4)
    history = tl.log_forward_pass(model, x)

    assert history["first:1"].layer_type == "add"
    assert history["first:2"].layer_type == "linear"
    assert not model.first._forward_hooks


def test_a_hook_that_raises_leaves_its_module() -> None:
    model = net()
    calls = 0

    def raise_first(_: nn.Module, __: Any, output: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ValueError("once")
        return output + 1

    model.first.register_forward_hook(raise_first)

    @module_with(lambda: {"inner": model})
    def forgiving(self, x: Tensor) -> Tensor:
        try:
            return self.inner(x)
        except ValueError:
            return self.inner(x) * 3

    history = tl.log_forward_pass(forgiving(), torch.randn(3, 4))

    assert history["mul_1"].containing_module_origin == ""
    assert len(model.first._forward_hooks) == 1
    assert history.validate()


def test_hooks_that_a_first_forward_registers_are_not_registered_twice_by_a_replay() -> None:
    @module_with(lambda: {"layers": nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))})
    def recording(self, x: Tensor) -> list[Tensor]:
        """As models do that return all hidden states: hooks from the first forward on, noted in a flag."""
        self.states: list[Tensor] = []
        if not hasattr(self, "is_hooked"):
            self.is_hooked = True
            for layer in self.layers:
                layer.register_forward_hook(lambda _, __, output: self.states.append(output))
        self.layers(x)
        return self.states

    model = recording()
    history = tl.log_forward_pass(model, torch.randn(3, 4))

    assert history.validate()
    assert [len(layer._forward_hooks) for layer in model.layers] == [1, 1, 1]
    assert len(model(torch.randn(3, 4))) == 3
