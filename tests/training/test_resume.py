"""A training that was interrupted, wherever and however, gives the losses of one that was not: bit by bit."""

import os
import random
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.lr_scheduler import ExponentialLR, ReduceLROnPlateau
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

import torcheer as tl
from tests.many import IS_ALL
from tests.training.fitted import CtrlC
from torcheer.errors import InputError
from torcheer.training import (
    Callback,
    Checkpoints,
    EarlyStopping,
    History,
    TrainingWarning,
    by_step,
    fit,
    load_checkpoint,
    save_checkpoint,
)

EPOCHS, BATCHES = 2, 3
STEPS = EPOCHS * BATCHES


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that dies does not take with it what the system was given."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


class Interruption(Exception):  # noqa: N818  # it is no error of anybody's
    """What ends a training in these tests."""


class Trap:
    """Springs when it is asked for the n-th time."""

    def __init__(self, after: int = -1) -> None:
        self.after = after

    def __call__(self) -> None:
        self.after -= 1
        if self.after == 0:
            raise Interruption


NO_TRAP = Trap()


class Augmented(Dataset[tuple[Tensor, Tensor]]):
    def __init__(self, trap: Trap = NO_TRAP) -> None:
        self.inputs = torch.linspace(-1, 1, 10 * 3).reshape(10, 3)
        self.trap = trap

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        self.trap()
        noise = torch.randn(3) + random.random() + float(np.random.rand())
        return self.inputs[index] + noise, torch.tensor(index % 2)


class Net(nn.Module):
    def __init__(self, trap: Trap = NO_TRAP) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Dropout(0.4), nn.Linear(5, 2))
        self.trap = trap

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.trap()
        return self.layers(x)


class Springing(Callback):
    def __init__(self, trap: Trap, event: str) -> None:
        setattr(self, event, lambda training: trap())


def seed_all() -> None:
    torch.manual_seed(7)
    random.seed(7)
    np.random.seed(7)


def train(
    folder: Path | None,
    *,
    trap: Trap = NO_TRAP,
    trapped: str = "",
    every: str | int = 1,
    epochs: int = EPOCHS,
    kind: str = "adam",
    num_workers: int = 0,
    callbacks: tuple[Any, ...] = (),
    **options: Any,
) -> tuple[History, dict[str, Any]]:
    """One training, from its seed or from where it was; its history, and the weights at the end."""
    seed_all()
    model = Net(trap if trapped == "model" else NO_TRAP)
    data = Augmented(trap if trapped == "loader" else NO_TRAP)
    loader = DataLoader(data, batch_size=4, shuffle=True, num_workers=num_workers)

    def loss(outputs: Tensor, targets: Tensor) -> Tensor:
        if trapped == "loss" and model.training:
            trap()
        return F.cross_entropy(outputs, targets)

    optimizer, scheduler = KINDS[kind](model)
    history = fit(
        model,
        loader,
        loss=loss,
        optimizer=optimizer,
        scheduler=scheduler,
        epochs=epochs,
        test_loader=DataLoader(Augmented(), batch_size=5, shuffle=True),
        checkpoints=None if folder is None else Checkpoints(folder, every=every),
        callbacks=[*callbacks, *([Springing(trap, trapped)] if trapped.startswith("on_") else [])],
        progress=False,
        **options,
    )
    return history, model.state_dict()


def _adam(model: nn.Module) -> tuple[Any, Any]:
    optimizer = torch.optim.Adam(model.parameters(), 0.05)
    return optimizer, by_step(ExponentialLR(optimizer, 0.9))


def _momentum(model: nn.Module) -> tuple[Any, Any]:
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9, nesterov=True)
    return optimizer, ReduceLROnPlateau(optimizer, patience=0)


KINDS: dict[str, Callable[[nn.Module], tuple[Any, Any]]] = {"adam": _adam, "momentum": _momentum}
OTHERS: dict[str, dict[str, Any]] = {
    "adam, accumulated": {"accumulate": 2, "clip_norm": 0.5},
    "momentum": {"kind": "momentum", "every": 2},
    "epochs": {"every": "epoch", "metrics": ["accuracy"]},
}


def assert_same(found: tuple[History, dict[str, Any]], expected: tuple[History, dict[str, Any]]) -> None:
    for name in expected[0].steps.names:
        if "second" not in name:
            assert found[0].steps[name].tobytes() == expected[0].steps[name].tobytes(), name
    for name in expected[0].names:
        assert found[0][name].tobytes() == expected[0][name].tobytes(), name
    assert all(map(torch.equal, found[1].values(), expected[1].values()))


