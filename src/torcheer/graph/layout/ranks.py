"""Give every vertex its rank, and every wire a bend in each rank that it passes."""

from __future__ import annotations

from torcheer.graph.layout.model import SPACING, Chain, Course, Joint, Kind, Part

# Courses of less weight do not make a main line.
_LITTLE = 0.5
# More than any way inside a part is long.
_FROM_OUTSIDE = 1e7


def assign_ranks(part: Part, gap: float) -> None:
    """Fill `rank`, say which courses go up and how long the longest way through each is."""
    after, order = _orient(part)
    before: Steps = [[] for _ in after]
    for vertex, steps in enumerate(after):
        for other, length in steps:
            before[other].append((vertex, length))
    rank = _earliest(before, order)
    grounded = _grounded(part, rank, after, order)
    lower_runs(part, rank, after, before, order, grounded)
    _pull_down(part, rank, after, before, order, grounded)
    least = min(rank)
    _settle_ports(part, [one - least for one in rank])
    _score(part, order, gap)


def _orient(part: Part) -> tuple[Steps, list[int]]:
    """An acyclic order of the vertices; courses that oppose it are marked as going up."""
    ends = []
    for course in part.courses:
        course.goes_up = course.is_back
        ends.append((course.target, course.source) if course.is_back else (course.source, course.target))
    order = _topological(ends, len(part.kind))
    if len(order) < len(part.kind):
        ring = _rings(ends, len(part.kind))
        for i, (start, end) in enumerate(ends):
            # Within a ring of vertices that reach each other, what ran first stands higher.
            if ring[start] == ring[end] and part.order[start] > part.order[end]:
                ends[i] = (end, start)
                part.courses[i].goes_up = not part.courses[i].goes_up
        order = _topological(ends, len(part.kind))
    after: Steps = [[] for _ in part.kind]
    for course, (start, end) in zip(part.courses, ends, strict=True):
        after[start].append((end, 2 if course.label and not course.goes_up else 1))
    return after, order


def _topological(ends: list[tuple[int, int]], size: int) -> list[int]:
    """Vertices, each after all before it; those on or behind a cycle are missing."""
    after: list[list[int]] = [[] for _ in range(size)]
    waiting = [0] * size
    for start, end in ends:
        after[start].append(end)
        waiting[end] += 1
    order = [vertex for vertex in range(size) if not waiting[vertex]]
    for vertex in order:
        for other in after[vertex]:
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    return order


def _rings(ends: list[tuple[int, int]], size: int) -> list[int]:
    """For each vertex a number that it shares with all it can reach and come back from."""
    after: list[list[int]] = [[] for _ in range(size)]
    before: list[list[int]] = [[] for _ in range(size)]
    for start, end in ends:
        after[start].append(end)
        before[end].append(start)
    # Kosaraju: by falling time of leaving, what reaches a vertex backwards is its ring.
    ring = [-1] * size
    for root in reversed(_leaving_order(after)):
        if ring[root] >= 0:
            continue
        ring[root] = root
        stack = [root]
        while stack:
            for other in before[stack.pop()]:
                if ring[other] < 0:
                    ring[other] = root
                    stack.append(other)
    return ring


def _leaving_order(after: list[list[int]]) -> list[int]:
    """Vertices in the order in which a depth-first walk leaves them."""
    left: list[int] = []
    seen = [False] * len(after)
    for root in range(len(after)):
        stack = [] if seen[root] else [(root, iter(after[root]))]
        seen[root] = True
        while stack:
            vertex, rest = stack[-1]
            for other in rest:
                if not seen[other]:
                    seen[other] = True
                    stack.append((other, iter(after[other])))
                    break
            else:
                left.append(vertex)
                stack.pop()
    return left


def _earliest(before: Steps, order: list[int]) -> list[int]:
    rank = [0] * len(before)
    for vertex in order:
        for other, length in before[vertex]:
            if rank[other] + length > rank[vertex]:
                rank[vertex] = rank[other] + length
    return rank


