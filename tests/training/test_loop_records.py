"""What a loop keeps of its runs: tables, scalars and moments of the network, beside what torch says."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import torcheer as tl
from tests.training.steppable import NUM_EPOCHS, NUM_TRIALS, loop_in
from torcheer.errors import InputError
from torcheer.run import NETVIEW
from torcheer.run.read.saved_records import SavedRecord


def confidence(outputs: Tensor, targets: Tensor) -> Tensor:
    return outputs.softmax(1).max(1).values


def mean_square(outputs: Tensor, targets: Tensor) -> Tensor:
    return outputs.square().mean()


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tl.Loop[Any]:
    """Two runs, to the end."""
    loop = loop_in(
        tmp_path_factory.mktemp("done"),
        statistics={"confidence": confidence, "square": mean_square},
        item_names=[f"item {number}" for number in range(11)],
    )
    loop.init(netview_every="1 trial", test_every=2)
    loop.run()
    return loop


def moments_of(loop: tl.Loop[Any], run: int = -1) -> list[dict[str, str]]:
    """The counters of all moments of the network."""
    found = tl.open_run(loop.runs[run])
    if NETVIEW not in found.names("moment"):
        return []
    return [record.head.counters for record in found._records("moment", NETVIEW, SavedRecord)]


def as_plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tensors as lists; an empty cell of numbers is NaN on disk."""
    return [
        {
            name: value.tolist() if isinstance(value, Tensor | numpy.ndarray) else value
            for name, value in row.items()
            if value is not None and not (isinstance(value, float) and value != value)
        }
        for row in rows
    ]


def test_the_tables_on_disk_are_the_rows_in_memory(done: tl.Loop[Any]) -> None:
    assert {"train epochs", "test trials", "test epochs", "runs"} <= set(done.tables)
    assert as_plain(list(done.table("train epochs").rows())) == as_plain(done.epochs)
    assert as_plain(list(done.table("test epochs").rows())) == as_plain(done.test_epochs)
    assert as_plain(list(done.table("runs").rows())) == as_plain(done.run_rows)
    last = [row for row in done.table("test trials").rows() if row["run"] == 1]
    assert as_plain(last) == as_plain(done.tests)
    with pytest.raises(InputError, match=r"no table 'epochs' yet: there are .*train epochs"):
        done.table("epochs")


def test_a_test_says_of_each_item_what_torch_says(done: tl.Loop[Any]) -> None:
    model = done.setup.model.eval()
    data = done.setup.test.dataset  # type: ignore[union-attr]
    inputs, targets = data.tensors
    with torch.no_grad():
        # In the batches of the loader: another size of them may round otherwise.
        outputs = torch.cat([model(part) for part in inputs.split(6)])
        hidden = torch.cat([model[:3](part) for part in inputs.split(6)])
    losses = F.cross_entropy(outputs, targets, reduction="none")
    rows = done.tests

    assert [row["trial"] for row in rows] == list(range(11))
    assert [row["name"] for row in rows] == [f"item {number}" for number in range(11)]
    for row, output, inner, given, target in zip(rows, outputs, hidden, inputs, targets, strict=True):
        assert torch.equal(row["Output"], output)
        assert torch.equal(row["1"], inner)  # the tanh belongs to the layer before it
        assert torch.equal(row["input"], given)
        assert row["Target"].tolist() == F.one_hot(target, 2).tolist()
        assert row["answer"] == output.argmax()
        assert row["error"] == (row["answer"] != row["target"])
        assert row["confidence"] == confidence(output[None], target).item()
        assert row["square"] == pytest.approx(output.square().mean().item())
    assert [row["loss"] for row in rows] == pytest.approx(losses.tolist())
    whole = done.test_epochs[-1]
    assert whole["loss"] == pytest.approx(losses.mean().item())
    assert whole["errors"] == int((outputs.argmax(1) != targets).sum()) == done.run_rows[-1]["test errors"]
    assert whole["confidence"] == pytest.approx(confidence(outputs, targets).mean().item())
    assert whole["square"] == pytest.approx(mean_square(outputs, targets).item())


