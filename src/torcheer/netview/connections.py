"""What each layer receives from which: the form of an op with weights, and the connections of a scene."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from torcheer.capture import undisturbed
from torcheer.netview.flow import (
    CONVOLUTIONS,
    NONLINEAR,
    Flow,
    Site,
    are_same_numbers,
    is_nonlinear_class,
    merged,
)
from torcheer.run import Connection, Form

if TYPE_CHECKING:
    from torcheer.netview.layers_of_pass import Feed, PlannedLayer, Sweep

_TURNED: Final = frozenset(("t", "transpose", "permute", "mt", "numpyt", "swapaxes", "swapdims"))


class Weighted(NamedTuple):
    """An op with weights of a known form."""

    read: int  # the op that goes in
    connection: Connection  # its weights and their geometry; the names of its ends are left empty


def _weighted(read: int, form: Form, **geometry: Any) -> Weighted:
    return Weighted(read, Connection(source="", target="", form=form, **{"bias": "", **geometry}))


def input_of(flow: Flow, op: int) -> int | None:
    """What an op with weights reads; None where its form is not known."""
    found = weighted(flow, op)
    return None if found is None or found.connection.form == "embedding" else found.read


def weighted(flow: Flow, op: int) -> Weighted | None:
    rule = _RULES.get(flow.type(op))
    try:
        return None if rule is None else rule(flow, op)
    except (TypeError, ValueError, IndexError):
        return None  # called in a way that the rule does not know: no more than that is shown


def _param(flow: Flow, op: int | None) -> str:
    op = None if op is None else flow.origin(op)  # it may be cast
    return "" if op is None or op >= 0 else flow.param(op)


# Where what goes in stands in a call, then the matrix and the bias.
_SLOTS: Final[dict[str, tuple[tuple[int, str], ...]]] = {
    "linear": ((0, "input"), (1, "weight"), (2, "bias")),
    "matmul": ((0, "input"), (1, "other")),
    "mm": ((0, "input"), (1, "mat2")),
    "addmm": ((1, "mat1"), (2, "mat2"), (0, "input")),
}


def _product(flow: Flow, op: int) -> Weighted | None:
    kind = flow.type(op)
    read, weight, bias, *_ = [flow.argument(op, *slot) for slot in _SLOTS[kind]] + [None]
    is_transposed = kind != "linear"
    if [flow.plain(op, 3, "beta", 1), flow.plain(op, 4, "alpha", 1)] != [1, 1]:
        return None
    if read is None or read < 0 or weight is None or len(flow.shape(weight)) != 2:
        return None
    weight = flow.origin(weight)  # it may be cast
    if weight >= 0 and flow.type(weight) in _TURNED and len(flow.shape(weight)) == 2:
        weight, is_transposed = flow.origin(flow.records[weight].parents[0]), not is_transposed
    if weight >= 0 or len(flow.shape(weight)) != 2:
        return None
    return _weighted(
        read,
        "linear",
        weight=flow.param(weight),
        bias=_param(flow, bias),
        is_transposed=is_transposed,
    )


def _embedding(flow: Flow, op: int) -> Weighted | None:
    # torch.embedding(weight, ids), and F.embedding(ids, weight).
    first, second = flow.argument(op, 0, "weight"), flow.argument(op, 1, "indices")
    if first is None or second is None:
        return None
    weight, read = (first, second) if first < 0 else (second, first)
    return None if weight >= 0 or read < 0 else _weighted(read, "embedding", weight=flow.param(weight))


def _convolution(flow: Flow, op: int) -> Weighted | None:
    num_dims, is_transposed = CONVOLUTIONS[flow.type(op)], "transpose" in flow.type(op)
    read, weight = flow.argument(op, 0, "input"), flow.argument(op, 1, "weight")
    if read is None or read < 0 or weight is None:
        return None
    shape, weight = flow.shape(weight), flow.origin(weight)  # it may be cast
    if weight >= 0 or flow.shape(weight) != shape:
        return None
    dilation = _each(flow.plain(op, 7 if is_transposed else 5, "dilation", 1), num_dims)
    padding = flow.plain(op, 4, "padding", 0)
    return _weighted(
        read,
        "transposed_conv" if is_transposed else "conv",
        weight=flow.param(weight),
        bias=_param(flow, flow.argument(op, 2, "bias")),
        stride=list(_each(flow.plain(op, 3, "stride", 1), num_dims)),
        padding=list(front_padding(padding, flow.shape(weight)[2:], dilation)),
        dilation=list(dilation),
        groups=int(flow.plain(op, 6, "groups", 1)),
    )


def fits(found: Connection, weight: Sequence[int], source: Sequence[int], target: Sequence[int]) -> bool:
    """Whether the units of both ends stand as weights of this shape say. Ends are shapes of one item."""
    if found.form == "linear":
        num_in, num_out = weight if found.is_transposed else (weight[1], weight[0])
        num_rows, rest = divmod(prod(source), num_in)
        return not rest and prod(target) == num_rows * num_out
    if found.form == "embedding":
        return list(target) == [*source, weight[1]]
    maps = (weight[1] * found.groups, weight[0])  # of the wide picture, and of the narrow one
    if found.form == "transposed_conv":
        maps = maps[::-1]
    has_dims = len(source) == len(found.stride) + 1 == len(target)
    return has_dims and (source[0], target[0]) == maps


def front_padding(padding: Any, kernel: Sequence[int], dilation: Sequence[int]) -> tuple[int, ...]:
    """Places before the picture, for each of its dimensions."""
    if padding == "valid":
        return (0,) * len(kernel)
    if padding == "same":  # of an odd number of places, torch puts the larger half behind
        return tuple(step * (size - 1) // 2 for size, step in zip(kernel, dilation, strict=True))
    return _each(padding, len(kernel))


def _each(value: Any, num_dims: int) -> tuple[int, ...]:
    if isinstance(value, int):
        return (value,) * num_dims
    sizes = tuple(int(size) for size in value)
    if len(sizes) not in (1, num_dims):
        raise ValueError(sizes)
    return sizes if len(sizes) == num_dims else sizes * num_dims


_RULES: Final[dict[str, Callable[[Flow, int], Weighted | None]]] = {
    **dict.fromkeys(_SLOTS, _product),
    "embedding": _embedding,
    **dict.fromkeys(CONVOLUTIONS, _convolution),
}


Key = int | str  # of a layer: its op, or the name of one that is made beside the ops


class ConnectionFinder:
    """Layers and their sources; layers can be added and put together before the connections are made."""

    def __init__(self, flow: Flow, sweep: Sweep, layers: dict[int, PlannedLayer]) -> None:
        self.layers: dict[Key, PlannedLayer] = {op: layer for op, layer in layers.items()}  # noqa: C416
        self._flow = flow
        self._sweep = sweep
        self._sources: dict[Key, list[Key]] = {
            op: [source for source in sweep.sources[op] if source >= 0] for op in layers
        }
        self._known: dict[tuple[Key, Key], Connection] = {}  # by source and target: those with a form
        self._same: dict[Key, Key] = {}  # a nonlinearity, and the layer that it is part of
        for op in layers:
            self._find_form(op)

    def add_layer(self, layer: PlannedLayer, feed: Feed) -> None:
        self.layers[layer.name] = layer
        self._sources[layer.name] = [source for source in feed if source >= 0]

    def attend(self, site: Site, weights: PlannedLayer, out: int) -> None:
        """The layer `out` receives values, weighed by attention."""
        name: Key = weights.name
        weights_key = next(key for key, one in self.layers.items() if name in (key, one.name))
        values = [source for source in self._sweep.feeds[site.value] if source >= 0]
        self._sources[out] = list(dict.fromkeys([*values, weights_key]))
        source, target = values[0] if len(values) == 1 else -1, self.layers[out]
        if source < 0 or source not in self.layers or not weights.has_items:
            return
        if self._are_the_values(site, source) and self._are_the_heads(site, out):
            self._known[source, out] = _attention(self.layers[source].name, target.name, weights.name)

    def attend_in_module(
        self, out: int, values: PlannedLayer, weights: PlannedLayer, heads: PlannedLayer, weight: str
    ) -> None:
        """Torch's own module: values and weights make heads, and a matrix makes its output of these."""
        self.layers[heads.name] = heads
        self._sources[heads.name] = [values.name, weights.name]
        self._sources[out] = [heads.name]
        if values.has_items and weights.has_items and heads.has_items:
            self._known[values.name, heads.name] = _attention(values.name, heads.name, weights.name)
        target = self.layers[out]
        if weight and heads.shape[:-1] == target.shape[:-1]:
            connection = Connection(source=heads.name, target=target.name, form="linear", weight=weight)
            self._known[heads.name, out] = connection

    def fold(self, before: int, op: int, folded: PlannedLayer) -> None:
        """The layer `op` becomes part of the one before it."""
        self.layers[before] = folded
        del self.layers[op]
        self._same[op] = before

    def _find_form(self, target: int) -> None:
        work = self._sweep.work_of(target)
        found = None if work is None else weighted(self._flow, work)
        if found is None:
            return
        feed = self._sweep.feeds[found.read]
        source = next(iter(feed), -1)
        if len(feed) != 1 or not feed[source] or source not in self.layers:
            return
        here, there = self.layers[source], self.layers[target]
        weight = dict(self._flow.tape.params)[found.connection.weight]
        if here.has_items != there.has_items or not fits(
            found.connection, weight.shape, here.item_shape, there.item_shape
        ):
            return
        is_picture = bool(found.connection.stride)
        if not is_picture or self._flow.shape(source) == self._flow.shape(found.read):
            ends = {"source": here.name, "target": there.name}
            self._known[source, target] = msgspec.structs.replace(found.connection, **ends)

    def _are_the_values(self, site: Site, source: int) -> bool:
        """Whether the layer holds the values as [tokens, features], alone or behind queries and keys."""
        held, value = self._flow.value(source), merged(self._flow, site, site.value)
        raw = self._flow.value(site.value)
        if held is None or value is None or raw is None:
            return False
        with undisturbed():
            if self._sweep.feeds[site.value].get(source) and held.shape == raw.shape:
                return True
            if held.dim() != 3:
                return False
            width, head_width = value.shape[-1], raw.shape[-1]
            num_repeats, rest = divmod(width, held.shape[-1])
            if num_repeats > 1 and not rest and held.shape[-1] % head_width == 0:  # heads that share values
                apart = held.reshape(*held.shape[:-1], -1, head_width)
                return are_same_numbers(apart.repeat_interleave(num_repeats, 2).flatten(2), value)
            return held.shape[-1] in (width, 3 * width) and are_same_numbers(held[..., -width:], value)

    def _are_the_heads(self, site: Site, out: int) -> bool:
        """Whether the layer stands as the op left it, or as [tokens, features]."""
        if out == site.out:
            return True
        held, value = self._flow.value(out), merged(self._flow, site, site.out)
        if held is None or value is None:
            return False
        with undisturbed():
            return held.dim() == 3 and are_same_numbers(held, value)

    def between(self, names: set[str]) -> list[Connection]:
        """All connections between layers that are shown; what is not shown is passed through."""
        found: dict[tuple[str, str], Connection] = {}
        for target, layer in self.layers.items():
            if layer.name not in names:
                continue
            for source, is_direct in self._shown_sources(target, names).items():
                known = self._known.get((source, target)) if is_direct else None
                real = self.layers[self._same.get(source, source)]
                if known is None:
                    known = Connection(source=real.name, target=layer.name, form="other")
                elif known.source != real.name:
                    known = msgspec.structs.replace(known, source=real.name)
                found.setdefault((known.source, known.target), known)
        return list(found.values())

    def _shown_sources(self, target: Key, names: set[str]) -> dict[Key, bool]:
        """The nearest layers that are shown: are they what it really reads?"""
        found: dict[Key, bool] = {}
        waiting: list[tuple[Key, bool]] = [(source, True) for source in self._sources[target]]
        seen: set[Key] = set()
        while waiting:
            source, is_direct = waiting.pop(0)
            real = self._same.get(source, source)
            if source in seen or real == target or real not in self.layers:
                continue
            seen.add(source)
            if self.layers[real].name in names:
                found[source] = is_direct
            else:
                waiting += [(further, False) for further in self._sources[real]]
        return found