# --- interrupted by exceptions ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "trapped"),
    [
        *(("adam, accumulated", trapped) for trapped in ("model", "loss", "loader", "on_step", "on_epoch")),
        *(("momentum", trapped) for trapped in ("model", "on_epoch")),
        *(("epochs", trapped) for trapped in ("loader", "on_step")),
    ],
)
def test_an_exception_at_any_step_costs_nothing(name: str, trapped: str, tmp_path: Path) -> None:
    options = OTHERS[name]
    expected = train(None, **options)
    assert expected[0].num_steps == STEPS
    asked = {"loader": 10 * EPOCHS, "on_epoch": EPOCHS}.get(trapped, STEPS)
    for after in range(1, asked + 1, {"loader": 3, "loss": 2}.get(trapped, 1) * (1 if IS_ALL else 3)):
        folder = tmp_path / str(after)
        with pytest.raises(Interruption):
            train(folder, trap=Trap(after), trapped=trapped, **options)

        assert_same(train(folder, **options), expected)


def test_it_may_be_interrupted_after_every_single_step(tmp_path: Path) -> None:
    expected = train(None)
    for _ in range(STEPS - 1):
        with pytest.raises(Interruption):
            train(tmp_path, trap=Trap(2), trapped="model")

    assert_same(train(tmp_path), expected)


def test_it_goes_on_with_workers(tmp_path: Path) -> None:
    expected = train(None, num_workers=2)
    with pytest.raises(Interruption):
        train(tmp_path, trap=Trap(5), trapped="model", num_workers=2)

    assert_same(train(tmp_path, num_workers=2), expected)


def test_a_cell_that_is_run_again_goes_on_with_the_same_objects(tmp_path: Path) -> None:
    """Model, optimizer and loader are where the interruption left them, and not as they were made."""
    expected = train(None)
    seed_all()
    trap = Trap(4)
    model = Net(trap)
    optimizer, scheduler = KINDS["adam"](model)
    loader = DataLoader(Augmented(), batch_size=4, shuffle=True)

    def cell() -> History:
        return fit(
            model,
            loader,
            loss=F.cross_entropy,
            optimizer=optimizer,
            scheduler=scheduler,
            epochs=EPOCHS,
            test_loader=DataLoader(Augmented(), batch_size=5, shuffle=True),
            checkpoints=Checkpoints(tmp_path, every=2),
            progress=False,
        )

    with pytest.raises(Interruption):
        cell()

    with warnings.catch_warnings():  # what the scheduler made of the learning rate is no other setting
        warnings.simplefilter("error", TrainingWarning)
        assert_same((cell(), model.state_dict()), expected)


# --- what is said -------------------------------------------------------------------------------------------


def gone_on(
    folder: Path, epochs: int, *, lr: float = 0.1, loss: Any = F.cross_entropy, **options: Any
) -> None:
    model = nn.Linear(3, 2)
    fit(
        model,
        [(torch.ones(4, 3), torch.tensor([0, 1, 0, 1]))] * 2,
        loss=loss,
        optimizer=torch.optim.SGD(model.parameters(), lr=lr),
        epochs=epochs,
        checkpoints=folder,
        progress=False,
        **options,
    )


def test_it_is_said_where_a_training_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for epochs in (1, 3, 3, 2):
        gone_on(tmp_path, epochs)
        said.append(capsys.readouterr().err)

    assert said == [
        "",
        f"going on from step 2, epoch 2 of 3: {tmp_path / 'step-00000002.safetensors'}\n",
        "finished already: 3 of 3 epochs; with more epochs it goes on\n",
        "finished already: 3 epochs, and 2 are wanted; with more epochs it goes on\n",
    ]


def test_other_settings_than_those_of_the_checkpoint_are_told(tmp_path: Path) -> None:
    gone_on(tmp_path / "kept", 1)
    with pytest.warns(TrainingWarning, match=r"lr was 0.1 and is 0.5. Those of the checkpoint hold") as told:
        gone_on(tmp_path / "kept", 2, lr=0.5, run=tmp_path / "run")
    assert len(told) == 1
    assert tl.open_run(tmp_path / "run").hparams()["lr"] == 0.1
    with pytest.warns(TrainingWarning, match="with the loss cross_entropy, and multi_margin_loss is given"):
        gone_on(tmp_path / "kept", 3, loss=F.multi_margin_loss)
    with warnings.catch_warnings():
        warnings.simplefilter("error", TrainingWarning)
        gone_on(tmp_path / "kept", 4, loss=F.multi_margin_loss)


