"""Order the vertices of each rank so that few wires cross."""

from __future__ import annotations

from bisect import bisect_right, insort

from torcheer.graph.layout.model import Course, Kind, Part

# Above this many vertices a part gets fewer rounds.
_MANY = 4000
# Vertices with more wires than this (multiplied) are not worth exchanging.
_MOST_PAIRS = 400
_PASSING = (Kind.BEND, Kind.HUB)


def order_rows(part: Part) -> None:
    """Fill `rows` and `place`: a walk along the wires first, then sweeps while they help."""
    num_segments = _hold_upward(part)
    _walk(part)
    _improve(part)
    _release_upward(part, num_segments)


def _hold_upward(part: Part) -> int:
    """Tie each upward column to its two ends by hubs, so that it is ordered beside them."""
    num_segments = len(part.segment_from)
    for joint in part.joints:
        if joint.bend < 0:
            continue
        step = 1 if joint.is_below else -1
        hub = part.add_vertex(Kind.HUB, 0.0, 0.0, 0.0, rank=part.rank[joint.vertex] + step)
        course = Course(-1, 0, 0, 1.0, None, True)
        for end in (joint.vertex, joint.bend):
            shift = joint.shift if end == joint.vertex else 0.0
            if joint.is_below:
                part.add_segment(end, hub, course, shift)
            else:
                part.add_segment(hub, end, course, 0.0, shift)
    return num_segments


def _release_upward(part: Part, num_segments: int) -> None:
    if len(part.segment_from) == num_segments:
        return
    for vertex in range(len(part.kind)):
        part.above[vertex] = [one for one in part.above[vertex] if one < num_segments]
        part.below[vertex] = [one for one in part.below[vertex] if one < num_segments]
    for values in (
        part.segment_from, part.segment_to, part.segment_out, part.segment_in,
        part.segment_weight, part.segment_score, part.segment_net,
    ):  # fmt: skip
        del values[num_segments:]
    part.rows = [[one for one in row if part.kind[one] is not Kind.HUB] for row in part.rows]
    _number(part)


def _number(part: Part) -> None:
    part.place = [0] * len(part.kind)
    for row in part.rows:
        for place, vertex in enumerate(row):
            part.place[vertex] = place


def _walk(part: Part) -> None:
    """A depth-first walk: the main line down to its end, then what branches off, more and more outwards.

    Ways that branch off deeper come first, so nested bows do not cross. Branches lie to the right, but
    those that lead nowhere lie to the left and right in turn: they would make a staircase on one side.
    """
    num_rows = max(part.rank) + 1
    rights: list[list[int]] = [[] for _ in range(num_rows)]
    lefts: list[list[int]] = [[] for _ in range(num_rows)]
    seen = [False] * len(part.kind)
    leads_nowhere = _leads_nowhere(part)
    goes_left = True
    for root in _roots(part):
        stack = [(root, False)]
        while stack:
            vertex, is_left = stack.pop()
            if seen[vertex]:
                continue
            seen[vertex] = True
            (lefts if is_left else rights)[part.rank[vertex]].append(vertex)
            ways = _ways_on(part, vertex)
            side = _side_branch(part, vertex, leads_nowhere)
            if side >= 0:
                ways.remove(side)
                ways.append(side)
            stack += [(one, is_left or (one == side and goes_left)) for one in reversed(ways)]
            goes_left ^= side >= 0
    part.rows = [left[::-1] + right for left, right in zip(lefts, rights, strict=True)]
    for row in part.rows if part.port_wish else ():
        _obey(part, row)
    _number(part)


def _obey(part: Part, row: list[int]) -> None:
    """Put the ports of a row in the order of the wires outside; other vertices keep their places."""
    places = [place for place, vertex in enumerate(row) if vertex in part.port_wish]
    ports = sorted((row[place] for place in places), key=part.port_wish.__getitem__)
    for place, port in zip(places, ports, strict=True):
        row[place] = port


def _leads_nowhere(part: Part) -> list[bool]:
    """Which vertices have nothing behind them but a tree that ends in this part."""
    answer = [False] * len(part.kind)
    for vertex in sorted(range(len(part.kind)), key=part.rank.__getitem__, reverse=True):
        answer[vertex] = (
            part.kind[vertex] in (Kind.NODE, Kind.GROUP)
            and len(part.above[vertex]) == 1
            and all(answer[part.segment_to[one]] for one in part.below[vertex])
        )
    return answer


def _side_branch(part: Part, vertex: int, leads_nowhere: list[bool]) -> int:
    """The branch that leads nowhere, where one leaves the main line; or -1."""
    ways = part.below[vertex]
    if len(ways) < 2 or not leads_nowhere[part.segment_to[min(ways, key=part.segment_score.__getitem__)]]:
        return -1
    shortest = min(ways, key=part.segment_score.__getitem__)
    if part.segment_score[shortest] == max(part.segment_score[one] for one in ways):
        return -1
    return part.segment_to[shortest]


