"""Nothing of torch's own autograd: neither in the sources nor when a model learns."""

from __future__ import annotations

import ast
import operator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import torcheer.autograd as ag
from tests.autograd.torchuses import sources, torch_uses
from torcheer.autograd import WHITELIST, tracer
from torcheer.autograd.engine import Node

FOLDER = Path(ag.__file__).parent
FILES = dict(sources(FOLDER))

# To look up a computed name in torch is to go round the list. These do it by names of the list.
BY_NAME = {"__init__.py", "nn.py", "optim.py"}


@pytest.mark.parametrize("file", FILES)
def test_a_file_uses_nothing_of_torch_that_is_not_on_the_list(file: str) -> None:
    unknown = [f"{file}:{line} {name}" for line, name in torch_uses(FILES[file]) if name not in WHITELIST]

    assert not unknown, "add it to the list in torch_calls.py, if it only computes forward"


def test_everything_on_the_list_is_in_torch() -> None:
    later = {"torch.accelerator"}  # of newer versions only
    missing = []
    for name in set(WHITELIST) - later:
        try:
            operator.attrgetter(name.removeprefix("torch."))(torch)
        except AttributeError:
            missing.append(name)

    assert missing == []


def test_the_list_has_nothing_that_differentiates() -> None:
    parts = {part for name in WHITELIST for part in name.split(".")}

    assert parts.isdisjoint(
        {
            "autograd",
            "enable_grad",
            "set_grad_enabled",
            "inference_mode",
            "func",
            "vmap",
            "backward",
            "grad",
        }
    )


@pytest.mark.parametrize("file", FILES)
def test_a_file_asks_torch_for_no_gradient(file: str) -> None:
    found = []
    for node in ast.walk(ast.parse(FILES[file])):
        if isinstance(node, ast.Attribute) and node.attr in (
            "autograd",
            "_autograd_functions",
            "_execution_engine",
        ):
            found.append(f"{file}:{node.lineno} {node.attr}")
        if isinstance(node, ast.Call):
            found += [f"{file}:{node.lineno} {what}" for what in _asked(node, file)]

    assert not found


def _asked(node: ast.Call, file: str) -> list[str]:
    called = ast.unparse(node.func)
    asked = []
    if called.endswith(".backward"):
        asked.append(called)
    if called.startswith(("torch.", "_torch.")) and any(one.arg == "requires_grad" for one in node.keywords):
        asked.append(f"{called}(requires_grad=…)")
    if (
        called == "getattr"
        and ast.unparse(node.args[0]) in ("torch", "_torch", "torch.nn")
        and file not in BY_NAME
    ):
        asked.append(f"getattr({ast.unparse(node.args[0])}, …)")
    return asked


# --- when a model learns ---------------------------------------------------------------------------------


def wants_torchs_gradient(value: Tensor) -> bool:
    """What torch itself knows of a tensor, beneath our attributes."""
    base: Any = torch._C.TensorBase
    return bool(base.requires_grad.__get__(value)) or base.grad_fn.__get__(value) is not None


def all_tensors(end: Node) -> list[Tensor]:
    """Every tensor that a graph holds."""
    found: list[Any] = []
    seen, waiting = {end}, [end]
    while waiting:
        node = waiting.pop()
        found += [node.value, node.grad, *node.inputs, *node.options.values()]
        for parent in node.parents:
            if parent is not None and parent not in seen:
                seen.add(parent)
                waiting.append(parent)
    return [value for value in found if isinstance(value, Tensor)]


def loss_of(x: Any, parameters: list[Any], target: Tensor) -> Any:
    kernel, bias, weight = parameters
    h = F.relu(F.conv2d(x, kernel, bias, padding=1))
    h = F.gelu(h.flatten(1)) @ weight
    h = (h - h.mean(0)) / (h.std(0) + 1e-5)
    return (F.log_softmax(h, dim=1).gather(1, target[:, None]) * -1).mean() + 0.01 * weight.norm()


def test_a_model_learns_with_torchs_autograd_switched_off() -> None:
    x, target = torch.randn(6, 2, 4, 4, dtype=torch.float64), torch.tensor([0, 1, 2, 0, 1, 2])
    values = [torch.randn(shape, dtype=torch.float64) * 0.3 for shape in ((3, 2, 3, 3), (3,), (48, 3))]
    theirs = [value.clone().requires_grad_() for value in values]
    expected = []
    for _ in range(4):
        gradients = torch.autograd.grad(loss_of(x, theirs, target), theirs)
        expected.append(gradients)
        with torch.no_grad():
            for one, gradient in zip(theirs, gradients, strict=True):
                one -= 0.3 * gradient

    ours = [tracer(value, requires_grad=True) for value in values]
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    try:
        for gradients in expected:
            loss = loss_of(x, ours, target)
            loss.backward(retain_graph=True)
            everything = [x, *ours, *(one.grad for one in ours), *all_tensors(loss.grad_fn)]

            assert len(everything) > 60
            assert not any(wants_torchs_gradient(value) for value in everything)
            for one, gradient in zip(ours, gradients, strict=True):
                torch.testing.assert_close(one.grad, gradient, rtol=1e-10, atol=1e-10)
            with ag.no_grad():
                for one in ours:
                    one -= 0.3 * one.grad
                    one.grad = None
    finally:
        torch.set_grad_enabled(before)


def test_torchs_autograd_has_no_part_where_it_is_on_either() -> None:
    x = tracer(torch.randn(3, 4), requires_grad=True)

    loss = (torch.softmax(x @ x.T, 1).exp() * x.sum(1)).sum()
    loss.backward(create_graph=True)

    assert torch.is_grad_enabled()
    assert not any(wants_torchs_gradient(value) for value in [x.grad, *all_tensors(loss.grad_fn)])
    assert not any(wants_torchs_gradient(value) for value in all_tensors(x.grad.grad_fn))


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_layers_and_optimizers_of_torch_learn_with_its_autograd_switched_off() -> None:
    def make(nn: Any) -> Any:
        torch.manual_seed(0)
        return nn.Sequential(
            nn.Embedding(9, 8),
            nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), 1),
            nn.BatchNorm1d(5),
            nn.Conv1d(5, 3, 3),
            nn.PReLU(3),
            nn.Flatten(),
            nn.Linear(18, 4),
        )

    x, target = torch.randint(0, 9, (6, 5)), torch.tensor([0, 1, 2, 3, 1, 2])
    theirs, ours = make(torch.nn), make(ag.nn)
    steps = [torch.optim.NAdam(theirs.parameters(), lr=0.1), ag.optim.NAdam(ours.parameters(), lr=0.1)]
    losses: list[list[float]] = [[], []]
    for which, (model, optimizer) in enumerate(zip((theirs, ours), steps, strict=True)):
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(model is theirs)
        try:
            for _ in range(4):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x), target)
                loss.backward()
                optimizer.step()
                losses[which].append(loss.item())
            if model is ours:
                everything = [one for part in ours.parameters() for one in (part, part.grad)]
                everything += [one for state in optimizer.state.values() for one in state.values()]
                assert not any(wants_torchs_gradient(value) for value in everything)
        finally:
            torch.set_grad_enabled(before)

    assert losses[1] == pytest.approx(losses[0], abs=1e-5)
    assert losses[1][-1] < losses[1][0]
