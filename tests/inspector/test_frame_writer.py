"""Which numbers of a tensor are seen, however it lies in memory, and what is not finite."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD

from tests.inspector.fake_child import Pretended
from tests.inspector.oracle import SAMPLE, Oracle, check, train_step
from torcheer.inspector.frame_format import ROW_HEAD, ROW_TYPE, RowFlag, Whole, write_head, write_num_units
from torcheer.inspector.sampling import pieces_of
from torcheer.inspector.watched_share import Room

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
    tensor = torch.empty(shape, device="meta")
    if is_channels_last:
        tensor = tensor.to(memory_format=torch.channels_last)
    size = tensor.numel()
    pieces = pieces_of(tensor, "weight", SAMPLE, 0)
    starts = numpy.arange(pieces.run_shape[0]) * pieces.run_stride[0]
    places = (starts[:, None] + numpy.arange(pieces.run_shape[1])).reshape(-1)

    assert places.max() + pieces.room - 1 < size
    assert places.max() > 0.89 * size
    for dim_size, dim_stride in zip(shape, tensor.stride(), strict=True):
        assert len(set(places // dim_stride % dim_size)) >= min(60, 0.8 * dim_size)


def test_the_gradient_of_a_sum_is_seen() -> None:
    model = nn.Linear(16, 200)
    optimizer = SGD(model.parameters(), 0.1)
    watched = Pretended(model, optimizer)
    model(torch.randn(32, 16)).sum().backward()
    optimizer.step()
    watched.close()

    row = watched.seen[0].row("Grad")
    assert (row["mean"], row["low"], row["high"]) == (1, 1, 1)


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
    assert row["flags"] & RowFlag.MOMENTS
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
    assert row["flags"] & RowFlag.POSITIVE_INF
    assert row["norm"] == pytest.approx(finite.norm().item(), rel=1e-6)
    assert row["mean"] == pytest.approx(finite.mean().item(), rel=1e-4)
    assert (row["low"], row["high"]) == (finite.min().item(), finite.max().item())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
@pytest.mark.parametrize("num_nan", [0, 1, 100_000])
def test_the_norm_of_a_large_activation_is_that_of_the_whole_at_every_look(
    dtype: torch.dtype, num_nan: int
) -> None:
    model = nn.Identity()
    x = (3 + 2 * torch.randn(64, 128, 40)).to(dtype)
    x.view(-1)[200_000] = 1000  # in no sample, or by chance
    x.view(-1)[1000 : 1000 + num_nan] = torch.nan
    watched = Pretended(model, layers=lambda name, module: True)
    for _ in range(5):
        model(x)
    watched.close()

    finite = x[x.isfinite()].double()
    assert len(watched.seen) == 5
    for seen in watched.seen:
        row = seen.row("Act")
        assert row["flags"] & RowFlag.NORM
        assert row["num_nan"] == num_nan
        assert row["norm"] == pytest.approx(finite.norm().item(), rel=1e-5)
    assert any(seen.row("Act")["flags"] & RowFlag.MOMENTS for seen in watched.seen)
    for seen in watched.seen:
        row = seen.row("Act")
        if row["flags"] & RowFlag.MOMENTS:
            assert row["mean"] == pytest.approx(finite.mean().item(), rel=1e-5)
            assert row["std"] == pytest.approx(finite.std().item(), rel=1e-4)
            assert (row["low"], row["high"]) == (finite.min().item(), 1000)


def test_of_every_kind_of_large_tensor_the_norm_is_that_of_the_whole() -> None:
    """Weights with outliers, their gradients, updates, and what Adam keeps: none may rest on a sample."""
    model = nn.Linear(512, 2048)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    with torch.no_grad():
        model.weight.view(-1)[[77_777, 900_001]] = torch.tensor([50.0, -90.0])
    watched = Pretended(model, optimizer)
    for _ in range(4):
        before = model.weight.detach().clone()
        model(torch.randn(8, 512)).square().mean().backward()
        gradient = model.weight.grad.clone()  # type: ignore[union-attr]
        optimizer.step()
        optimizer.zero_grad()
    watched.close()

    state = optimizer.state[model.weight]
    wanted = {
        "weight": model.weight.detach(),
        "weight.Grad": gradient,
        "weight.Delta": model.weight.detach() - before,
        "weight.exp_avg": state["exp_avg"],
        "weight.exp_avg_sq": state["exp_avg_sq"],
    }
    for name, tensor in wanted.items():
        row = watched.seen[-1].row(name)
        assert row["flags"] & RowFlag.NORM, name
        assert row["norm"] == pytest.approx(tensor.double().norm().item(), rel=1e-5), name


def test_one_nan_in_a_weight_is_seen_at_every_look() -> None:
    model = nn.Linear(300, 300)
    optimizer = SGD(model.parameters(), 0.0)
    watched = Pretended(model, optimizer, observe="weight")
    with torch.no_grad():
        model.weight[123, 45] = torch.nan
    for step in range(30):
        optimizer.step()
        assert len(watched.seen) == step + 1
    watched.close()

    assert [int(seen.row("weight")["num_nan"]) for seen in watched.seen] == [1] * 30


@pytest.mark.parametrize("size", [40_000, 1 << 18, (1 << 20) + 5000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_norm_of_what_stays_as_it_is_stays_the_same_however_it_is_read(
    size: int, dtype: torch.dtype
) -> None:
    model = nn.Identity()
    x = torch.randn(size).to(dtype)
    x[5] = 500.0  # beside it, in one sum of float32, much is rounded away
    watched = Pretended(model, layers=lambda name, module: True)
    for _ in range(4):
        model(x)
    watched.close()

    rows = [seen.row("Act") for seen in watched.seen]
    assert {bool(row["flags"] & RowFlag.MOMENTS) for row in rows} == {True, False}
    assert [float(row["norm"]) for row in rows] == pytest.approx([float(rows[0]["norm"])] * 4, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-38, 1e-25, 1e-15, 1.0, 1e15, 1e25, 1e37])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_norm_holds_for_numbers_of_any_size(scale: float, dtype: torch.dtype) -> None:
    model = nn.Identity()
    x = (torch.randn(20_000, dtype=torch.float64) * scale).to(dtype)
    watched = Pretended(model, layers=lambda name, module: True)
    for _ in range(3):
        model(x)
    watched.close()

    wanted = x.double() / scale
    for seen in watched.seen:
        row = seen.row("Act")
        assert row["norm"] / scale == pytest.approx(wanted.norm().item(), rel=1e-4)
        assert row["num_inf"] == row["num_nan"] == 0
        if row["flags"] & RowFlag.MOMENTS:
            assert row["std"] / scale == pytest.approx(wanted.std().item(), rel=1e-4)


def test_mean_and_extremes_of_a_large_tensor_are_read_at_least_once_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr("torcheer.inspector.frame_writer.time.monotonic", lambda: now)
    for interval in (0.02, 0.3, 0.45, 3.0):
        model = nn.Sequential(nn.Linear(100, 200), nn.Linear(200, 300), nn.Linear(300, 100))
        optimizer = SGD(model.parameters(), 0.1)
        watched = Pretended(model, optimizer, observe="weight")
        last: dict[str, float] = {}
        shares = []
        for step in range(100):
            now += interval
            optimizer.step()
            seen = watched.seen[-1]
            large = [name for name in seen.names if name.endswith("weight")]
            whole = [name for name in large if seen.row(name)["flags"] & RowFlag.MOMENTS]
            shares.append(len(whole) / len(large))
            for name in large:
                assert now - last.get(name, now) <= max(1.0, interval) + 1e-6, (interval, step)
            last |= dict.fromkeys(whole, now)
        watched.close()
        # And not much more often than that.
        assert sum(shares[10:]) / len(shares[10:]) <= min(1.0, 2.1 * interval), interval


def test_what_there_is_no_memory_for_is_known_by_a_sample_and_does_not_say_otherwise() -> None:
    model = nn.Linear(300, 300)
    optimizer = SGD(model.parameters(), 0.1)
    watched = Pretended(model, optimizer, observe=["weight", "update"], room=Room(copied_bytes=10_000))
    for _ in range(2):
        model(torch.randn(4, 300)).square().mean().backward()
        optimizer.step()
    watched.close()

    row = watched.seen[-1].row("weight.Delta")
    assert row["num_sampled"] == SAMPLE
    assert not row["flags"] & (RowFlag.NORM | RowFlag.MOMENTS)
    assert watched.seen[-1].row("bias.Delta")["num_sampled"] == 300


@pytest.mark.parametrize("values", ["ordinary", "with others", "constant", "saturated"])
def test_exact_makes_every_figure_that_of_the_whole(values: str) -> None:
    class Given(nn.Sigmoid):
        def forward(self, x: Tensor) -> Tensor:
            return x

    Given.__name__ = "Sigmoid"
    model = nn.Sequential(Given())
    x = torch.rand(50, 400)
    if values == "with others":
        x.view(-1)[:3] = torch.tensor([torch.nan, torch.inf, -torch.inf])
    elif values == "constant":
        x[:] = 0.25
    elif values == "saturated":
        x[::2] = 1.0
    watched = Pretended(model, room=Room(exact=True))
    for _ in range(3):
        model(x)
    watched.close()

    finite = x[x.isfinite()].double().numpy()
    for seen in watched.seen:
        row = seen.row("0.Act")
        assert (row["num_nan"], row["num_inf"]) == (int(x.isnan().sum()), int(x.isinf().sum()))
        assert row["mean"] == pytest.approx(finite.mean())
        assert row["std"] == pytest.approx(finite.std(ddof=1), rel=1e-4)
        assert row["quantiles"] == pytest.approx(
            numpy.quantile(finite, (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99))
        )
        assert row["zeros"] == (x == 0).float().mean().item()
        assert row["saturated"] == pytest.approx(((finite <= 0.01) | (finite >= 0.99)).mean())


def test_squares_too_large_for_a_float_are_no_infinities() -> None:
    model = nn.Identity()
    watched = Pretended(model, layers=lambda name, module: True)
    model(torch.full((5000,), 1e30))
    watched.close()

    row = watched.seen[0].row("Act")
    assert row["norm"] == pytest.approx(5000**0.5 * 1e30, rel=1e-5)
    assert row["num_inf"] == 0


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e200, 1e305])
@pytest.mark.parametrize("size", [2, 20_000])
def test_squares_beyond_a_double_do_no_harm(size: int, scale: float) -> None:
    model = nn.Identity()
    watched = Pretended(model, layers=lambda name, module: True)
    x = torch.full((size,), scale, dtype=torch.float64)
    x[::2] /= 2
    model(x)
    watched.close()

    row, wanted = watched.seen[0].row("Act"), x / scale
    assert row["norm"] / scale == pytest.approx(wanted.norm().item(), rel=1e-6)
    assert row["std"] / scale == pytest.approx(wanted.std().item(), rel=1e-6)
    assert row["mean"] / scale == pytest.approx(0.75, rel=1e-6)
    assert row["num_inf"] == row["num_nan"] == 0


def test_the_head_of_a_row_is_read_as_it_was_written() -> None:
    shapes = range(100, 124)  # the shape, that of the excerpt, and its steps
    memory = memoryview(bytearray(2 * ROW_TYPE.itemsize))
    whole = Whole(0.5, 7, 8, True, (1.5, 2.5, 3.5, 4.5), tuple(range(20, 29)))
    head = ROW_HEAD.pack(RowFlag.SEEN, 2, 3, 4, 5, 6, *shapes)
    write_head(memory, ROW_TYPE.itemsize, head, whole, num_units=1, flags=RowFlag.SOME_UNITS)
    write_num_units(memory, ROW_TYPE.itemsize, 9)
    empty, row = numpy.frombuffer(memory, ROW_TYPE)

    flags = (
        RowFlag.SEEN
        | RowFlag.NORM
        | RowFlag.MOMENTS
        | RowFlag.ORDER
        | RowFlag.POSITIVE_INF
        | RowFlag.SOME_UNITS
    )
    assert not numpy.array(empty).tobytes().strip(b"\0")
    assert row.tolist()[:6] == (flags, 2, 3, 4, 5, 6)
    assert [*row["shape"], *row["excerpt_shape"], *row["excerpt_steps"]] == list(shapes)
    assert row.tolist()[9:-1] == (0.5, 1.5, 2.5, 3.5, 4.5, 7, 8, 9, 20, 21)
    assert row["quantiles"].tolist() == list(range(22, 29))


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
