"""`tl.watch` with a real child: what is in the run afterwards is what happened in the training."""

import os
import signal
import textwrap
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import nn
from torch.optim import SGD, Adam

import torcheer as tl
from tests.copying import Copy
from tests.inspector.oracle import SAMPLE, Oracle, hooks_of, train_step
from torcheer.run import RunReader

WHOLE: Any = {"every": 1, "budget": None, "when_full": "block"}  # every step is watched, whatever it costs


def network() -> tuple[nn.Module, torch.Tensor]:
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 40), nn.Tanh(), nn.Linear(40, 3)
    )
    return model, torch.randn(5, 1, 8, 8)


@pytest.mark.usefixtures("fresh_children")
def test_one_line_and_the_run_has_all_of_it(tmp_path: Path) -> None:
    model, x = network()
    optimizer = Adam(model.parameters(), 0.01)
    norms, oracle = [], Oracle(model)
    with tl.watch(model, optimizer=optimizer, run=tmp_path / "a", **WHOLE) as watcher:
        for step in range(20):
            if step == 12:
                with oracle.watching():
                    train_step(model, optimizer, x)
            else:
                train_step(model, optimizer, x)
            norms.append(model[3].weight.detach().double().norm().item())  # type: ignore[union-attr,operator]
            watcher.log(loss=0.5)
    assert hooks_of(model, optimizer) == 0

    run = tl.open_run(tmp_path / "a")
    assert run.state == "finished"
    assert run.gaps == []
    watched = run.watched
    assert watched.steps.tolist() == list(range(20))
    assert numpy.allclose(watched["3.weight"].norm.values, norms, rtol=1e-5)
    at = watched.steps.tolist().index(12)
    for name, tensor in oracle.values.items():
        if name not in watched.names:
            continue
        numbers = tensor.double().numpy()
        series = watched[name]
        scale = numpy.abs(numbers).max() + 1e-12
        if numbers.size > SAMPLE and name.endswith("Delta"):
            continue  # a sample of it is seen
        assert series["mean"].values[at] == pytest.approx(numbers.mean(), abs=1e-5 * scale), name
        assert series["max"].values[at] == pytest.approx(numbers.max(), rel=1e-5), name
        assert series["norm"].values[at] == pytest.approx(numpy.linalg.norm(numbers), rel=1e-4), name
        assert series["std"].values[at] == pytest.approx(numbers.std(ddof=1), rel=1e-3, abs=1e-7 * scale), (
            name
        )
    kept = {record.step: record for record in run.tensors("5.weight")}[12]
    assert numpy.array_equal(kept.array, oracle.values["5.weight"].numpy())
    assert run.scalars("loss").values.tolist() == [0.5] * 20


def test_a_piece_of_a_tensor_says_of_what_its_figures_are(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(400, 300), nn.ReLU())
    optimizer = SGD(model.parameters(), 0.01)
    with tl.watch(model, optimizer, run=tmp_path / "a", observe="weight", **WHOLE):
        train_step(model, optimizer, torch.randn(2, 400))

    with closing(RunReader(tmp_path / "a")) as reader:
        said = {key.name: entry.description for key, entry in reader.series().items() if key.kind == "tensor"}
    assert "A piece of a tensor of 300 × 400" in said["0.weight"]
    assert "those of a sample of it are marked as estimates" in said["0.weight"]
    assert said["0.bias"] == ""  # kept whole


