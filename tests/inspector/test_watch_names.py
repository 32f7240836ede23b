"""Several watches of one run: whose layers are whose."""

from collections import OrderedDict
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.optim import SGD, Adam, Optimizer

import torcheer as tl
from tests.copying import run_copy
from torcheer.errors import InputError


def network(width: int = 4) -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 4))


def step(model: nn.Module, optimizer: Optimizer, scale: float = 1.0) -> None:
    optimizer.zero_grad()
    (scale * model(torch.ones(2, 4))).square().mean().backward()
    optimizer.step()


def watched(model: nn.Module, run: Path, **options: object) -> tuple[tl.Watcher, Optimizer]:
    optimizer = SGD(model.parameters(), 0.01)
    quick = {"every": 1, "budget": None, "when_full": "block"}
    return tl.watch(model, optimizer, run, **{**quick, **options}), optimizer  # type: ignore[arg-type]


def test_two_networks_with_the_same_layers_are_told_apart(tmp_path: Path) -> None:
    generator, discriminator = network(), network()
    with torch.no_grad():
        for parameter in discriminator.parameters():
            parameter.fill_(1000.0)
    first, first_optimizer = watched(generator, tmp_path)
    second, second_optimizer = watched(discriminator, tmp_path)
    with first, second:
        for number in range(6):
            step(generator, first_optimizer)
            step(discriminator, second_optimizer, scale=1e-9)
            first.log(loss=float(number))
            second.log(loss=100.0 + number)

    run = tl.open_run(tmp_path)
    assert (first.name, second.name) == ("", "Sequential")
    assert {"0.weight", "Sequential.0.weight"} <= set(run.watched.names)
    assert {"0", "Sequential.0"} <= set(run.watched.layers)
    own, other = run.watched["0.weight"], run.watched["Sequential.0.weight"]
    assert own.steps.tolist() == other.steps.tolist() == list(range(6))
    assert own.norm.values.max() < 10 < 3000 < other.norm.values.min()
    assert run.scalars("loss").values.tolist() == [0, 1, 2, 3, 4, 5]
    assert run.scalars("Sequential/loss").values.tolist() == [100, 101, 102, 103, 104, 105]
    assert run.tensors("Sequential.0.weight").steps.tolist()


def test_an_alarm_says_of_which_network_it_is(tmp_path: Path) -> None:
    good, bad = network(), network()
    with torch.no_grad():
        bad[0].weight[0, 0] = torch.nan
    first, first_optimizer = watched(good, tmp_path, name="generator")
    second, second_optimizer = watched(bad, tmp_path, name="critic")
    with first, second:
        for _ in range(3):
            step(good, first_optimizer)
            step(bad, second_optimizer)

    alarms = tl.open_run(tmp_path).alarms
    assert alarms
    assert {alarm.layer.split(".")[0] for alarm in alarms} == {"critic"}
    assert not first.alarms


def test_a_third_network_gets_a_number_and_a_watch_that_is_closed_gives_its_name_back(tmp_path: Path) -> None:
    watches = [watched(network(), tmp_path)[0] for _ in range(3)]
    assert [one.name for one in watches] == ["", "Sequential", "Sequential-2"]
    for one in watches:
        one.close()
    again, _ = watched(network(), tmp_path)
    again.close()
    assert again.name == ""


def test_a_training_that_is_resumed_goes_on_under_the_same_names(tmp_path: Path) -> None:
    for first_step in (0, 3):
        models = network(), network()
        pairs = [watched(model, tmp_path) for model in models]
        assert [watch.step for watch, _ in pairs] == [first_step, first_step]
        for _ in range(3):
            for model, (_watch, optimizer) in zip(models, pairs, strict=True):
                step(model, optimizer)
        for watch, _ in pairs:
            watch.close()

    run = tl.open_run(tmp_path)
    for name in ("0.weight", "Sequential.0.weight"):
        assert run.watched[name].steps.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_name_that_is_taken_is_refused_and_so_is_one_that_cannot_be_one(tmp_path: Path) -> None:
    first, _ = watched(network(), tmp_path, name="critic")
    with pytest.raises(InputError, match="'critic' already: give another"):
        watched(network(), tmp_path, name="critic")
    first.close()
    for name in ("", "a.b", "a/b", "a*", 3):
        with pytest.raises(InputError, match="give a short word"):
            watched(network(), tmp_path, name=name)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (network(5), "0.weight had the shape 4 × 4, and has 5 × 4 here"),
        (nn.Sequential(nn.Tanh(), nn.ReLU(), nn.Linear(4, 4)), "0 was a Linear, and is a Tanh here"),
    ],
)
def test_another_network_under_the_same_names_is_refused(tmp_path: Path, other: nn.Module, why: str) -> None:
    model = network()
    watch, optimizer = watched(model, tmp_path)
    with watch:
        step(model, optimizer)
    given = SGD([torch.nn.Parameter(torch.zeros(1))], 0.1)
    with pytest.raises(InputError, match=f"{why}.*name='generator'"):
        tl.watch(other, given, tmp_path)
    with tl.watch(other, given, tmp_path, name="other"):
        pass


