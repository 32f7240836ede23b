"""Optimizers and schedulers go the way of torch's, step by step."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor

from torcheer.autograd import optim, tracer
from torcheer.autograd.nn import Linear, Parameter
from torcheer.errors import AutogradError

OPTIMIZERS: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("SGD", {"lr": 0.1}),
    "sgd with momentum": ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    "sgd that looks ahead": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "sgd uphill": ("SGD", {"lr": 0.01, "momentum": 0.5, "maximize": True}),
    "rmsprop": ("RMSprop", {"lr": 0.01}),
    "rmsprop with options": (
        "RMSprop",
        {"lr": 0.01, "alpha": 0.9, "eps": 1e-3, "centered": True, "momentum": 0.5, "weight_decay": 0.1},
    ),
    "rmsprop uphill": ("RMSprop", {"maximize": True}),
    "adam": ("Adam", {"lr": 0.1}),
    "adam with options": (
        "Adam",
        {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3, "weight_decay": 0.1, "amsgrad": True},
    ),
    "adam uphill": ("Adam", {"maximize": True}),
    "adamw": ("AdamW", {"lr": 0.1}),
    "adamw with options": ("AdamW", {"lr": 0.1, "weight_decay": 0.3, "amsgrad": True, "betas": (0.5, 0.9)}),
    "adagrad": ("Adagrad", {"lr": 0.1}),
    "adagrad with options": (
        "Adagrad",
        {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.3, "eps": 1e-3},
    ),
}
FIRST = [
    torch.linspace(-2, 2, 6, dtype=torch.float64).reshape(2, 3),
    torch.tensor([1.5], dtype=torch.float64),
]


def valley(params: list[Any]) -> Any:
    """A loss with slopes of its own for each number."""
    weights = torch.arange(1.0, 7.0, dtype=torch.float64).reshape(2, 3)
    return (weights * params[0] ** 2).sum() + (params[0].sum() * params[1]).sum() ** 2 / 10


def step(optimizer: Any, params: list[Any]) -> float:
    optimizer.zero_grad()
    loss = valley(params)
    loss.backward()
    optimizer.step()
    return float(loss.detach())


def both(name: str) -> tuple[list[Any], Any, list[Any], Any]:
    kind, options = OPTIMIZERS[name]
    theirs = [one.clone().requires_grad_() for one in FIRST]
    ours = [Parameter(one.clone()) for one in FIRST]
    return theirs, getattr(torch.optim, kind)(theirs, **options), ours, getattr(optim, kind)(ours, **options)


def close(ours: list[Any], theirs: list[Any]) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine.data, other.data, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_twenty_steps_are_torchs(name: str) -> None:
    theirs, their_optimizer, ours, our_optimizer = both(name)

    for _ in range(20):
        step(their_optimizer, theirs)
        step(our_optimizer, ours)
        close(ours, theirs)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_state_goes_over_to_torch_and_back(name: str) -> None:
    theirs, their_optimizer, ours, our_optimizer = both(name)
    for _ in range(5):
        step(our_optimizer, ours)
    for mine, other in zip(ours, theirs, strict=True):
        other.data.copy_(mine.data)

    their_optimizer.load_state_dict(copy.deepcopy(our_optimizer.state_dict()))
    for _ in range(5):
        step(their_optimizer, theirs)
    again = [Parameter(one.detach().clone()) for one in theirs]
    fresh = getattr(optim, OPTIMIZERS[name][0])(again, lr=123.0)
    fresh.load_state_dict(copy.deepcopy(their_optimizer.state_dict()))
    for _ in range(5):
        step(our_optimizer, ours)

    close(ours, theirs)
    for _ in range(3):
        step(fresh, again)
        step(our_optimizer, ours)
    close(again, ours)


def test_groups_have_settings_of_their_own() -> None:
    theirs, ours = [one.clone().requires_grad_() for one in FIRST], [Parameter(one.clone()) for one in FIRST]
    groups = [[{"params": [params[0]], "lr": 0.1}, {"params": params[1]}] for params in (theirs, ours)]
    their_optimizer = torch.optim.SGD(groups[0], lr=0.01, momentum=0.9)
    our_optimizer = optim.SGD(groups[1], lr=0.01, momentum=0.9)

    for _ in range(5):
        step(their_optimizer, theirs)
        step(our_optimizer, ours)

    close(ours, theirs)
    assert [group["lr"] for group in our_optimizer.param_groups] == [0.1, 0.01]
    assert repr(our_optimizer).startswith("SGD (\nParameter Group 0\n")


def test_a_step_writes_in_place_into_the_same_parameter() -> None:
    x = tracer([1.0], requires_grad=True)
    memory, version = x.data_ptr(), x._version
    optimizer = optim.SGD([x], lr=0.1)
    loss = (x**2).sum()
    loss.backward(retain_graph=True)
    optimizer.step()

    assert (x.data_ptr(), x.item(), x.is_leaf, x.requires_grad) == (memory, pytest.approx(0.8), True, True)
    assert x._version > version
    with pytest.raises(AutogradError, match="changed in place"):
        loss.backward()


def test_a_closure_is_called_and_parameters_without_a_gradient_stay() -> None:
    x, untouched = Parameter(torch.ones(2)), Parameter(torch.ones(2))
    optimizer = optim.Adam([x, untouched], lr=0.1)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (x**2).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure) == 2.0
    assert x.data[0] < 1
    assert untouched.data.tolist() == [1, 1]
    optimizer.zero_grad(set_to_none=False)
    assert x.grad is not None
    assert x.grad.tolist() == [0, 0]
    optimizer.zero_grad()
    assert x.grad is None


@pytest.mark.parametrize(
    ("do", "message"),
    [
        (lambda: optim.SGD([]), "empty parameter list"),
        (lambda: optim.SGD([tracer([1.0], requires_grad=True) * 2]), "non-leaf"),
        (
            lambda: optim.SGD([{"params": one} for one in [tracer([1.0])] * 2]),
            "more than one parameter group",
        ),
        (lambda: optim.SGD([tracer([1.0])], nesterov=True), "Nesterov"),
        (lambda: optim.Adam([tracer([1.0])], betas=(1.0, 0.9)), "beta parameter"),
        (
            lambda: optim.SGD([tracer([1.0])]).load_state_dict(
                optim.SGD(Linear(2, 2).parameters()).state_dict()
            ),
            "doesn't match the size",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(do: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        do()


def test_an_optimizer_that_asks_for_the_loss_again_gets_it() -> None:
    theirs, ours = [one.clone().requires_grad_() for one in FIRST], [Parameter(one.clone()) for one in FIRST]
    pairs = ((torch.optim.LBFGS(theirs), theirs), (optim.LBFGS(ours), ours))
    for optimizer, params in pairs:

        def closure(optimizer: Any = optimizer, params: list[Any] = params) -> Any:
            optimizer.zero_grad()
            loss = valley(params)
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(closure)

    close(ours, theirs)


# --- schedulers ------------------------------------------------------------------------------------------

SCHEDULERS: dict[str, Any] = {
    "StepLR": lambda s, o: s.StepLR(o, 3, gamma=0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [2, 5, 5, 9], gamma=0.5),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.3, 4),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.2, 0.9, 6),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.8),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 7, eta_min=0.01),
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda epoch: 1 / (1 + epoch)),
    "LambdaLR of each": lambda s, o: s.LambdaLR(o, [lambda epoch: 0.9**epoch, lambda epoch: 1.0]),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, 0.4, total_steps=16),
    "OneCycleLR, linear": lambda s, o: s.OneCycleLR(
        o, 0.4, epochs=4, steps_per_epoch=4, anneal_strategy="linear", pct_start=0.4
    ),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, total_iters=4), s.CosineAnnealingLR(o, 8)], milestones=[4]
    ),
}


def pair_of_optimizers() -> tuple[Any, Any]:
    made = []
    for engine, make in ((torch.optim, lambda x: x.requires_grad_()), (optim, Parameter)):
        groups = [{"params": [make(torch.ones(1))], "lr": 0.3}, {"params": [make(torch.ones(1))]}]
        made.append(engine.SGD(groups, lr=0.1, momentum=0.5))  # type: ignore[attr-defined]
    return made[0], made[1]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_scheduler_sets_the_rates_of_torchs(name: str) -> None:
    their_optimizer, our_optimizer = pair_of_optimizers()
    theirs = SCHEDULERS[name](torch.optim.lr_scheduler, their_optimizer)
    ours = SCHEDULERS[name](optim.lr_scheduler, our_optimizer)

    for _ in range(15):
        assert ours.get_last_lr() == pytest.approx(theirs.get_last_lr(), abs=1e-12)
        for mine, other in zip(our_optimizer.param_groups, their_optimizer.param_groups, strict=True):
            assert mine["lr"] == pytest.approx(other["lr"], abs=1e-12)
            assert mine["momentum"] == pytest.approx(other["momentum"], abs=1e-12)
        their_optimizer.step()
        theirs.step()
        ours.step()


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
def test_a_plateau_is_noticed_when_torch_notices_it(mode: str, threshold_mode: str) -> None:
    their_optimizer, our_optimizer = pair_of_optimizers()
    options: dict[str, Any] = {
        "mode": mode,
        "threshold_mode": threshold_mode,
        "patience": 2,
        "cooldown": 1,
        "factor": 0.5,
        "threshold": 0.05,
        "min_lr": 0.04,
    }
    theirs = torch.optim.lr_scheduler.ReduceLROnPlateau(their_optimizer, **options)
    ours = optim.lr_scheduler.ReduceLROnPlateau(our_optimizer, **options)
    measures = [
        3.0,
        2.0,
        2.5,
        1.99,
        1.98,
        1.97,
        1.5,
        1.6,
        1.6,
        1.6,
        1.6,
        1.6,
        1.6,
        1.6,
        1.2,
        1.1,
        1.1,
        1.1,
        1.1,
    ]

    for measure in measures:
        theirs.step(measure)
        ours.step(torch.tensor(measure) if mode == "min" else measure)
        assert ours.get_last_lr() == pytest.approx(theirs.get_last_lr())
    assert ours.get_last_lr()[0] < 0.3


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_scheduler_goes_on_from_its_state(name: str) -> None:
    _, first = pair_of_optimizers()
    _, second = pair_of_optimizers()
    left, right = (SCHEDULERS[name](optim.lr_scheduler, one) for one in (first, second))
    for _ in range(6):
        left.step()

    right.load_state_dict(copy.deepcopy(left.state_dict()))
    second.load_state_dict(first.state_dict())

    for _ in range(6):
        left.step()
        right.step()
        assert right.get_last_lr() == left.get_last_lr()


def test_an_optimizer_takes_named_parameters_and_ordinary_tracers() -> None:
    layer = Linear(2, 1)
    x = tracer(torch.ones(2), requires_grad=True)
    optimizer = optim.SGD(layer.named_parameters(), lr=0.1)
    optimizer.add_param_group({"params": [("x", x)], "lr": 0.5})
    before = x.data.clone()

    layer(x).sum().backward()
    optimizer.step()

    assert isinstance(x.grad, Tensor)
    assert torch.equal(x.data, before - 0.5 * x.grad)
