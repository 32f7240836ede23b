"""What `save_checkpoint` keeps, `load_checkpoint` puts back: all of it, exactly, or nothing."""

import copy
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn, optim
from torch.optim import Optimizer, lr_scheduler
from torch.utils.data import DataLoader

from torcheer.errors import FileFormatError, InputError
from torcheer.training import DataOrder, load_checkpoint, save_checkpoint

DATA, TARGETS = torch.linspace(-1, 1, 24).reshape(8, 3), torch.arange(8) % 2


class Net(nn.Module):
    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.first = nn.Linear(3, width)
        self.norm = nn.BatchNorm1d(width)
        self.drop = nn.Dropout(0.3)
        self.last = nn.Linear(width, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.drop(self.norm(self.first(x)).relu()))


def steps(model: nn.Module, optimizer: Optimizer, scheduler: Any = None, number: int = 3) -> list[Tensor]:
    """The losses of a few steps by hand."""
    losses = []
    for _ in range(number):

        def closure() -> Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(DATA), TARGETS)
            loss.backward()
            return loss

        losses.append(optimizer.step(closure).detach())
        if isinstance(scheduler, lr_scheduler.ReduceLROnPlateau):
            scheduler.step(1.0)
        elif scheduler is not None:
            scheduler.step()
    return losses


def assert_goes_on(
    path: Path,
    make_optimizer: Callable[[Any], Optimizer],
    make_scheduler: Callable[[Any], Any] = lambda optimizer: None,
    make_model: Callable[[], nn.Module] = Net,
) -> None:
    """Steps, a checkpoint, more steps: the same losses and weights as from the file, in new objects."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # schedulers that are stepped often
        model = make_model()
        optimizer = make_optimizer(model.parameters())
        scheduler = make_scheduler(optimizer)
        steps(model, optimizer, scheduler)
        save_checkpoint(path, model=model, optimizer=optimizer, scheduler=scheduler)
        expected = steps(model, optimizer, scheduler)

        again = make_model()
        other = make_optimizer(again.parameters())
        new_scheduler = make_scheduler(other)
        load_checkpoint(path, model=again, optimizer=other, scheduler=new_scheduler)
        assert all(map(torch.equal, steps(again, other, new_scheduler), expected))

    assert all(map(torch.equal, again.state_dict().values(), model.state_dict().values()))
    if scheduler is not None:
        assert scheduler.get_last_lr() == new_scheduler.get_last_lr()


OPTIMIZERS: dict[str, Callable[[Any], Optimizer]] = {
    name: kind
    for name, kind in vars(optim).items()
    if isinstance(kind, type)
    and issubclass(kind, Optimizer)
    and name not in ("Optimizer", "SparseAdam", "Muon")
}
OPTIMIZERS["LBFGS"] = lambda parameters: optim.LBFGS(parameters, max_iter=3)
OPTIMIZERS["SGD momentum"] = lambda parameters: optim.SGD(parameters, lr=0.1, momentum=0.9, nesterov=True)
OPTIMIZERS["Adam amsgrad"] = lambda parameters: optim.Adam(parameters, lr=torch.tensor(0.1), amsgrad=True)
OPTIMIZERS["LBFGS wolfe"] = lambda parameters: optim.LBFGS(
    parameters, max_iter=3, line_search_fn="strong_wolfe"
)
OPTIMIZERS["two groups"] = lambda parameters: optim.AdamW(
    [{"params": [one], "lr": 0.1 / number} for number, one in enumerate(parameters, 1)]
)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_goes_on(name: str, tmp_path: Path) -> None:
    assert_goes_on(tmp_path / "c", OPTIMIZERS[name])


def test_an_optimizer_of_matrices_goes_on(tmp_path: Path) -> None:
    if not hasattr(optim, "Muon"):
        pytest.skip("this torch has no Muon")

    assert_goes_on(
        tmp_path / "c", optim.Muon, make_model=lambda: nn.Sequential(nn.Linear(3, 2, bias=False), nn.Tanh())
    )


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_a_state_keeps_its_own_type(dtype: torch.dtype, tmp_path: Path) -> None:
    """NAdam counts in float32 whatever the type of its parameters; torch would turn that into theirs."""
    parameter = nn.Parameter(torch.ones(3, dtype=dtype))
    optimizer = optim.NAdam([parameter], foreach=False)
    parameter.grad = torch.ones(3, dtype=dtype)
    optimizer.step()
    save_checkpoint(tmp_path / "c", optimizer=optimizer)
    other = optim.NAdam([nn.Parameter(torch.ones(3, dtype=dtype))], foreach=False)

    load_checkpoint(tmp_path / "c", optimizer=other)

    (was,), (now,) = optimizer.state.values(), other.state.values()
    assert now["mu_product"].dtype is was["mu_product"].dtype
    assert torch.equal(now["mu_product"], was["mu_product"])


class Halving:
    """A function that is an object, whose own state a LambdaLR keeps."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, epoch: int) -> float:
        self.calls += 1
        return 0.5**self.calls