def _pull_down(
    part: Part, rank: list[int], after: Steps, before: Steps, order: list[int], grounded: list[bool]
) -> None:
    """Bring what does not hang on the main flow (constants, parameters, masks) close to its readers."""
    leads_to_ground = grounded[:]
    for vertex in reversed(order):
        if grounded[vertex]:
            continue
        part.floats[vertex] = True
        readers = [(other, length) for other, length in after[vertex] if leads_to_ground[other]]
        if readers:
            leads_to_ground[vertex] = True
            rank[vertex] = min(rank[other] - length for other, length in readers)
    for vertex in order:
        # What floats and leads nowhere follows its sources.
        if not leads_to_ground[vertex] and before[vertex]:
            rank[vertex] = max(rank[other] + length for other, length in before[vertex])


def _grounded(part: Part, rank: list[int], after: Steps, order: list[int]) -> list[bool]:
    """Which vertices are reached from a port, or without ports from where the longest way begins."""
    grounded = [kind is Kind.IN_PORT for kind in part.kind]
    if not any(grounded):
        latest = [max(rank)] * len(rank)
        for vertex in reversed(order):
            for other, length in after[vertex]:
                latest[vertex] = min(latest[vertex], latest[other] - length)
        grounded = [latest[vertex] == 0 for vertex in range(len(rank))]
    for vertex in order:
        if grounded[vertex]:
            for other, _ in after[vertex]:
                grounded[other] = True
    return grounded


def _settle_ports(part: Part, rank: list[int]) -> None:
    """Ports of entry stand in the first rank and ports of exit in the last."""
    last = max(rank)
    for vertex, kind in enumerate(part.kind):
        if kind is Kind.IN_PORT:
            rank[vertex] = 0
        elif kind is Kind.OUT_PORT:
            rank[vertex] = last
    part.rank = rank


def _score(part: Part, order: list[int], gap: float) -> None:
    """How long the longest way through each course is, counted in heights.

    Courses of little weight lie on no way but their own: the main line does not follow them.
    """
    ways_in: list[list[int]] = [[] for _ in order]
    ways_out: list[list[int]] = [[] for _ in order]
    for course in part.courses:
        if course.weight >= _LITTLE and not course.goes_up:
            ways_in[course.target].append(course.source)
            ways_out[course.source].append(course.target)
    up = [height + gap for height in part.height]
    down = up[:]
    # The main line comes from outside and goes outside; if there are several, the source that ran last
    # is the nearest.
    entries = (vertex for vertex in order if part.kind[vertex] is Kind.IN_PORT)
    for number, vertex in enumerate(sorted(entries, key=part.order.__getitem__)):
        up[vertex] += _FROM_OUTSIDE + 0.002 * number
    for vertex in order:
        if part.kind[vertex] is Kind.OUT_PORT:
            down[vertex] += _FROM_OUTSIDE
    for vertex in order:
        up[vertex] += max((up[other] for other in ways_in[vertex]), default=0.0)
    for vertex in reversed(order):
        down[vertex] += max((down[other] for other in ways_out[vertex]), default=0.0)
    for course in part.courses:
        if not course.goes_up:
            # Rounded, so that ways of the same length count as equal.
            course.score = round(up[course.source] + down[course.target], 3)


# Who comes after a vertex (or before it), and by how many ranks at least.
Steps = list[list[tuple[int, int]]]

# A branch that could stand as well above as below stands below if it gets this much closer to its readers.
_FAR = 10
_BOXES = (Kind.NODE, Kind.GROUP)


def lower_runs(
    part: Part, rank: list[int], after: Steps, before: Steps, order: list[int], grounded: list[bool]
) -> None:
    """Move runs of vertices down, later ones first, so that what they read from can follow.

    A run is a chain without branches. Its wires out get shorter by as many ranks as it moves; a wire that
    it reads from gets longer only as far as no other reader stands as low already. What is not grounded
    comes down to its readers anyway, and costs nothing.
    """
    nets_out, nets_in, reach = _nets(part, rank, grounded)
    done = [not one for one in grounded]
    for vertex in reversed(order):
        if done[vertex] or part.kind[vertex] not in _BOXES or not after[vertex]:
            continue
        run = _run_up_to(part, vertex, after, before)
        head = run[-1]
        for one in run:
            done[one] = True
        slack = min(rank[other] - length for other, length in after[vertex]) - rank[vertex]
        if slack <= 0 or not before[head]:
            continue
        cost = sum(max(0, rank[head] + slack - reach[net]) for net in nets_in.get(head, ()))
        gain = slack * len(nets_out.get(vertex, ())) - cost
        if gain > 0 or (gain == 0 and slack >= _FAR):
            for one in run:
                rank[one] += slack
                part.floats[one] = True
                for net in nets_in.get(one, ()):
                    reach[net] = max(reach[net], rank[one])


