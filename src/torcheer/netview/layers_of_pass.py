"""From a captured pass to a network as people draw it: layers in order, and what connects them.

- A layer is what a module without modules of its own gives, or a function that computes. Views, copies, casts
  and dropout hand values on and are none; scaling, slicing and masking are one only where a layer with
  weights reads exactly that.
- A nonlinearity right after a layer with weights belongs to it: Net is what went in, Act what came out.
- A layer that runs up to eight times is there for each of its passes, `cell:1`, `cell:2`…; of one that runs
  more often, the last pass is there.
- The weights of attention are a layer of their own, `….attn`: heads × queries × keys.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import torch
from torch import Tensor, nn

from torcheer.capture import BUFFER, SOURCE, ModelHistory, undisturbed
from torcheer.errors import InputError
from torcheer.models import choices_of, is_meant, unwrapped_model
from torcheer.netview.connections import ConnectionFinder, fold_nonlinearities, input_of, weighted
from torcheer.netview.flow import (
    COMBINING,
    CONVOLUTIONS,
    MINOR,
    REDUCING,
    REORDERING,
    WEIGHTY,
    Flow,
    Site,
    attention_weights,
    find_sites,
    merged,
)
from torcheer.netview.scene import grid_of
from torcheer.run import NetLayer, NetScene, Place


def checked_items(items: Any) -> int:
    """How many are kept, as somebody wants it."""
    if isinstance(items, bool) or not isinstance(items, int) or items < 1:
        raise InputError(f"items is {items!r}: keep at least one item of a batch.")
    return items


def num_items_of(flow: Flow) -> int | None:
    """The length of the first dimension of the first input; None where the model was given one item only."""
    inputs = [op for op in range(len(flow.records)) if flow.is_input(op) and len(flow.shape(op)) > 0]
    if not inputs or _is_single(flow, inputs[0]):
        return None
    return flow.shape(inputs[0])[0]


def _is_single(flow: Flow, first: int) -> bool:
    """A picture without a dimension for items goes into a convolution, or a vector into a matrix."""
    for op in range(len(flow.records)):
        kind = flow.type(op)
        num_dims = CONVOLUTIONS.get(kind)
        read = flow.argument(op, 0, "input")
        if read is None or read < 0 or flow.origin(read) != first:
            continue
        num_read = len(flow.shape(read))
        if num_dims is not None and num_read == num_dims + 1 == len(flow.shape(first)):
            return True
        if kind == "linear" and num_read == 1 == len(flow.shape(first)):
            return True
    return False


_MOST_DENSE_BYTES: Final = 64 << 20  # of a sparse tensor that is written out

Reader = Callable[[Flow, int | None], Tensor | None]  # the items that are kept; None: all there are


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

    def in_scene(self) -> NetLayer:
        shape = list(self.item_shape)
        return NetLayer(
            name=self.name,
            module=self.module,
            shape=shape,
            grid=grid_of(shape, is_picture=self.is_input),
            variables=list(self.values),
            place=Place(),
            is_input=self.is_input,
            has_items=self.has_items,
            note=self.note,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NetPlan:
    """What a pass shows. It holds for every pass with the same signature."""

    scene: NetScene
    layers: tuple[PlannedLayer, ...]
    signature: tuple[object, ...]


def gradient_of(flow: Flow, layer: PlannedLayer, variable: str, num_items: int | None) -> Tensor | None:
    grad = flow.record.grad_of(layer.gradients[variable])
    if grad is not None and len(layer.shape) != grad.dim():  # heads that lay in one dimension with the items
        with undisturbed():
            grad = grad.reshape(layer.shape)
    return _cut(grad, num_items)


def _value_of(op: int, flow: Flow, num_items: int | None) -> Tensor | None:
    return _cut(flow.value(op), num_items)


def _merged(site: Site, op: int, is_batch_first: bool, flow: Flow, num_items: int | None) -> Tensor | None:
    value = merged(flow, site, op)
    if value is not None and not is_batch_first:
        with undisturbed():
            value = value.transpose(0, 1)
    return _cut(value, num_items)


def _cut(value: Tensor | None, num_items: int | None) -> Tensor | None:
    if value is None or num_items is None:
        return value
    with undisturbed():
        if value.layout != torch.strided:  # which has no views
            if value.numel() * value.element_size() > _MOST_DENSE_BYTES:
                return None
            value = value.to_dense()
        return value[:num_items]


def chosen(model: nn.Module, layers: list[PlannedLayer], wanted: Any) -> list[PlannedLayer]:
    """The inputs are always among them."""
    if isinstance(wanted, str) and wanted == "all":
        return list(layers)
    modules = dict(unwrapped_model(model).named_modules())
    found: set[str] = set()
    for choice in choices_of(wanted):
        # The name of a module with modules in it means all that is inside.
        inside = f"{choice}." if isinstance(choice, str) else None
        matching = {
            layer.name
            for layer in layers
            for name in dict.fromkeys(layer.names)
            if is_meant(choice, name, modules.get(name)) or (inside and name.startswith(inside))
        }
        if not matching:
            names = [name for layer in layers for name in layer.names]
            near = difflib.get_close_matches(str(choice), names, 3) or [layer.name for layer in layers[:6]]
            raise InputError(
                f"no layer answers to {choice!r}: the nearest of {len(layers)} are {', '.join(near)}."
            )
        found |= matching
    return [layer for layer in layers if layer.is_input or layer.name in found]


MOST_PASSES: Final = 8  # of a layer that runs again and again; of more, the last is shown

Feed = dict[int, bool]  # the layers, or parameters, that an op comes from: are these their very values?


@dataclass(slots=True)
class Marks:
    """What is decided about single ops before they are met. Filled between two sweeps."""

    hidden: set[int] = field(default_factory=set)
    shown: set[int] = field(default_factory=set)
    moved: dict[int, int] = field(default_factory=dict)  # a layer that is read only after it was turned round


class Sweep:
    """One way through the ops, from the first to the last."""

    def __init__(self, flow: Flow, marks: Marks) -> None:
        self.flow = flow
        self.marks = marks
        self.feeds: list[Feed] = []  # what a reader of the op reads
        self.sources: dict[int, Feed] = {}  # what a layer itself reads
        self.moved_from = {there: here for here, there in marks.moved.items()}
        for op in range(len(flow.records)):
            feed = self._feed_of(op)
            if self._is_layer(op, feed):
                self.sources[op] = feed
                feed = {op: True}
            self.feeds.append(feed)

    def _feed_of(self, op: int) -> Feed:
        before = self.flow.handed_on(op)
        if before is not None:
            return self._read(before)
        feed: Feed = {}
        for parent in self.flow.records[op].parents:
            feed.update(dict.fromkeys(self._read(parent), False))
        return feed

    def _read(self, op: int) -> Feed:
        return self.feeds[op] if op >= 0 else {op: True}

    def _is_layer(self, op: int, feed: Feed) -> bool:
        flow, marks = self.flow, self.marks
        if flow.is_input(op):
            return flow.size(op) > 0 and len(flow.shape(op)) > 0
        if flow.records[op].trait in (BUFFER, SOURCE) or flow.is_output(op) or not flow.size(op):
            return False
        if op in marks.hidden or op in marks.moved or not feed:
            return False
        if op in marks.shown or op in self.moved_from:
            return True
        scope = flow.closed(op)
        if scope is None:
            return self._is_open_layer(op, feed)
        # What a module gives, unless it only hands on what it was given.
        is_shown = op in scope.outputs and _is_shown(scope.pass_num, flow.num_calls(scope.address or ""))
        origin = flow.origin(op) if is_shown else -1
        return origin >= 0 and flow.closed(origin) is scope

    def _is_open_layer(self, op: int, feed: Feed) -> bool:
        flow = self.flow
        comes_from_layer = any(source >= 0 for source in feed)
        if not comes_from_layer or not flow.shape(op) or not flow.is_real_or_complex(op):
            return False
        if flow.handed_on(op) is not None or not self.is_shown_pass(op):
            return False
        kind = flow.type(op)
        if kind in COMBINING:
            return len(feed) > 1
        if kind in REDUCING:
            return not flow.plain(op, 2, "keepdim", False)
        return kind not in MINOR

    def is_shown_pass(self, op: int) -> bool:
        layers = self.flow.record.layers
        return _is_shown(layers.pass_of[op], layers.num_passes[layers.layer_of[op]])

    def work_of(self, layer: int) -> int | None:
        """The one op of a layer whose form is known, if all that the layer gives is what this op gives."""
        op = self.moved_from.get(layer, layer)
        scope = self.flow.closed(op)
        if scope is None:
            return op if self.flow.type(op) in WEIGHTY else None
        ops = range(scope.first_op, scope.end(len(self.flow.records)))
        found = [one for one in ops if self.flow.type(one) in WEIGHTY and self.flow.closed(one) is scope]
        return found[0] if len(found) == 1 and self.flow.origin(op) == found[0] else None


def _is_shown(pass_num: int, num_passes: int) -> bool:
    return num_passes <= MOST_PASSES or pass_num == num_passes


def swept(flow: Flow, sites: Iterable[Site]) -> Sweep:
    """All layers. Two sweeps: the first shows which minor ops are read by layers with weights."""
    marks = Marks()
    for site in sites:
        marks.hidden |= site.scores
        if site.weights is not None and site.module is None:
            marks.shown.add(site.weights)
    first = Sweep(flow, marks)
    for layer in first.sources:
        work = first.work_of(layer)
        read = None if work is None else input_of(flow, work)
        if work is not None and read is not None and read >= 0:
            _show_what_is_read(first, marks, work, read)
    return Sweep(flow, marks) if marks.shown or marks.moved else first


def _show_what_is_read(first: Sweep, marks: Marks, work: int, read: int) -> None:
    """A layer with weights reads a minor op: its weights belong to exactly these values."""
    flow = first.flow
    origin = flow.origin(read)
    if origin in first.sources:
        if (
            flow.type(work) in CONVOLUTIONS
            and flow.shape(origin) != flow.shape(read)
            and flow.closed(read) is None
        ):
            marks.shown.add(read)
        return
    if origin < 0 or flow.closed(origin) is not None or not flow.is_real_or_complex(origin):
        return
    if not any(source >= 0 for source in first.feeds[origin]) or not first.is_shown_pass(origin):
        return
    chain = _turned_chain(first, origin, read)
    if chain:
        own = flow.closed(work)
        outside = [op for op in chain if own is None or flow.closed(op) is not own]
        marks.moved[chain[0]] = outside[-1]
    else:
        marks.shown.add(origin)


def _turned_chain(first: Sweep, origin: int, read: int) -> list[int]:
    """From a function's result that is turned round and read by nobody else, to its reader; else nothing."""
    flow = first.flow
    if flow.type(origin) not in REORDERING:
        return []
    base = flow.origin(flow.records[origin].parents[0])
    if base not in first.sources or flow.is_input(base) or flow.closed(base) is not None:
        return []
    chain, op = [read], read
    while op != base:
        before = flow.handed_on(op)
        op = flow.records[op].parents[0] if before is None else before
        chain.append(op)
    is_alone = all(len(flow.children[op]) == 1 for op in chain)
    return chain[::-1] if is_alone and flow.shape(chain[0])[:1] == flow.shape(read)[:1] else []