@pytest.mark.parametrize("exact", [False, True])
def test_figures_of_a_large_weight_are_true_and_estimates_say_so(tmp_path: Path, exact: bool) -> None:
    model = nn.Linear(256, 512)
    with torch.no_grad():
        model.weight.view(-1)[[77_777, 100_001]] = torch.tensor([50.0, 90.0])
    model.register_parameter("spare", nn.Parameter(torch.ones(300, 300)))  # which nothing uses
    with torch.no_grad():
        model.spare[123, 45] = torch.nan
    optimizer = torch.optim.Adam(model.parameters(), 0.0)
    with tl.watch(model, optimizer, tmp_path / "a", exact=exact, **WHOLE):
        for _ in range(8):
            train_step(model, optimizer, torch.randn(2, 256))

    watched = tl.open_run(tmp_path / "a").watched
    row, true = watched["weight"], model.weight.detach().double()
    assert row.norm.values == pytest.approx(true.norm().item(), rel=1e-5)
    assert not row.norm.is_estimate.any()
    assert set(row.max.exact().values.tolist()) == {90.0}
    assert row.mean.exact().values == pytest.approx(true.mean().item(), rel=1e-3)
    assert watched["spare"].nan.values == pytest.approx(1 / 90_000)
    assert watched["weight.exp_avg_sq"].min.exact().values.tolist()
    table = watched.table("max")
    assert table.is_estimate[table.names.index("weight")].tolist() == row.max.is_estimate.tolist()
    median = row.q50
    assert median.is_estimate.all() != exact
    if exact:
        assert median.values == pytest.approx(true.median().item(), abs=1e-5)
        assert not any(watched.table(column).is_estimate.any() for column in watched.columns)
        assert row.to_pandas()["num_values"].isna().all()
        assert list(table.to_pandas().columns) == table.names
        return
    assert 0 < row.max.is_estimate.sum() < 8
    assert (median.num_values, row.norm.num_values) == (512, None)
    assert "≈ of 512 values" in repr(median)
    assert "≈" not in repr(row.norm)
    frame = row.to_pandas()
    assert all("q50" in names.split() and "norm" not in names.split() for names in frame["estimates"])
    assert frame["num_values"].tolist() == [512] * 8
    for of_column in (table.to_pandas(), watched.to_pandas("max")):
        assert list(of_column.columns)[: len(table.names)] == table.names
        assert of_column["≈ weight"].tolist() == row.max.is_estimate.tolist()
    assert list(watched.to_pandas("norm").columns) == table.names
    records = tl.open_run(tmp_path / "a").tensors("weight")
    assert any({"mean", "zeros"} <= set(record.head.estimates) for record in records)
    assert all(record.head.num_values == 512 for record in records)


def test_layers_are_split_among_children_and_come_together_in_the_run(tmp_path: Path) -> None:
    model, x = network()
    optimizer = SGD(model.parameters(), 0.01)
    with tl.watch(model, optimizer, tmp_path / "a", children=3, tensors=False, **WHOLE):
        for _ in range(6):
            train_step(model, optimizer, x)

    watched = tl.open_run(tmp_path / "a").watched
    assert set(watched.layers) == {"0", "1", "2", "3", "4", "5"}
    assert watched.steps.tolist() == list(range(6))
    assert not numpy.isnan(watched.table("norm").values[:, 1:]).all(axis=1).any()
    assert len(list((tmp_path / "a").glob("*.sqlite"))) == 3


def keep(name: str, step: int, tensor: torch.Tensor) -> None:
    torch.save(tensor, Path(os.environ["KEPT"]) / f"{name}@{step}.pt")


def say_goodbye() -> None:
    (Path(os.environ["KEPT"]) / "goodbye").touch()


