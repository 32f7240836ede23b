"""Cut every wire into links, each inside one group, that meet at ports on the groups' borders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from torcheer.errors import InputError
from torcheer.graph.layout.model import Box, Wire


@dataclass(slots=True, kw_only=True)
class Link:
    """A wire's (or several wires') way inside one group, from a child or port to a child or port."""

    # Wires of one source share links, ports and bends; parallel wires are different nets.
    net: int
    ends: tuple[int, int]
    weight: float
    label: tuple[float, float] | None = None
    is_back: bool = False


@dataclass(slots=True)
class Inside:
    """The links inside one group. Vertices: its children in order, then its ports as they came."""

    num_children: int
    in_ports: dict[int, int] = field(default_factory=dict)
    out_ports: dict[int, int] = field(default_factory=dict)
    # When the source of each port's net ran.
    port_order: list[int] = field(default_factory=list)
    # From left to right, where the wires of some ports come from or go to; known after a first layout.
    port_wishes: dict[int, float] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    _link_ids: dict[tuple[int, int], int] = field(default_factory=dict)

    def in_port(self, net: int, order: int) -> int:
        return self._port(self.in_ports, net, order)

    def out_port(self, net: int, order: int) -> int:
        return self._port(self.out_ports, net, order)

    def _port(self, ports: dict[int, int], net: int, order: int) -> int:
        if net not in ports:
            ports[net] = self.num_children + len(self.port_order)
            self.port_order.append(order)
        return ports[net]

    def add(self, link: Link) -> int:
        """Add a link, or join it with the one that its net already has to that target."""
        name = link.net, link.ends[1]
        known = self._link_ids.get(name)
        if known is not None:
            same = self.links[known]
            same.weight = max(same.weight, link.weight)
            same.is_back = same.is_back and link.is_back
            return known
        self._link_ids[name] = len(self.links)
        self.links.append(link)
        return len(self.links) - 1


class Nest:
    """The tree of boxes as flat lists; a box is named by its place in preorder."""

    def __init__(self, root: Box) -> None:
        self.boxes: list[Box] = []
        self.parent: list[int] = []
        self.depth: list[int] = []
        # Which child of its parent a box is.
        self.place: list[int] = []
        self.children: list[list[int]] = []
        self.index_of: dict[int, int] = {}
        stack: list[tuple[Box, int, int]] = [(root, -1, 0)]
        while stack:
            box, parent, place = stack.pop()
            self._add(box, parent, place)
            index = len(self.boxes) - 1
            stack += [(child, index, i) for i, child in reversed(list(enumerate(box.children)))]
        # A group runs when the first of its nodes runs.
        self.order = [box.key for box in self.boxes]
        for index in range(len(self.boxes) - 1, -1, -1):
            if self.children[index]:
                self.order[index] = min(self.order[child] for child in self.children[index])

    def _add(self, box: Box, parent: int, place: int) -> None:
        index = len(self.boxes)
        if box.key in self.index_of:
            raise InputError(f"two boxes have the key {box.key}: give every box of a picture its own key.")
        self.index_of[box.key] = index
        self.boxes.append(box)
        self.parent.append(parent)
        self.place.append(place)
        self.children.append([])
        self.depth.append(self.depth[parent] + 1 if parent >= 0 else 0)
        if parent >= 0:
            self.children[parent].append(index)

    def leaf(self, key: int) -> int:
        index = self.index_of.get(key)
        if index is None:
            raise InputError(f"a wire names box {key}, which is not in the picture.")
        if self.boxes[index].children:
            raise InputError(f"a wire ends at box {key}, a group: let it end at one of the group's boxes.")
        return index


@dataclass(frozen=True, slots=True)
class Wiring:
    """All links, by group, and each wire as its links in order from source to target."""

    insides: dict[int, Inside]
    # A step is a group and one of its links. Empty for a wire from a box to itself.
    ways: list[list[tuple[int, int]]]


def cut(nest: Nest, wires: Sequence[Wire], labels: Sequence[tuple[float, float] | None]) -> Wiring:
    """Divide the wires at the borders that they cross; a label stays with the last link."""
    insides = {index: Inside(len(children)) for index, children in enumerate(nest.children) if children}
    nets: dict[tuple[int, int], int] = {}
    twins: dict[tuple[int, int], int] = {}
    ways: list[list[tuple[int, int]]] = []
    for wire, label in zip(wires, labels, strict=True):
        source, target = nest.leaf(wire.source), nest.leaf(wire.target)
        twin = twins.get((source, target), 0)
        twins[source, target] = twin + 1
        net = nets.setdefault((source, twin), len(nets))
        if source == target:
            ways.append([])
            continue
        way = _cut_one(nest, insides, wire, source, target, net)
        if label is not None:
            group, link = way[-1]
            insides[group].links[link].label = label
        ways.append(way)
    return Wiring(insides, ways)


def _cut_one(
    nest: Nest, insides: dict[int, Inside], wire: Wire, source: int, target: int, net: int
) -> list[tuple[int, int]]:
    parent, depth, place = nest.parent, nest.depth, nest.place
    leaving: list[tuple[int, int]] = []
    entering: list[tuple[int, int]] = []
    top, bottom = source, target
    order = nest.order[source]
    while parent[top] != parent[bottom]:
        if depth[top] >= depth[bottom]:
            group = parent[top]
            inside = insides[group]
            ends = place[top], inside.out_port(net, order)
            leaving.append((group, inside.add(Link(net=net, ends=ends, weight=wire.weight))))
            top = group
        else:
            group = parent[bottom]
            inside = insides[group]
            ends = inside.in_port(net, order), place[bottom]
            entering.append((group, inside.add(Link(net=net, ends=ends, weight=wire.weight))))
            bottom = group
    group = parent[top]
    ends = place[top], place[bottom]
    across = Link(net=net, ends=ends, weight=wire.weight, is_back=wire.is_back)
    return [*leaving, (group, insides[group].add(across)), *reversed(entering)]