@pytest.mark.parametrize("optimizer", [SGD, Adam])
@pytest.mark.parametrize("num_steps", [0, 1])
def test_another_network_is_refused_however_little_was_seen_of_the_first(
    tmp_path: Path, optimizer: type[Optimizer], num_steps: int
) -> None:
    model = nn.Sequential(nn.Linear(4, 8))
    given = optimizer(model.parameters())
    with tl.watch(model, given, tmp_path, every=1, budget=None, when_full="block"):
        for _ in range(num_steps):
            step(model, given)

    rows = {row.name: row.shape for row in tl.open_run(tmp_path).watched.rows}
    assert (rows["0.weight"], rows["0.bias"]) == ([8, 4], [8])
    with pytest.raises(InputError, match=r"0.weight had the shape 8 × 4, and has 5 × 4 here"):
        watched(nn.Sequential(nn.Linear(4, 5)), tmp_path)


def test_a_name_with_which_names_of_another_network_begin_is_refused(tmp_path: Path) -> None:
    nested = nn.Sequential(nn.Sequential(nn.Linear(4, 8)))
    watch, _ = watched(nested, tmp_path)
    with watch, pytest.raises(InputError, match=r"name is '0'.*could not be told apart. Give another name="):
        watched(nn.Sequential(nn.Linear(4, 3)), tmp_path, name="0")
    own, _ = watched(nn.Linear(4, 4), tmp_path / "own")
    with own, pytest.raises(InputError, match="name is 'weight'"):
        watched(network(), tmp_path / "own", name="weight")


def test_what_an_earlier_watch_has_under_a_name_is_not_taken_for_that_of_another(tmp_path: Path) -> None:
    nested = nn.Sequential(nn.Sequential(nn.Linear(4, 4)))
    first, optimizer = watched(nested, tmp_path / "a")
    with first:
        step(nested, optimizer)
    for _ in range(2):
        with pytest.raises(
            InputError, match=r"'0.0.Act' was watched in this run without a name.*another name="
        ):
            watched(nn.Sequential(nn.Linear(4, 4)), tmp_path / "a", name="0")
    with watched(nested, tmp_path / "a")[0] as again:
        assert again.step == 1

    first, optimizer = watched(nested[0], tmp_path / "b", name="0")
    with first:
        step(nested[0], optimizer)
    with pytest.raises(InputError, match=r"'0.0.Act' was watched in this run under the name '0'"):
        watched(nested, tmp_path / "b")
    with watched(nested[0], tmp_path / "b", name="0")[0] as again:
        assert again.step == 1


def test_a_name_that_is_left_out_is_one_with_which_no_other_name_begins(tmp_path: Path) -> None:
    class critic(nn.Sequential):  # noqa: N801
        pass

    whole = nn.Sequential(OrderedDict(critic=nn.Sequential(nn.Linear(4, 8)), out=nn.Linear(8, 4)))
    first, _ = watched(whole, tmp_path / "a")
    second, _ = watched(critic(nn.Linear(4, 3)), tmp_path / "a")
    with first, second:
        assert (first.name, second.name) == ("", "critic-2")

    first, _ = watched(critic(nn.Linear(4, 3)), tmp_path / "b", name="critic")
    second, _ = watched(whole, tmp_path / "b")
    with first, second:
        assert (first.name, second.name) == ("critic", "Sequential")


def test_two_processes_that_watch_one_run_as_the_same_rank_are_refused(tmp_path: Path) -> None:
    watch, _ = watched(network(), tmp_path)
    text = f"""
import torch, torcheer as tl
from tests.inspector.feeding import children_are_forks
from torcheer.inspector import watch_names
children_are_forks().__enter__()
watch_names._WAIT_SECONDS = 0.2  # for a process that is being killed
model = torch.nn.Sequential(torch.nn.Linear(4, 4))
for options in ({{}}, {{"name": "other"}}, {{"rank": 1}}):
    try:
        tl.watch(model, run={str(tmp_path)!r}, **options).close()
        print("watched")
    except tl.errors.InputError as error:
        print(error)
"""
    with watch:
        done = run_copy(["-c", text], cwd=tmp_path)
    first, *others = done.stdout.splitlines()
    assert "another process watches" in first, done.stderr
    assert "name=" in first
    assert others == ["watched", "watched"]


def test_ranks_log_each_their_own_series(tmp_path: Path) -> None:
    for rank in (0, 2):
        model = network()
        watch, optimizer = watched(model, tmp_path, rank=rank)
        with watch:
            for number in range(10):
                step(model, optimizer)
                watch.log(loss=10.0 * rank + number)

    run = tl.open_run(tmp_path)
    assert len(run.scalars("loss")) == 10
    assert run.scalars("loss").values.tolist() == [float(number) for number in range(10)]
    assert run.scalars("rank-2/loss").values.tolist() == [20.0 + number for number in range(10)]