SCHEDULERS: dict[str, Callable[[Optimizer], Any]] = {
    "StepLR": lambda o: lr_scheduler.StepLR(o, 2),
    "MultiStepLR": lambda o: lr_scheduler.MultiStepLR(o, [1, 4, 4]),
    "ConstantLR": lambda o: lr_scheduler.ConstantLR(o, total_iters=4),
    "LinearLR": lambda o: lr_scheduler.LinearLR(o),
    "ExponentialLR": lambda o: lr_scheduler.ExponentialLR(o, 0.9),
    "PolynomialLR": lambda o: lr_scheduler.PolynomialLR(o, 5),
    "CosineAnnealingLR": lambda o: lr_scheduler.CosineAnnealingLR(o, 4),
    "CosineAnnealingWarmRestarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 2),
    "LambdaLR": lambda o: lr_scheduler.LambdaLR(o, lambda epoch: 0.9**epoch),
    "LambdaLR object": lambda o: lr_scheduler.LambdaLR(o, Halving()),
    "MultiplicativeLR": lambda o: lr_scheduler.MultiplicativeLR(o, lambda epoch: 0.9),
    "CyclicLR": lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, step_size_up=2),
    "CyclicLR own": lambda o: lr_scheduler.CyclicLR(
        o, 0.01, 0.1, step_size_up=2, scale_fn=lambda x: 1 / (x + 1)
    ),
    "OneCycleLR": lambda o: lr_scheduler.OneCycleLR(o, 0.1, total_steps=9),
    "ReduceLROnPlateau": lambda o: lr_scheduler.ReduceLROnPlateau(o, patience=1),
    "SequentialLR": lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.LinearLR(o), lr_scheduler.ExponentialLR(o, 0.9)], [4]
    ),
    "ChainedScheduler": lambda o: lr_scheduler.ChainedScheduler(
        [lr_scheduler.LinearLR(o), lr_scheduler.ExponentialLR(o, 0.9)]
    ),
    "SWALR": lambda o: optim.swa_utils.SWALR(o, swa_lr=0.05, anneal_epochs=4),
}


@pytest.mark.parametrize("name", SCHEDULERS)
def test_every_scheduler_goes_on(name: str, tmp_path: Path) -> None:
    assert_goes_on(
        tmp_path / "c", lambda parameters: optim.SGD(parameters, 0.1, momentum=0.9), SCHEDULERS[name]
    )


def test_no_scheduler_of_torch_is_left_out() -> None:
    known = {name.partition(" ")[0] for name in SCHEDULERS} | {"LRScheduler", "_LRScheduler"}

    assert {
        name
        for name, kind in vars(lr_scheduler).items()
        if isinstance(kind, type) and issubclass(kind, lr_scheduler.LRScheduler)
    } <= known


