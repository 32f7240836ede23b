"""The oracle for connections: what a unit receives, summed up, is what went into it."""

from __future__ import annotations

import math

import numpy

from torcheer.netview import NetView

WEIGHTED = ("linear", "conv", "transposed_conv", "embedding", "attention")


def check_connections(view: NetView, *, num_units: int = 4, seed: int = 0) -> dict[str, int]:
    """For some units of every layer with weights; returns how many connections of each form there were."""
    scene, generator = view.scene, numpy.random.default_rng(seed)
    layers = {layer.name: layer for layer in scene.layers}
    counts: dict[str, int] = {}
    for connection in scene.connections:
        if connection.form not in WEIGHTED:
            continue
        counts[connection.form] = counts.get(connection.form, 0) + 1
        target = layers[connection.target]
        given = view.values(f"{target.name}.{'Net' if 'Net' in target.variables else 'Act'}").ravel()
        read = view.values(f"{connection.source}.Act").ravel()
        bias = _bias(view, connection.weight)
        size = given.size
        for unit in generator.integers(0, size, num_units):
            weights = view.weights(target.name, int(unit))[connection.source].ravel()
            if connection.form == "embedding":
                expected = numpy.nansum(weights)  # one row of the table was looked up
            else:
                expected = numpy.nansum(weights * read)
            if bias is not None:
                maps = size // bias.size
                of_map = unit // maps if "conv" in connection.form else unit % bias.size
                expected += bias[of_map]
            scale = max(1e-3, float(numpy.abs(given).max()))
            assert math.isclose(given[unit], expected, rel_tol=1e-3, abs_tol=1e-4 * scale), (
                connection,
                unit,
                given[unit],
                expected,
            )
    return counts


def _bias(view: NetView, weight: str) -> numpy.ndarray | None:  # type: ignore[type-arg]
    name = weight.removesuffix("weight") + "bias"
    if weight.endswith("weight") and name in view.run.names("tensor"):
        return view.run.tensors(name)[-1].array
    return None