def test_scalars_and_tables_have_the_same_numbers_at_the_same_steps(done: tl.Loop[Any]) -> None:
    for number, path in enumerate(done.runs):
        run = tl.open_run(path)
        rows = [row for row in done.epochs if row["run"] == number]
        assert run.scalars("epoch/loss").steps.tolist() == [NUM_TRIALS, 2 * NUM_TRIALS]
        assert run.scalars("epoch/loss").values.tolist() == [row["loss"] for row in rows]
        assert run.scalars("epoch/accuracy").values.tolist() == [row["accuracy"] for row in rows]
        # Every second epoch has a test, and so has the end.
        assert [row["test loss"] is None for row in rows] == [True, False]
        assert run.scalars("test/loss").values.tolist() == [rows[1]["test loss"]]
        assert run.scalars("test/loss").steps.tolist() == [2 * NUM_TRIALS]
        norms = run.scalars("train/grad_norm").values.reshape(NUM_EPOCHS, NUM_TRIALS).mean(1)
        assert norms.tolist() == pytest.approx([row["grad norm"] for row in rows])
        wrong = run.scalars("train/errors").values.reshape(NUM_EPOCHS, NUM_TRIALS).sum(1)
        assert wrong.tolist() == [row["errors"] for row in rows]
        assert run.scalars("train/lr").values.tolist() == [0.1] * NUM_TRIALS + [0.05] * NUM_TRIALS
        assert run.state == "finished"
        assert run.hparams()["hidden"] == 5
        assert run.hparams()["seed"] == done.run_rows[number]["seed"]


def test_moments_of_the_network_have_the_counters(done: tl.Loop[Any]) -> None:
    trials = [
        {"name": "train", "run": "1", "epoch": str(epoch), "trial": str(trial + 1)}
        for epoch in range(NUM_EPOCHS)
        for trial in range(NUM_TRIALS)
    ]
    first = {"name": "init", "run": "1", "epoch": "0", "trial": "0"}
    last = {"name": "test", "run": "1", "epoch": "2", "trial": "3"}
    assert moments_of(done, 1)[: NUM_EPOCHS * NUM_TRIALS + 2] == [first, *trials, last]


def test_the_network_of_a_trial_is_that_of_the_trial(tmp_path: Path) -> None:
    """Dropout, batch statistics and gradients are those with which the weights were changed."""
    loop = loop_in(tmp_path)
    loop.init(netview_every="1 trial")
    loop.step()
    model: Any = loop.setup.model
    seen: list[Tensor] = []
    handle = model[4].register_forward_pre_hook(lambda module, args: seen.append(args[0].detach().clone()))
    before = model[0].weight.detach().clone()

    loop.step()

    handle.remove()
    assert moments_of(loop)[-1] == {"name": "train", "run": "0", "epoch": "0", "trial": "2"}
    run = tl.open_run(loop.runs[0])
    assert len(seen) == 2  # to be looked at, and in the trial
    assert torch.equal(seen[0], seen[1])
    assert (seen[1] == 0).any()  # what dropout left out
    recorded = {name: torch.from_numpy(run.tensors(name)[-1].array.copy()) for name in run.names("tensor")}
    assert torch.equal(recorded["0.weight"], before)
    assert torch.equal(recorded["0.weight.Grad"], model[0].weight.grad)
    assert torch.equal(recorded["4.bias.Grad"], model[4].bias.grad)
    output = F.linear(seen[1], recorded["4.weight"], recorded["4.bias"])
    assert torch.equal(recorded["4.Act"], output)


def test_a_trial_that_somebody_steps_to_is_shown_and_never_means_never(tmp_path: Path) -> None:
    loop = loop_in(tmp_path)

    def num_moments(every: str) -> list[int]:
        found = []
        loop.init(netview_every=every)
        for step in (("trial", 1), ("trial", 2), ("epoch", 1)):
            loop.step(*step)
            found.append(len([one for one in moments_of(loop) if one["name"] == "train"]))
        return found

    assert num_moments("1 epoch") == [1, 2, 3]
    assert num_moments("10 epochs") == [1, 2, 2]
    assert num_moments("never") == [0, 0, 0]


def test_a_network_that_cannot_be_shown_is_told_once_and_the_training_goes_on(tmp_path: Path) -> None:
    loop = loop_in(tmp_path, netview={"layers": ["nothing"]})
    loop.init(netview_every="1 trial", runs=1)
    with pytest.warns(tl.TrainingWarning, match="cannot be shown in NetView"):
        loop.step()

    with warnings.catch_warnings():
        warnings.simplefilter("error", tl.TrainingWarning)
        loop.run()
    assert loop.is_done


