"""Loops over all kinds of data: loaders, lists, streams, batches by name, several inputs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, IterableDataset, TensorDataset, WeightedRandomSampler

import torcheer as tl
from tests.training.steppable import loop_in, without_times
from torcheer.errors import InputError
from torcheer.training.loop.loop_run import is_due
from torcheer.training.loop.tester import Judge

INPUTS = torch.randn(7, 3, generator=torch.Generator().manual_seed(0))
TARGETS = (INPUTS[:, 0] > 0).long()


class Adding(nn.Module):
    """Takes two inputs, and has no fixed order of anything."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.name = nn.Linear(3, 4), nn.Linear(3, 4)
        self.out = nn.Linear(4, 2)

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        return self.out(torch.tanh(self.first(left) + self.name(right)))  # type: ignore[no-any-return]


class Computing(Adding):
    """Gives its loss, as the models of transformers do."""

    def forward(self, left: Tensor, right: Tensor, labels: Tensor) -> dict[str, Tensor]:  # type: ignore[override]
        logits = super().forward(left, right)
        return {"loss": F.cross_entropy(logits, labels), "logits": logits}


class Stream(IterableDataset[Any]):
    """Without a length."""

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        return iter(zip(INPUTS, INPUTS.flip(0), TARGETS, strict=True))


def by_name(item: tuple[Tensor, Tensor, Tensor]) -> dict[str, Tensor]:
    return dict(zip(("left", "right", "labels"), item, strict=True))


def loader(kind: str) -> Any:
    data = TensorDataset(INPUTS, INPUTS.flip(0), TARGETS)
    match kind:
        case "loader":
            return DataLoader(data, batch_size=3)
        case "list":
            return list(DataLoader(data, batch_size=3))
        case "stream":
            return DataLoader(Stream(), batch_size=3)
        case _:
            return [by_name(batch) for batch in DataLoader(data, batch_size=3)]


def trained(folder: Path, kind: str, model: type[nn.Module] = Adding, **options: Any) -> tl.Loop[Any]:
    def build(p: tl.Parameters) -> tl.Setup:
        made = model()
        loss = None if model is Computing else F.cross_entropy
        return tl.Setup(
            model=made,
            loss=loss,
            optimizer=torch.optim.Adam,
            **({"train": loader(kind), "test": loader(kind)} | options),
        )

    loop = loop_in(folder, build, tl.Parameters(epochs=2, netview_every="never"))
    loop.init()
    return loop


def test_however_the_batches_come_the_numbers_are_the_same(tmp_path: Path) -> None:
    rows = {}
    for kind in ("loader", "list", "stream", "by name"):
        loop = trained(tmp_path, kind)
        assert loop.num_test_items == (None if kind == "stream" else 7)
        loop.run()
        assert loop.num_test_items == 7
        rows[kind] = without_times(loop.epochs)
        assert loop.counters.num_trials == (None if kind == "stream" else 3)
        assert loop.counters.trial == 3
        item = loop.test_item(6)
        assert torch.equal(item["left"], INPUTS[6])
        assert item["target"] == TARGETS[6]
        assert item["name (layer)"].shape == (4,)  # a column of that name is there already
        assert torch.allclose(item["Output"], loop.tests[6]["Output"])
        with pytest.raises(InputError, match="there is no item 7 of 7"):
            loop.test_item(7)

    assert rows["list"] == rows["stream"] == rows["by name"] == rows["loader"]
    computing = trained(tmp_path, "by name", Computing)
    computing.run()
    assert without_times(computing.epochs) == rows["loader"]
    assert "loss" not in computing.tests[0]  # of one item alone nobody knows it
    assert "loss" in computing.test_item(0)


def test_a_test_set_that_is_shuffled_keeps_its_numbers(tmp_path: Path) -> None:
    data = TensorDataset(INPUTS, INPUTS.flip(0), TARGETS)
    with pytest.warns(tl.TrainingWarning, match="the test loader shuffles"):
        loop = trained(tmp_path, "loader", test=DataLoader(data, batch_size=3, shuffle=True))

    rows = loop.test_all()
    assert torch.equal(torch.stack([row["left"] for row in rows]), INPUTS)
    assert torch.equal(loop.test_item(4)["left"], INPUTS[4])

    drawn = WeightedRandomSampler([1.0] * 7, 9)  # an order of its own, with some of them twice
    loop = trained(tmp_path, "loader", test=DataLoader(data, batch_size=4, sampler=drawn))
    first, again = loop.test_all(), loop.test_all()
    assert loop.num_test_items == len(first) == 9
    for number, (one, other) in enumerate(zip(first, again, strict=True)):
        assert torch.equal(one["left"], other["left"])
        assert torch.equal(one["left"], loop.test_item(number)["left"])


def test_tests_do_not_draw_from_the_generator_of_the_training(tmp_path: Path) -> None:
    """Not even where both loaders share it."""

    def losses(folder: str, *, is_tested: bool) -> list[float]:
        generator = torch.Generator().manual_seed(2)
        data = TensorDataset(INPUTS, INPUTS.flip(0), TARGETS)
        shared = {"batch_size": 2, "generator": generator}
        loop = trained(
            tmp_path / folder,
            "loader",
            train=DataLoader(data, shuffle=True, **shared),  # type: ignore[arg-type]
            test=DataLoader(data, **shared),  # type: ignore[arg-type]
        )
        while not loop.is_done:
            loop.step()
            if is_tested:
                loop.test_all()
        return [row["loss"] for row in loop.epochs]

    assert losses("a", is_tested=True) == losses("b", is_tested=False)


