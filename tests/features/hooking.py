"""The oracle of extraction: a plain pass with hooks that copy, in evaluation mode, on the same batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from torcheer.features import extract
from torcheer.features.saved_features import Features


class StoppedError(Exception):
    """Raised by a model in the middle of its work."""


def first_tensor(value: Any) -> Tensor:
    while not isinstance(value, Tensor):
        value = next(iter(value.values())) if isinstance(value, Mapping) else value[0]
    return value


def hooked(model: nn.Module, batches: Iterable[Any], addresses: Iterable[str]) -> dict[str, NDArray[Any]]:
    """What each module gives, its passes as `address:1`, `address:2`; all batches in one array."""
    found: dict[str, list[NDArray[Any]]] = {}
    passes: dict[str, list[Tensor]] = {}
    handles = [
        model.get_submodule(address).register_forward_hook(
            lambda _, __, output, address=address: passes.setdefault(address, []).append(
                first_tensor(output).detach().clone()
            )
        )
        for address in addresses
    ]
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    with torch.no_grad():
        for batch in batches:
            passes.clear()
            called(model, batch)
            for address, outputs in passes.items():
                for number, output in enumerate(outputs, 1):
                    name = address if len(outputs) == 1 else f"{address}:{number}"
                    plain = output.float() if output.dtype is torch.bfloat16 else output
                    found.setdefault(name, []).append(plain.resolve_conj().numpy())
    for handle in handles:
        handle.remove()
    for module, mode in modes:
        module.training = mode
    return {name: numpy.concatenate(parts) for name, parts in found.items()}


def called(model: nn.Module, batch: Any) -> Any:
    if isinstance(batch, Mapping):
        return model(**batch)
    return model(*batch) if isinstance(batch, tuple) else model(batch)


def batches_of(data: Any, size: int) -> list[Any]:
    """Tensors, a tuple or a dict of them, cut into batches."""
    if isinstance(data, Mapping):
        number = len(next(iter(data.values())))
        return [
            {name: value[at : at + size] for name, value in data.items()} for at in range(0, number, size)
        ]
    if isinstance(data, tuple):
        return [tuple(one[at : at + size] for one in data) for at in range(0, len(data[0]), size)]
    return [data[at : at + size] for at in range(0, len(data), size)]


def leaves_of(model: nn.Module) -> list[str]:
    """Modules with weights of their own, or without modules of their own."""
    return [
        name
        for name, module in model.named_modules()
        if name and (list(module.parameters(recurse=False)) or not list(module.children()))
    ]


def check_all_leaves(
    model: nn.Module, data: Any, to: Path, size: int = 4, without: Iterable[str] = ()
) -> Features:
    """Every leaf is there, but for those `without` samples, and equal to the last bit."""
    features = extract(model, data, layers="modules", to=to, batch_size=size, progress=False)
    expected = hooked(model, batches_of(data, size), leaves_of(model))
    assert set(expected) - set(features.layers) == set(without)
    for name in features.layers:
        values = numpy.asarray(features[name])
        # Several rows of a sample that the model has side by side are one dimension more here.
        assert numpy.array_equal(values.reshape(expected[name].shape), expected[name]), name
    return features


def stopping_at(model: nn.Module, number: int, error: BaseException | None = None) -> Any:
    """Raise in that pass of the model, the first one is 1; give back the handle."""
    count = 0

    def raise_then(*_: Any) -> None:
        nonlocal count
        count += 1
        if count == number:
            raise StoppedError("in the middle") if error is None else error

    return model.register_forward_pre_hook(raise_then)


# Planning runs the model on a few samples; and on the first batch, which then is not run again.
NUM_PLANNED = 1


def interrupted(model: nn.Module, data: Any, to: Path, batch: int = 3, **options: Any) -> Features:
    """An extraction in which the model raised in its n-th batch."""
    from torcheer.features import open_features

    handle = stopping_at(model, NUM_PLANNED + batch)
    try:
        extract(model, data, to=to, progress=False, **options)
    except StoppedError:
        pass
    else:
        raise AssertionError("the model was not stopped")
    finally:
        handle.remove()
    features = open_features(to)
    assert features.num_done > 0
    assert not features.is_complete
    return features
