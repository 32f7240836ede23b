"""Turn a picture that flows down into one that flows up or to the right.

All layout is computed as if the flow went down. For a flow to the right, sizes go in with their sides
exchanged and come out exchanged again; for a flow upwards the finished picture is turned over. Titles stay
at the top of their groups and texts stay upright.
"""

from __future__ import annotations

from dataclasses import dataclass

from torcheer.graph.layout.boxes import Box, Placement, Point, Rect, Route, Spacing
from torcheer.graph.layout.pieces import Frame


@dataclass(frozen=True, slots=True)
class Direction:
    """Whether the picture's sides are exchanged, and whether it is turned over."""

    exchanges: bool
    turns_over: bool

    def size(self, width: float, height: float) -> tuple[float, float]:
        return (height, width) if self.exchanges else (width, height)

    def frame(self, box: Box, spacing: Spacing) -> Frame:
        """The margins of a group as the downward layout sees them."""
        width, height = self.size(box.width, box.height)
        padding = box.padding
        margin = box.title_width + spacing.wire_to_label if box.title_width else 0.0
        side = box.header if self.exchanges else 0.0
        top = 0.0 if self.exchanges or self.turns_over else box.header
        bottom = box.header if self.turns_over else 0.0
        return Frame(
            top=top + padding,
            bottom=bottom + padding,
            left=side + padding,
            right=padding,
            wire_top=top,
            least_width=width,
            least_height=height,
            entry_margin=0.0 if self.exchanges or self.turns_over else margin,
            exit_margin=margin if self.turns_over else 0.0,
        )

    def turn(self, placement: Placement) -> Placement:
        """The finished picture, as it was asked for."""
        if not self.exchanges and not self.turns_over:
            return placement
        height = placement.height

        def turn_point(point: Point) -> Point:
            return (point[1], point[0]) if self.exchanges else (point[0], height - point[1])

        def turn_rect(rect: Rect) -> Rect:
            if self.exchanges:
                return Rect(rect.y, rect.x, rect.height, rect.width)
            return Rect(rect.x, height - rect.y - rect.height, rect.width, rect.height)

        def turn_route(route: Route) -> Route:
            return Route(
                start=turn_point(route.start),
                pieces=tuple(tuple(map(turn_point, piece)) for piece in route.pieces),  # type: ignore[misc]
                label=route.label and turn_rect(route.label),
                is_back=route.is_back,
            )

        width, height_now = self.size(placement.width, placement.height)
        return Placement(
            rects={key: turn_rect(rect) for key, rect in placement.rects.items()},
            routes=[turn_route(route) for route in placement.routes],
            width=width,
            height=height_now,
        )


DIRECTIONS = {
    "topdown": Direction(exchanges=False, turns_over=False),
    "bottomup": Direction(exchanges=False, turns_over=True),
    "leftright": Direction(exchanges=True, turns_over=False),
}
