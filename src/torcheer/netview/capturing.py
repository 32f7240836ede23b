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

from typing import Any, Final

from torch import nn

from torcheer.capture import ModelHistory
from torcheer.netview.attending import Site, find_sites
from torcheer.netview.batching import num_items_of
from torcheer.netview.choosing import chosen
from torcheer.netview.connecting import Connecting, fold_nonlinearities
from torcheer.netview.flow import Flow
from torcheer.netview.forms import weighted
from torcheer.netview.layering import MOST_PASSES, Feed, Sweep, swept
from torcheer.netview.planning import NetPlan, PlannedLayer, reader_of_merged, reader_of_op, reader_of_weights
from torcheer.run import NetScene

ATTENTION: Final = "attention"  # in the place of a module's type


def plan_of(history: ModelHistory, model: nn.Module, layers: Any = "all") -> NetPlan:
    """What of a pass is shown, and how. `layers` as in `tl.watch`: names, patterns, types, modules, rules."""
    return _Planning(Flow(history)).plan(model, layers)


def signature_of(flow: Flow) -> tuple[object, ...]:
    """Two passes with the same one are planned alike."""
    tape = flow.tape
    ops = []
    for op, record in enumerate(flow.records):
        value = tape.values[op]
        shape = tuple(tape.meta(op).shape) if value is None else tuple(value.shape)
        ops.append((record.trait.type, record.parents, record.scope.address, record.position, shape))
    return (*ops, *(address for address, _ in tape.params))


class _Planning:
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
        connecting = Connecting(self.flow, self.sweep, self.layers)
        for site in self.sites:
            self._attend(site, connecting)
        fold_nonlinearities(self.flow, self.sweep, self.layers, connecting)
        shown = chosen(model, list(connecting.layers.values()), wanted)
        # The weights of attention stand before what they give, though one op makes both.
        shown.sort(key=lambda layer: (layer.op, layer.module != ATTENTION))
        connections = connecting.between({layer.name for layer in shown})
        return NetPlan(
            scene=NetScene(
                layers=[layer.in_scene(list(layer.values)) for layer in shown], connections=connections
            ),
            layers=tuple(shown),
            params=tuple(address for address, _ in self.flow.tape.params),
            signature=signature_of(self.flow),
        )

    # --- one layer ----------------------------------------------------------------------------------

    def _layer(self, op: int, site: Site | None) -> PlannedLayer:
        flow = self.flow
        made_by = self.sweep.moved_from.get(op, op)
        name, address, note = self._name(made_by, site)
        shape = flow.shape(op)
        reader = reader_of_op(op, has_items=self._has_items(shape))
        if site is not None and len(shape) == 3:  # one head
            shape = (shape[0], 1, *shape[1:])
            reader = reader_of_weights(site, has_items=self._has_items(shape))
        values = {"Act": reader}
        if site is not None and flow.shape(site.asks[0]) == flow.shape(op) == shape:
            values["Net"] = reader_of_op(site.asks[0], has_items=self._has_items(shape))
        return PlannedLayer(
            op=made_by,
            name=self._unique(name),
            names=(name, address or self._inside(made_by, name)),
            module=flow.class_of(address) if address else _function(flow, made_by),
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
            layers, labels = flow.history._numbered.layers, flow.history._numbered.labels
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

    # --- attention ----------------------------------------------------------------------------------

    def _attend(self, site: Site, connecting: Connecting) -> None:
        if site.module is not None:
            self._attend_in_module(site, connecting)
            return
        out = self.sweep.marks.moved.get(site.out, site.out)
        if out not in self.layers:
            return
        if site.weights is None:
            weights = self._weights_layer(site, self._unique(self._inside(site.out, "attn")))
            if weights is None:
                return
            connecting.add_layer(weights, self._feed(*site.asks))
        elif site.weights in self.layers:
            weights = self.layers[site.weights]
        else:
            return
        connecting.attend(site, weights, out)

    def _weights_layer(self, site: Site, name: str) -> PlannedLayer | None:
        value = reader_of_weights(site, has_items=False)(self.flow, None)
        if value is None:
            return None
        shape = tuple(value.shape)
        has_items = self._has_items(shape)
        gradients = {} if site.weights is None else {"Act": site.weights}
        return PlannedLayer(
            op=site.out,
            name=name,
            names=(name, name.rpartition(".")[0]),
            module=ATTENTION,
            address="",
            shape=shape,
            has_items=has_items,
            values={"Act": reader_of_weights(site, has_items=has_items)},
            gradients=gradients,
        )

    def _attend_in_module(self, site: Site, connecting: Connecting) -> None:
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
        values = self._merged_layer(site, site.value, self._unique(f"{base}.v"), is_batch_first)
        heads = self._merged_layer(site, site.out, self._unique(f"{base}.heads"), is_batch_first)
        if values is None or heads is None:
            return
        connecting.add_layer(values, self._feed(site.value))
        connecting.add_layer(weights, self._feed(*site.asks))
        connecting.attend_in_module(out, values, weights, heads, self._weight_behind(site, out))

    def _merged_layer(self, site: Site, op: int, name: str, is_batch_first: bool) -> PlannedLayer | None:
        value = reader_of_merged(site, op, is_batch_first=is_batch_first, has_items=False)(self.flow, None)
        if value is None:
            return None
        shape = tuple(value.shape)
        has_items = self._has_items(shape)
        reader = reader_of_merged(site, op, is_batch_first=is_batch_first, has_items=has_items)
        return PlannedLayer(
            op=op,
            name=name,
            names=(name, name.rpartition(".")[0]),
            module=ATTENTION,
            address="",
            shape=shape,
            has_items=has_items,
            values={"Act": reader},
            gradients={},
        )

    def _weight_behind(self, site: Site, out: int) -> str:
        """The matrix between the heads and what the module gives."""
        work = self.flow.origin(out)
        while work >= 0 and self.flow.type(work) not in ("linear", "addmm"):
            parents = self.flow.records[work].parents
            work = self.flow.origin(parents[0]) if parents else -1
        found = None if work <= site.out else weighted(self.flow, work)
        return "" if found is None else found.weight

    def _feed(self, *ops: int) -> Feed:
        feed: Feed = {}
        for op in ops:
            feed.update(dict.fromkeys(self.sweep.feeds[op], False))
        return feed


def _name_of_pass(name: str, number: int, num_passes: int) -> str:
    return f"{name}:{number}" if 1 < num_passes <= MOST_PASSES else name


def _note_on_passes(num_passes: int) -> str:
    return f"it ran {num_passes} times: this is the last" if num_passes > MOST_PASSES else ""


def _function(flow: Flow, op: int) -> str:
    return "" if flow.is_input(op) else flow.records[op].trait.name.strip("_")