def test_without_a_test_set_there_is_no_test(tmp_path: Path) -> None:
    loop = trained(tmp_path, "loader", test=None)
    loop.run()

    assert not [name for name in loop.epochs[0] if name.startswith("test")]
    assert [line.name for plot in loop.plots for line in plot.lines if line.name.startswith("test")] == []
    for test in (loop.test_all, lambda: loop.test_item(0)):
        with pytest.raises(InputError, match=r"no test set: .*test=loader"):
            test()


def test_gathered_gradients_are_used_at_the_end_of_an_epoch(tmp_path: Path) -> None:
    loop = trained(tmp_path, "stream", accumulate=2)
    weight = loop.setup.model.out.weight  # type: ignore[union-attr]
    seen = []
    for _ in range(3):
        before = weight.detach().clone()
        loop.step()
        loop.test_item(1)
        seen.append(not torch.equal(weight, before))

    assert seen == [False, True, True]
    rows = loop.epochs[0]
    through = trained(tmp_path, "stream", accumulate=2)
    through.step("epoch")
    assert without_times(through.epochs) == without_times([rows])


def test_half_precision_ends_with_each_trial_and_test(tmp_path: Path) -> None:
    loop = trained(tmp_path, "loader", autocast="bfloat16")
    loop.step("epoch")
    loop.test_item(0)

    assert not torch.is_autocast_enabled("cpu")
    assert loop.tests[0]["Output"].dtype == torch.bfloat16
    assert torch.equal(loop.test_all()[3]["Output"], loop.tests[3]["Output"])


def test_a_column_whose_shape_changes_is_left_out_and_told(tmp_path: Path) -> None:
    wide = [(torch.randn(2, length, 3), torch.tensor([0, 1])) for length in (2, 5)]

    class Summing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.out = nn.Linear(3, 2)

        def forward(self, x: Tensor) -> Tensor:
            return self.out(x.sum(1))  # type: ignore[no-any-return]

    loop = trained(tmp_path, "list", Summing, train=wide, test=wide)
    with pytest.warns(tl.TrainingWarning, match="'x' of the test trials is left out: it is not of one shape"):
        rows = loop.test_all()

    assert "x" not in rows[0]
    assert len(rows) == 4


@pytest.mark.parametrize(
    ("outputs", "targets", "loss", "wrong"),
    [
        ([[1.0, 2.0], [3.0, 2.0]], [1, 1], F.cross_entropy, [False, True]),
        ([[1.0, 2.0], [3.0, 2.0]], [[0.2, 0.8], [0.1, 0.9]], F.cross_entropy, [False, True]),
        ([[[1.0, 5.0], [2.0, 4.0]]], [[1, -100]], F.cross_entropy, [False]),
        ([[[1.0, 5.0], [2.0, 4.0]]], [[1, 1]], F.cross_entropy, [True]),
        ([[0.6, 0.4], [0.6, 0.4]], [[1.0, 0.0], [1.0, 1.0]], F.mse_loss, [False, True]),
        ([[0.4, -0.4], [0.6, 0.4]], [[1.0, 0.0], [1.0, 0.0]], nn.BCEWithLogitsLoss(), [False, True]),
        ([[0.4], [0.6]], [0.0, 0.0], F.binary_cross_entropy, [False, True]),
        ([[0.1, -0.1], [0.1, 0.1]], [[1.0, -1.0], [1.0, -1.0]], F.mse_loss, [False, True]),
        ([[math.nan, math.nan], [1.0, 0.0]], [0, 0], F.cross_entropy, [True, False]),
        ([[math.nan, 0.9], [0.1, 0.9]], [[0.0, 1.0], [0.0, 1.0]], F.mse_loss, [True, False]),
        ([[0.1, -0.1]], [[0.3, 0.7]], F.mse_loss, None),
        ([0.1, 2.0], [0.3, 0.7], F.mse_loss, None),
    ],
)
def test_an_item_is_wrong_by_its_class_or_by_any_of_its_bits(
    outputs: Any, targets: Any, loss: Any, wrong: list[bool] | None
) -> None:
    judged = Judge("auto", loss).judged(torch.tensor(outputs), torch.tensor(targets), len(targets))

    assert (None if judged.wrong is None else judged.wrong.tolist()) == wrong


def test_a_function_says_which_items_are_wrong(tmp_path: Path) -> None:
    loop = trained(tmp_path, "loader", errors=lambda outputs, targets: outputs[:, 0] > -9)
    loop.step("epoch")
    assert loop.epochs[0]["errors"] == loop.epochs[0]["test errors"] == 7

    loop = trained(tmp_path, "loader", errors=None)
    loop.step("epoch")
    assert "errors" not in loop.epochs[0]
    assert "accuracy" not in [plot.title for plot in loop.plots]
    wrong = trained(tmp_path, "loader", errors=lambda outputs, targets: outputs)
    with pytest.raises(InputError, match=r"`errors` of the setup gives shape \(3, 2\) for 3 items"):
        wrong.step()


def test_every_says_at_which_trials() -> None:
    def due(every: str, num_trials: int | None = 4) -> list[int]:
        return [
            step
            for step in range(1, 13)
            if is_due(
                every, step=step, epoch=(step + 3) // 4, trial=(step - 1) % 4 + 1, num_trials=num_trials
            )
        ]

    assert due("1 trial") == list(range(1, 13))
    assert due("10 trials") == [10]
    assert due("1 epoch") == [4, 8, 12]
    assert due("2 epochs") == [8]
    assert due("1 epoch", None) == [1, 5, 9]  # nobody knows which trial is the last
    assert due("never") == []
    with pytest.raises(InputError, match="write '10 trials'"):
        due("sometimes")
