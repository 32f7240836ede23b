"""Run a test set through a model and keep what its layers give. The model is afterwards as it was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from contextlib import ExitStack
from functools import partial
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, SequentialSampler

from torcheer.analysis import Array, labels_of
from torcheer.capture import map_tensors, same_model_after, same_random_state_after, tensors_in
from torcheer.errors import InputError
from torcheer.graph import Progress, readable_bytes
from torcheer.models import chosen_device, chosen_layers, same_modes_after, unwrapped_model, without_compiler
from torcheer.netview.analysis import Responses

_LABELS: Final = ("labels", "label")  # as dictionaries name them
_KINDS: Final = (
    "a tensor, a pair (x, labels), a dictionary of tensors, a Dataset, a DataLoader, or anything that yields "
    "batches x or (x, y)"
)


def responses(
    model: nn.Module,
    data: Any,
    *,
    layers: Any = "all",
    labels: ArrayLike | None = None,
    batch_size: int = 64,
    device: str | torch.device | None = None,
    keep_inputs: bool = True,
    max_bytes: int = 4 << 30,
) -> Responses:
    """What layers of a model respond to every item of a test set.

    - `data`: a tensor with a row for each item, a pair (x, labels), a dictionary of tensors, a Dataset, a
      DataLoader, or anything that yields batches x or (x, y). In a batch, x may be a tuple or a dictionary of
      what the model takes. y counts as labels where it is one value for each item.
    - `layers`: `"all"`, or names, patterns such as `"features.*"`, types, modules or a rule, as for
      `tl.watch`.
    - `labels`: one for each item, instead of what the data says.
    - `device`: where batches go; to the model's parameters unless told otherwise. The model stays where it
      is.
    - `max_bytes`: what may be kept in memory.

    The model runs as after `model.eval()`, without gradients. Its modes, buffers, gradients and hooks, and
    all random generators, are afterwards as they were. Of a layer that is called several times for a batch,
    the last call is kept; of one that gives several tensors, the first.
    """
    chosen = chosen_layers(model, layers)
    if any(is_lazy(parameter) for parameter in model.parameters()):
        raise InputError(
            "the model has lazy parameters that do not exist yet: call it once on a batch before."
        )
    batches, num_items, is_in_order = _batches_of(data, batch_size)
    if labels is not None and not is_in_order:
        raise InputError(
            "the loader gives items in an order of its own, so labels= would go with others: let it yield "
            "(x, y), or give shuffle=False."
        )
    blocks: dict[str, list[Array]] = {name: [] for name in chosen}
    left_out: dict[str, str] = {}
    inputs: list[Array] = []
    own_labels: list[Array | None] = []
    num_done = 0
    where = chosen_device(device, model)
    given: dict[str, Array | str] = {}  # by layer, of one batch; a text says why there is nothing
    with ExitStack() as stack:
        stack.enter_context(without_compiler())  # compiled code would not call the hooks
        stack.enter_context(same_random_state_after())
        stack.enter_context(same_model_after(unwrapped_model(model)))
        stack.enter_context(same_modes_after(model))
        stack.enter_context(torch.no_grad())
        model.eval()
        for name, module in chosen.items():
            stack.callback(module.register_forward_hook(partial(_hear, given, name)).remove)
        bar = stack.enter_context(Progress("responses", num_items, "items"))
        for batch in batches:
            given.clear()
            if keep_inputs:
                inputs.append(_array(batch.first))
            # A copy: a model may write into what it is given.
            args, kwargs = map_tensors(
                (batch.args, batch.kwargs), lambda tensor: tensor.detach().to(where, copy=True)
            )
            model(*args, **kwargs)
            _keep(given, blocks, left_out, len(batch.first))
            own_labels.append(batch.labels)
            num_done += len(batch.first)
            expected = sum(block.nbytes for block in chain(inputs, *blocks.values()))
            if num_items is not None and num_done:
                expected = max(expected, expected * num_items // num_done)
            if expected > max_bytes:
                raise InputError(
                    f"these responses take {readable_bytes(expected)}, and max_bytes is "
                    f"{readable_bytes(max_bytes)}: choose some layers with layers=, give fewer items, or set "
                    "keep_inputs=False."
                )
            bar.add(len(batch.first))
    if not num_done:
        raise InputError("the test set is empty: there is no batch in it.")
    if not blocks:
        name, why = next(iter(left_out.items()))
        raise InputError(f"no chosen layer has responses by item. {name!r}: {why}")
    # One after the other, so that only one is there twice.
    arrays = {name: numpy.concatenate(blocks.pop(name)) for name in list(blocks)}
    known = [label for label in own_labels if label is not None]
    own = numpy.concatenate(known) if len(known) == len(own_labels) else None
    is_even = len({block.shape[1:] for block in inputs}) == 1
    return Responses(
        arrays={name: array.reshape(len(array), -1) for name, array in arrays.items()},
        shapes={name: array.shape[1:] for name, array in arrays.items()},
        inputs=numpy.concatenate(inputs) if is_even else None,
        labels=own if labels is None else labels_of(labels, num_done),
        left_out=left_out,
    )


def _hear(given: dict[str, Array | str], name: str, module: nn.Module, _args: Any, output: Any) -> None:
    tensor = next((tensor for _, tensor in tensors_in(output, into_objects=True)), None)
    if tensor is None or tensor.is_nested or not tensor.ndim:
        given[name] = "it gives no tensor with a row for each item."
        return
    if getattr(module, "batch_first", True) is False and tensor.ndim == 3:
        tensor = tensor.transpose(0, 1)
    given[name] = _array(tensor)


def _keep(
    given: Mapping[str, Array | str],
    blocks: dict[str, list[Array]],
    left_out: dict[str, str],
    num_items: int,
) -> None:
    """Add what layers gave for a batch; those that gave nothing that fits are left out from now on."""
    for name, before in list(blocks.items()):
        block = given.get(name, "it was not called for every batch." if before else "it was not called.")
        why = ""
        if isinstance(block, str):
            why = block
        elif len(block) != num_items:
            why = f"its output {block.shape} has not one row for each of {num_items:,} items of a batch."
        elif before and before[0].shape[1:] != block.shape[1:]:
            why = f"its shape changes from {before[0].shape[1:]} to {block.shape[1:]}, from batch to batch."
        if why:
            left_out[name] = why
            del blocks[name]
        else:
            before.append(numpy.asarray(block))


def _array(tensor: Tensor) -> Array:
    """A copy as NumPy can have it: numbers of two bytes and less become float32."""
    tensor = tensor.detach()
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    dtype = tensor.dtype
    if dtype.is_floating_point and dtype != torch.float64:
        dtype = torch.float32
    elif dtype.is_complex and dtype != torch.complex128:
        dtype = torch.complex64
    copied = tensor.to("cpu", dtype, copy=True, memory_format=torch.contiguous_format)
    return numpy.asarray(copied.resolve_conj().resolve_neg().numpy())


class _Batch(NamedTuple):
    """What a model is called with, and the labels of its items where they are known."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    first: Tensor  # that goes in and has items
    labels: Array | None


