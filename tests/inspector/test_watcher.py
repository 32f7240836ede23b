"""How a watcher gets on with its children: what does not fit, what they say, and what a fork means."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn
from torch.optim import LBFGS, SGD, Adam

import torcheer as tl
from tests.inspector.fake_child import Pretended
from tests.inspector.feeding import job_of
from tests.inspector.oracle import hooks_of, train_step
from torcheer.inspector.frame_writer import FrameWriter, Transfers
from torcheer.inspector.protocol import Numbers, Raised, Told
from torcheer.inspector.watched_share import Room
from torcheer.inspector.watcher import InspectorWarning
from torcheer.run import RunAccess


def trained(ring_bytes: int = 300_000, **manner: Any) -> tuple[Pretended, Callable[[int], None]]:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    optimizer = SGD(model.parameters(), 0.01)
    watched = Pretended(model, optimizer, room=Room(ring_bytes=ring_bytes), **manner)

    def go(num_steps: int) -> None:
        for _ in range(num_steps):
            train_step(model, optimizer, torch.randn(3, 4))

    return watched, go


def alarm(layer: str = "0", kind: str = "nan") -> Raised:
    return Raised(
        alarm=kind,
        layer=layer,
        variable="Act",
        step=3,
        time=0.0,
        value=1.0,
        threshold=None,
        message=f"NaN in {layer}",
    )


# --- a child that cannot keep up -----------------------------------------------------------------------


def test_what_does_not_fit_is_counted_by_name() -> None:
    watched, go = trained()
    go(2)
    watched.child.is_slow = True
    ring = watched.child.ring
    assert ring is not None
    go(30)
    num_full = 30 - (ring.num_filled - ring.num_given_back - 1)
    assert 0 < watched.watcher.dropped["0.Act"] == watched.watcher.dropped["2.weight.Grad"]
    watched.child.is_slow = False
    watched.close()

    counted = ring.counted("full")
    assert counted.num == watched.watcher.dropped["0.Act"]
    steps = {seen.step for seen in watched.seen}
    missing = sorted(set(range(32)) - steps)
    assert len(missing) == watched.watcher.dropped["0.Act"] == pytest.approx(num_full, abs=1)
    assert (counted.start, counted.last) == (missing[0], missing[-1])


def test_where_it_is_to_block_nothing_is_lost() -> None:
    watched, go = trained(when_full="block")
    go(2)
    watched.child.is_slow = True
    timer = threading.Timer(0.2, lambda: setattr(watched.child, "is_slow", False))
    timer.start()
    go(60)
    timer.join()
    watched.close()

    assert [seen.step for seen in watched.seen] == list(range(62))
    assert watched.watcher.num_dropped == 0


def test_where_the_rate_is_to_be_thinned_it_looks_less_often_and_counts_what_was_lost() -> None:
    watched, go = trained(when_full="thin")
    go(2)
    watched.child.is_slow = True
    go(400)
    watched.close()

    assert 0 < watched.watcher.dropped["0.Act"] < 200


# --- what children say ---------------------------------------------------------------------------------


def test_an_alarm_goes_to_the_terminal_once_and_to_the_function_each_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found: list[Raised] = []
    watched, _go = trained(on_alarm=found.append)
    watched.child.says = [alarm(), alarm(), alarm("2")]
    watched.watcher.flush()
    watched.close()

    assert found == [alarm(), alarm(), alarm("2")] == list(watched.watcher.alarms)
    assert capsys.readouterr().err.splitlines() == ["torcheer: NaN in 0", "torcheer: NaN in 2"]


def test_of_many_alarms_of_a_kind_the_first_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    watched, _ = trained()
    watched.child.says = [alarm(str(layer)) for layer in range(50)] + [alarm("9", "dead_units")]
    watched.watcher.flush()
    watched.close()

    shown = capsys.readouterr().err.splitlines()
    assert len(shown) == 4
    assert "More of this kind" in shown[2]


def test_a_function_that_raises_at_an_alarm_is_told_and_stops_nothing() -> None:
    def broken(_: Raised) -> None:
        raise ValueError("no such thing")

    watched, go = trained(on_alarm=broken)
    watched.child.says = [alarm(), alarm("2"), Told(message="the disk is full")]
    with pytest.warns(tl.InspectorWarning) as told:
        watched.watcher.flush()
    assert [str(warning.message) for warning in told] == [
        "on_alarm raised ValueError: no such thing",
        "the disk is full",
    ]
    go(1)
    watched.close()


def test_an_alarm_may_close_the_watcher() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    optimizer = SGD(model.parameters(), 0.01)
    watched = Pretended(model, optimizer, on_alarm=lambda _: watched.close())
    train_step(model, optimizer, torch.randn(3, 4))
    watched.child.says = [alarm()]
    watched.watcher._attended_at = 0.0
    train_step(model, optimizer, torch.randn(3, 4))

    assert watched.child.closed_with == ""
    assert hooks_of(model, optimizer) == 0


def test_numbers_are_told_with_their_step() -> None:
    watched, go = trained()
    go(3)
    watched.watcher.log(loss=torch.tensor(0.5), accuracy=1)
    watched.close()

    told = [message for message in watched.child.heard if isinstance(message, Numbers)]
    assert (told[-1].step, told[-1].values) == (2, {"loss": 0.5, "accuracy": 1.0})  # which ended last


def test_numbers_that_come_before_the_optimizer_belong_to_the_step_under_way() -> None:
    watched, go = trained()
    for number in range(4):
        watched.watcher.log(loss=number)
        go(1)
        watched.watcher.log(accuracy=number)
    watched.watcher.log(other=7, step=100)
    watched.close()

    told = [message for message in watched.child.heard if isinstance(message, Numbers)]
    for name in ("loss", "accuracy"):
        of_name = [(one.step, one.values[name]) for one in told if name in one.values]
        assert of_name == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert told[-1].step == 100


def test_numbers_that_are_none_are_told_and_do_not_raise() -> None:
    watched, _ = trained()
    with pytest.warns(tl.InspectorWarning, match="give numbers, by name"):
        watched.watcher.log(loss="high")
    watched.close()


def test_an_error_of_the_training_is_what_the_child_hears() -> None:
    watched, _ = trained()
    with pytest.raises(ZeroDivisionError), watched.watcher:
        raise ZeroDivisionError("by nought")
    assert watched.child.closed_with == "ZeroDivisionError: by nought"


# --- optimizers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize("every", [1, 3])
def test_of_several_optimizers_each_is_seen_with_its_own_gradients_and_updates(
    is_turned: bool, every: int
) -> None:
    """As a GAN is trained: the judge, then, at times, the maker, whose backward pass adds to the judge's."""
    model = nn.ModuleDict({"maker": nn.Linear(3, 3), "judge": nn.Linear(3, 1)})
    makers = SGD(model["maker"].parameters(), 0.1)
    judges = Adam(model["judge"].parameters(), 0.1)
    watched = Pretended(model, [makers, judges] if is_turned else [judges, makers])
    truth: dict[str, list[numpy.ndarray[Any, Any]]] = {}

    def step(name: str, optimizer: Any) -> None:
        before = model[name].weight.detach().clone()  # type: ignore[operator]
        gradient = model[name].weight.grad.numpy().copy()  # type: ignore[union-attr]
        optimizer.step()
        truth.setdefault(f"{name}.weight.Grad", []).append(gradient)
        change = (model[name].weight.detach() - before).numpy()  # type: ignore[operator]
        truth.setdefault(f"{name}.weight.Delta", []).append(change)

    for number in range(7):
        judges.zero_grad()
        (model["judge"](model["maker"](torch.randn(2, 3)).detach()) - 1).square().sum().backward()
        step("judge", judges)
        if number % every == 0:
            makers.zero_grad()
            model["judge"](model["maker"](torch.randn(2, 3))).square().sum().backward()
            step("maker", makers)
    watched.close()

    for name, values in truth.items():
        found = [seen.sample(name) for seen in watched.seen if seen.has(name)]
        assert found
        assert all(any(numpy.allclose(one, true.reshape(-1)) for true in values) for one in found), name
    if every == 1:
        assert [seen.step for seen in watched.seen] == list(range(7))
        for seen, gradient in zip(watched.seen, truth["maker.weight.Grad"], strict=True):
            assert numpy.allclose(seen.sample("maker.weight.Grad"), gradient.reshape(-1))
    assert watched.seen[-1].has("judge.weight.exp_avg")


