"""The items of a test set, each with a number that stays: in the order of the loader, over all its batches.

A loader that shuffles is taken in the order of its data set instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, RandomSampler, SequentialSampler

from torcheer.capture import split
from torcheer.errors import InputError
from torcheer.training.telling import warn

_KEPT: Final = (  # of a loader whose order is another
    "num_workers",
    "collate_fn",
    "pin_memory",
    "timeout",
    "worker_init_fn",
    "multiprocessing_context",
    "prefetch_factor",
    "persistent_workers",
)

_FEW: Final = 4  # items, where a loader does not say how many make a batch


class TestItems:
    """Batches of a test set, and single items of it."""

    def __init__(self, loader: Any, *, is_whole: bool) -> None:
        """`is_whole`: the model computes its loss, and is given the targets, too."""
        self._is_whole = is_whole
        self._loader = loader
        self._indices: list[Any] | None = None  # of the data set, by item, where it can be asked for each
        self.num_items: int | None = None  # None: not known before all were seen
        if _is_map_style(loader):
            self._fix_order(loader)
        elif isinstance(loader, list | tuple):
            self.num_items = sum(self.num_in(batch) for batch in loader)

    def _fix_order(self, loader: DataLoader[Any]) -> None:
        batches = [list(batch) for batch in loader.batch_sampler or ()]
        if isinstance(loader.sampler, RandomSampler) and not loader.sampler.replacement:
            warn(
                "the test loader shuffles: its items are taken in the order of the data set, so that each "
                "keeps its number. shuffle=False says so, too."
            )
            order = iter(sorted(index for batch in batches for index in batch))
            batches = [[next(order) for _ in batch] for batch in batches]
        self._indices = [index for batch in batches for index in batch]
        self.num_items = len(self._indices)
        if not isinstance(loader.sampler, SequentialSampler):
            kept = {name: getattr(loader, name) for name in _KEPT}
            self._loader = DataLoader(loader.dataset, batch_sampler=batches, **kept)

    def batches(self) -> Iterator[Any]:
        """All of them. Whoever goes through them to the end knows how many items there are."""
        num_items = 0
        for batch in self._loader:
            num_items += self.num_in(batch)
            yield batch
        self.num_items = num_items

    def item(self, number: Any) -> Any:
        """A batch of that item alone."""
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise InputError(f"item {number!r}: items of the test set are numbered from 0.")
        if self.num_items is not None and number >= self.num_items:
            raise self._missing(number)
        if self._indices is not None:
            loader = self._loader
            return loader.collate_fn([loader.dataset[self._indices[number]]])
        first = 0
        for batch in self._loader:
            num_items = self.num_in(batch)
            if number < first + num_items:
                return item_of(batch, number - first, num_items)
            first += num_items
        self.num_items = first
        raise self._missing(number)

    def num_in(self, batch: Any) -> int:
        return split(batch, whole=self._is_whole).num_items

    def _missing(self, number: int) -> InputError:
        return InputError(
            f"there is no item {number}: the test set has {self.num_items} of them, numbered from 0."
        )


def item_of(value: Any, number: int, num_items: int) -> Any:
    """One item of something that a batch holds, or a model gave for it, as if it were alone."""
    if isinstance(value, Tensor):
        return value[number : number + 1] if value.ndim and len(value) == num_items else value
    if isinstance(value, Mapping):
        return {key: item_of(part, number, num_items) for key, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(item_of(part, number, num_items) for part in value))
    if isinstance(value, tuple) or (
        isinstance(value, list) and any(isinstance(one, Tensor) for one in value)
    ):
        return type(value)(item_of(part, number, num_items) for part in value)
    if isinstance(value, list) and len(value) == num_items:
        return value[number : number + 1]
    return value


def first_batch(loader: Any) -> Any | None:
    """A batch to look at before the training, without going through the loader; None where that needs it."""
    if isinstance(loader, list | tuple):
        return loader[0] if loader else None
    if not _is_map_style(loader):
        return None
    try:
        num_items = min(loader.batch_size or _FEW, len(loader.dataset))
        return loader.collate_fn([loader.dataset[index] for index in range(num_items)])
    except Exception:  # the sampler may know other indices than 0, 1, 2
        return None


def _is_map_style(loader: Any) -> bool:
    """A loader of torch's over a data set that can be asked for any item, and that makes batches of them."""
    if type(loader) is not DataLoader or loader.batch_sampler is None:
        return False
    return not isinstance(loader.dataset, IterableDataset) and hasattr(loader.dataset, "__getitem__")