def _roots(part: Part) -> list[int]:
    weight: dict[int, float] = {}
    for course in part.courses:
        weight[course.source] = max(weight.get(course.source, 0.0), course.score)
    sources = [vertex for vertex, above in enumerate(part.above) if not above]
    return sorted(sources, key=lambda vertex: (-weight.get(vertex, 0.0), part.order[vertex], vertex))


def _ways_on(part: Part, vertex: int) -> list[int]:
    """First what feeds the vertex, then its readers as they ran, then wires that pass by."""
    kind, order = part.kind, part.order
    feeds = [part.segment_from[one] for one in part.above[vertex]]
    reads = [part.segment_to[one] for one in part.below[vertex]]
    hubs = [one for one in feeds if kind[one] is Kind.HUB]
    if hubs:
        feeds = [one for one in feeds if kind[one] is not Kind.HUB]
    if len(reads) > 1:
        reads.sort(key=lambda other: (kind[other] in _PASSING, order[other]))
    return feeds + reads + hubs


def _improve(part: Part) -> None:
    best = sum(_crossings(part))
    if not best:
        return
    rows = [row[:] for row in part.rows]
    rounds = 4 if len(part.kind) > _MANY else 12
    idle = 0
    for number in range(rounds):
        _sweep(part, down=number % 2 == 0)
        _transpose(part, _crossings(part))
        now = sum(_crossings(part))
        if now < best:
            best, idle = now, 0
            rows = [row[:] for row in part.rows]
        else:
            idle += 1
        if not best or idle > 3:
            break
    part.rows = rows
    part.num_crossings = best
    _number(part)


def _ends(part: Part, segment: int, *, lower: bool) -> float:
    """Where a segment meets a row: the vertex's place, and a fraction for the port on it."""
    vertex = part.segment_to[segment] if lower else part.segment_from[segment]
    shift = part.segment_in[segment] if lower else part.segment_out[segment]
    if not shift:
        return float(part.place[vertex])
    return part.place[vertex] + 0.9 * shift / (part.left[vertex] + part.right[vertex])


def _sweep(part: Part, *, down: bool) -> None:
    rows = part.rows
    for row in rows[1:] if down else rows[-2::-1]:
        if len(row) < 2:
            continue
        wish: dict[int, float] = {}
        for vertex in row:
            segments = part.above[vertex] if down else part.below[vertex]
            if segments:
                wish[vertex] = sum(_ends(part, one, lower=not down) for one in segments) / len(segments)
        # What has no neighbour there keeps its place; the others share the remaining places.
        moving = iter(sorted((one for one in row if one in wish), key=wish.__getitem__))
        row[:] = [next(moving) if one in wish else one for one in row]
        if part.port_wish:
            _obey(part, row)
        for place, vertex in enumerate(row):
            part.place[vertex] = place


def _transpose(part: Part, crossings: list[int]) -> None:
    """Exchange neighbours wherever that takes crossings away."""
    worth = [row for rank, row in enumerate(part.rows) if crossings[rank] or (rank and crossings[rank - 1])]
    for _ in range(3):
        better = False
        for row in worth:
            for i in range(len(row) - 1):
                one, other = row[i], row[i + 1]
                if _gain(part, one, other) > 0:
                    row[i], row[i + 1] = other, one
                    part.place[other], part.place[one] = i, i + 1
                    better = True
        if not better:
            return


def _gain(part: Part, one: int, other: int) -> int:
    if one in part.port_wish and other in part.port_wish:
        return 0
    gain = 0
    for lower, segments in ((False, part.above), (True, part.below)):
        mine, theirs = segments[one], segments[other]
        if not mine or not theirs or len(mine) * len(theirs) > _MOST_PAIRS:
            continue
        ends = [_ends(part, segment, lower=lower) for segment in mine]
        for segment in theirs:
            there = _ends(part, segment, lower=lower)
            for here in ends:
                gain += (here > there) - (here < there)
    return gain


def _crossings(part: Part) -> list[int]:
    """How many wires cross below each rank."""
    counts = []
    for row in part.rows:
        ends: list[tuple[float, float]] = []
        for vertex in row:
            if part.below[vertex]:
                here = [
                    (_ends(part, one, lower=False), _ends(part, one, lower=True))
                    for one in part.below[vertex]
                ]
                ends += sorted(here) if len(here) > 1 else here
        counts.append(_inversions([end for _, end in ends]))
    return counts


def _inversions(ends: list[float]) -> int:
    highest, is_sorted = float("-inf"), True
    for end in ends:
        if end < highest:
            is_sorted = False
            break
        highest = end
    if is_sorted:
        return 0
    count = 0
    seen: list[float] = []
    for end in ends:
        count += len(seen) - bisect_right(seen, end)
        insort(seen, end)
    return count