def _batches_of(data: Any, batch_size: int) -> tuple[Iterator[_Batch], int | None, bool]:
    """Batches; how many items there are, where that is known before; do they come in their order?"""
    if batch_size < 1:
        raise InputError(f"batch_size is {batch_size}: it is one at least.")
    if isinstance(data, Tensor | numpy.ndarray | Mapping | tuple):
        batches, num_items = _cut_into_batches(data, batch_size)
        return batches, num_items, True
    if isinstance(data, Dataset):
        data = DataLoader(data, batch_size)
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise InputError(f"a {type(data).__name__} is no test set: give {_KINDS}.")
    # Not begun before the first batch is asked for: a loader draws a random number when it begins.
    batches = map(_batch_of, chain.from_iterable([data]))
    if not isinstance(data, DataLoader):
        return batches, None, True
    sampler = data.sampler if type(data.batch_sampler) in (BatchSampler, type(None)) else None
    is_in_order = isinstance(sampler, SequentialSampler) or isinstance(data.dataset, IterableDataset)
    return batches, len(sampler) if isinstance(sampler, Sized) else None, is_in_order


def _batch_of(given: Any) -> _Batch:
    """A batch as a loader gives it: x, (x,), (x, y), or a dictionary; x may be several tensors itself."""
    x, y = given, None
    if isinstance(given, tuple | list):
        if len(given) not in (1, 2):
            raise InputError(
                f"a batch of {len(given)} things says not which of them are labels: give x or (x, y), where "
                "x may be a tuple or a dictionary of what the model takes."
            )
        x, y = (*given, None)[:2]
    kwargs = {str(name): _tensor(part) for name, part in x.items()} if isinstance(x, Mapping) else {}
    args = tuple(map(_tensor, x if isinstance(x, tuple | list) else () if kwargs else (x,)))
    for name in _LABELS:
        label = kwargs.pop(name, None)
        y = label if y is None else y
    first = next((tensor for _, tensor in tensors_in((args, kwargs)) if tensor.ndim), None)
    if first is None:
        raise InputError(
            f"there is no tensor with items in a batch of {type(given).__name__}: give {_KINDS}."
        )
    return _Batch(args, kwargs, first, _labels(y, len(first)))


def _labels(y: Any, num_items: int) -> Array | None:
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


def _cut_into_batches(data: Any, batch_size: int) -> tuple[Iterator[_Batch], int]:
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
    slices = (slice(start, start + batch_size) for start in range(0, num_items, batch_size))

    def cut(part: Any, rows: slice) -> Any:
        return (
            {name: array[rows] for name, array in part.items()} if isinstance(part, Mapping) else part[rows]
        )

    return (_batch_of([cut(part, rows) for part in parts]) for rows in slices), num_items


def _tensor(value: Any) -> Any:
    return torch.from_numpy(value.copy()) if isinstance(value, numpy.ndarray) else value
