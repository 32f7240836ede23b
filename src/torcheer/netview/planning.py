"""What of a pass is recorded for a layer: its place in the scene, and which ops give its variables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import torch
from torch import Tensor

from torcheer.capture import undisturbed
from torcheer.netview.attending import Site, merged, weights_of
from torcheer.netview.flow import Flow
from torcheer.netview.grids import grid_of
from torcheer.run import NetLayer, NetScene, Place

_MOST_DENSE_BYTES: Final = 64 << 20  # of a sparse tensor that is written out

Reader = Callable[[Flow, int | None], Tensor | None]  # the items that are kept; None: all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLayer:
    """A layer, with what its variables are read from."""

    op: int  # the first of its ops, by which layers are in order
    name: str
    names: tuple[str, ...]  # all by which somebody may choose it, its folded nonlinearity's among them
    module: str  # the type
    address: str  # of the module; empty for a function
    shape: tuple[int, ...]  # of its tensors, with the items
    has_items: bool
    values: dict[str, Reader]  # by variable
    gradients: dict[str, int]  # by variable: the op whose gradient it is
    is_input: bool = False
    note: str = ""

    @property
    def item_shape(self) -> tuple[int, ...]:
        return self.shape[1:] if self.has_items else self.shape

    def in_scene(self, variables: list[str]) -> NetLayer:
        shape = list(self.item_shape)
        return NetLayer(
            name=self.name,
            module=self.module,
            shape=shape,
            grid=grid_of(shape, is_picture=self.is_input),
            variables=variables,
            place=Place(),
            is_input=self.is_input,
            has_items=self.has_items,
            note=self.note,
        )

    def with_note(self, note: str) -> PlannedLayer:
        return replace(self, note="; ".join(filter(None, (self.note, note))))


@dataclass(frozen=True, slots=True, kw_only=True)
class NetPlan:
    """What a pass shows. It holds for every pass with the same signature."""

    scene: NetScene
    layers: tuple[PlannedLayer, ...]
    params: tuple[str, ...]  # the addresses of all parameters that the pass used
    signature: tuple[object, ...]


def reader_of_op(op: int, *, has_items: bool) -> Reader:
    return partial(_read_op, op, has_items)


def _read_op(op: int, has_items: bool, flow: Flow, num_items: int | None) -> Tensor | None:
    return _cut(flow.value(op), num_items if has_items else None)


def gradient_of(flow: Flow, layer: PlannedLayer, variable: str, num_items: int | None) -> Tensor | None:
    grad = flow.history._grad_of(layer.gradients[variable])
    if grad is not None and len(layer.shape) != grad.dim():  # heads that lay in one dimension with the items
        with undisturbed():
            grad = grad.reshape(layer.shape)
    return _cut(grad, num_items if layer.has_items else None)


def reader_of_weights(site: Site, *, has_items: bool) -> Reader:
    return partial(_read_weights, site, has_items)


def _read_weights(site: Site, has_items: bool, flow: Flow, num_items: int | None) -> Tensor | None:
    return weights_of(flow, site, num_items if has_items else None)


def reader_of_merged(site: Site, op: int, *, is_batch_first: bool, has_items: bool) -> Reader:
    return partial(_read_merged, site, op, is_batch_first, has_items)


def _read_merged(
    site: Site, op: int, is_batch_first: bool, has_items: bool, flow: Flow, num_items: int | None
) -> Tensor | None:
    value = merged(flow, site, op)
    if value is None:
        return None
    with undisturbed():
        value = value if is_batch_first else value.transpose(0, 1)
    return _cut(value, num_items if has_items else None)


def _cut(value: Tensor | None, num_items: int | None) -> Tensor | None:
    if value is None or num_items is None:
        return value
    with undisturbed():
        if value.layout != torch.strided:  # which has no views
            if value.numel() * value.element_size() > _MOST_DENSE_BYTES:
                return None
            value = value.to_dense()
        return value[:num_items]
