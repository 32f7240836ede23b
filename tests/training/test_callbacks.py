"""Callbacks see where the training stands, and may stop it; what they remember is kept."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn

import torcheer as tl
from tests.training.fitted import BATCHES, EPOCHS, STEPS, assert_same_weights, fitted, loader, net
from torcheer.errors import InputError
from torcheer.training import Callback, EarlyStopping, StopOnNonFinite, Training


class Noting(Callback):
    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []

    def on_begin(self, training: Training) -> None:
        self.seen.append(("begin", training.steps_done))

    def on_step(self, training: Training) -> None:
        assert training.stepped is not None
        assert len(training.history.steps["train/loss"]) == training.steps_done
        assert training.history.steps["train/loss"][-1] == training.stepped.loss.item()
        self.seen.append(("step", training.epoch, training.batch, training.step))

    def on_epoch(self, training: Training) -> None:
        assert len(training.history["train/loss"]) == training.epochs_done == training.epoch + 1
        self.seen.append(("epoch", training.epoch, training.batches_done, training.step))

    def on_end(self, training: Training) -> None:
        self.seen.append(("end", training.stopped_by, training.error))


def test_callbacks_are_told_where_the_training_stands() -> None:
    noting = Noting()

    fitted(callbacks=[noting])

    expected: list[tuple[Any, ...]] = [("begin", 0)]
    for epoch in range(EPOCHS):
        expected += [("step", epoch, batch, epoch * BATCHES + batch) for batch in range(BATCHES)]
        expected += [("epoch", epoch, BATCHES, (epoch + 1) * BATCHES - 1)]
    assert noting.seen == [*expected, ("end", None, None)]


def test_a_function_is_called_after_each_epoch_and_any_object_will_do() -> None:
    epochs: list[int] = []

    class Foreign:
        num_steps = 0

        def on_step(self, training: Training) -> None:
            self.num_steps += 1

    foreign = Foreign()
    fitted(callbacks=[lambda training: epochs.append(training.epoch), foreign])

    assert epochs == [0, 1]
    assert foreign.num_steps == STEPS
    with pytest.raises(InputError, match=r"the callback 3 is a int: give a function.*on_epoch"):
        fitted(callbacks=[3])


def test_an_object_that_can_be_called_is_called_although_it_keeps_a_state() -> None:
    class Counter:
        num_calls = 0
        on_step = None  # not a method

        def __call__(self, training: Training) -> None:
            self.num_calls += 1

        def state_dict(self) -> dict[str, Any]:
            return {"num_calls": self.num_calls}

    counter = Counter()
    fitted(callbacks=[counter])

    assert counter.num_calls == 2
    with pytest.raises(InputError, match="give a function"):
        fitted(callbacks=[types.SimpleNamespace(on_step=None)])


def test_a_callback_may_stop_it_after_any_step() -> None:
    class Enough(Callback):
        def on_step(self, training: Training) -> None:
            if training.step == 2:
                training.stop("enough")
                training.stop("another reason")

    history = fitted(callbacks=[Enough()], test_loader=loader())

    assert (history.num_steps, len(history), history.stopped_by) == (3, 0, "enough")
    assert "stopped: enough" in repr(history)
    ended = fitted(callbacks=lambda training: training.stop("one is enough"))
    assert (len(ended), ended.num_steps, ended.stopped_by) == (1, BATCHES, "one is enough")


def test_a_callback_may_change_the_optimizer() -> None:
    def halve(training: Training) -> None:
        training.optimizer.param_groups[0]["lr"] *= 0.5

    history = fitted(callbacks=halve)

    assert history.steps["train/lr"].tolist() == [1e-3] * BATCHES + [5e-4] * BATCHES


# --- stopping ----------------------------------------------------------------------------------------------


class Following(nn.Module):
    """Its loss in each epoch is what the test says."""

    def __init__(self, losses: list[float]) -> None:
        super().__init__()
        self.weight, self.losses, self.num_calls = nn.Parameter(torch.zeros(())), losses, 0

    def forward(self, x: Tensor) -> Tensor:
        self.num_calls += 1
        return self.weight * 0 + self.losses[self.num_calls - 1]


def epochs_until_stopped(losses: list[float], stopping: EarlyStopping) -> int:
    batch = [(torch.zeros(1), torch.zeros(1))]
    history = fitted(
        Following(losses), batch, loss=lambda outputs, _: outputs, epochs=len(losses), callbacks=[stopping]
    )
    return len(history)


def test_a_training_ends_when_it_got_no_better_for_so_many_epochs() -> None:
    losses = [5.0, 4.0, 4.0, 4.5, 3.0, 3.1, 3.2, 3.3, 1.0]

    assert epochs_until_stopped(losses, EarlyStopping("train/loss", patience=3)) == 8
    assert epochs_until_stopped(losses, EarlyStopping("train/loss", patience=2)) == 4
    assert epochs_until_stopped(losses, EarlyStopping("train/loss", patience=4)) == 9
    assert epochs_until_stopped(losses, EarlyStopping("train/loss", patience=2, mode="max")) == 3
    assert epochs_until_stopped(losses, EarlyStopping("train/loss", patience=2, min_delta=1.5)) == 3


@pytest.mark.filterwarnings("ignore:the loss is nan")
def test_what_is_no_number_is_not_better() -> None:
    losses = [2.0, numpy.nan, numpy.nan, 1.0]

    assert epochs_until_stopped(losses, EarlyStopping("train/loss", patience=2)) == 3


def test_the_same_stopping_may_be_used_again() -> None:
    stopping = EarlyStopping("train/loss", patience=1)

    assert [epochs_until_stopped([1.0, 2.0, 0.0], stopping) for _ in range(2)] == [2, 2]
    assert (stopping.best, stopping.best_epoch) == (1.0, 0)


def test_what_a_stopping_remembers_can_be_kept() -> None:
    stopping, other = (EarlyStopping("train/loss", patience=2) for _ in range(2))
    epochs_until_stopped([3.0, 1.0, 2.0], stopping)

    other.load_state_dict(stopping.state_dict())

    assert (other.best, other.best_epoch, other.num_waited) == (1.0, 1, 1)


def test_the_best_weights_are_put_back_where_that_is_wanted() -> None:
    states: list[dict[str, Tensor]] = []

    class Scored(Callback):
        """The second epoch is the best."""

        def on_epoch(self, training: Training) -> None:
            states.append({name: value.clone() for name, value in training.model.state_dict().items()})

    for restore_best, best in ((True, 1), (False, 3)):
        states.clear()
        model = net()
        errors = iter([3.0, 1.0, 2.0, 2.0, 0.0])
        stopping = EarlyStopping("test/error", patience=2, mode="min", restore_best=restore_best)
        history = fitted(
            model,
            epochs=5,
            test_loader=[next(iter(loader()))],
            metrics={"error": lambda outputs, targets, at=errors, of=model: 0.0 if of.training else next(at)},
            callbacks=[Scored(), stopping],
        )

        assert history.stopped_by == "test/error no better for 2 epochs (best: 1 in epoch 2)"
        assert stopping.best_epoch == 1
        assert all(torch.equal(value, states[best][name]) for name, value in model.state_dict().items())
        assert not torch.equal(model[0].weight, states[4 - best]["0.weight"])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: EarlyStopping("test/loss", patience=0), "patience is 0"),
        (lambda: EarlyStopping("test/loss", min_delta=-1), "min_delta=-1"),
        (lambda: EarlyStopping("test/loss", mode="up"), "mode='up'"),  # type: ignore[arg-type]
        (lambda: EarlyStopping("test/size"), "'test/size' does not say which is better.*mode='min'"),
        (lambda: StopOnNonFinite(0), "patience is 0"),
    ],
)
def test_a_stopping_that_makes_no_sense_is_refused(make: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()


def test_a_model_may_be_looked_at_while_it_trains() -> None:
    model, weights = net(), []

    fitted(model, callbacks=lambda training: weights.append(training.model[0].weight.clone()))

    assert not torch.equal(weights[0], weights[1])
    assert torch.equal(weights[1], model[0].weight)


# --- callbacks that raise -----------------------------------------------------------------------------------


class Raising(Callback):
    """Raises at one event, the n-th time that it comes."""

    def __init__(self, event: str, error: BaseException, after: int = 1) -> None:
        self.left = after

        def spring(training: Training) -> None:
            self.left -= 1
            if self.left == 0:
                raise error

        setattr(self, event, spring)


class CallbackError(Exception):
    """What callbacks raise here."""


def _kept(folder: Path) -> list[int]:
    return sorted(int(path.stem.removeprefix("step-")) for path in folder.glob("*.safetensors"))


@pytest.mark.parametrize("every", [3, 100, "epoch"])
def test_the_last_checkpoint_is_written_also_where_an_on_end_raises(tmp_path: Path, every: int | str) -> None:
    boom = CallbackError("at the end")
    model, noting = net(), Noting()
    plain = net()
    fitted(plain)

    with pytest.raises(CallbackError) as raised:
        fitted(
            model,
            callbacks=[Raising("on_end", boom), noting],
            checkpoints=tl.Checkpoints(tmp_path / "kept", every=every),
        )

    assert raised.value is boom
    assert noting.seen[-1] == ("end", None, None)  # told as well
    assert STEPS in _kept(tmp_path / "kept")
    again = net()
    history = fitted(again, checkpoints=tmp_path / "kept")  # it is finished: only the weights are loaded
    assert history.num_steps == STEPS
    assert_same_weights(plain, again)


@pytest.mark.parametrize(("event", "after"), [("on_step", 2), ("on_step", STEPS), ("on_epoch", 1)])
@pytest.mark.parametrize("error", [CallbackError("on the way"), KeyboardInterrupt(), SystemExit(3)], ids=repr)
@pytest.mark.parametrize("every", [1, 100])
def test_a_callback_that_raises_costs_no_step(
    tmp_path: Path, event: str, after: int, error: BaseException, every: int
) -> None:
    """The checkpoint has all that was trained, the others were told, and the same call goes on from there."""
    plain = net()
    expected = fitted(plain)
    kept, noting = tl.Checkpoints(tmp_path / "kept", every=every), Noting()
    options = {"callbacks": [Raising(event, error, after), noting], "run": tmp_path / "run"}
    done = after if event == "on_step" else after * BATCHES

    if isinstance(error, KeyboardInterrupt):
        assert fitted(checkpoints=kept, **options).stopped_by == "interrupted"
    else:
        with pytest.raises(type(error)) as raised:
            fitted(checkpoints=kept, **options)
        assert raised.value is error

    assert noting.seen[-1][0] == "end"
    assert noting.seen[-2] == (
        ("step", (done - 1) // BATCHES, (done - 1) % BATCHES, done - 1)
        if event == "on_step"
        else ("epoch", after - 1, BATCHES, done - 1)
    )
    assert max(_kept(tmp_path / "kept")) == done
    with tl.open_run(tmp_path / "run") as run:
        assert run.state == "died"
    again = net()
    options["callbacks"] = [Raising(event, error, -1), Noting()]
    history = fitted(again, checkpoints=kept, **options)
    assert history.steps["train/loss"].tobytes() == expected.steps["train/loss"].tobytes()
    assert_same_weights(plain, again)


def test_of_several_that_raise_the_first_is_raised_and_the_others_are_noted(tmp_path: Path) -> None:
    errors = [CallbackError("one"), ValueError("two"), KeyboardInterrupt()]

    with pytest.raises(CallbackError) as raised:
        fitted(
            callbacks=[Raising("on_end", error) for error in errors],
            checkpoints=tl.Checkpoints(tmp_path, every=100),
        )

    assert raised.value is errors[0]
    notes = "\n".join(raised.value.__notes__)
    assert "raised as well: ValueError: two" in notes
    assert "raised as well: KeyboardInterrupt" in notes
    assert _kept(tmp_path) == [STEPS]


def test_what_ended_the_training_is_raised_before_what_its_end_raises(tmp_path: Path) -> None:
    callbacks = [Raising("on_step", CallbackError("a step"), 3), Raising("on_end", ValueError("the end"))]

    with pytest.raises(CallbackError) as raised:
        fitted(callbacks=callbacks)

    assert str(raised.value) == "a step"
    assert "ValueError: the end" in "\n".join(raised.value.__notes__)


def test_an_on_end_that_raises_after_ctrl_c_is_heard_of(tmp_path: Path) -> None:
    callbacks = [Raising("on_step", KeyboardInterrupt(), 2), Raising("on_end", CallbackError("the end"))]

    with pytest.raises(CallbackError, match="the end"):
        fitted(callbacks=callbacks, checkpoints=tl.Checkpoints(tmp_path, every=100))

    assert _kept(tmp_path) == [2]


def test_the_best_weights_are_put_back_also_where_an_on_end_raises() -> None:
    expected, model = net(), net()
    options: dict[str, Any] = {"test_loader": loader(seed=5), "epochs": 4, "optimizer": torch.optim.SGD}

    def stopping() -> Callback:
        return EarlyStopping("test/loss", patience=9, restore_best=True)

    def worse(training: Training) -> None:  # from the second epoch on
        with torch.no_grad():
            training.model[0].weight.add_(float(training.epoch == 1) * 50)

    fitted(expected, callbacks=[stopping(), worse], **options)
    with pytest.raises(CallbackError):
        fitted(model, callbacks=[stopping(), worse, Raising("on_end", CallbackError())], **options)

    assert_same_weights(expected, model)