def _run_up_to(part: Part, last: int, after: Steps, before: Steps) -> list[int]:
    """The run that ends at a vertex, last first."""
    run = [last]
    while len(before[run[-1]]) == 1:
        previous = before[run[-1]][0][0]
        if len(after[previous]) != 1 or part.kind[previous] not in _BOXES:
            break
        run.append(previous)
    return run


def _nets(
    part: Part, rank: list[int], grounded: list[bool]
) -> tuple[dict[int, set[int]], dict[int, list[int]], dict[int, int]]:
    """The nets out of each vertex, those into it, and the lowest rank that each net reaches."""
    nets_out: dict[int, set[int]] = {}
    nets_in: dict[int, list[int]] = {}
    reach: dict[int, int] = {}
    for course in part.courses:
        if not course.goes_up and grounded[course.source]:
            nets_out.setdefault(course.source, set()).add(course.net)
            nets_in.setdefault(course.target, []).append(course.net)
            reach[course.net] = max(reach.get(course.net, 0), rank[course.target])
    return nets_out, nets_in, reach


# How many bends a part may have before its longest wires are drawn in lanes.
_BENDS_PER_VERTEX = 8
_SPARE_BENDS = 2000
# Readers this many ranks away are reached with bends, even if others of the same net are not.
_NEAR = 8


def add_bends(part: Part) -> None:
    """Wires of one net share one column of bends; a wire that goes up has its own."""
    nets: dict[int, list[Course]] = {}
    for course in part.courses:
        if not course.goes_up:
            nets.setdefault(course.net, []).append(course)
    upward = [course for course in part.courses if course.goes_up]
    if upward:
        # Hubs stand one rank above and below what they hold.
        part.rank = [rank + 1 for rank in part.rank]
    in_lane = _choose_lanes(part, nets, upward)
    for net, courses in nets.items():
        far = [one for one in courses if net in in_lane and _span(part, one) > _NEAR]
        if far:
            _run_in_lane(part, far)
        if len(far) < len(courses):
            _run_down(part, [one for one in courses if one not in far] if far else courses)
    for number, course in enumerate(upward):
        if ~number in in_lane:
            _run_up_in_lane(part, course)
        else:
            _run_up(part, course)


def _span(part: Part, course: Course) -> int:
    return part.rank[course.target] - part.rank[course.source]


def _choose_lanes(part: Part, nets: dict[int, list[Course]], upward: list[Course]) -> set[int]:
    """Which nets (and, as ~number, upward courses) are too long to be given a bend in every rank.

    Bends are what layout time goes into. A few long wires are worth them; thousands of wires over
    thousands of ranks are drawn in lanes at the side instead, without bends.
    """
    rank = part.rank
    spans = [(max(_span(part, one) for one in courses), net) for net, courses in nets.items()]
    spans += [(rank[one.source] - rank[one.target] + 1, ~number) for number, one in enumerate(upward)]
    budget = _BENDS_PER_VERTEX * len(part.kind) + _SPARE_BENDS
    total = sum(span for span, _ in spans)
    lanes: set[int] = set()
    for span, name in sorted(spans, reverse=True):
        if total <= budget:
            break
        total -= span
        lanes.add(name)
    return lanes