def test_a_scaler_is_kept(tmp_path: Path) -> None:
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
    scaler.scale(torch.ones(1))
    save_checkpoint(tmp_path / "c", model=Net(), scaler=scaler)
    other = torch.amp.GradScaler("cpu")

    load_checkpoint(tmp_path / "c", scaler=other)

    assert other.get_scale() == 64.0


# --- what is in it ------------------------------------------------------------------------------------------


def test_it_can_be_read_without_a_model(tmp_path: Path) -> None:
    model = Net()
    optimizer = optim.Adam(model.parameters())
    steps(model, optimizer)
    path = save_checkpoint(
        tmp_path / "c.safetensors",
        model=model,
        optimizer=optimizer,
        position={"step": 12, "epoch": 3, "batch": 2},
        metrics={"test/loss": 0.5, "bad": float("nan")},
        extra={"names": ("a", "b"), 7: np.arange(3)},
    )

    found = load_checkpoint(path)

    assert (found.path, found.step, found.epoch, found.position["batch"]) == (path, 12, 3, 2)
    assert found.metrics["test/loss"] == 0.5
    assert found.extra["names"] == ("a", "b")
    assert found.extra[7].tolist() == [0, 1, 2]
    assert found.model is not None
    assert torch.equal(found.model["last.weight"], model.last.weight)
    assert found.optimizer is not None
    assert torch.equal(found.optimizer["state"][0]["exp_avg"], optimizer.state[model.first.weight]["exp_avg"])
    assert found.versions["torch"] == torch.__version__
    assert found.saved_at.tzinfo is not None
    assert repr(found) == "<Checkpoint c.safetensors: step 12, epoch 3, model, optimizer>"


def test_what_was_loaded_is_not_changed_by_training_on(tmp_path: Path) -> None:
    model = Net()
    optimizer = optim.Adam(model.parameters())
    steps(model, optimizer)
    save_checkpoint(tmp_path / "c", model=model, optimizer=optimizer)
    found = load_checkpoint(tmp_path / "c", model=model, optimizer=optimizer)
    before = copy.deepcopy((found.model, found.optimizer))

    steps(model, optimizer)

    assert torch.equal(found.optimizer["state"][0]["exp_avg"], before[1]["state"][0]["exp_avg"])
    assert torch.equal(found.model["last.weight"], before[0]["last.weight"])


def test_a_checkpoint_without_an_optimizer_loads_into_a_plain_model(tmp_path: Path) -> None:
    model, other = Net(), Net()
    save_checkpoint(tmp_path / "c", model=model, position=5)

    found = load_checkpoint(tmp_path / "c", model=other)

    assert found.step == 5
    assert all(map(torch.equal, other.state_dict().values(), model.state_dict().values()))
    with pytest.raises(InputError, match="has no optimizer: it was saved without one"):
        load_checkpoint(tmp_path / "c", model=other, optimizer=optim.SGD(other.parameters()))


def test_anybody_can_read_the_weights(tmp_path: Path) -> None:
    model = Net()
    save_checkpoint(tmp_path / "c", model=model, optimizer=optim.SGD(model.parameters(), 0.1))

    tensors = load_file(tmp_path / "c")

    weights = {name: tensors[f"model.{name}"] for name in model.state_dict()}
    Net().load_state_dict(weights, strict=True)
    assert torch.equal(weights["first.weight"], model.first.weight)


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(5, 3)
        self.head = nn.Linear(3, 5, bias=False)
        self.head.weight = self.embed.weight


def test_tied_weights_are_stored_once_and_stay_tied(tmp_path: Path) -> None:
    model, other = Tied(), Tied()
    save_checkpoint(tmp_path / "c", model=model)

    found = load_checkpoint(tmp_path / "c", model=other)

    assert [name for name in load_file(tmp_path / "c") if name.startswith("model.")] == ["model.embed.weight"]
    assert found.model["head.weight"] is found.model["embed.weight"]
    assert other.head.weight is other.embed.weight
    assert torch.equal(other.head.weight, model.head.weight)