def test_an_optimizer_that_computes_the_loss_itself_is_watched() -> None:
    model = nn.Linear(3, 1)
    optimizer = LBFGS(model.parameters(), max_iter=3)
    watched = Pretended(model, optimizer)
    x = torch.randn(8, 3)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss: Tensor = (model(x) - 1).square().mean()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    gradients = []
    for _ in range(3):
        optimizer.step(closure)  # type: ignore[no-untyped-call]
        assert model.weight.grad is not None
        gradients.append(model.weight.grad.numpy().reshape(-1).copy())
    watched.close()

    assert [seen.step for seen in watched.seen] == [0, 1, 2]
    for seen, gradient in zip(watched.seen, gradients, strict=True):
        assert numpy.array_equal(seen.sample("weight.Grad"), gradient)
    assert watched.seen[1].has("Act")
    assert watched.seen[1].has("weight.Delta")


def test_weights_that_are_frozen_meanwhile_have_no_gradient_that_is_awaited() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    optimizer = SGD(model.parameters(), 0.1)
    watched = Pretended(model, optimizer)
    train_step(model, optimizer, torch.randn(2, 3))
    for parameter in model[0].parameters():
        parameter.requires_grad_(False)
    for _ in range(3):
        train_step(model, optimizer, torch.randn(2, 3))
    watched.close()

    last = watched.seen[-1]
    assert "0.weight.Grad" not in last.names
    assert "0.weight.Delta" not in last.names
    assert last.has("0.weight")
    assert last.has("1.weight.Grad")


