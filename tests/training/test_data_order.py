"""An epoch that was interrupted goes on with the batches that it would have had, whatever the loader."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from torch.utils.data.distributed import DistributedSampler

from torcheer.errors import InputError
from torcheer.training import DataOrder
from torcheer.training.checkpoint.state_tree import decoded, encoded

NUMBERS = torch.arange(12.0).reshape(12, 1)


class Noisy(Dataset[Tensor]):
    """Draws from all three sources, as augmentations do."""

    def __len__(self) -> int:
        return len(NUMBERS)

    def __getitem__(self, index: int) -> Tensor:
        return NUMBERS[index] + torch.rand(1) + random.random() + float(np.random.rand())


class OwnNoise(Noisy):
    """Draws from generators of its own, one of them used in a function that it holds."""

    def __init__(self) -> None:
        self.numbers = np.random.default_rng(3)
        own = random.Random(4)
        self.transforms = [lambda x: x + own.random()]

    def __getitem__(self, index: int) -> Tensor:
        return self.transforms[0](NUMBERS[index] + self.numbers.random())


class Stream(IterableDataset[Tensor]):
    """A buffer that shuffles: what it drew for one item decides which are left for later ones."""

    def __init__(self, draw: Callable[[int], int]) -> None:
        self.draw = draw
        self.epoch = 0

    def __iter__(self) -> Iterator[Tensor]:
        self.epoch += 1  # nobody tells it
        buffer = list(NUMBERS + 100 * self.epoch)
        while buffer:
            yield buffer.pop(self.draw(len(buffer)))


class Counting(Sampler[int]):
    """Shuffles its own list in place, and counts its epochs without a set_epoch."""

    def __init__(self) -> None:
        self.order = list(range(12))
        self.num_epochs = 0

    def __iter__(self) -> Iterator[int]:
        self.num_epochs += 1
        random.shuffle(self.order)
        shift = self.num_epochs
        return iter([(index + shift) % 12 for index in self.order])

    def __len__(self) -> int:
        return 12


class Lazily(Counting):
    """Draws an item when it is asked for one."""

    def __iter__(self) -> Iterator[int]:
        left = list(range(12))
        while left:
            yield left.pop(int(torch.randint(len(left), ())))


class Batches:
    """No DataLoader at all."""

    def __iter__(self) -> Iterator[Tensor]:
        return iter(NUMBERS[torch.randperm(12)].split(3))


def loader(data: Any = None, **options: Any) -> DataLoader[Any]:
    return DataLoader(Noisy() if data is None else data, batch_size=3, **options)


def seeded(seed: int = 5) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def of_torch(size: int) -> int:
    return int(torch.randint(size, ()))


LOADERS: dict[str, Callable[[], Any]] = {
    "shuffle": lambda: loader(shuffle=True),
    "own generator": lambda: loader(shuffle=True, generator=seeded()),
    "sampler's generator": lambda: loader(
        sampler=RandomSampler(NUMBERS, replacement=True, generator=seeded())
    ),
    "subset": lambda: loader(sampler=SubsetRandomSampler(range(12))),
    "weighted": lambda: loader(sampler=WeightedRandomSampler([1.0, 2.0] * 6, 12)),
    "distributed": lambda: loader(sampler=DistributedSampler(Noisy(), 2, 1, seed=3)),
    "dataset's generator": lambda: loader(OwnNoise(), shuffle=True),
    "list in place": lambda: loader(sampler=Counting()),
    "drawn lazily": lambda: loader(sampler=Lazily()),
    "stream": lambda: loader(Stream(of_torch)),
    "stream of random": lambda: loader(Stream(random.randrange)),
    "stream of numpy": lambda: loader(Stream(np.random.randint)),
    "no loader": Batches,
    "list": lambda: list(NUMBERS.split(3)),
    "workers": lambda: loader(shuffle=True, num_workers=2),
    "persistent workers": lambda: loader(shuffle=True, num_workers=1, persistent_workers=True),
    "stream in a worker": lambda: loader(Stream(of_torch), num_workers=1),
}
QUICK = [name for name in LOADERS if "worker" not in name]


def train(order: DataOrder, epochs: range, stop_after: int | None = None) -> list[Tensor]:
    """What a training would see; it draws random numbers in turn with the data."""
    seen: list[Tensor] = []
    for epoch in epochs:
        for batch in order.epoch(epoch):
            (data,) = batch if isinstance(batch, list) else (batch,)
            seen.append(data + torch.rand(3, 1) + random.random() + float(np.random.rand()))
            if len(seen) == stop_after:
                return seen
    return seen


def reseed(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


def kept(order: DataOrder) -> Any:
    """The state as a checkpoint keeps it."""
    nodes, table = encoded({"data": order.state()})
    return decoded(nodes, {name: tensor.clone() for name, tensor in table.tensors.items()})["data"]


def assert_goes_on(name: str, stops: tuple[int, ...]) -> None:
    reseed(1)
    whole = train(DataOrder(LOADERS[name]()), range(3))
    per_epoch = len(whole) // 3
    assert per_epoch in (2, 4)
    for stop in stops:
        reseed(1)
        first = DataOrder(LOADERS[name]())
        seen = train(first, range(3), stop_after=stop)
        state = kept(first)
        reseed(2)

        second = DataOrder(LOADERS[name]())
        second.load_state(state)
        # The last batch of an epoch was handed out, but nobody has asked for more: that epoch is not over.
        seen += train(second, range((stop - 1) // per_epoch, 3))

        assert len(seen) == len(whole), f"after {stop} batches"
        assert all(map(torch.equal, seen, whole)), f"after {stop} batches"


@pytest.mark.parametrize("name", QUICK)
def test_an_epoch_goes_on_in_the_middle(name: str) -> None:
    assert_goes_on(name, (1, 4, 6, 11) if name != "distributed" else (1, 2, 5))


@pytest.mark.parametrize("name", [name for name in LOADERS if name not in QUICK])
def test_it_does_with_workers(name: str) -> None:
    assert_goes_on(name, (6,))


def test_an_epoch_that_is_over_is_not_gone_on_with() -> None:
    reseed(1)
    whole = train(DataOrder(LOADERS["list in place"]()), range(2))
    reseed(1)
    first = DataOrder(LOADERS["list in place"]())
    train(first, range(1))
    state = kept(first)
    reseed(2)

    second = DataOrder(LOADERS["list in place"]())
    second.load_state(state)

    assert list(second.epoch(0)) == []
    second.load_state(state)
    assert all(map(torch.equal, train(second, range(1, 2)), whole[4:]))


class Slow(Sampler[int]):
    """Is interrupted after it has drawn, before there is a batch."""

    def __iter__(self) -> Iterator[int]:
        raise KeyboardInterrupt(torch.randperm(12), random.random())

    def __len__(self) -> int:
        return 12


def test_an_epoch_that_has_not_begun_begins_as_it_would_have() -> None:
    interrupted, other = DataOrder(loader(sampler=Slow())), DataOrder(LOADERS["shuffle"]())
    reseed(1)
    with pytest.raises(KeyboardInterrupt):
        next(interrupted.epoch(0))
    other.load_state(kept(interrupted))
    reseed(2)
    begun = train(other, range(1))
    reseed(1)

    assert all(map(torch.equal, begun, train(DataOrder(LOADERS["shuffle"]()), range(1))))


def test_it_can_be_interrupted_again_and_again() -> None:
    reseed(1)
    whole = train(DataOrder(LOADERS["stream"]()), range(1))
    reseed(1)
    order, seen = DataOrder(LOADERS["stream"]()), []
    for _ in range(4):
        seen += train(order, range(1), stop_after=1)
        state = kept(order)
        reseed(2)
        order = DataOrder(LOADERS["stream"]())
        order.load_state(state)
        assert kept(order)["num_batches"] == len(seen)  # also before it goes on

    assert all(map(torch.equal, seen, whole))


def test_looking_at_the_order_does_not_change_it() -> None:
    reseed(1)
    plain = [batch + torch.rand(3, 1) for _ in range(2) for batch in LOADERS["shuffle"]()]
    reseed(1)
    order = DataOrder(LOADERS["shuffle"]())

    seen = [batch + torch.rand(3, 1) for epoch in range(2) for batch in order.epoch(epoch) if order.state()]

    assert all(map(torch.equal, seen, plain))


def test_what_a_constructor_set_is_not_put_back() -> None:
    """Who resumes with another setting means it."""
    first = LOADERS["list in place"]()
    first.sampler.shift = 1
    order = DataOrder(first)
    train(order, range(1))
    state = order.state()

    second = LOADERS["list in place"]()
    second.sampler.shift = 2
    order = DataOrder(second)
    order.load_state(state)
    train(order, range(1, 2))

    assert (second.sampler.shift, second.sampler.num_epochs) == (2, 2)


def test_fewer_data_than_were_seen_are_an_error() -> None:
    order = DataOrder(list(NUMBERS.split(3)))
    train(order, range(1), stop_after=3)
    state = order.state()

    shorter = DataOrder(list(NUMBERS[:6].split(3)))
    shorter.load_state(state)

    with pytest.raises(InputError, match=r"has 2 batches.*interrupted after 3"):
        train(shorter, range(1))


def test_states_are_noted_only_where_data_and_model_draw_in_turn() -> None:
    def num_noted(model_draws: Callable[[], object]) -> int:
        order = DataOrder(LOADERS["stream"]())
        for batch, _ in enumerate(order.epoch(0)):
            model_draws()
            if batch == 2:
                break
        return len(order.state()["journal"]["notes"])

    assert num_noted(random.random) == 0
    assert num_noted(lambda: torch.rand(1)) == 2


def test_samplers_are_told_which_epoch_begins() -> None:
    order = DataOrder(DataLoader(NUMBERS, sampler=DistributedSampler(NUMBERS, 1, 0), batch_size=12))

    assert not torch.equal(next(order.epoch(0)), next(order.epoch(1)))
