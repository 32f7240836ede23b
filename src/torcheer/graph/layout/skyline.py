"""How far down a drawing reaches, for every x."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

_FAR = float("inf")


class Skyline:
    """Steps over the x axis: `heights[i]` holds from `edges[i]` to the next edge."""

    __slots__ = ("edges", "heights")

    def __init__(self) -> None:
        self.edges = [-_FAR]
        self.heights = [-_FAR]

    def lowest(self, left: float, right: float) -> float:
        """The greatest y reached between two x."""
        first = bisect_right(self.edges, left) - 1
        last = bisect_left(self.edges, right, first + 1)
        heights = self.heights
        return heights[first] if last == first + 1 else max(heights[first:last])

    def lower(self, left: float, right: float, y: float) -> None:
        """Let the drawing reach at least to y between two x."""
        edges, heights = self.edges, self.heights
        first = bisect_right(edges, left) - 1
        last = bisect_left(edges, right, first + 1)
        covered = heights[first:last]
        if min(covered) >= y:
            return
        new_edges = [left, *edges[first + 1 : last]]
        new_heights = [max(height, y) for height in covered]
        if edges[first] < left:
            new_edges.insert(0, edges[first])
            new_heights.insert(0, covered[0])
        if last == len(edges) or edges[last] > right:
            new_edges.append(right)
            new_heights.append(covered[-1])
        kept = [i for i, height in enumerate(new_heights) if not i or height != new_heights[i - 1]]
        edges[first:last] = [new_edges[i] for i in kept]
        heights[first:last] = [new_heights[i] for i in kept]