# --- untracking, forks, devices --------------------------------------------------------------------------


def test_what_is_untracked_is_seen_no_more() -> None:
    watched, go = trained()
    go(2)
    assert watched.watcher.untrack("0", "1") == ["0", "1"]
    go(3)
    with pytest.raises(tl.InputError, match="nothing that is watched answers to 'nobody'"):
        watched.watcher.untrack("nobody")
    watched.close()

    assert {name.split(".")[0] for name in watched.seen[-1].names} == {"2"}


def test_in_a_fork_nothing_is_watched_and_the_training_goes_on() -> None:
    watched, go = trained(ring_bytes=10 << 20)
    go(2)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            go(3)
            is_fine = not watched.watcher.is_alive()
            os.write(writing, b"1" if is_fine and watched.watcher.step == 2 else b"0")
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(reading, 1) == b"1"
    os.close(reading)
    os.close(writing)
    go(2)
    watched.close()

    assert [seen.step for seen in watched.seen] == [0, 1, 2, 3]


def test_closing_takes_no_longer_than_it_may_though_the_disk_stands_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = nn.Linear(2, 2)
    watched = Pretended(model)
    watched.child.job = job_of(tmp_path / "run")
    watched.watcher.log(loss=1.0)
    run = watched.watcher._run
    assert run is not None
    waited: list[float] = []

    def stand_still(_writer: Any, _ending: Any, patience: float) -> bool:
        waited.append(patience)
        return False

    monkeypatch.setattr(type(RunAccess(run).writer), "close_with", stand_still)
    with pytest.warns(InspectorWarning, match="still being written"):
        watched.watcher.close_with("", 4.0)
    monkeypatch.undo()
    run.close()

    assert len(waited) == 1
    assert waited[0] <= 2.0


def test_what_is_on_its_way_from_a_device_is_published_when_it_has_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No GPU is here: tensors of the CPU are sent the same way, by a device that takes its time."""
    model = nn.Sequential(nn.Linear(60, 60), nn.ReLU())
    is_there = [False]
    monkeypatch.setattr(Transfers, "is_done", lambda _self: is_there[0])
    put = FrameWriter.put

    def put_from_afar(self: FrameWriter, row: int, tensor: Tensor, unit_dim: int | None = None) -> None:
        tensor = tensor.detach()
        self._put_remote(row, self._pieces_of(row, tensor), tensor, 0)

    monkeypatch.setattr(FrameWriter, "put", put_from_afar)
    optimizer = SGD(model.parameters(), 0.1)
    watched = Pretended(model, optimizer)
    x = torch.randn(40, 60)
    wanted = model(x).detach()
    watched.watcher.enabled = False
    watched.watcher.enabled = True
    optimizer.step()
    train_step(model, optimizer, x)
    assert watched.seen == []
    is_there[0] = True
    train_step(model, optimizer, x)
    monkeypatch.setattr(FrameWriter, "put", put)
    watched.close()

    seen, row = watched.seen[0], watched.seen[0].row("1.Act")
    assert (row["low"], row["high"]) == (wanted.min().item(), wanted.max().item())
    assert row["norm"] == pytest.approx(wanted.double().norm().item(), rel=1e-5)
    assert numpy.isin(seen.sample("1.Act"), wanted.numpy()).all()
    assert hooks_of(model, optimizer) == 0
