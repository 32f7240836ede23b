"""Read a network out of its run: values of layers, and weights of single units, as arrays."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any, Literal

import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.netview.placing import check_name
from torcheer.netview.runscenes import FoundScene
from torcheer.netview.unit_weights import received, sent
from torcheer.run import Connection, NetLayer, NetScene, Reading, TensorRecord

Array = NDArray[Any]


def values_of(run: Reading, found: FoundScene, name: str, step: int | None, item: int) -> Array:
    """One variable of one layer: `conv1.Act`, of one item, at a moment or the last one up to then."""
    layer, variable = layer_and_variable(found.scene, name)
    series = name if layer is None else found.series_of(layer.name, variable)
    _check_gradient(run, series)
    array = _record(run, series, step).array
    # A parameter has no items. A variable may have had another shape before: sequences differ in length.
    is_of_layer = layer is not None and (variable in layer.variables or list(array.shape[1:]) == layer.shape)
    if layer is None or not layer.has_items or not is_of_layer or not array.ndim:
        return array
    return _item(array, item, name)


def weights_of(
    run: Reading,
    network: FoundScene,
    name: str,
    unit: int | Sequence[int],
    direction: Literal["received", "sent"],
    step: int | None,
    *,
    item: int = 0,
    variable: str = "Wt",
) -> dict[str, Array]:
    """By the layer at the other end: what connects its units with this one; NaN where nothing does."""
    if direction not in ("received", "sent"):
        raise InputError(f"the direction is {direction!r}: a unit has weights that it 'received' or 'sent'.")
    layers = {layer.name: layer for layer in network.scene.layers}
    check_name(name, layers)
    number = unit_number(layers[name], unit)
    found: dict[str, Array] = {}
    for connection in network.scene.connections:
        end, other = (connection.target, connection.source)
        if direction == "sent":
            end, other = other, end
        if end != name or connection.form == "other" or not connection.weight:
            continue
        weight = _weight(run, connection, step, item, variable)
        source, target = layers[connection.source], layers[connection.target]
        ids = _ids(run, network, connection, step, item)
        lay = received if direction == "received" else sent
        laid = lay(connection, weight, source.shape, target.shape, number, source_values=ids)
        wide = numpy.promote_types(laid.values.dtype, numpy.float64)
        array = numpy.where(laid.is_connected, laid.values.astype(wide), numpy.nan)
        found[other] = array.reshape(layers[other].shape)
    return found


def why_no_weights(network: FoundScene, name: str, direction: Literal["received", "sent"]) -> str:
    """Where `weights_of` finds none."""
    if network.source != "netview":
        return (
            "what a watched run has says nothing of what connects its layers, so there are no weights of a "
            "unit: tl.NetView(model, x) records both."
        )
    is_received = direction == "received"
    others = [
        connection.source if is_received else connection.target
        for connection in network.scene.connections
        if name == (connection.target if is_received else connection.source)
    ]
    if not others:
        what = "nothing leads to it" if is_received else "it leads to nothing that is shown"
        return f"{name} has no weights that it {direction}: {what}."
    listed = ", ".join(dict.fromkeys(others))
    between = f"between it and {listed}"
    return f"{name} has no weights that it {direction}: {between} there are none, or they are not known."


def layer_and_variable(scene: NetScene, name: str) -> tuple[NetLayer | None, str]:
    """Split at the last dot that leaves a layer."""
    layers = {layer.name: layer for layer in scene.layers}
    front = name
    while "." in front:
        front = front.rpartition(".")[0]
        if front in layers:
            return layers[front], name[len(front) + 1 :]
    return None, name


def unit_number(layer: NetLayer, unit: int | Sequence[int]) -> int:
    """A unit by its flat number, or by its index in the tensor of one item."""
    num_units = prod(layer.shape)
    number = _whole(unit)
    if number is None:
        try:
            index = tuple(operator.index(part) for part in unit)  # type: ignore[union-attr]
            number = int(numpy.ravel_multi_index(index, tuple(layer.shape))) if index or layer.shape else 0
        except (ValueError, TypeError):
            raise InputError(f"{layer.name} has the shape {tuple(layer.shape)}: no unit {unit!r}.") from None
    if not 0 <= number < num_units:
        raise InputError(f"there is no unit {unit} in {layer.name}: it has {num_units:,}, counted from 0.")
    return number


def _whole(value: Any) -> int | None:
    try:
        return operator.index(value)
    except TypeError:
        return None


def _item(array: Array, item: int, name: str) -> Array:
    number = _whole(item)
    if number is None or not 0 <= number < len(array):
        raise InputError(f"there is no item {item!r} of {name}: {len(array)} were kept, counted from 0.")
    found: Array = array[number]
    return found


def _record(run: Reading, name: str, step: int | None) -> TensorRecord:
    """The last one up to a step, which may lie behind it, but not behind the last moment of the run."""
    records = run.tensors(name)
    place = len(records) if step is None else int(numpy.searchsorted(records.steps, step, side="right"))
    last = _last_step(run)
    if not place or (step is not None and step > last):
        first = records.steps[0] if len(records) else None
        raise InputError(f"there is no step {step} of {name}: there are those from {first} to {last}.")
    return records[place - 1]


def _last_step(run: Reading) -> int:
    """At which anything was recorded: what has not changed since is not recorded again."""
    series = run._reader().series()
    return max(entry.last_step for key, entry in series.items() if key.kind in ("tensor", "moment"))


def _check_gradient(run: Reading, name: str) -> None:
    names = run.names("tensor")
    if name in names or not name.endswith(".Grad"):
        return
    if any(one.endswith(".Grad") for one in names):
        raise InputError(f"{name} was not recorded: there is no way from it to the loss, or it is not kept.")
    raise InputError(
        f"{name} was not recorded: gradients need a loss, tl.NetView(model, x, loss=…), or with tl.State a "
        "backward pass."
    )


def _weight(run: Reading, connection: Connection, step: int | None, item: int, variable: str) -> Array:
    name = connection.weight if variable == "Wt" else f"{connection.weight}.{variable}"
    names = run.names("tensor")
    if name not in names:
        raise InputError(_why_not(connection.weight, variable, names))
    array = _record(run, name, step).array
    return _item(array, item, name) if connection.form == "attention" else array


def _why_not(weight: str, variable: str, names: Sequence[str]) -> str:
    """Why there is nothing of that kind of a weight."""
    if weight not in names:
        return f"{weight} was not recorded: tl.NetView(…, weights='all') keeps all weights."
    if variable == "Grad":
        return f"the gradient of {weight} was not recorded: tl.NetView(…, loss=…) records it."
    if variable == "Delta":
        return f"{weight} has no Delta yet: it has not changed since the first moment."
    inside = f"{weight}."
    there = ", ".join(["Wt", *(one.removeprefix(inside) for one in names if one.startswith(inside))])
    return (
        f"{variable} of {weight} was not recorded: there is {there}. What an optimizer keeps is there with "
        "tl.NetView(…, optimizer=…), from its first step on."
    )


def _ids(
    run: Reading, network: FoundScene, connection: Connection, step: int | None, item: int
) -> Array | None:
    """The tokens, by which an embedding finds its weights."""
    if connection.form != "embedding":
        return None
    return values_of(run, network, f"{connection.source}.Act", step, item)
