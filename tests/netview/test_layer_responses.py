"""The responses of layers to a test set, against a pass by hand; and that nothing else has changed."""

import random
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from tests.netview.models import Made
from torcheer.errors import InputError, LayerNotFoundError
from torcheer.netview.analysis import responses


class Small(nn.Module):
    """With all that must not change: dropout, a buffer that is updated, an op in place, a draw, a counter."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.relu = nn.ReLU(inplace=True)
        self.drop = nn.Dropout()
        self.fc = nn.Linear(4 * 4 * 4, 5)
        self.unused = nn.Linear(2, 2)
        self.num_calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.num_calls += 1
        x += 0.5  # writes into what it is given
        torch.rand(1)
        random.random()
        numpy.random.rand()
        return self.fc(self.drop(self.relu(self.norm(self.conv(x)))).flatten(1))


@pytest.fixture
def model() -> Small:
    torch.manual_seed(0)
    return Small()


X = torch.randn(20, 3, 6, 6, generator=torch.Generator().manual_seed(1))
Y = torch.arange(20) % 4


def expected(model: Small) -> dict[str, numpy.ndarray]:
    model.eval()
    with torch.no_grad():
        conv = model.conv(X + 0.5)
        norm = model.norm(conv)
        fc = model.fc(norm.relu().flatten(1))
    model.train()
    return {
        name: t.numpy() for name, t in {"conv": conv, "norm": norm, "relu": norm.relu(), "fc": fc}.items()
    }


class Pairs(Dataset):
    def __len__(self) -> int:
        return 20

    def __getitem__(self, place: int) -> tuple[Tensor, int]:
        return X[place], int(Y[place])


def batches() -> Iterator[tuple[Tensor, Tensor]]:
    for start in range(0, 20, 6):
        yield X[start : start + 6], Y[start : start + 6]


TEST_SETS: dict[str, Any] = {
    "pair": (X, Y),
    "arrays": (X.numpy(), Y.tolist()),
    "named and labels": ({"x": X}, Y),
    "dataset": TensorDataset(X, Y),
    "own dataset": Pairs(),
    "loader": DataLoader(TensorDataset(X, Y), 3),
    "generator": batches,
    "list": [[X[:9], Y[:9].tolist()], [X[9:], Y[9:].tolist()]],
    "dictionary": {"x": X, "labels": Y},
    "nested": [({"x": X[:9]}, Y[:9]), ((X[9:],), Y[9:])],
}


@pytest.mark.parametrize("data", TEST_SETS.values(), ids=TEST_SETS)
def test_every_kind_of_test_set_gives_what_the_layers_give(model: Small, data: Any) -> None:
    seen = responses(model, data() if callable(data) else data, batch_size=7)
    wanted = expected(model)
    for name, array in wanted.items():
        assert numpy.allclose(seen.maps(name), array, atol=1e-6)
        assert seen.layer(name).shape == (20, array[0].size)
    assert seen.names == ["conv", "norm", "relu", "drop", "fc"]
    assert seen.labels.tolist() == Y.tolist()
    assert numpy.array_equal(seen.inputs, X.numpy())
    assert seen.num_items == 20


def test_the_model_and_all_else_is_afterwards_as_it_was(model: Small) -> None:
    model.train()
    model.norm.eval()
    handle = model.fc.register_forward_hook(lambda *_: None)
    model(X.clone()).sum().backward()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    grads = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
    modes = [module.training for module in model.modules()]
    hooks = [dict(module._forward_hooks) for module in model.modules()]
    inputs, version = X.clone(), X._version
    num_calls = model.num_calls
    states = torch.get_rng_state(), random.getstate(), numpy.random.get_state()[1].tolist()

    responses(model, DataLoader(TensorDataset(X, Y), 3))
    responses(model, X)

    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    for parameter, grad in zip(model.parameters(), grads, strict=True):
        assert (parameter.grad is None) if grad is None else torch.equal(parameter.grad, grad)
        assert parameter.requires_grad
    assert [module.training for module in model.modules()] == modes
    assert [dict(module._forward_hooks) for module in model.modules()] == hooks
    assert model.num_calls == num_calls
    assert torch.equal(X, inputs)
    assert X._version == version
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1]
    assert numpy.random.get_state()[1].tolist() == states[2]
    assert torch.is_grad_enabled()
    handle.remove()


def test_a_model_that_raises_is_as_it_was_too(model: Small) -> None:
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(RuntimeError):
        responses(model, [X[:4], torch.randn(4, 2, 6, 6)])
    assert model.training
    assert not any(module._forward_hooks for module in model.modules())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize(
    ("layers", "names"),
    [
        ("fc", ["fc"]),
        (["fc", "co*"], ["conv", "fc"]),
        (nn.BatchNorm2d, ["norm"]),
        (lambda name, module: "r" in name, ["norm", "relu", "drop"]),
    ],
)
def test_layers_are_chosen_by_the_words_of_watch(model: Small, layers: Any, names: list[str]) -> None:
    assert responses(model, X, layers=layers).names == names


def test_a_layer_that_is_not_there_says_why(model: Small) -> None:
    seen = responses(model, X)
    assert "unused" not in seen
    with pytest.raises(InputError, match="was not called"):
        seen.layer("unused")
    with pytest.raises(LayerNotFoundError, match="'conv'"):
        seen.layer("comv")
    with pytest.raises(InputError, match="'unused': it was not called"):
        responses(model, X, layers="unused")


class Ragged(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fine, self.windows, self.growing, self.last = (nn.Identity() for _ in range(4))
        self.shared = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        self.windows(x.reshape(-1, 2))
        self.growing(x[:, : len(x)])
        self.last([{"text": "a", "tensor": x * 3}])
        return self.fine(self.shared(self.shared(x)))


def test_layers_without_a_row_for_each_item_are_left_out_with_a_reason() -> None:
    model, x = Ragged(), torch.randn(7, 4)
    seen = responses(model, x, batch_size=4)
    assert "4 items" in seen.left_out["windows"]
    assert "shape changes" in seen.left_out["growing"]
    assert numpy.array_equal(seen.layer("last"), (x * 3).numpy())
    # Called twice: the last call.
    assert numpy.allclose(seen.layer("shared"), model.shared(model.shared(x)).detach().numpy(), atol=1e-6)


def test_time_before_items_is_turned_in_recurrent_layers() -> None:
    model = Made(lambda m, x: m.rnn(x.transpose(0, 1))[0][-1], rnn=nn.LSTM(3, 5))
    x = torch.randn(8, 6, 3)
    wanted = model.rnn(x.transpose(0, 1))[0].transpose(0, 1).detach().numpy()
    assert numpy.allclose(responses(model, x).maps("rnn"), wanted, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64, torch.int64])
def test_numbers_of_every_type_are_kept_exactly(dtype: torch.dtype) -> None:
    x = (torch.arange(12).reshape(4, 3) * 3).to(dtype)
    seen = responses(nn.Identity(), x)
    assert numpy.array_equal(seen.layer(""), x.double().numpy())


def test_a_compiled_model_shows_its_layers(model: Small) -> None:
    compiled = torch.compile(model, backend="eager")
    seen = responses(compiled, X)
    for name, array in expected(model).items():
        assert numpy.allclose(seen.maps(name), array, atol=1e-6)


def test_a_shuffling_loader_keeps_its_own_labels_and_refuses_others(model: Small) -> None:
    loader = DataLoader(TensorDataset(X, Y), 5, shuffle=True)
    seen = responses(model, loader)
    by_picture = {picture.tobytes(): int(label) for picture, label in zip(X.numpy(), Y, strict=True)}
    assert seen.labels.tolist() == [by_picture[picture.tobytes()] for picture in seen.inputs]
    with pytest.raises(InputError, match="shuffle"):
        responses(model, loader, labels=Y)


def test_labels_may_be_given_beside_the_data(model: Small) -> None:
    assert responses(model, X).labels is None
    assert responses(model, X, labels=list("ab" * 10)).labels.tolist() == list("ab" * 10)
    with pytest.raises(InputError, match="20 items"):
        responses(model, X, labels=[1, 2])


def test_targets_that_are_no_labels_are_not_taken_for_them(model: Small) -> None:
    assert responses(model, [(X, torch.randn(20, 5))]).labels is None


def test_what_would_fill_the_memory_is_refused_at_the_first_batch(model: Small) -> None:
    with pytest.raises(InputError, match="max_bytes"):
        responses(model, X, batch_size=2, max_bytes=20_000)
    assert model.num_calls == 0
    assert responses(model, X, layers="fc", keep_inputs=False, max_bytes=20_000).inputs is None


@pytest.mark.parametrize(
    "data",
    [[], "pictures", 7, [(X, Y, Y)], ["a"], torch.zeros(()), {"x": X, "y": Y[:3]}, (X, Y[:3]), (X, X, Y)],
)
def test_what_is_no_test_set_is_refused(model: Small, data: Any) -> None:
    with pytest.raises(InputError):
        responses(model, data)