@pytest.mark.usefixtures("fresh_children")
@pytest.mark.parametrize(
    "method",
    [
        None,
        "fork",
        pytest.param("spawn", marks=pytest.mark.many),
        pytest.param("forkserver", marks=pytest.mark.many),
    ],
)
def test_a_function_of_the_user_gets_every_tensor_whole_in_the_child(
    method: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEPT", str(tmp_path))
    model, x = network()
    model, x = model.bfloat16(), x.bfloat16()
    optimizer = SGD(model.parameters(), 0.01)
    oracle = Oracle(model)
    options: Any = {**WHOLE, "layers": [nn.Linear], "start_method": method}
    with tl.watch(model, optimizer, False, callback=keep, on_closing=say_goodbye, **options):
        for step in range(3):
            if step == 2:
                with oracle.watching():
                    train_step(model, optimizer, x)
            else:
                train_step(model, optimizer, x)

    assert (tmp_path / "goodbye").exists()
    for name in ("3.Act", "3.Grad", "3.weight", "3.weight.Grad", "5.bias"):
        kept = torch.load(tmp_path / f"{name}@2.pt")
        assert kept.dtype == torch.bfloat16
        assert torch.equal(kept, oracle.values[name]), name


def test_of_a_scripted_module_the_parameters_are_watched_and_that_is_told(tmp_path: Path) -> None:
    inner = torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    model = nn.Sequential(inner, nn.Linear(4, 2))
    optimizer = SGD(model.parameters(), 0.1)
    with pytest.warns(tl.InspectorWarning, match="only the parameters are watched: a scripted module"):
        watcher = tl.watch(model, optimizer, tmp_path / "a", every=1, when_full="block")
    train_step(model, optimizer, torch.randn(3, 4))
    watcher.close()

    watched = tl.open_run(tmp_path / "a").watched
    assert len(watched["0.0.weight"].steps) == len(watched["1.Act"].steps) == 1


def test_layers_are_in_the_order_in_which_the_model_comes_by(tmp_path: Path) -> None:
    class Backwards(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last, self.unused, self.first = nn.Linear(4, 2), nn.Linear(4, 4), nn.Linear(3, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.last(self.first(x))
            return out

    model = Backwards()
    optimizer = SGD(model.parameters(), 0.1)
    with tl.watch(model, optimizer, tmp_path / "a", **WHOLE):
        for _ in range(4):
            train_step(model, optimizer, torch.randn(3, 3))

    watched = tl.open_run(tmp_path / "a").watched
    assert list(dict.fromkeys(row.layer for row in watched.rows)) == ["first", "last", "unused"]


def steps_in(run: tl.SavedRun, name: str) -> tuple[list[int], int]:
    """The steps of a row that were kept, and how many are known to be missing."""
    missing = sum(gap.counts.get(name, 0) for gap in run.gaps)
    return run.watched[name].steps.tolist(), missing


@pytest.mark.parametrize("when_full", ["drop", "thin"])
def test_a_child_that_stands_still_holds_up_nothing_and_what_it_misses_is_counted(
    when_full: Any, tmp_path: Path
) -> None:
    model, x = network()
    optimizer = SGD(model.parameters(), 0.01)
    with tl.watch(
        model, optimizer, tmp_path / "a", tensors=False, **{**WHOLE, "when_full": when_full}
    ) as watcher:
        for _ in range(5):
            train_step(model, optimizer, x)
        assert watcher.flush()
        child = watcher._parts[0].child.pid
        assert child is not None
        os.kill(child, signal.SIGSTOP)
        for _ in range(100):
            train_step(model, optimizer, x)
        os.kill(child, signal.SIGCONT)
        num_dropped = watcher.dropped["0.Act"]
        assert 0 < num_dropped < 100

    kept, missing = steps_in(tl.open_run(tmp_path / "a"), "0.Act")
    assert missing == num_dropped
    if when_full == "drop":
        assert len(kept) + missing == 105
    else:
        assert len(kept) + missing < 105  # the rate was lowered, and what is not looked at is not missing


def test_a_training_that_is_to_wait_for_its_child_loses_nothing(tmp_path: Path) -> None:
    model, x = network()
    optimizer = SGD(model.parameters(), 0.01)
    with tl.watch(model, optimizer, tmp_path / "a", tensors=False, **WHOLE) as watcher:
        train_step(model, optimizer, x)
        child = watcher._parts[0].child.pid
        assert child is not None
        os.kill(child, signal.SIGSTOP)
        timer = threading.Timer(0.3, os.kill, (child, signal.SIGCONT))
        timer.start()
        for _ in range(60):
            train_step(model, optimizer, x)
        timer.join()

    assert steps_in(tl.open_run(tmp_path / "a"), "0.Act") == (list(range(61)), 0)


def test_the_rate_is_lowered_where_watching_costs_more_than_its_budget(tmp_path: Path) -> None:
    model, x = network()
    optimizer = SGD(model.parameters(), 0.01)
    with tl.watch(model, optimizer, tmp_path / "a", every=1, budget=0.02, when_full="block") as watcher:
        while watcher.num_left_out < 50:
            train_step(model, optimizer, x)

    num_looks = len(tl.open_run(tmp_path / "a").watched.steps)
    assert num_looks + watcher.num_left_out == watcher.step


def test_ranks_of_a_parallel_training_are_one_run_with_a_tag_each(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, sys, torch, torcheer as tl
            from tests.inspector.feeding import children_are_forks
            from torch import nn
            children_are_forks().__enter__()
            torch.set_num_threads(1)
            torch.distributed.init_process_group("gloo", init_method=f"file://{sys.argv[2]}",
                                                 rank=int(sys.argv[3]), world_size=2)
            torch.manual_seed(0)
            inner = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
            model = nn.parallel.DistributedDataParallel(inner)
            optimizer = torch.optim.SGD(model.parameters(), 0.1)
            torch.manual_seed(int(sys.argv[3]))
            with tl.watch(model, optimizer, sys.argv[1], every=1, budget=None, when_full="block") as watcher:
                for _ in range(5):
                    optimizer.zero_grad()
                    model(torch.randn(3, 4)).square().mean().backward()
                    optimizer.step()
            torch.distributed.destroy_process_group()
            """
        )
    )
    command = [str(script), str(tmp_path / "run"), str(tmp_path / "meeting")]
    ranks = [Copy([*command, str(rank)], cwd=tmp_path) for rank in range(2)]
    said = [process.communicate(120)[1] for process in ranks]
    assert [process.wait() for process in ranks] == [0, 0], said

    run = tl.open_run(tmp_path / "run")
    assert run.watched.ranks == [0, 1]
    one, other = run.watched.of_rank(0), run.watched.of_rank(1)
    assert one.names == other.names
    assert numpy.array_equal(one["0.weight"].norm.values, other["0.weight"].norm.values)
    assert not numpy.array_equal(one["0.Act"].norm.values, other["0.Act"].norm.values)
    assert len(run.tensors("rank 1/0.weight")) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"optimizer": 3}, "optimizer"),
        ({"optimizer": [3]}, "give a torch.optim.Optimizer"),
        ({"every": "fast"}, "every is 'fast'"),
        ({"layers": "nobody"}, "no layer answers to 'nobody'"),
        ({"observe": ["weights", "dreams"]}, "observe names 'dreams'"),
        ({"tensors": "some"}, "tensors is 'some'"),
        ({"budget": 3}, "budget is 3"),
        ({"when_full": "wait"}, "when_full is 'wait'"),
        ({"alarms": "loud"}, "alarms is 'loud'"),
        ({"on_alarm": 3}, "on_alarm is a int"),
        ({"callback": 3}, "callback is a int"),
        ({"callback": print, "tensors": False}, "a callback is called with tensors"),
        ({"children": 0}, "children is 0"),
        ({"rank": -1}, "rank is -1"),
        ({"run": 3.5}, "run is 3.5"),
        ({"start_method": "magic"}, "start_method is 'magic'"),
    ],
)
def test_what_cannot_be_meant_is_told_before_anything_starts(
    arguments: dict[str, Any], message: str, tmp_path: Path
) -> None:
    model, _ = network()
    with pytest.raises(tl.InputError, match=message):
        tl.watch(model, **{"run": tmp_path / "a", **arguments})
    assert hooks_of(model) == 0
    assert not (tmp_path / "a").exists()


def test_what_the_budget_leaves_out_is_counted_and_the_first_ten_steps_are_there(tmp_path: Path) -> None:
    model, x = network()
    optimizer = SGD(model.parameters(), 0.01)
    with tl.watch(model, optimizer, tmp_path / "a", every=1, budget=1e-6, when_full="block") as watcher:
        for _ in range(60):
            train_step(model, optimizer, x)

    run = tl.open_run(tmp_path / "a")
    steps = run.watched.steps.tolist()
    assert steps[:10] == list(range(10))
    assert watcher.num_left_out == 60 - len(steps) > 0
    (gap,) = [gap for gap in run.gaps if gap.reason == "budget"]
    assert gap.num_missing == watcher.num_left_out * len(run.watched.rows)
    assert run.watched.every == "step"
    assert "every step asked" in repr(run.watched) or run.watched.got == "step"