# --- wrapped models -----------------------------------------------------------------------------------------


def partly_compiled() -> nn.Module:
    model = Net()
    model.first = torch.compile(model.first)
    return model


WRAPPED: dict[str, Callable[[], nn.Module]] = {
    "plain": Net,
    "parallel": lambda: nn.DataParallel(Net()),
    "compiled": lambda: torch.compile(Net()),
    "both": lambda: torch.compile(nn.DataParallel(Net())),
    "partly": partly_compiled,
}


@pytest.mark.parametrize("name", WRAPPED)
def test_what_is_wrapped_around_a_model_does_not_show_in_its_names(name: str, tmp_path: Path) -> None:
    wrapped, plain = WRAPPED[name](), Net()
    optimizer = optim.SGD(wrapped.parameters(), 0.1)
    save_checkpoint(tmp_path / "c", model=wrapped, optimizer=optimizer)

    load_checkpoint(tmp_path / "c", model=plain, optimizer=optim.SGD(plain.parameters()))
    assert all(map(torch.equal, wrapped.state_dict().values(), plain.state_dict().values()))

    save_checkpoint(tmp_path / "plain", model=(other := Net()))
    load_checkpoint(tmp_path / "plain", model=wrapped)
    assert all(map(torch.equal, wrapped.state_dict().values(), other.state_dict().values()))


def test_so_it_is_with_distributed_data_parallel(tmp_path: Path) -> None:
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        wrapped = nn.parallel.DistributedDataParallel(Net())
        save_checkpoint(tmp_path / "c", model=wrapped)
    finally:
        torch.distributed.destroy_process_group()
    plain = Net()

    load_checkpoint(tmp_path / "c", model=plain)

    assert torch.equal(plain.last.weight, wrapped.module.last.weight)


# --- what does not fit --------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    model = Net()
    optimizer = optim.Adam(model.parameters())
    scheduler = SCHEDULERS["SequentialLR"](optimizer)
    steps(model, optimizer, scheduler)
    return save_checkpoint(tmp_path / "c", model=model, optimizer=optimizer, scheduler=scheduler)


def same_but(
    model: nn.Module, kind: Any = optim.Adam, make_scheduler: str = "SequentialLR"
) -> dict[str, Any]:
    optimizer = kind(model.parameters())
    return {"model": model, "optimizer": optimizer, "scheduler": SCHEDULERS[make_scheduler](optimizer)}


class Renamed(Net):
    def __init__(self) -> None:
        super().__init__()
        self.final = self._modules.pop("last")


class Reordered(Net):
    def __init__(self) -> None:
        super().__init__()
        self.norm.weight, self.norm.bias = self.norm.bias, self.norm.weight

    def parameters(self, recurse: bool = True) -> Any:
        first, second, *others = super().parameters(recurse)
        return iter([first, second, others[1], others[0], *others[2:]])


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (
            lambda: same_but(Net(width=6)),
            r"fit this model, Net: 'first.weight' has shape \(4, 3\) in the checkpoint and \(6, 3\) here; .*"
            r"and 2 more\. Nothing was loaded",
        ),
        (lambda: same_but(Renamed()), "'final.weight' is missing.*'last.weight' is in the checkpoint only"),
        (lambda: same_but(Net(), optim.SGD), "this optimizer, SGD: the checkpoint has the state of Adam"),
        (
            lambda: same_but(Net()) | {"optimizer": optim.Adam(Net().first.parameters())},
            r"saved with 6 parameters \(by group\), and has 2 here",
        ),
        (
            lambda: same_but(Reordered()),
            "its parameter 2 is 'norm.weight' in the checkpoint and 'norm.bias' here",
        ),
        (lambda: same_but(Net(), make_scheduler="ChainedScheduler"), r"state of SequentialLR\(LinearLR, Exp"),
        (lambda: same_but(Net()) | {"scheduler": object()}, "has no state_dict and load_state_dict"),
        (lambda: {"model": "net"}, "give a torch.nn.Module"),
    ],
)
def test_another_model_or_optimizer_is_refused_and_nothing_is_loaded(
    parts: Callable[[], dict[str, Any]], words: str, saved: Path
) -> None:
    given = parts()
    states = [part.state_dict() for part in given.values() if hasattr(part, "state_dict")]
    before = copy.deepcopy(states), torch.get_rng_state()

    with pytest.raises(InputError, match=words):
        load_checkpoint(saved, **given)

    after = [part.state_dict() for part in given.values() if hasattr(part, "state_dict")]
    assert str(after) == str(before[0])
    assert torch.equal(torch.get_rng_state(), before[1])


