"""Divide every course into segments between neighbouring ranks, with bends where it passes a rank."""

from __future__ import annotations

from torcheer.graph.layout.model import Chain, Course, Joint, Kind, Part, Spacing

# How many bends a part may have before its longest wires are drawn in lanes.
_BENDS_PER_VERTEX = 8
_SPARE_BENDS = 2000
# Readers this many ranks away are reached with bends, even if others of the same net are not.
_NEAR = 8


def add_bends(part: Part, spacing: Spacing) -> None:
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
            _run_in_lane(part, far, spacing)
        if len(far) < len(courses):
            _run_down(part, [one for one in courses if one not in far] if far else courses, spacing)
    for number, course in enumerate(upward):
        if ~number in in_lane:
            _run_up_in_lane(part, course)
        else:
            _run_up(part, course, spacing)


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


def _run_down(part: Part, courses: list[Course], spacing: Spacing) -> None:
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
        _finish(part, course, start, course.source_shift if start == source else 0.0, spacing)


def _lengthen(part: Part, chain: Chain, course: Course, first: int) -> None:
    start = chain.vertices[-1] if chain.vertices else course.source
    bend = part.add_vertex(Kind.BEND, 0.0, 0.0, 0.0, rank=first + len(chain.vertices))
    part.floats[bend] = part.floats[course.source]
    shift = 0.0 if chain.vertices else course.source_shift
    chain.segments.append(part.add_segment(start, bend, course, shift))
    chain.vertices.append(bend)


def _finish(part: Part, course: Course, start: int, shift: float, spacing: Spacing) -> None:
    """The last piece to the target, past the label if there is one."""
    if course.label is not None:
        label = _add_label(part, course, part.rank[course.target] - 1, spacing)
        course.tail.append(part.add_segment(start, label, course, shift))
        start, shift = label, 0.0
    course.tail.append(part.add_segment(start, course.target, course, shift, course.target_shift))


def _add_label(part: Part, course: Course, rank: int, spacing: Spacing) -> int:
    assert course.label is not None
    width, height = course.label
    gap = spacing.wire_to_label
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


def _run_in_lane(part: Part, courses: list[Course], spacing: Spacing) -> None:
    chain = _new_lane(part, courses[0], is_turn=False)
    assert chain.start is not None
    for course in courses:
        course.chain = chain
        landing, shift = course.target, course.target_shift
        if course.label is not None:
            landing, shift = _add_label(part, course, part.rank[course.target] - 1, spacing), 0.0
            course.tail = [part.add_segment(landing, course.target, course, 0.0, course.target_shift)]
        joint = Joint(landing, shift, is_below=False, is_turn=False, lane=chain.start.lane)
        _arrive(part, course, joint)


def _run_up_in_lane(part: Part, course: Course) -> None:
    course.chain = _new_lane(part, course, is_turn=True)
    assert course.chain.start is not None
    lane = course.chain.start.lane
    _arrive(part, course, Joint(course.target, course.target_shift, is_below=False, is_turn=True, lane=lane))


def _run_up(part: Part, course: Course, spacing: Spacing) -> None:
    """A column from beside the target down to beside the source, turned around at both."""
    high, low = part.rank[course.target], part.rank[course.source]
    chain = course.chain
    middle = (high + low) // 2
    for rank in range(high, low + 1):
        if rank == middle and course.label is not None:
            vertex = _add_label(part, course, rank, spacing)
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
