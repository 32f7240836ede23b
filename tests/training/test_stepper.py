"""One step of a training is what one writes by hand, bit by bit, with all that can be asked for beside it."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import Optimizer

from torcheer.errors import InputError
from torcheer.models import moved, num_items_of, split
from torcheer.training import Stepper

Batches = list[tuple[Tensor, Tensor]]


def net() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))


def batches(number: int = 6, size: int = 5) -> Batches:
    torch.manual_seed(2)
    return [(torch.randn(size, 4), torch.randint(0, 3, (size,))) for _ in range(number)]


def by_hand(model: nn.Module, optimizer: Optimizer, data: Batches, accumulate: int = 1) -> list[float]:
    losses = []
    for start in range(0, len(data), accumulate):
        together = data[start : start + accumulate]
        optimizer.zero_grad()
        for inputs, targets in together:
            loss = F.cross_entropy(model(inputs), targets)
            losses.append(loss.item())
            (loss / len(together)).backward()
        optimizer.step()
    return losses


def same_weights(one: nn.Module, other: nn.Module) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_steps_are_those_of_the_loop_by_hand() -> None:
    model, other, data = net(), net(), batches()
    expected = by_hand(other, torch.optim.Adam(other.parameters()), data)
    stepper = Stepper(model, F.cross_entropy, torch.optim.Adam(model.parameters()))

    steps = [stepper.step(batch) for batch in data]

    assert [step.loss.item() for step in steps] == expected
    assert same_weights(model, other)
    assert all(step.stepped and step.num_items == 5 and step.grad_norm is None for step in steps)
    assert not steps[0].outputs.requires_grad
    assert not steps[0].loss.requires_grad


def test_the_norm_of_the_gradients_is_measured_and_clipped_as_torch_does() -> None:
    model, other, (batch, *_) = net(), net(), batches()
    F.cross_entropy(other(batch[0]), batch[1]).backward()
    norm = nn.utils.clip_grad_norm_(other.parameters(), 0.01)

    measured = Stepper(model, F.cross_entropy, torch.optim.SGD(model.parameters(), 0.0), measure_norm=True)
    assert torch.allclose(measured.step(batch).grad_norm, norm)  # type: ignore[arg-type]

    clipped = Stepper(model, F.cross_entropy, torch.optim.SGD(model.parameters(), 0.0), clip_norm=0.01)
    assert torch.equal(clipped.step(batch).grad_norm, norm)  # type: ignore[arg-type]
    for one, another in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(one.grad, another.grad)  # type: ignore[arg-type]


def test_gradients_of_several_batches_make_one_step_with_their_mean() -> None:
    model, other, data = net(), net(), batches(5)
    by_hand(other, torch.optim.SGD(other.parameters(), 0.1), data, accumulate=2)
    stepper = Stepper(model, F.cross_entropy, torch.optim.SGD(model.parameters(), 0.1), accumulate=2)

    did_step = [stepper.step(batch).stepped for batch in data]

    assert did_step == [False, True, False, True, False]
    assert not same_weights(model, other)
    assert stepper.flush()
    assert not stepper.flush()
    for one, another in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.allclose(one, another)


def test_the_last_batch_of_an_epoch_uses_what_is_gathered() -> None:
    model, other, data = net(), net(), batches(1)
    by_hand(other, torch.optim.SGD(other.parameters(), 0.1), data)
    stepper = Stepper(model, F.cross_entropy, torch.optim.SGD(model.parameters(), 0.1), accumulate=4)

    assert not stepper.step(data[0]).stepped
    assert stepper.flush()
    for one, another in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.allclose(one, another)


def test_half_of_an_accumulation_can_be_kept_and_gone_on_with() -> None:
    model, data = net(), batches(2)
    stepper = Stepper(model, F.cross_entropy, torch.optim.SGD(model.parameters(), 0.1), accumulate=2)
    assert stepper.state_dict() == {}
    stepper.step(data[0])
    other = copy.deepcopy(model)
    state = copy.deepcopy(stepper.state_dict())
    other.zero_grad()
    going_on = Stepper(other, F.cross_entropy, torch.optim.SGD(other.parameters(), 0.1), accumulate=2)

    going_on.load_state_dict(state)

    assert going_on.step(data[1]).stepped
    stepper.step(data[1])
    assert same_weights(model, other)


@pytest.mark.parametrize("autocast", ["bfloat16", "float16"])
def test_half_precision_is_that_of_torch(autocast: str) -> None:
    model, other, (batch, *_) = net(), net(), batches()
    kind = getattr(torch, autocast)
    with torch.autocast("cpu", kind):
        expected = F.cross_entropy(other(batch[0]), batch[1])
    stepper = Stepper(model, F.cross_entropy, torch.optim.SGD(model.parameters(), 0.1), autocast=autocast)

    stepped = stepper.step(batch)

    assert stepped.outputs.dtype == kind
    assert stepped.loss.item() == expected.item()
    assert stepped.stepped
    assert not same_weights(model, other)
    assert (stepper.scaler is not None) is (autocast == "float16")


def test_a_step_that_overflows_in_float16_is_left_out() -> None:
    model, (batch, *_) = net(), batches()
    before = copy.deepcopy(model)
    stepper = Stepper(
        model,
        lambda outputs, targets: F.cross_entropy(outputs, targets) * 1e38,
        torch.optim.SGD(model.parameters(), 0.1),
        autocast="float16",
    )

    assert not stepper.step(batch).stepped
    assert same_weights(model, before)


def test_an_optimizer_that_computes_the_loss_several_times_works() -> None:
    model, other, (batch, *_) = net(), net(), batches()
    optimizer = torch.optim.LBFGS(other.parameters(), max_iter=4)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(other(batch[0]), batch[1])
        loss.backward()
        return loss

    first = optimizer.step(closure)
    stepped = Stepper(model, F.cross_entropy, torch.optim.LBFGS(model.parameters(), max_iter=4)).step(batch)

    assert stepped.loss.item() == first.item()
    assert same_weights(model, other)
    for more in ({"accumulate": 2}, {"clip_norm": 1.0}, {"autocast": "float16"}):
        with pytest.raises(InputError, match=f"LBFGS.*{next(iter(more))}"):
            Stepper(model, F.cross_entropy, torch.optim.LBFGS(model.parameters()), **more)  # type: ignore[arg-type]


def test_sparse_gradients_have_a_norm() -> None:
    model = nn.Embedding(10, 3, sparse=True)
    stepper = Stepper(
        model, lambda out, _: out.sum(), torch.optim.SparseAdam(model.parameters()), measure_norm=True
    )

    stepped = stepper.step((torch.tensor([1, 1, 4]), torch.zeros(3)))

    assert stepped.grad_norm is not None
    assert stepped.grad_norm.item() == pytest.approx((3 * 4 + 3) ** 0.5)


class WithLoss(nn.Module):
    """Computes its loss itself, in the way of transformers."""

    def __init__(self, give: Callable[[Tensor, Tensor], Any]) -> None:
        super().__init__()
        self.layer, self.give = nn.Linear(4, 3), give

    def forward(self, x: Tensor, labels: Tensor) -> Any:
        logits = self.layer(x)
        return self.give(F.cross_entropy(logits, labels), logits)


@pytest.mark.parametrize(
    "give",
    [
        lambda loss, _: loss,
        lambda loss, logits: {"loss": loss, "logits": logits},
        lambda loss, logits: (loss, logits),
    ],
    ids=["alone", "by name", "first"],
)
def test_a_model_may_compute_its_loss_itself(give: Callable[[Tensor, Tensor], Any]) -> None:
    model, ((x, labels), *_) = WithLoss(give), batches()
    expected = F.cross_entropy(model.layer(x), labels).item()
    stepper = Stepper(model, None, torch.optim.SGD(model.parameters(), 0.0))

    assert stepper.step({"x": x, "labels": labels}).loss.item() == expected
    assert stepper.step((x, labels)).loss.item() == expected


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (lambda outputs, targets: F.cross_entropy(outputs, targets, reduction="none"), r"shape \(5,\).*mean"),
        (
            lambda outputs, targets: F.cross_entropy(outputs, targets).item(),
            "is a float.*tensor of one number",
        ),
        (
            lambda outputs, targets: F.cross_entropy(outputs.detach(), targets),
            r"does not depend.*\.detach\(\)",
        ),
    ],
)
@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_loss_that_cannot_be_used_says_why(loss: Any, words: str, accumulate: int) -> None:
    model, (batch, *_) = net(), batches()
    stepper = Stepper(model, loss, torch.optim.SGD(model.parameters()), accumulate=accumulate)

    with pytest.raises(InputError, match=words):
        stepper.step(batch)


def test_an_error_of_the_model_stays_what_it_is() -> None:
    model = net()
    stepper = Stepper(model, F.cross_entropy, torch.optim.SGD(model.parameters()))

    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        stepper.step((torch.randn(5, 7), torch.zeros(5).long()))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"clip_norm": 0}, "clip_norm=0"),
        ({"accumulate": 0}, "accumulate=0"),
        ({"autocast": "int8"}, "'bfloat16', 'float16'"),
        ({"device": "no such"}, "device='no such' cannot be used here.*'auto'"),
        ({"loss": "mse"}, "loss is 'mse': give a function"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any], words: str) -> None:
    model = net()
    loss = wrong.pop("loss", F.cross_entropy)

    with pytest.raises(InputError, match=words):
        Stepper(model, loss, torch.optim.SGD(model.parameters()), **wrong)


# --- batches ----------------------------------------------------------------------------------------------


def seen_by(batch: Any, *, whole: bool = False) -> tuple[Any, Any, int]:
    """What the model gets, what the targets are, and how many items there are."""
    taken = split(batch, whole=whole)
    return taken.given_to(lambda *args, **kwargs: (args, kwargs)), taken.targets, taken.num_items


def test_a_batch_is_given_to_the_model_as_it_is_meant() -> None:
    a, b, y = torch.zeros(3, 2), torch.ones(3), torch.arange(3)

    assert seen_by([a, y]) == (((a,), {}), y, 3)
    assert seen_by((a, b, y)) == (((a, b), {}), y, 3)
    assert seen_by({"x": a, "labels": y}) == (((), {"x": a}), y, 3)
    assert seen_by({"x": a, "labels": y}, whole=True) == (((), {"x": a, "labels": y}), y, 3)
    assert seen_by((a, y), whole=True) == (((a, y), {}), y, 3)
    assert seen_by(a) == (((a,), {}), a, 3)
    assert seen_by([a]) == (((a,), {}), a, 3)
    assert seen_by(([b, b], y)) == ((([b, b],), {}), y, 2)


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        (object(), "a batch is a object.*collate_fn"),
        ((), "a batch is empty"),
        ({"x": torch.zeros(1)}, "has 'x', and none of them is a target.*labels"),
    ],
)
def test_a_batch_that_could_mean_anything_is_refused(batch: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        split(batch)


def test_tensors_are_moved_however_deep_they_are() -> None:
    packed = nn.utils.rnn.pack_sequence([torch.ones(2), torch.ones(1)])
    there = moved({"a": [torch.ones(2), (torch.ones(1), "text")], "b": packed}, torch.device("meta"))

    assert there["a"][0].device.type == there["a"][1][0].device.type == there["b"].data.device.type == "meta"
    assert there["a"][1][1] == "text"
    assert num_items_of(packed) == 2


def test_a_stepper_takes_optimizers_made_by_anybody() -> None:
    model, (batch, *_) = net(), batches()
    kinds = (torch.optim.AdamW, functools.partial(torch.optim.RMSprop, lr=torch.tensor(0.01)))

    for make in kinds:
        stepped = Stepper(model, F.cross_entropy, make(model.parameters())).step(batch)
        assert stepped.stepped
