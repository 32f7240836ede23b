"""`fit` trains as the loop written by hand does, and leaves everything else as it was."""

from __future__ import annotations

import functools
import signal
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import (
    CosineAnnealingLR,
    ExponentialLR,
    LRScheduler,
    OneCycleLR,
    ReduceLROnPlateau,
    StepLR,
)
from torch.utils.data import DataLoader, IterableDataset

import torcheer as tl
from tests.training.fitted import (
    BATCHES,
    EPOCHS,
    STEPS,
    CtrlC,
    assert_same_weights,
    data,
    fitted,
    loader,
    net,
)
from torcheer.errors import InputError
from torcheer.run import RunReader
from torcheer.training import Callback, Training, TrainingWarning, by_epoch, by_step


def trained_by_hand(model: nn.Module, **options: Any) -> list[float]:
    """The cycle of every tutorial, with the seed of the tests."""
    optimizer = torch.optim.Adam(model.parameters())
    schedule: LRScheduler | None = options["scheduler"](optimizer) if "scheduler" in options else None
    batches = loader()
    torch.manual_seed(3)
    losses = []
    for _ in range(EPOCHS):
        model.train()
        for inputs, targets in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            if "clip_norm" in options:
                nn.utils.clip_grad_norm_(model.parameters(), options["clip_norm"])
            optimizer.step()
            losses.append(loss.item())
            if schedule is not None and options["is_by_step"]:
                schedule.step()
        if schedule is not None and not options["is_by_step"]:
            schedule.step()
    return losses


def test_the_losses_and_the_weights_are_those_of_the_loop_by_hand() -> None:
    model, other = net(), net()
    expected = trained_by_hand(other)

    # Tests in between draw random numbers, too, and move no number of the training.
    history = fitted(model, test_loader=loader(), metrics="accuracy")

    assert history.steps["train/loss"].tolist() == expected
    assert_same_weights(model, other)


def test_the_figures_of_an_epoch_are_means_over_items_and_not_over_batches() -> None:
    model, test = net(), data(10, seed=5)

    history = fitted(model, test_loader=DataLoader(test, batch_size=4), metrics=["accuracy", "top2"])

    with torch.no_grad():
        outputs = model.eval()(test.tensors[0])
    assert history["test/loss"][-1] == pytest.approx(F.cross_entropy(outputs, test.tensors[1]).item())
    right = (outputs.argmax(1) == test.tensors[1]).float().mean().item()
    assert history["test/accuracy"][-1] == pytest.approx(right)
    assert history["test/top2"][-1] >= right
    losses = history.steps["train/loss"].reshape(EPOCHS, BATCHES)
    assert history["train/loss"] == pytest.approx(numpy.average(losses, axis=1, weights=[4, 4, 4, 2]))
    shares = history.steps["train/accuracy"].reshape(EPOCHS, BATCHES)
    assert history["train/accuracy"] == pytest.approx(numpy.average(shares, axis=1, weights=[4, 4, 4, 2]))


def test_a_loss_that_is_a_sum_becomes_a_mean_over_items() -> None:
    model, test = net(), data(10, seed=5)
    loss = nn.CrossEntropyLoss(reduction="sum")

    history = fitted(model, loss=loss, test_loader=DataLoader(test, batch_size=4))

    with torch.no_grad():
        expected = F.cross_entropy(model.eval()(test.tensors[0]), test.tensors[1]).item()
    assert history["test/loss"][-1] == pytest.approx(expected)
    assert history["train/loss"] == pytest.approx(
        history.steps["train/loss"].reshape(EPOCHS, BATCHES).sum(1) / 14
    )


@pytest.mark.parametrize("is_by_step", [False, True])
def test_a_scheduler_is_stepped_each_epoch_or_each_step(is_by_step: bool) -> None:
    make = functools.partial(ExponentialLR, gamma=0.5)
    expected = trained_by_hand(net(), scheduler=make, is_by_step=is_by_step)

    history = fitted(scheduler=lambda optimizer: by_step(make(optimizer)) if is_by_step else make(optimizer))

    assert history.steps["train/loss"].tolist() == expected
    rates = history.steps["train/lr"]
    assert rates[-1] == pytest.approx(1e-3 * 0.5 ** (STEPS - 1 if is_by_step else EPOCHS - 1))


def test_schedulers_made_for_steps_are_stepped_so_without_being_told() -> None:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    one_cycle = OneCycleLR(optimizer, 0.1, total_steps=STEPS + 1)

    fitted(model, optimizer=optimizer, scheduler=one_cycle)

    assert one_cycle.last_epoch == STEPS


