"""Lay out a picture: nested groups from the inside out, wires across their borders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torcheer.errors import InputError
from torcheer.graph.layout.boxes import Box, Placement, Point, Rect, Route, Spacing, Wire
from torcheer.graph.layout.directions import DIRECTIONS, Direction
from torcheer.graph.layout.group import Interior, lay_out_group
from torcheer.graph.layout.nesting import Nest, Wiring, cut
from torcheer.graph.layout.pieces import Child
from torcheer.graph.layout.reordering import wish_port_orders
from torcheer.graph.layout.routes import draw_loops, join, loop_room


def lay_out(
    root: Box, wires: Sequence[Wire], *, direction: str = "topdown", spacing: Spacing | None = None
) -> Placement:
    """Where every box of `root` goes and how every wire runs.

    `direction` is where the flow goes: 'topdown', 'bottomup' or 'leftright'. The same boxes and wires
    always give the same picture.
    """
    turn = DIRECTIONS.get(direction)
    if turn is None:
        raise InputError(f"no direction {direction!r}: choose one of {', '.join(map(repr, DIRECTIONS))}.")
    layout = _Layout(root, wires, turn, spacing or Spacing())
    return turn.turn(layout.placement())


class _Layout:
    """One picture on its way, as if the flow went down."""

    def __init__(self, root: Box, wires: Sequence[Wire], turn: Direction, spacing: Spacing) -> None:
        self.turn, self.spacing = turn, spacing
        self.nest = Nest(root)
        self.labels = [wire.label and turn.size(*wire.label) for wire in wires]
        self.wiring: Wiring = cut(self.nest, wires, self.labels)
        # Wires from a box to itself, by box.
        self.loops: dict[int, list[int]] = {}
        for number, wire in enumerate(wires):
            if wire.source == wire.target:
                self.loops.setdefault(self.nest.index_of[wire.source], []).append(number)
        self.interiors: dict[int, Interior] = {}
        self._lay_out_groups(range(len(self.nest.boxes)))
        self._reorder_ports()

    def _lay_out_groups(self, indices: Iterable[int]) -> None:
        # A box's children come after it in the nest.
        for index in sorted(indices, reverse=True):
            if self.nest.children[index]:
                self.interiors[index] = self._lay_out_group(index)

    def _reorder_ports(self) -> None:
        """Lay out groups again whose ports were in the wrong order, and keep that if fewer wires cross."""
        stale = wish_port_orders(self.nest, self.wiring, self.interiors)
        before = {index: self.interiors[index] for index in stale}
        self._lay_out_groups(stale)
        now = sum(self.interiors[index].num_crossings for index in stale)
        if now >= sum(interior.num_crossings for interior in before.values()):
            self.interiors |= before

    def _lay_out_group(self, index: int) -> Interior:
        children = [self._child(child) for child in self.nest.children[index]]
        frame = self.turn.frame(self.nest.boxes[index], self.spacing)
        return lay_out_group(children, self.wiring.insides[index], frame, self.spacing)

    def _child(self, index: int) -> Child:
        box, order = self.nest.boxes[index], self.nest.order[index]
        interior = self.interiors.get(index)
        if interior is not None:
            return Child(
                width=interior.width,
                height=interior.height,
                order=order,
                is_group=True,
                in_ports=interior.in_ports,
                out_ports=interior.out_ports,
            )
        width, height = self.turn.size(box.width, box.height)
        margin, least = loop_room([self.labels[one] for one in self.loops.get(index, ())], self.spacing)
        return Child(width=width, height=height, order=order, is_group=False, margin=margin, room=least)

    def placement(self) -> Placement:
        corners: list[Point] = [(0.0, 0.0)]
        rects: list[Rect] = []
        corners *= len(self.nest.boxes)
        for index, box in enumerate(self.nest.boxes):
            interior = self.interiors.get(index)
            if interior is None:
                size = self.turn.size(box.width, box.height)
            else:
                size = interior.width, interior.height
                x, y = corners[index]
                for child, (left, top) in zip(self.nest.children[index], interior.corners, strict=True):
                    corners[child] = (x + left, y + top)
            rects.append(Rect(*corners[index], *size))
        return Placement(
            rects={box.key: rect for box, rect in zip(self.nest.boxes, rects, strict=True)},
            routes=self._routes(corners, rects),
            # Only a picture of a single box can have loops beside its outermost box.
            width=rects[0].width + (0.0 if self.interiors else self._child(0).margin),
            height=rects[0].height,
        )

    def _routes(self, corners: list[Point], rects: list[Rect]) -> list[Route]:
        looping: dict[int, Route] = {}
        for index, numbers in self.loops.items():
            labels = [self.labels[one] for one in numbers]
            looping.update(zip(numbers, draw_loops(rects[index], labels, self.spacing), strict=True))
        routes = []
        for number, way in enumerate(self.wiring.ways):
            if way:
                runs = ((corners[group], self.interiors[group].runs[link]) for group, link in way)
                routes.append(join(runs))
            else:
                routes.append(looping[number])
        return routes
