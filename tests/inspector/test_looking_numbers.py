"""Which numbers of a tensor are seen, however it lies in memory, and what is not finite."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD

from tests.inspector.oracle import SAMPLE, Oracle, check, train_step
from tests.inspector.pretending import Pretended
from torcheer.inspector.frames import FIGURES, IS_EXACT, ROW_HEAD, ROW_TYPE
from torcheer.inspector.pieces import Outline, pieces_of
from torcheer.inspector.planning import Room

STRIDED: dict[str, Callable[[Tensor], Tensor]] = {
    "a channel": lambda x: x[..., 0],
    "every second": lambda x: x[:, ::2],
    "turned": lambda x: x.transpose(0, 2),
    "a turned slice": lambda x: x.transpose(0, 1)[::3],
    "one for all": lambda x: x[:1, :1, :1].expand(20, 30, 7),
    "one for each": lambda x: x[:, :, :1].expand(60, 40, 7),
    "overlapping": lambda x: x.reshape(-1).unfold(0, 40, 1),
}


@pytest.mark.parametrize("size", [(6, 4, 3), (60, 40, 7)])
@pytest.mark.parametrize("how", STRIDED)
def test_however_a_tensor_lies_in_memory_only_its_own_values_are_seen(
    how: str, size: tuple[int, ...]
) -> None:
    class Sliced(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return STRIDED[how](x)

    if how in ("one for all", "one for each", "overlapping") and size == (6, 4, 3):
        size = (60, 40, 7)
    model = nn.Sequential(Sliced())
    x = torch.randn(size)
    watched = Pretended(model, room=Room(tensors="whole", ring_bytes=16 << 20))
    for _ in range(2):
        wanted = model(x)
    watched.close()

    check(watched.seen[1], "0.Act", wanted)
    assert numpy.array_equal(watched.seen[1].excerpt("0.Act"), wanted.numpy())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "shape",
    [
        (1024, 256),
        (256, 1024),
        (512, 512, 3, 3),
        (64, 512),
        (32, 64, 56, 56),
        (8, 128, 768),
        (4096, 4096),
        (100_003,),
    ],
)
@pytest.mark.parametrize("is_channels_last", [False, True])
def test_a_sample_comes_from_everywhere(shape: tuple[int, ...], is_channels_last: bool) -> None:
    if is_channels_last and len(shape) != 4:
        return
    stride = torch.empty(shape, device="meta").stride()
    if is_channels_last:
        stride = torch.empty(shape, device="meta").to(memory_format=torch.channels_last).stride()
    size = int(numpy.prod(shape))
    outline = Outline(shape=shape, stride=stride, dtype="float32", item_bytes=4)
    pieces = pieces_of(outline, "weight", SAMPLE, 0)
    starts = numpy.arange(pieces.run_shape[0]) * pieces.run_stride[0]
    places = (starts[:, None] + numpy.arange(pieces.run_shape[1])).reshape(-1)

    assert places.max() + pieces.room - 1 < size
    assert places.max() > 0.89 * size
    for dim_size, dim_stride in zip(shape, stride, strict=True):
        assert len(set(places // dim_stride % dim_size)) >= min(60, 0.8 * dim_size)


def test_the_gradient_of_a_sum_is_seen() -> None:
    model = nn.Linear(16, 200)
    optimizer = SGD(model.parameters(), 0.1)
    watched = Pretended(model, optimizer)
    model(torch.randn(32, 16)).sum().backward()
    optimizer.step()
    watched.close()

    row = watched.seen[0].row("Grad")
    assert (row["total"], row["low"], row["high"]) == (32 * 200, 1, 1)


def test_a_tensor_of_nine_dimensions_has_figures_and_no_excerpt() -> None:
    class Deep(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.view(2, 2, 2, 2, 2, 1, 1, 1, 1)

    model = nn.Sequential(Deep())
    watched = Pretended(model)
    model(torch.arange(32.0))
    watched.close()

    assert watched.seen[0].sample("0.Act").tolist() == list(range(32))
    assert watched.seen[0].excerpt("0.Act") is None


def test_small_tensors_of_wide_numbers_have_exact_figures() -> None:
    model = nn.Identity()
    watched = Pretended(model, layers=lambda name, module: True)
    model(torch.tensor([1e40, -3.0, 1e-50], dtype=torch.float64))
    watched.close()

    row = watched.seen[0].row("Act")
    assert row["flags"] & IS_EXACT
    assert (row["high"], row["num_inf"]) == (1e40, 0)


def test_an_empty_batch_is_no_trouble() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    watched = Pretended(model)
    model(torch.randn(0, 4))
    watched.close()

    assert watched.seen[0].shape("1.Act") == (0, 4)


def test_shapes_that_never_come_again_are_forgotten() -> None:
    model = nn.Sequential(nn.Linear(4, 4))
    watched = Pretended(model)
    for size in range(1, 200):
        model(torch.randn(size, 4))
    look = watched.watcher._parts[0].look
    watched.close()

    assert look is not None
    assert max(map(len, look.writer._pieces)) <= 8


def test_dead_units_are_those_that_are_0_for_the_whole_batch() -> None:
    model = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU())
    with torch.no_grad():
        model[0].bias[[1, 4]] = -100  # type: ignore[index]
    optimizer = SGD(model.parameters(), 0.0)
    watched = Pretended(model, optimizer)
    train_step(model, optimizer, torch.randn(5, 1, 12, 12))

    assert watched.seen[0].units("1.Act").tolist() == [1, 0, 1, 1, 0, 1]
    watched.close()


@pytest.mark.parametrize("size", [100, 5000, 600_000])
def test_not_one_nan_of_a_gradient_is_missed_and_the_figures_are_of_the_others(size: int) -> None:
    model = nn.Linear(size // 10, 10, bias=False)
    optimizer = SGD(model.parameters(), 0.1)
    watched = Pretended(model, optimizer)
    gradient = torch.randn(10, size // 10)
    gradient.view(-1)[size // 3] = torch.nan
    gradient.view(-1)[size // 2] = torch.inf
    gradient.view(-1)[size // 2 + 1] = -torch.inf
    model.weight.grad = gradient
    optimizer.step()
    watched.close()

    row = watched.seen[0].row("weight.Grad")
    if size <= SAMPLE:
        assert numpy.isnan(watched.seen[0].sample("weight.Grad")).sum() == 1
        return
    finite = gradient[gradient.isfinite()].double()
    assert (row["num_nan"], row["num_inf"]) == (1, 2)
    assert row["total"] == pytest.approx(finite.sum().item(), abs=1e-3)
    assert row["squares"] == pytest.approx(finite.square().sum().item(), rel=1e-6)
    assert (row["low"], row["high"]) == (finite.min().item(), finite.max().item())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_large_activation_is_known_by_a_part_from_all_over_it(dtype: torch.dtype) -> None:
    model = nn.Identity()
    x = (3 + 2 * torch.randn(64, 128, 40)).to(dtype)
    x[20:40] = torch.nan
    watched = Pretended(model, layers=lambda name, module: True)
    for _ in range(3):
        model(x)
    watched.close()

    finite = x[x.isfinite()].double()
    for seen in watched.seen:
        row = seen.row("Act")
        num_finite = row["num_elements"] - row["num_nan"]
        assert row["num_nan"] == pytest.approx(20 * 128 * 40, rel=0.1)
        assert row["total"] / num_finite == pytest.approx(finite.mean().item(), abs=0.15)
        assert (row["squares"] / num_finite) ** 0.5 == pytest.approx(13**0.5, rel=0.05)
        assert finite.min() <= row["low"] < -2
        assert 8 < row["high"] <= finite.max()


def test_squares_too_large_for_a_float_are_no_infinities() -> None:
    model = nn.Identity()
    watched = Pretended(model, layers=lambda name, module: True)
    model(torch.full((5000,), 1e30))
    watched.close()

    row = watched.seen[0].row("Act")
    assert row["squares"] == pytest.approx(5000 * 1e60, rel=1e-5)
    assert row["num_inf"] == 0


def test_the_head_of_a_row_is_read_as_it_was_written() -> None:
    shapes = range(100, 124)  # the shape, that of the excerpt, and its steps
    head = ROW_HEAD.pack(1, 2, 3, 4, 5, 6, *shapes) + FIGURES.pack(0.5, 1.5, 2.5, 3.5, 7, 8, 9)
    (row,) = numpy.frombuffer(head, ROW_TYPE)

    assert row.tolist()[:6] == (1, 2, 3, 4, 5, 6)
    assert [*row["shape"], *row["excerpt_shape"], *row["excerpt_steps"]] == list(shapes)
    assert row.tolist()[9:] == (0.5, 1.5, 2.5, 3.5, 7, 8, 9)


@pytest.mark.parametrize("tensors", ["sample", None])
@pytest.mark.parametrize("size", [8, 40, 100])
def test_a_weight_that_is_replaced_or_turned_is_seen_where_it_is_now(tensors: Any, size: int) -> None:
    model = nn.Linear(size, size)
    optimizer = SGD(model.parameters(), 0.1)
    watched = Pretended(model, optimizer, room=Room(tensors=tensors))
    seen = []
    for change in (lambda w: w, lambda w: w.clone() + 1, lambda w: w.t(), lambda w: w.double().float()):
        model.weight.data = change(model.weight.data)
        oracle = Oracle(model)
        with oracle.watching():
            train_step(model, optimizer, torch.randn(3, size))
        seen.append(oracle.values)
    watched.close()

    assert len(watched.seen) == len(seen)
    for frame, values in zip(watched.seen, seen, strict=True):
        for name in ("weight", "weight.Grad", "weight.Delta", "bias", "bias.Delta"):
            check(frame, name, values[name])


def test_a_weight_that_is_frozen_at_first_is_seen_without_a_word() -> None:
    model = nn.Linear(40, 40)
    model.weight.requires_grad_(False)
    optimizer = SGD(model.parameters(), 0.1)
    watched = Pretended(model, optimizer, room=Room(tensors=None))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for step in range(4):
            model.weight.requires_grad_(step > 1)
            train_step(model, optimizer, torch.randn(3, 40))
    watched.close()

    check(watched.seen[-1], "weight", model.weight)