def test_the_best_weights_are_kept_for_a_training_that_goes_on(tmp_path: Path) -> None:
    errors = iter([1.0, 2.0, 3.0])
    model, best = nn.Linear(3, 2), []

    def part(epochs: int) -> None:
        fit(
            model,
            [(torch.ones(4, 3), torch.tensor([0, 1, 1, 1]))],
            loss=F.cross_entropy,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
            epochs=epochs,
            test_loader=[(torch.ones(1, 3), torch.tensor([0]))],
            metrics={"error": lambda outputs, targets: 0.0 if len(targets) > 1 else next(errors)},
            callbacks=[
                EarlyStopping("test/error", restore_best=True),
                lambda training: best.append(training.model.weight.detach().clone()),
            ],
            checkpoints=tmp_path,
            progress=False,
        )

    part(2)
    part(3)

    assert torch.equal(model.weight, best[0])
    assert torch.equal(load_checkpoint(tmp_path).model["weight"], best[2])  # to go on with


# --- Ctrl-C -------------------------------------------------------------------------------------------------


def test_ctrl_c_leaves_a_checkpoint_of_the_step_that_was_running(tmp_path: Path) -> None:
    expected = train(None, accumulate=2)

    history, _ = train(tmp_path, every="epoch", accumulate=2, callbacks=(CtrlC(1),))

    assert (history.stopped_by, history.num_steps) == ("interrupted", 2)
    assert [path.name for path in tmp_path.glob("*.safetensors")] == ["step-00000002.safetensors"]
    assert_same(train(tmp_path, every="epoch", accumulate=2), expected)