def _attention(source: str, target: str, weights: str) -> Connection:
    return Connection(source=source, target=target, form="attention", weight=f"{weights}.Act")


def fold_nonlinearities(
    flow: Flow, sweep: Sweep, layers: dict[int, PlannedLayer], finder: ConnectionFinder
) -> None:
    """A nonlinearity that alone reads a layer with weights becomes part of it."""
    readers: dict[int, list[int]] = {}  # by layer: the layers that read it
    for op, sources in sweep.sources.items():
        for source in sources:
            readers.setdefault(source, []).append(op)
    outputs = [op for op in range(len(flow.records)) if flow.is_output(op)]
    results = {source for op in outputs for source in sweep.feeds[op]}  # what the model itself gives
    for op, layer in list(layers.items()):
        read = [source for source in sweep.sources[op] if source >= 0]  # parameters of its own aside
        before = read[0] if len(read) == 1 else -1
        net = layers.get(before)
        if net is None or not _is_nonlinear(flow, op, layer):
            continue
        has_weights = any(source < 0 for source in sweep.sources[before])
        is_plain = not net.is_input and "Net" not in net.values and net.shape == layer.shape
        if has_weights and is_plain and readers[before] == [op] and before not in results:
            about = f"Act is after {layer.module}, Net before it"
            folded = replace(
                net,
                note="; ".join(filter(None, (net.note, about))),
                names=(*net.names, *layer.names),
                values={"Act": layer.values["Act"], "Net": net.values["Act"]},
                gradients={"Act": op, "Net": before},
            )
            finder.fold(before, op, folded)
            layers[before] = folded


def _is_nonlinear(flow: Flow, op: int, layer: PlannedLayer) -> bool:
    if layer.address:
        return flow.type(flow.origin(op)) in NONLINEAR or is_nonlinear_class(layer.module)
    return flow.type(layer.op) in NONLINEAR and layer.op == op
