"""Choose which segments are exactly straight, and tie their vertices into rigid blocks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

from torcheer.graph.layout.part import Course, Kind, Part


@dataclass(slots=True)
class Blocks:
    """Vertices that move together: `x[vertex] = x[block] + offset[vertex]`."""

    block_of: list[int]
    offset: list[float]
    members: list[list[int]]
    is_straight: list[bool]


def align(part: Part) -> Blocks:
    """Accept segments from the weightiest down: one at each side of a vertex, none crossing another."""
    num_segments = len(part.segment_from)
    is_straight = [False] * num_segments
    down: dict[int, int] = {}
    up: dict[int, int] = {}
    # For each gap the accepted segments as places above and below, both rising.
    tops: list[list[int]] = [[] for _ in part.rows]
    bottoms: list[list[int]] = [[] for _ in part.rows]
    place, rank = part.place, part.rank
    for segment in _by_priority(part):
        start, end = part.segment_from[segment], part.segment_to[segment]
        if start in down or end in up:
            continue
        above, below = tops[rank[start]], bottoms[rank[start]]
        i = bisect_left(above, place[start])
        if (i and below[i - 1] > place[end]) or (i < len(below) and below[i] < place[end]):
            continue
        above.insert(i, place[start])
        below.insert(i, place[end])
        down[start] = up[end] = segment
        is_straight[segment] = True
    return _tie(part, down, up, is_straight)


def _by_priority(part: Part) -> list[int]:
    """The main line first, then the columns of long wires, then the rest; each by weight and length."""
    main = _main_segments(part)
    kind, weight, score = part.kind, part.segment_weight, part.segment_score
    wire_like = (Kind.BEND, Kind.LABEL, Kind.IN_PORT, Kind.OUT_PORT)

    def priority(segment: int) -> tuple[int, float, float, int]:
        passing = (kind[part.segment_from[segment]] in wire_like) + (
            kind[part.segment_to[segment]] in wire_like
        )
        group = 0 if segment in main else (1 if passing == 2 else 2 + passing)
        return group, -weight[segment], -score[segment], segment

    return sorted(range(len(part.segment_from)), key=priority)


def _main_segments(part: Part) -> set[int]:
    """Segments of the main lines: from the longest way down, each vertex followed by its best way on."""
    leaving: dict[int, list[Course]] = {}
    for course in part.courses:
        if not course.goes_up and course.chain.start is None:
            leaving.setdefault(course.source, []).append(course)
    way_on = {
        vertex: _best(courses, lambda one: part.place[part.segment_to[_first(one)]])
        for vertex, courses in leaving.items()
    }
    main: set[int] = set()
    reached: set[int] = set()
    # Of equal ways the one with fewer wires beside it: what feeds everything is not the main line.
    starts = sorted(
        way_on.values(),
        key=lambda one: (
            part.rank[one.source],
            -one.weight,
            -one.score,
            len(leaving[one.source]),
            one.source,
        ),
    )
    for start in starts:
        vertex = start.source
        while vertex in way_on and way_on[vertex].target not in reached:
            course = way_on.pop(vertex)
            vertex = course.target
            reached.add(vertex)
            main.update(course.chain.segments[: course.num_steps])
            main.update(course.tail)
    return main


def _first(course: Course) -> int:
    return course.chain.segments[0] if course.num_steps else course.tail[0]


def _best(courses: list[Course], place: Callable[[Course], int]) -> Course:
    """The weightiest and longest way; of equal ones the middle one, for symmetry."""
    if len(courses) == 1:
        return courses[0]
    most = max((course.weight, course.score) for course in courses)
    equal = sorted((one for one in courses if (one.weight, one.score) == most), key=place)
    return equal[(len(equal) - 1) // 2]


def _tie(part: Part, down: dict[int, int], up: dict[int, int], is_straight: list[bool]) -> Blocks:
    size = len(part.kind)
    block_of, offset = [-1] * size, [0.0] * size
    members: list[list[int]] = []
    for row in part.rows:
        for vertex in row:
            if vertex in up:
                segment = up[vertex]
                other = part.segment_from[segment]
                block_of[vertex] = block_of[other]
                shift = part.segment_out[segment] - part.segment_in[segment]
                offset[vertex] = offset[other] + shift
                members[block_of[vertex]].append(vertex)
            else:
                block_of[vertex] = len(members)
                members.append([vertex])
    return Blocks(block_of, offset, members, is_straight)