def _run_down(part: Part, courses: list[Course]) -> None:
    courses.sort(key=lambda course: part.rank[course.target])
    source = courses[0].source
    first = part.rank[source] + 1
    chain = Chain()
    for course in courses:
        # The last vertex before the target is a bend, or the label where there is one.
        num_steps = part.rank[course.target] - first - (course.label is not None)
        for segment in chain.segments[:num_steps]:
            part.strengthen(segment, course)
        while len(chain.vertices) < num_steps:
            _lengthen(part, chain, course, first)
        course.chain, course.num_steps = chain, num_steps
        start = chain.vertices[num_steps - 1] if num_steps else source
        _finish(part, course, start, course.source_shift if start == source else 0.0)


def _lengthen(part: Part, chain: Chain, course: Course, first: int) -> None:
    start = chain.vertices[-1] if chain.vertices else course.source
    bend = part.add_vertex(Kind.BEND, 0.0, 0.0, 0.0, rank=first + len(chain.vertices))
    part.floats[bend] = part.floats[course.source]
    shift = 0.0 if chain.vertices else course.source_shift
    chain.segments.append(part.add_segment(start, bend, course, shift))
    chain.vertices.append(bend)


def _finish(part: Part, course: Course, start: int, shift: float) -> None:
    """The last piece to the target, past the label if there is one."""
    if course.label is not None:
        label = _add_label(part, course, part.rank[course.target] - 1)
        course.tail.append(part.add_segment(start, label, course, shift))
        start, shift = label, 0.0
    course.tail.append(part.add_segment(start, course.target, course, shift, course.target_shift))


def _add_label(part: Part, course: Course, rank: int) -> int:
    assert course.label is not None
    width, height = course.label
    gap = SPACING.wire_to_label
    label = part.add_vertex(Kind.LABEL, gap, gap + width, height, rank=rank)
    # A text stands close to the wire's target.
    part.floats[label] = True
    course.label_vertex = label
    return label


def _new_lane(part: Part, course: Course, *, is_turn: bool) -> Chain:
    lane = len(part.lane_widths)
    joint = Joint(course.source, course.source_shift, is_below=True, is_turn=is_turn, lane=lane)
    part.lane_widths.append(course.label[0] if is_turn and course.label else 0.0)
    part.joints.append(joint)
    return Chain(start=joint)


def _arrive(part: Part, course: Course, joint: Joint) -> None:
    course.arrival = joint
    part.joints.append(joint)


def _run_in_lane(part: Part, courses: list[Course]) -> None:
    chain = _new_lane(part, courses[0], is_turn=False)
    assert chain.start is not None
    for course in courses:
        course.chain = chain
        landing, shift = course.target, course.target_shift
        if course.label is not None:
            landing, shift = _add_label(part, course, part.rank[course.target] - 1), 0.0
            course.tail = [part.add_segment(landing, course.target, course, 0.0, course.target_shift)]
        joint = Joint(landing, shift, is_below=False, is_turn=False, lane=chain.start.lane)
        _arrive(part, course, joint)


def _run_up_in_lane(part: Part, course: Course) -> None:
    course.chain = _new_lane(part, course, is_turn=True)
    assert course.chain.start is not None
    lane = course.chain.start.lane
    _arrive(part, course, Joint(course.target, course.target_shift, is_below=False, is_turn=True, lane=lane))


def _run_up(part: Part, course: Course) -> None:
    """A column from beside the target down to beside the source, turned around at both."""
    high, low = part.rank[course.target], part.rank[course.source]
    chain = course.chain
    middle = (high + low) // 2
    for rank in range(high, low + 1):
        if rank == middle and course.label is not None:
            vertex = _add_label(part, course, rank)
        else:
            vertex = part.add_vertex(Kind.BEND, 0.0, 0.0, 0.0, rank=rank)
        if chain.vertices:
            chain.segments.append(part.add_segment(chain.vertices[-1], vertex, course))
        chain.vertices.append(vertex)
    course.num_steps = len(chain.vertices)
    first, last = chain.vertices[0], chain.vertices[-1]
    chain.start = Joint(course.source, course.source_shift, is_below=True, is_turn=True, bend=last)
    part.joints.append(chain.start)
    _arrive(part, course, Joint(course.target, course.target_shift, is_below=False, is_turn=True, bend=first))