class Unwilling(lr_scheduler.StepLR):
    def load_state_dict(self, state_dict: Any) -> None:
        super().load_state_dict(state_dict)
        if state_dict["last_epoch"] == 3:
            raise RuntimeError("no")


def test_what_was_loaded_is_taken_back_when_a_later_part_fails(tmp_path: Path) -> None:
    def parts() -> dict[str, Any]:
        model = Net()
        optimizer = optim.Adam(model.parameters())
        return {"model": model, "optimizer": optimizer, "scheduler": Unwilling(optimizer, 2)}

    saved = parts()
    steps(**saved)
    save_checkpoint(tmp_path / "c", **saved)
    given = parts()
    before = copy.deepcopy([part.state_dict() for part in given.values()])

    with pytest.raises(FileFormatError, match=r"RuntimeError: no.*nothing was loaded"):
        load_checkpoint(tmp_path / "c", **given)

    assert str([part.state_dict() for part in given.values()]) == str(before)


def test_a_lambda_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "c").write_bytes(b"older")

    with pytest.raises(
        InputError, match=r"cannot keep 'extra.schedule': it is a function.*Nothing was written"
    ):
        save_checkpoint(tmp_path / "c", model=Net(), extra={"schedule": lambda step: 0.1})

    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("c", b"older")]


# --- random numbers -----------------------------------------------------------------------------------------


def test_all_random_numbers_go_on(tmp_path: Path) -> None:
    loader = DataLoader(list(range(9)), shuffle=True, generator=torch.Generator().manual_seed(3))
    model = Net()
    model.noise = torch.Generator().manual_seed(4)
    save_checkpoint(tmp_path / "c", model=model, loader=loader)

    def draw() -> list[Any]:
        numbers = [torch.rand(1).item(), random.random(), random.gauss(), np.random.rand(), np.random.randn()]
        return [*numbers, torch.rand(1, generator=model.noise).item(), [int(one) for one in loader]]

    expected = draw()
    assert draw() != expected

    load_checkpoint(tmp_path / "c", model=model, loader=loader)
    assert draw() == expected

    before = torch.get_rng_state()
    load_checkpoint(tmp_path / "c", model=model, loader=loader, restore_random=False)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_loop_of_ones_own_goes_on_in_the_middle_of_an_epoch(tmp_path: Path) -> None:
    def begin() -> tuple[nn.Module, Optimizer, DataOrder]:
        model = Net()
        data = [(DATA[number], TARGETS[number]) for number in range(8)]
        return model, optim.Adam(model.parameters()), DataOrder(DataLoader(data, 2, shuffle=True))

    model, optimizer, order = begin()
    losses = []
    for number, (inputs, targets) in enumerate(order.epoch(0)):
        loss = F.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if number == 1:
            save_checkpoint(tmp_path / "c", model=model, optimizer=optimizer, loader=order)

    model, optimizer, order = begin()
    load_checkpoint(tmp_path / "c", model=model, optimizer=optimizer, loader=order)
    rest = []
    for inputs, targets in order.epoch(0):
        loss = F.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rest.append(loss.item())

    assert rest == losses[2:]
    save_checkpoint(tmp_path / "c", model=model, loader=order.loader)
    with pytest.raises(InputError, match="does not say where the data were"):
        load_checkpoint(tmp_path / "c", loader=order)