@pytest.mark.parametrize("trapped", ["model", "test"])
def test_a_keyboard_interrupt_out_of_nowhere_leaves_no_half_step(
    trapped: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of a step nothing is written; in the test after an epoch, all of the epoch is there."""
    expected = train(None)
    forward = Net.forward
    calls = [0]

    def interrupted(net: Net, x: Tensor) -> Tensor:
        calls[0] += net.training or trapped == "test"
        if calls[0] == BATCHES + (2 if trapped == "model" else 1):
            nn.Sequential.forward(net.layers, x)  # random numbers are drawn, running means are changed
            raise KeyboardInterrupt
        return forward(net, x)

    monkeypatch.setattr(Net, "forward", interrupted)
    history, _ = train(tmp_path, every="epoch")
    assert history.stopped_by == "interrupted"
    monkeypatch.undo()

    assert len(list(tmp_path.glob("*.safetensors"))) == 1
    assert_same(train(tmp_path, every="epoch"), expected)


# --- killed -------------------------------------------------------------------------------------------------


def killed_after(num_calls: int, folder: Path, **options: Any) -> int:
    """Train in a child that is killed when it has made so many calls. How many it made, if it lived."""
    child = os.fork()
    if child == 0:
        made = [0]

        def count(*_: Any) -> None:
            made[0] += 1
            if made[0] == num_calls:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(count)
        try:
            train(folder, **options)
            sys.setprofile(None)
            (folder / "calls").write_text(str(made[0]))
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return int((folder / "calls").read_text()) if os.WIFEXITED(status) else 0


def test_a_training_killed_at_any_instant_goes_on(tmp_path: Path) -> None:
    expected = train(None, every=1)
    num_calls = killed_after(-1, tmp_path / "alive", every=1)
    assert num_calls > 1000
    chance = random.Random(3)
    for number in range(5 if IS_ALL else 2):
        folder = tmp_path / str(number)
        folder.mkdir()

        assert killed_after(chance.randrange(num_calls), folder, every=1) == 0

        for path in folder.glob("*.safetensors"):
            load_checkpoint(path)  # whole, whenever it was
        assert_same(train(folder, every=1), expected)
        assert not list(folder.glob("*.partial"))


# --- several processes --------------------------------------------------------------------------------------


def in_two_processes(folder: Path, interrupt_at: int) -> list[bytes]:
    """Train with two ranks; the losses of each. Both are interrupted when they come to a step."""
    store = folder / f"store-{interrupt_at}"
    children = []
    for rank in range(2):
        child = os.fork()
        if child == 0:
            try:
                torch.distributed.init_process_group(
                    "gloo",
                    store=torch.distributed.FileStore(str(store), 2),
                    rank=rank,
                    world_size=2,
                    timeout=timedelta(seconds=60),
                )
                losses = train_one_of_two(folder / "c", rank, interrupt_at)
                (folder / f"losses-{rank}").write_bytes(losses)
            except Exception:
                traceback.print_exc()
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    return [path.read_bytes() for path in sorted(folder.glob("losses-*"))]


def train_one_of_two(folder: Path, rank: int, interrupt_at: int) -> bytes:
    torch.manual_seed(rank)
    random.seed(rank)
    data = Augmented()
    model = nn.parallel.DistributedDataParallel(Net(Trap(interrupt_at)))
    history = fit(
        model,
        DataLoader(data, batch_size=2, sampler=DistributedSampler(data, 2, rank), drop_last=True),
        loss=F.cross_entropy,
        optimizer=torch.optim.Adam(model.parameters()),
        epochs=EPOCHS,
        checkpoints=Checkpoints(folder, every=2),
        progress=False,
    )
    return history.steps["train/loss"].tobytes()


def test_each_of_several_processes_goes_on_with_its_own_numbers(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    expected = in_two_processes(tmp_path / "whole", -1)
    assert len(set(expected)) == 2

    assert in_two_processes(tmp_path, 4) == []
    assert in_two_processes(tmp_path, -1) == expected

    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    with pytest.warns(TrainingWarning, match="random state of 2 processes, and there are 1 now"):
        load_checkpoint(tmp_path / "c", model=model, optimizer=optimizer)


# --- what else goes on --------------------------------------------------------------------------------------


def test_a_finished_training_does_nothing_and_goes_on_when_epochs_grew(tmp_path: Path) -> None:
    expected = train(None, epochs=3)
    train(tmp_path, epochs=2, every="epoch")

    again = train(tmp_path, epochs=2, every="epoch", trap=Trap(1), trapped="model")
    assert again[0].num_steps == 2 * BATCHES

    assert_same(train(tmp_path, epochs=3, every="epoch"), expected)


def test_callbacks_go_on_counting(tmp_path: Path) -> None:
    def stopping() -> EarlyStopping:
        return EarlyStopping("test/loss", patience=2, min_delta=100.0)

    expected, _ = train(None, epochs=9, callbacks=(stopping(),))
    assert len(expected) == 3
    with pytest.raises(Interruption):
        train(tmp_path, epochs=9, trap=Trap(2 * BATCHES + 1), trapped="model", callbacks=(stopping(),))

    found, _ = train(tmp_path, epochs=9, callbacks=(stopping(),))
    assert found.stopped_by == expected.stopped_by
    assert len(found) == 3

    again, _ = train(tmp_path, epochs=9, callbacks=(stopping(),), trap=Trap(1), trapped="model")
    assert len(again) == 3  # it was over


def test_what_a_run_has_after_the_checkpoint_is_taken_back(tmp_path: Path) -> None:
    with pytest.raises(Interruption):
        train(tmp_path / "c", every=2, trap=Trap(6), trapped="model", run=tmp_path / "run")

    history, _ = train(tmp_path / "c", every=2, run=tmp_path / "run")

    points = tl.open_run(tmp_path / "run").scalars("train/loss")
    assert points.steps.tolist() == list(range(STEPS))
    assert np.array_equal(points.values, history.steps["train/loss"])


# --- what cannot be gone on with ----------------------------------------------------------------------------


def test_the_checkpoints_of_another_training_are_refused(tmp_path: Path) -> None:
    train(tmp_path, epochs=1)
    other = nn.Linear(3, 2)

    def fit_other() -> History:
        optimizer = torch.optim.SGD(other.parameters(), 0.1)
        data = DataLoader(Augmented(), batch_size=4)
        return fit(other, data, loss=F.cross_entropy, optimizer=optimizer, epochs=1, checkpoints=tmp_path)

    with pytest.raises(InputError, match=r"'weight' is missing.*only.*To begin anew, name another"):
        fit_other()

    save_checkpoint(tmp_path / "step-00000009.safetensors", model=other)
    with pytest.raises(InputError, match="was not written by fit"):
        fit_other()


def test_a_scheduler_that_is_left_out_is_missed(tmp_path: Path) -> None:
    train(tmp_path, epochs=1)
    KINDS["bare"] = lambda model: (torch.optim.Adam(model.parameters()), None)

    with pytest.raises(InputError, match="was written with a scheduler, ExponentialLR"):
        train(tmp_path, kind="bare")
