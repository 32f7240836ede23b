"""See where the ports of groups stand in another order than the wires that come to them from outside.

Groups are laid out before what is around them, so the order of their ports is a guess. Once everything is
laid out, the guess can be compared with where the wires come from, and made again where it was wrong.
"""

from __future__ import annotations

from itertools import pairwise

from torcheer.graph.layout.group import Interior
from torcheer.graph.layout.nesting import Nest, Wiring

# Wires that come from about the same x may arrive in either order.
_SAME = 1.0


def wish_port_orders(nest: Nest, wiring: Wiring, interiors: dict[int, Interior]) -> set[int]:
    """Fill the wishes of groups whose ports are in the wrong order; say which groups to lay out again."""
    stale: set[int] = set()
    for index in range(1, len(nest.boxes)):
        if index not in interiors:
            continue
        entries, exits = _wishes(nest, wiring, interiors, index)
        inside, interior = wiring.insides[index], interiors[index]
        if _is_wrong(interior.in_ports, entries):
            inside.port_wishes |= {inside.in_ports[net]: x for net, x in entries.items()}
        if _is_wrong(interior.out_ports, exits):
            inside.port_wishes |= {inside.out_ports[net]: x for net, x in exits.items()}
        if inside.port_wishes:
            above = index
            while above >= 0 and above not in stale:
                stale.add(above)
                above = nest.parent[above]
    return stale


def _is_wrong(ports: dict[int, float], wishes: dict[int, float]) -> bool:
    ordered = [wishes[net] for net in sorted(ports, key=ports.__getitem__)]
    return any(one > other + _SAME for one, other in pairwise(ordered))


def _wishes(
    nest: Nest, wiring: Wiring, interiors: dict[int, Interior], index: int
) -> tuple[dict[int, float], dict[int, float]]:
    """For each net the x, in the parent, from which it comes to a group and to which it goes from there."""
    parent, place = nest.parent[index], nest.place[index]
    outside, around = wiring.insides[parent], interiors[parent]
    entries: dict[int, float] = {}
    exits: dict[int, list[float]] = {}
    for link, run in zip(outside.links, around.runs, strict=True):
        source, target = link.ends
        # Where a port of the parent is about to move, its own wish counts.
        if target == place:
            x = run.curves[-1][0][0] if run.curves else run.end[0]
            entries[link.net] = outside.port_wishes.get(source, x)
        elif source == place:
            x = run.curves[0][-1][0] if run.curves else run.start[0]
            exits.setdefault(link.net, []).append(outside.port_wishes.get(target, x))
    return entries, {net: sum(places) / len(places) for net, places in exits.items()}
