"""The lowest and the highest value that each variable of a network ever had, by what its records say."""

from __future__ import annotations

import math

from torcheer.app.runs.nets import RankNet
from torcheer.netview import RECEIVED, SENT, WEIGHT

Range = tuple[float, float]  # the first is larger where nothing is known


def ranges_of(net: RankNet) -> dict[str, Range]:
    """By variable, those of weights among them. Nothing is read.

    Inputs, such as the numbers of words, are often far larger than all that is made of them: they count only
    for a variable that no other layer has.
    """
    found = dict.fromkeys(net.net.variables, (math.inf, -math.inf))
    inputs = {layer.name for layer in net.net.scene.layers if layer.is_input}
    of_inputs = dict(found)
    for (layer, variable), name in net.net.series.items():
        _widen(of_inputs if layer in inputs else found, variable, net, name)
    found = {
        variable: found[variable] if _is_known(found[variable]) else of_inputs[variable] for variable in found
    }
    whats = {variable[len(RECEIVED) :] for variable in net.net.weight_variables}
    weights = {one.weight for one in net.net.scene.connections if one.weight}
    for weight in weights:
        for what in whats:
            name = weight_series(weight, what)
            for end in (RECEIVED, SENT):
                _widen(found, end + what, net, name)
    return found


def _is_known(known: Range) -> bool:
    return known[0] <= known[1]


def weight_series(weight: str, what: str) -> str:
    """The series of a weight, or of what goes with it: its gradient, its last change…"""
    return weight if what == WEIGHT else f"{weight}.{what}"


def _widen(found: dict[str, Range], variable: str, net: RankNet, name: str) -> None:
    series = net.index.series.get(name)
    if series is not None and variable in found:
        low, high = found[variable]
        found[variable] = min(low, series.low), max(high, series.high)