ATTENTION: Final = "attention"  # in the place of a module's type


def plan_of(history: ModelHistory, model: nn.Module, layers: Any = "all") -> NetPlan:
    """What of a pass is shown, and how. `layers` as in `tl.watch`: names, patterns, types, modules, rules."""
    return _Planner(Flow(history)).plan(model, layers)


def signature_of(flow: Flow) -> tuple[object, ...]:
    """Two passes with the same one are planned alike."""
    tape = flow.tape
    ops = []
    for op, record in enumerate(flow.records):
        value = tape.values[op]
        shape = tuple(tape.meta(op).shape) if value is None else tuple(value.shape)
        ops.append((record.trait.type, record.parents, record.scope.address, record.position, shape))
    return (*ops, *(address for address, _ in tape.params))


class _Planner:
    """One pass, on its way to a plan."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.sites = find_sites(flow)
        self.sweep: Sweep = swept(flow, self.sites)
        self.num_items = num_items_of(flow)
        self.layers: dict[int, PlannedLayer] = {}  # by op
        self.names: set[str] = set()

    def plan(self, model: nn.Module, wanted: Any) -> NetPlan:
        attends = {site.weights: site for site in self.sites if site.weights is not None and not site.module}
        for op in self.sweep.sources:
            self.layers[op] = self._layer(op, attends.get(op))
        finder = ConnectionFinder(self.flow, self.sweep, self.layers)
        for site in self.sites:
            self._attend(site, finder)
        fold_nonlinearities(self.flow, self.sweep, self.layers, finder)
        shown = chosen(model, list(finder.layers.values()), wanted)
        # The weights of attention stand before what they give, though one op makes both.
        shown.sort(key=lambda layer: (layer.op, layer.module != ATTENTION))
        connections = finder.between({layer.name for layer in shown})
        return NetPlan(
            scene=NetScene(layers=[layer.in_scene() for layer in shown], connections=connections),
            layers=tuple(shown),
            signature=signature_of(self.flow),
        )

    def _layer(self, op: int, site: Site | None) -> PlannedLayer:
        flow = self.flow
        made_by = self.sweep.moved_from.get(op, op)
        name, address, note = self._name(made_by, site)
        shape = flow.shape(op)
        function = "" if flow.is_input(made_by) else flow.records[made_by].trait.name.strip("_")
        values: dict[str, Reader] = {"Act": partial(_value_of, op)}
        if site is not None and len(shape) == 3:  # one head
            shape = (shape[0], 1, *shape[1:])
            values = {"Act": partial(attention_weights, site)}
        if site is not None and flow.shape(site.asks[0]) == flow.shape(op) == shape:
            values["Net"] = partial(_value_of, site.asks[0])
        return PlannedLayer(
            op=made_by,
            name=self._unique(name),
            names=(name, address or self._inside(made_by, name)),
            module=flow.class_of(address) if address else function,
            address=address,
            shape=shape,
            has_items=self._has_items(shape),
            values=values,
            gradients={"Act": op} if flow.is_real_or_complex(op) else {},
            is_input=flow.is_input(op),
            note=note,
        )

    def _name(self, op: int, site: Site | None) -> tuple[str, str, str]:
        """Name, address of the module, and what is to be said about it."""
        flow = self.flow
        if flow.is_input(op):
            name = flow.tape.addresses.get(op, "input")
            # A module of that name has parameters of that name, too.
            return f"{name} (input)" if name in flow.history.module_tree.modules else name, "", ""
        scope = flow.closed(op)
        if scope is None:
            layers, labels = flow.record.layers, flow.record.labels
            layer = layers.layer_of[op]
            if site is not None:
                return self._inside(op, "attn"), "", ""
            num_passes, label = layers.num_passes[layer], labels.short_label(layer)
            return _name_of_pass(label, layers.pass_of[op], num_passes), "", _note_on_passes(num_passes)
        address = scope.address or ""
        num_calls = flow.num_calls(address)
        name = _name_of_pass(address or flow.class_of(address), scope.pass_num, num_calls)
        own = [one for one in scope.outputs if one in self.sweep.sources]
        if len(own) > 1 and op != own[0]:  # a recurrent layer gives its last state too
            name = f"{name}[{own.index(op)}]"
        return name, address, _note_on_passes(num_calls)

    def _inside(self, op: int, name: str) -> str:
        """The name of something that has none of its own, by the module in which it is."""
        address = self.flow.records[op].scope.module().address
        return f"{address}.{name}" if address else name

    def _unique(self, name: str) -> str:
        found, number = name, 1
        while found in self.names:
            number += 1
            found = f"{name}_{number}"
        self.names.add(found)
        return found

    def _has_items(self, shape: tuple[int, ...]) -> bool:
        return self.num_items is not None and len(shape) > 0 and shape[0] == self.num_items

    def _attend(self, site: Site, finder: ConnectionFinder) -> None:
        if site.module is not None:
            self._attend_in_module(site, finder)
            return
        out = self.sweep.marks.moved.get(site.out, site.out)
        if out not in self.layers:
            return
        if site.weights is None:
            weights = self._weights_layer(site, self._unique(self._inside(site.out, "attn")))
            if weights is None:
                return
            finder.add_layer(weights, self._feed(*site.asks))
        elif site.weights in self.layers:
            weights = self.layers[site.weights]
        else:
            return
        finder.attend(site, weights, out)

    def _weights_layer(self, site: Site, name: str) -> PlannedLayer | None:
        gradients = {} if site.weights is None else {"Act": site.weights}
        return self._layer_beside(site.out, name, partial(attention_weights, site), gradients)

    def _layer_beside(
        self, op: int, name: str, reader: Reader, gradients: dict[str, int]
    ) -> PlannedLayer | None:
        """A layer of attention that is made beside the ops; None where it has no values."""
        value = reader(self.flow, None)
        if value is None:
            return None
        shape = tuple(value.shape)
        return PlannedLayer(
            op=op,
            name=name,
            names=(name, name.rpartition(".")[0]),
            module=ATTENTION,
            address="",
            shape=shape,
            has_items=self._has_items(shape),
            values={"Act": reader},
            gradients=gradients,
        )

    def _attend_in_module(self, site: Site, finder: ConnectionFinder) -> None:
        """Torch's own module: values, weights and heads are made visible beside what it gives."""
        scope = site.module
        out = None if scope is None else next((one for one in scope.outputs if one in self.layers), None)
        if scope is None or out is None or len(self.flow.shape(out)) != 3:
            return
        base = self.layers[out].name
        weights = self._weights_layer(site, self._unique(f"{base}.attn"))
        shape = self.flow.shape(out)
        if weights is None:
            return
        is_batch_first = shape[0] == weights.shape[0] and shape[1] == weights.shape[2]
        values, heads = (
            self._layer_beside(
                op, self._unique(f"{base}.{name}"), partial(_merged, site, op, is_batch_first), {}
            )
            for op, name in ((site.value, "v"), (site.out, "heads"))
        )
        if values is None or heads is None:
            return
        finder.add_layer(values, self._feed(site.value))
        finder.add_layer(weights, self._feed(*site.asks))
        finder.attend_in_module(out, values, weights, heads, self._weight_behind(site, out))

    def _weight_behind(self, site: Site, out: int) -> str:
        """The matrix between the heads and what the module gives."""
        work = self.flow.origin(out)
        while work >= 0 and self.flow.type(work) not in ("linear", "addmm"):
            parents = self.flow.records[work].parents
            work = self.flow.origin(parents[0]) if parents else -1
        found = None if work <= site.out else weighted(self.flow, work)
        return "" if found is None else found.connection.weight

    def _feed(self, *ops: int) -> Feed:
        feed: Feed = {}
        for op in ops:
            feed.update(dict.fromkeys(self.sweep.feeds[op], False))
        return feed


def _name_of_pass(name: str, number: int, num_passes: int) -> str:
    return f"{name}:{number}" if 1 < num_passes <= MOST_PASSES else name


def _note_on_passes(num_passes: int) -> str:
    return f"it ran {num_passes} times: this is the last" if num_passes > MOST_PASSES else ""