def test_an_accumulation_steps_the_scheduler_with_the_weights() -> None:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scheduler = CosineAnnealingLR(optimizer, 100)

    history = fitted(model, optimizer=optimizer, scheduler=by_step(scheduler), accumulate=3)

    assert scheduler.last_epoch == EPOCHS * 2  # of four batches: three together, and the one that is left
    assert len(history.steps) == STEPS


def test_a_plateau_gets_the_figure_that_it_looks_at() -> None:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.0)  # nothing ever gets better
    plateau = ReduceLROnPlateau(optimizer, mode="max", patience=0, factor=0.5)
    optimizer.param_groups[0]["lr"] = 1e-9

    fitted(
        model,
        optimizer=optimizer,
        scheduler=by_epoch(plateau, "test/accuracy"),
        test_loader=loader(shuffle=False),
        metrics="accuracy",
        epochs=3,
    )

    assert plateau.best > 0
    with pytest.raises(InputError, match=r"mode='max' cannot look at 'train/loss'.*by_epoch"):
        fitted(model, optimizer=optimizer, scheduler=plateau)
    with pytest.raises(InputError, match=r"looks at a figure of an epoch: tl\.by_epoch"):
        by_step(plateau)
    with pytest.raises(InputError, match="looks at 'test/f1', and an epoch has train/loss"):
        fitted(model, optimizer=optimizer, scheduler=by_epoch(plateau, "test/f1"))


def test_gradients_are_clipped_and_their_norm_is_kept() -> None:
    expected = trained_by_hand(net(), clip_norm=0.1)

    history = fitted(clip_norm=0.1)

    assert history.steps["train/loss"].tolist() == expected
    assert (history.steps["train/grad_norm"] > 0).all()


def test_everything_is_logged_to_a_run(tmp_path: Path) -> None:
    history = fitted(
        run=tmp_path / "run", test_loader=loader(shuffle=False), metrics="accuracy", clip_norm=5.0
    )

    run = tl.open_run(tmp_path / "run")
    for name in ("train/loss", "train/lr", "train/grad_norm", "train/accuracy"):
        found = run.scalars(name)
        assert found.steps.tolist() == list(range(STEPS))
        assert found.values.tolist() == history.steps[name].tolist()
        assert (numpy.diff(found.times) >= 0).all()
    for name, own in (("epoch/loss", "train/loss"), ("test/loss", "test/loss"), ("test/accuracy",) * 2):
        found = run.scalars(name)
        assert found.steps.tolist() == [BATCHES - 1, STEPS - 1]
        assert found.values.tolist() == history[own].tolist()
    status = run.status()
    assert (status.state, status.total_steps, status.num_dropped) == ("finished", STEPS, 0)
    settings = run.hparams()
    assert settings["optimizer"] == "Adam"
    assert settings["loss"] == "cross_entropy"
    assert (settings["lr"], settings["epochs"], settings["batch_size"], settings["seed"]) == (1e-3, 2, 4, 3)


def layouts(path: Path) -> list[dict[str, list[str]]]:
    with closing(RunReader(path)) as reader:
        kept = reader.records("layout", "layout")
        return [
            {chart.title: chart.names for group in entry.head.groups for chart in group.charts}
            for entry in kept
        ]


def test_figures_of_training_and_test_stand_in_one_chart(tmp_path: Path) -> None:
    for _ in range(2):
        fitted(run=tmp_path / "run", test_loader=loader(), metrics="accuracy", epochs=1)
    assert layouts(tmp_path / "run") == [
        {"loss": ["epoch/loss$", "test/loss$"], "accuracy": ["epoch/accuracy$", "test/accuracy$"]}
    ]

    with tl.Run(tmp_path / "own") as run:
        run.log_layout({"mine": {"one": ["Multiline", ["train/loss"]]}})
        fitted(run=run, test_loader=loader(), epochs=1)
    assert layouts(tmp_path / "own") == [{"one": ["train/loss"]}]

    fitted(run=tmp_path / "untested", epochs=1)
    assert layouts(tmp_path / "untested") == []


def test_a_run_that_is_open_is_left_open(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "run") as run:
        fitted(run=run)
        assert run.state == "running"
        run.log(STEPS, own=1.0)

    assert tl.open_run(tmp_path / "run").names("scalar")[-1] == "own"


def test_modes_are_put_back_and_gradients_of_frozen_layers_are_none() -> None:
    model = net().eval()
    model[4].train()
    model[0].requires_grad_(False)
    before = model[0].weight.detach().clone()

    fitted(model, test_loader=loader())

    assert [layer.training for layer in model] == [False, False, False, False, True]
    assert not model.training
    assert torch.equal(model[0].weight, before)
    assert model[0].weight.grad is None


