"""Put a nonlinearity and the layer before it together: Net is what went in, Act what came out."""

from __future__ import annotations

from dataclasses import replace

from torcheer.netview.connecting import Connecting
from torcheer.netview.flow import Flow
from torcheer.netview.layering import Sweep
from torcheer.netview.optypes import NONLINEAR, is_nonlinear_class
from torcheer.netview.planning import PlannedLayer


def fold_nonlinearities(
    flow: Flow, sweep: Sweep, layers: dict[int, PlannedLayer], connecting: Connecting
) -> None:
    """A nonlinearity that alone reads a layer with weights becomes part of it."""
    readers = _readers(sweep)
    results = _results(flow, sweep)
    for op, layer in list(layers.items()):
        before = _layer_before(sweep, op)
        net = layers.get(before)
        if net is None or not _is_nonlinear(flow, op, layer):
            continue
        has_weights = any(source < 0 for source in sweep.sources[before])
        is_plain = not net.is_input and "Net" not in net.values and net.shape == layer.shape
        if has_weights and is_plain and readers[before] == [op] and before not in results:
            folded = replace(
                net,
                names=(*net.names, *layer.names),
                values={"Act": layer.values["Act"], "Net": net.values["Act"]},
                gradients={"Act": op, "Net": before},
            ).with_note(f"Act is after {layer.module}, Net before it")
            connecting.fold(before, op, folded)
            layers[before] = folded


def _layer_before(sweep: Sweep, op: int) -> int:
    """The one layer that it reads, parameters of its own aside; -1 where there are more, or none."""
    sources = [source for source in sweep.sources[op] if source >= 0]
    return sources[0] if len(sources) == 1 else -1


def _is_nonlinear(flow: Flow, op: int, layer: PlannedLayer) -> bool:
    if layer.address:
        return flow.type(flow.origin(op)) in NONLINEAR or is_nonlinear_class(layer.module)
    return flow.type(layer.op) in NONLINEAR and layer.op == op


def _readers(sweep: Sweep) -> dict[int, list[int]]:
    """By layer: the layers that read it."""
    found: dict[int, list[int]] = {}
    for op, sources in sweep.sources.items():
        for source in sources:
            found.setdefault(source, []).append(op)
    return found


def _results(flow: Flow, sweep: Sweep) -> set[int]:
    """What the model itself gives."""
    outputs = [op for op in range(len(flow.records)) if flow.is_output(op)]
    return {source for op in outputs for source in sweep.feeds[op]}
