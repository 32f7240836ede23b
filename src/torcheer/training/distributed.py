"""What a training of several processes needs: who reports, who has which data, and what all of them agree on.

In a program of one process all of this does nothing, so that whoever calls it need not ask first. Where there
is a process group, the functions that exchange something must be called by every rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
import torch.distributed
from torch import Tensor
from torch.utils.data.distributed import DistributedSampler

from torcheer.models import has_process_group, rank_of

T = TypeVar("T")
V = TypeVar("V")


def is_main() -> bool:
    """Whether this process reports: the progress, what is printed, the charts."""
    return rank_of() == 0


def is_connected() -> bool:
    """Whether there are other processes to exchange something with."""
    return has_process_group() and torch.distributed.get_world_size() > 1


def names_of_rank(values: Mapping[str, V]) -> dict[str, V]:
    """The names under which this rank records: rank 0 as they are, others apart, `rank-1/train/loss`.

    So a chart shows one curve, and those of the other ranks are beside it.
    """
    number = rank_of()
    return dict(values) if number == 0 else {f"rank-{number}/{name}": value for name, value in values.items()}


def set_epoch(loader: Any, epoch: int) -> None:
    """Tell the samplers which epoch begins: a DistributedSampler shuffles anew only then."""
    told: list[Any] = []
    for one in (loader, *_samplers(loader), getattr(loader, "dataset", None)):
        tell = getattr(one, "set_epoch", None)
        if callable(tell) and not any(one is other for other in told):
            told.append(one)
            tell(epoch)


def is_sharded(loader: Any) -> bool:
    """Whether each rank gets other items of the data, as a DistributedSampler hands them out."""
    numbers = [getattr(sampler, "num_replicas", 1) for sampler in _samplers(loader)]
    return is_connected() and any(isinstance(number, int) and number > 1 for number in numbers)


@contextmanager
def unpadded(loader: Any) -> Iterator[None]:
    """No item twice, and none left out: a DistributedSampler repeats or drops some so that all ranks have
    as many. For what counts each item once. The ranks may then have different numbers of batches, so nothing
    may be exchanged batch by batch: run the model itself, not a DistributedDataParallel around it.
    """
    sampler = next((one for one in _samplers(loader) if type(one) is DistributedSampler), None)
    if sampler is None:
        yield
        return
    before = sampler.total_size, sampler.num_samples
    whole = len(sampler.dataset)  # type: ignore[arg-type]  # as it asked itself
    sampler.total_size = whole
    sampler.num_samples = len(range(sampler.rank, whole, sampler.num_replicas))
    try:
        yield
    finally:
        sampler.total_size, sampler.num_samples = before


def _samplers(loader: Any) -> list[Any]:
    batch_sampler = getattr(loader, "batch_sampler", None)
    inner = getattr(batch_sampler, "batch_sampler", None)  # of accelerate's shards
    found = (getattr(loader, "sampler", None), batch_sampler, getattr(batch_sampler, "sampler", None), inner)
    return [
        one
        for number, one in enumerate(found)
        if one is not None and not any(one is other for other in found[:number])
    ]


def summed(values: Sequence[float] | Tensor) -> Tensor:
    """The sums over all ranks, as float64 on the CPU: the same, bit by bit, on each of them."""
    total = torch.as_tensor(values, dtype=torch.float64).detach().to("cpu", copy=True)
    if is_connected():
        if torch.distributed.get_backend() == "nccl":  # exchanges tensors of GPUs only
            total = total.to(torch.device("cuda", torch.cuda.current_device()))
        torch.distributed.all_reduce(total)
    return total.cpu()


def mean_over_ranks(values: Mapping[str, Any], weight: float = 1.0) -> dict[str, float]:
    """The means of numbers that every rank has under the same names, where this one counts `weight` times."""
    if not is_connected():
        return {name: float(value) for name, value in values.items()}
    names = sorted(values)
    own = [float(values[name]) * weight for name in names]
    *totals, weights = summed([*own, weight]).tolist()
    means = dict(zip(names, totals, strict=True))
    return {name: means[name] / weights if weights else float("nan") for name in values}


def any_rank(flag: bool) -> bool:
    """Whether one of the ranks says so. Whoever stops a training alone leaves the others waiting for ever."""
    return bool(summed([float(flag)])[0]) if is_connected() else flag


def from_main(value: T) -> T:
    """What rank 0 has, on every rank."""
    if not is_connected():
        return value
    box = [value]
    torch.distributed.broadcast_object_list(box, src=0)
    return box[0]


def gathered(value: T) -> list[T]:
    """What each rank has, in their order, on every rank."""
    if not is_connected():
        return [value]
    boxes: list[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(boxes, value)
    return boxes