class Stream(IterableDataset[tuple[Tensor, Tensor]]):
    """Data that nobody knows the length of."""

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        yield from data()  # type: ignore[misc]


@pytest.mark.parametrize(
    "batches",
    [DataLoader(Stream(), batch_size=4), [(torch.randn(4, 4), torch.zeros(4).long())] * 4],
    ids=["a stream", "a list"],
)
def test_other_loaders_will_do(batches: Any) -> None:
    history = fitted(train_loader=batches, test_loader=batches)

    assert (len(history), history.num_steps) == (EPOCHS, STEPS)
    assert history.stopped_by is None


def test_no_epochs_are_no_training() -> None:
    model, other = net(), net()

    history = fitted(model, epochs=0)

    assert (len(history), history.num_steps) == (0, 0)
    assert torch.equal(model[0].weight, other[0].weight)
    assert "0 epochs, 0 steps" in repr(history)


def test_an_autoencoder_needs_no_targets() -> None:
    model = nn.Linear(4, 4)

    history = fitted(model, [torch.randn(3, 4)] * 2, loss=F.mse_loss, test_loader=[torch.randn(3, 4)])

    assert history.names == ["train/loss", "test/loss"]


@dataclass
class Output:
    """In the way of transformers."""

    loss: Tensor
    logits: Tensor


class WithLoss(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, inputs: Tensor, labels: Tensor) -> Output:
        logits = self.layer(inputs)
        return Output(F.cross_entropy(logits, labels), logits)


def test_a_model_that_computes_its_loss_is_trained_and_tested_by_it() -> None:
    model, (inputs, labels) = WithLoss(), data().tensors
    batches = [{"inputs": inputs[:10], "labels": labels[:10]}, {"inputs": inputs[10:], "labels": labels[10:]}]

    history = fitted(model, batches, loss=None, test_loader=batches, metrics="accuracy")

    whole = model(inputs, labels)
    assert history["test/loss"][-1] == pytest.approx(whole.loss.item())
    right = (whole.logits.argmax(1) == labels).float().mean().item()
    assert history["test/accuracy"][-1] == pytest.approx(right)
    evaluation = tl.evaluate(model, batches)
    assert (evaluation.loss, evaluation.accuracy) == pytest.approx((whole.loss.item(), right))


# --- when something goes wrong -----------------------------------------------------------------------------


def test_ctrl_c_ends_it_after_the_step_and_the_history_is_returned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = net()

    history = fitted(model, callbacks=[CtrlC(5)], run=tmp_path / "run")

    assert history.stopped_by == "interrupted"
    assert capsys.readouterr().err == "stopping after this step; Ctrl-C again ends it at once\n"
    assert (len(history), history.num_steps) == (1, 6)
    assert model.training  # as it was
    run = tl.open_run(tmp_path / "run")
    assert run.scalars("train/loss").steps.tolist() == list(range(6))
    assert (run.status().state, run.status().reason) == ("died", "KeyboardInterrupt")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class PressingLoss:
    """Presses Ctrl-C in the middle of a step."""

    def __init__(self) -> None:
        self.num_calls = 0

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        self.num_calls += 1
        if self.num_calls == 2:
            signal.raise_signal(signal.SIGINT)
        return F.cross_entropy(outputs, targets)


def test_the_step_under_way_is_done_to_its_end() -> None:
    expected = trained_by_hand(net())

    history = fitted(loss=PressingLoss())

    assert history.steps["train/loss"].tolist() == expected[:2]


def test_ctrl_c_in_a_test_does_not_wait_for_its_end() -> None:
    test, epochs_ended = [(torch.randn(4, 4), torch.zeros(4).long())] * 1000, []

    class Pressed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.num_tested = nn.Linear(4, 3), 0

        def forward(self, x: Tensor) -> Tensor:
            if not self.training:
                self.num_tested += 1
                signal.raise_signal(signal.SIGINT)
            outputs: Tensor = self.layer(x)
            return outputs

    model = Pressed()
    history = fitted(model, test_loader=test, callbacks=[epochs_ended.append])

    assert (model.num_tested, len(history), history.num_steps) == (1, 0, BATCHES)
    assert (epochs_ended, history.stopped_by, model.training) == ([], "interrupted", True)