def test_shapes_of_layers_are_kept_with_the_run(tmp_path: Path) -> None:
    loop = loop_in(tmp_path, shapes={"0": (5, 1)})
    loop.init(netview_every="1 trial")

    assert len(moments_of(loop)) == 1
    layers = {layer.name: layer for layer in tl.NetView(loop.runs[0]).scene.layers}
    assert (layers["0"].grid.rows, layers["0"].grid.columns) == (5, 1)
    with pytest.raises(InputError, match="no layer 'hidden'"):
        loop_in(tmp_path, shapes={"hidden": (5, 1)}).init(netview_every="1 trial")
    assert tl.open_run(tmp_path / "steppable-2" / "run-0").state == "died"


def test_items_are_tested_one_by_one_also_after_the_end(done: tl.Loop[Any]) -> None:
    all_rows = done.tests

    row = done.test_item(7)

    assert row["trial"] == 7
    assert torch.allclose(row["Output"], all_rows[7]["Output"])
    assert row["error"] == all_rows[7]["error"]
    assert as_plain(done.tests) == as_plain(all_rows)  # it does not take the place of the last test
    run = tl.open_run(done.runs[-1])
    assert run.state == "finished"
    assert as_plain(list(run.table("test items").rows()))[-1] == as_plain([row])[0]
    assert moments_of(done)[-1]["item"] == "7"
    assert torch.equal(torch.from_numpy(run.tensors("4.Act")[-1].array[0].copy()), row["Output"])
    for number in (11, -1, True):
        with pytest.raises(InputError, match="numbered from 0"):
            done.test_item(number)


def test_a_test_that_is_stopped_leaves_nothing_behind(tmp_path: Path) -> None:
    loop = loop_in(tmp_path)
    loop.step()
    loop.on_trial = loop.stop

    rows = loop.test_all()

    assert len(rows) == 6  # the first batch
    assert loop.tests == []
    assert loop.tables == []


def test_a_run_ends_when_it_has_learned_enough(tmp_path: Path) -> None:
    seen: list[int] = []

    def third(rows: Any) -> bool:
        seen.append(len(rows))
        return len(rows) == 3

    loop = loop_in(tmp_path, is_done=third)
    loop.init(epochs=9, test_every=2, runs=1)
    loop.run()

    assert seen == [1, 2, 3]
    assert loop.run_rows[0]["epochs needed"] == 3
    assert loop.run_rows[0]["ended by"] == "third"
    assert [row["test loss"] is None for row in loop.epochs] == [True, False, False]


def test_criteria_look_at_the_rows_of_the_epochs() -> None:
    rows = [{"errors": n, "loss": n / 10, "test errors": n if n % 2 else None} for n in (3, 1, 0, 0)]

    assert tl.no_errors_for(2)(rows)
    assert not tl.no_errors_for(3)(rows)
    assert not tl.no_errors_for(2)(rows[:3])
    assert not tl.no_errors_for(1, "test errors")(rows)  # of the last test that there was
    assert tl.loss_below(0.05)(rows)
    assert not tl.loss_below(0.05)(rows[:2])
    assert not tl.loss_below(0.5)([])
    with pytest.raises(InputError, match="an epoch has errors, loss, test errors"):
        tl.loss_below(1.0, "accuracy")(rows)
    with pytest.raises(InputError, match="from 1 on"):
        tl.no_errors_for(0)


def test_the_columns_of_a_run_name_its_parameters(done: tl.Loop[Any]) -> None:
    row = done.run_rows[0]

    assert {name: row[name] for name in ("hidden", "learning_rate", "epochs", "test_every")} == {
        "hidden": 5,
        "learning_rate": 0.1,
        "epochs": NUM_EPOCHS,
        "test_every": 2,
    }
    assert row["trials needed"] == NUM_EPOCHS * NUM_TRIALS
    assert row["train loss"] == done.epochs[1]["loss"]
    assert row["ended by"] == "all epochs"


def test_plots_pair_training_and_test(done: tl.Loop[Any]) -> None:
    lines = {plot.title: [line.name for line in plot.lines] for plot in done.plots}

    assert lines["loss"] == ["epoch/loss", "test/loss", "train/loss"]
    assert lines["accuracy"] == ["epoch/accuracy", "test/accuracy"]
    assert lines["confidence"] == ["epoch/confidence", "test/confidence"]
    names = set(tl.open_run(done.runs[0]).names("scalar"))
    assert {name for names in lines.values() for name in names} <= names
