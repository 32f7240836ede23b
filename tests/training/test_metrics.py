"""Metrics by name, by function and by object: one number for all items."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.training.fitted import fitted, loader
from torcheer.errors import InputError
from torcheer.training.metrics import Metric, metrics_of

CPU = torch.device("cpu")


def computed(metric: Metric, *batches: tuple[Any, Any]) -> float:
    for outputs, targets in batches:
        metric.update(outputs, targets, len(targets))
    return metric.compute()


def named(name: str, loss: Any = None) -> Metric:
    return metrics_of(name, loss, CPU)[name]


def test_accuracy_is_the_share_of_right_answers() -> None:
    scores = torch.eye(3)

    assert (
        computed(named("accuracy"), (scores, torch.tensor([0, 1, 1])), (scores[:1], torch.tensor([0])))
        == 0.75
    )
    pictures = torch.eye(3)[None].expand(2, 3, 3)  # two items, three classes, three places
    assert computed(named("accuracy", F.cross_entropy), (pictures, torch.tensor([[0, 1, 2]] * 2))) == 1.0
    assert computed(named("accuracy", F.cross_entropy), (scores, torch.eye(3))) == 1.0  # chances as targets


@pytest.mark.parametrize(
    ("loss", "outputs", "expected"),
    [
        (F.binary_cross_entropy_with_logits, [0.2, -3.0], 1.0),
        (nn.BCELoss(), [0.8, 0.2], 1.0),
        (nn.BCELoss(), [0.2, 0.2], 0.5),
        (None, [5.0, -0.1], 1.0),
        (partial(F.binary_cross_entropy, reduction="sum"), [0.2, 0.2], 0.5),
    ],
)
def test_yes_or_no_is_decided_as_the_loss_has_it(loss: Any, outputs: list[float], expected: float) -> None:
    assert computed(named("accuracy", loss), (torch.tensor(outputs), torch.tensor([1.0, 0.0]))) == expected


def test_what_is_no_number_is_never_right() -> None:
    nan = numpy.nan
    scores, targets = torch.tensor([[nan, nan], [nan, 1.0], [2.0, 1.0]]), torch.tensor([0, 0, 0])
    assert computed(named("accuracy"), (scores, targets)) == 1 / 3
    assert computed(named("top1"), (scores, targets)) == computed(named("top5"), (scores, targets)) == 1 / 3

    chances, yes_or_no = torch.tensor([nan, 0.2, 0.9, nan]), torch.tensor([0.0, 0.0, 1.0, 1.0])
    assert computed(named("accuracy"), (chances, yes_or_no)) == 1 / 2


def test_bits_are_answers_each() -> None:
    outputs = torch.tensor([[2.0, -1.0], [3.0, 1.0]])

    assert computed(named("accuracy"), (outputs, torch.tensor([[1.0, 0.0], [1.0, 0.0]]))) == 0.75


def test_a_function_counts_by_the_number_of_items() -> None:
    metrics = metrics_of({"mean": lambda outputs, targets: outputs.mean()}, None, CPU)

    assert computed(metrics["mean"], (torch.ones(3), torch.ones(3)), (torch.zeros(1), torch.zeros(1))) == 0.75


def test_nothing_to_count_is_no_number() -> None:
    assert numpy.isnan(named("accuracy").compute())
    assert numpy.isnan(computed(named("accuracy"), (torch.eye(2), torch.tensor([-100, -100]))))


class Total:
    """Counts by itself."""

    def __init__(self) -> None:
        self.total, self.num_resets = 0.0, 0

    def update(self, outputs: Tensor, targets: Tensor) -> None:
        self.total += len(targets)

    def compute(self) -> Tensor:
        return torch.tensor(self.total)

    def reset(self) -> None:
        self.total, self.num_resets = 0.0, self.num_resets + 1


def test_an_object_counts_each_epoch_of_each_set_anew() -> None:
    history = fitted(metrics={"total": Total()}, test_loader=loader(6))

    assert history["train/total"].tolist() == [14, 14]
    assert history["test/total"].tolist() == [6, 6]
    assert "train/total" not in history.steps


def test_a_metric_has_its_name() -> None:
    def error(outputs: Tensor, targets: Tensor) -> float:
        return 0.0

    assert list(metrics_of(["accuracy", error, Total()], None, CPU)) == ["accuracy", "error", "Total"]
    assert list(metrics_of(error, None, CPU)) == ["error"]


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        ([lambda outputs, targets: 0.0], "a lambda without a name"),
        (3, "metrics is a int"),
        ({"a": Total}, "the metric 'a' is a type"),
    ],
)
def test_what_is_no_metric_is_refused(metrics: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        metrics_of(metrics, None, CPU)


def test_a_metric_that_does_not_fit_says_why() -> None:
    values = (torch.randn(3, 2), torch.randn(3, 2))

    with pytest.raises(InputError, match=r"accuracy needs classes.*shape \(3, 2\)"):
        computed(named("accuracy"), values)
    with pytest.raises(InputError, match="top2 needs a score for each class"):
        computed(named("top2"), values)
    with pytest.raises(InputError, match="mae and mse need a target for each output"):
        computed(named("mae"), (torch.randn(3, 2), torch.randn(3)))
    with pytest.raises(InputError, match="return one number"):
        computed(metrics_of({"a": lambda outputs, targets: outputs}, None, CPU)["a"], values)