def test_a_second_ctrl_c_raises_at_once() -> None:
    with pytest.raises(KeyboardInterrupt):
        fitted(callbacks=[CtrlC(2, times=2)])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_exception_stays_what_it_is_and_has_the_history(tmp_path: Path) -> None:
    model, ended = net(), []

    class Failing(Callback):
        def on_step(self, training: Training) -> None:
            if training.step == 5:
                raise ZeroDivisionError("of the user")

        def on_end(self, training: Training) -> None:
            ended.append(training.error)

    with pytest.raises(ZeroDivisionError, match="of the user") as caught:
        fitted(model.eval(), callbacks=[Failing()], run=tmp_path / "run")

    assert ended == [caught.value]
    history = caught.value.history  # type: ignore[attr-defined]
    assert (len(history), history.num_steps) == (1, 6)
    assert history.stopped_by == "ZeroDivisionError: of the user"
    assert not model.training
    status = tl.open_run(tmp_path / "run").status()
    assert (status.state, status.reason, status.last_step) == ("died", "ZeroDivisionError: of the user", 5)


def test_a_loss_that_is_no_number_is_said_once_and_does_not_end_it() -> None:
    class Broken(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.num_calls = nn.Linear(4, 3), 0

        def forward(self, x: Tensor) -> Tensor:
            self.num_calls += 1
            outputs: Tensor = self.layer(x) * (float("nan") if self.num_calls > 3 else 1.0)
            return outputs

    with pytest.warns(TrainingWarning, match="the loss is nan at step 3.*StopOnNonFinite") as told:
        history = fitted(Broken())
    assert len(told) == 1
    assert told[0].filename.endswith("fitted.py")
    assert history.num_steps == STEPS
    assert numpy.isnan(history["train/loss"]).all()

    with pytest.warns(TrainingWarning):
        stopped = fitted(Broken(), callbacks=tl.StopOnNonFinite(patience=2))
    assert stopped.num_steps == 5
    assert stopped.stopped_by == "the loss is nan since step 3"


def made_for(another: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(another.parameters())


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"model": nn.Linear}, "the model Linear is a class"),
        ({"model": nn.LazyLinear(3)}, "lazy layers.*run it once"),
        ({"model": nn.ReLU()}, "no parameters, so there is nothing to train"),
        ({"model": net().requires_grad_(False)}, "all 6 parameters of the optimizer are frozen"),
        ({"model": nn.Linear(2, 2, device="meta")}, "on the device 'meta'"),
        ({"train_loader": data()}, "train_loader is a data set.*DataLoader"),
        ({"train_loader": data().tensors}, "train_loader is the data themselves"),
        ({"train_loader": []}, "train_loader has no batches"),
        ({"train_loader": 3}, "train_loader is a int"),
        ({"train_loader": iter([(torch.zeros(1, 4), torch.zeros(1).long())])}, "used up after one pass"),
        ({"train_loader": DataLoader(data(2), batch_size=4, drop_last=True)}, "no batches.*drop_last"),
        ({"test_loader": data()}, "test_loader is a data set"),
        ({"optimizer": "adam"}, "optimizer is 'adam'"),
        ({"optimizer": made_for(net())}, "none of the model's parameters"),
        ({"optimizer": lambda parameters: None}, "optimizer is a function: give"),
        ({"loss": nn.MSELoss}, r"MSELoss is a class: give an object: nn.MSELoss\(\)"),
        ({"epochs": -1}, "epochs is -1"),
        ({"epochs": 1.5}, "epochs is 1.5"),
        ({"scheduler": StepLR(made_for(net()), 1)}, "made for another optimizer"),
        ({"scheduler": [1]}, "scheduler is a list"),
        ({"scheduler": StepLR}, "scheduler is a type"),
        ({"run": 3}, "run is a int"),
        ({"checkpoints": 3}, "checkpoints is a int"),
        ({"callbacks": 3}, "callbacks is a int"),
        ({"callbacks": [tl.EarlyStopping]}, r"EarlyStopping is a class.*EarlyStopping\(\)"),
        ({"callbacks": [tl.EarlyStopping("test/loss")]}, "looks at 'test/loss'.*test_loader"),
        ({"metrics": "f2"}, "there is no metric 'f2'.*accuracy"),
        ({"metrics": {"a": 3}}, "the metric 'a' is a int"),
    ],
)
def test_what_cannot_be_trained_is_refused_with_what_to_do(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        fitted(**wrong)


def test_a_loader_that_gives_nothing_is_said() -> None:
    class Nothing(IterableDataset[Any]):
        def __iter__(self) -> Iterator[Any]:
            return iter(())

    with pytest.raises(InputError, match="gave no batches in epoch 1"):
        fitted(train_loader=DataLoader(Nothing()))
    with pytest.raises(InputError, match="no items to test on"):
        fitted(test_loader=DataLoader(Nothing()))
