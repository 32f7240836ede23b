"""A test set, batch by batch: of tensors, a Dataset, a DataLoader, or anything that yields batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy
import torch
from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, SequentialSampler

from torcheer.capture.nesting import map_tensors, tensors_in
from torcheer.errors import InputError

_LABELS: Final = ("labels", "label")  # as dictionaries name them
_KINDS: Final = (
    "a tensor, a pair (x, labels), a dictionary of tensors, a Dataset, a DataLoader, or anything that yields "
    "batches x or (x, y)"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """What a model is called with, and the labels of its items where they are known."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    labels: numpy.ndarray[Any, Any] | None
    num_items: int

    @property
    def first(self) -> Tensor:
        """The first tensor with items that goes in."""
        return next(tensor for _, tensor in tensors_in((self.args, dict(self.kwargs))) if tensor.ndim)

    def mapped(self, change: Callable[[Tensor], Tensor]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args, kwargs = map_tensors((self.args, dict(self.kwargs)), change)
        return args, kwargs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemSet:
    """Batches in their order, and how many items there are, where that is known before."""

    batches: Iterable[Batch]
    num_items: int | None
    is_in_order: bool = True  # as far as can be seen: the first item of the data comes first


def item_set_of(data: Any, batch_size: int) -> ItemSet:
    if batch_size < 1:
        raise InputError(f"batch_size is {batch_size}: it is one at least.")
    if isinstance(data, Tensor | numpy.ndarray | Mapping | tuple):
        return _whole(data, batch_size)
    if isinstance(data, Dataset):
        data = DataLoader(data, batch_size)
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise InputError(f"a {type(data).__name__} is no test set: give {_KINDS}.")
    if isinstance(data, DataLoader):
        sampler = data.sampler if type(data.batch_sampler) in (BatchSampler, type(None)) else None
        is_in_order = isinstance(sampler, SequentialSampler) or isinstance(data.dataset, IterableDataset)
        return ItemSet(batches=_each(data), num_items=_length(sampler), is_in_order=is_in_order)
    return ItemSet(batches=_each(data), num_items=None)


def _each(data: Iterable[Any]) -> Iterator[Batch]:
    """Not begun before the first batch is asked for: a loader draws a random number when it begins."""
    for given in data:
        yield batch_of(given)


def batch_of(given: Any) -> Batch:
    """A batch as a loader gives it: x, (x,), (x, y), or a dictionary; x may be several tensors itself."""
    x, y = given, None
    if isinstance(given, tuple | list):
        if len(given) not in (1, 2):
            raise InputError(
                f"a batch of {len(given)} things says not which of them are labels: give x or (x, y), where "
                "x may be a tuple or a dictionary of what the model takes."
            )
        x, y = given[0], given[1] if len(given) == 2 else None
    args, kwargs = _call_of(x)
    for name in _LABELS:
        given_label = kwargs.pop(name, None)
        y = given_label if y is None else y
    sizes = [tensor.shape[0] for _, tensor in tensors_in((args, kwargs)) if tensor.ndim]
    if not sizes:
        raise InputError(
            f"there is no tensor with items in a batch of {type(given).__name__}: give {_KINDS}."
        )
    return Batch(args=args, kwargs=kwargs, labels=_labels(y, sizes[0]), num_items=sizes[0])


def _call_of(x: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(x, Mapping):
        return (), {str(name): _tensor(part) for name, part in x.items()}
    if isinstance(x, tuple | list):
        return tuple(_tensor(part) for part in x), {}
    return (_tensor(x),), {}


def _labels(y: Any, num_items: int) -> numpy.ndarray[Any, Any] | None:
    """Where there is one for each item; a picture or a row of numbers for each is no label."""
    if isinstance(y, Tensor):
        y = y.detach().cpu().numpy() if y.dtype != torch.bfloat16 else y.detach().float().cpu().numpy()
    if y is None or isinstance(y, Mapping | str):
        return None
    try:
        labels = numpy.asarray(y)
    except ValueError:  # lists of different lengths
        return None
    return labels if labels.shape == (num_items,) and labels.dtype.kind != "O" else None


def _whole(data: Any, batch_size: int) -> ItemSet:
    """Arrays that hold all items: x, or a pair of it and labels."""
    is_pair = isinstance(data, tuple)
    if is_pair and len(data) not in (1, 2):
        raise InputError(f"a tuple of {len(data)} is no test set: give {_KINDS}.")
    parts = [
        numpy.asarray(part) if isinstance(part, list) else part for part in (data if is_pair else [data])
    ]
    arrays = [array for part in parts for array in (part.values() if isinstance(part, Mapping) else [part])]
    lengths = {len(array) for array in arrays if isinstance(array, Tensor | numpy.ndarray) and array.ndim}
    if len(lengths) != 1 or not all(isinstance(array, Tensor | numpy.ndarray) for array in arrays):
        raise InputError(
            "the parts of this test set are not arrays with a row for each item, all of one length: give "
            f"{_KINDS}."
        )
    (num_items,) = lengths

    def batches() -> Iterator[Batch]:
        for start in range(0, num_items, batch_size):
            rows = slice(start, start + batch_size)
            yield batch_of([_cut(part, rows) for part in parts])

    return ItemSet(batches=batches(), num_items=num_items)


def _cut(part: Any, rows: slice) -> Any:
    return {name: array[rows] for name, array in part.items()} if isinstance(part, Mapping) else part[rows]


def _tensor(value: Any) -> Any:
    return torch.from_numpy(value.copy()) if isinstance(value, numpy.ndarray) else value


def _length(sampler: Any) -> int | None:
    try:
        return len(sampler)
    except TypeError:
        return None
