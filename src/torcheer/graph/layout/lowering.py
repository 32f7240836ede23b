"""Let side branches come down to their readers where that shortens the wires."""

from __future__ import annotations

from torcheer.graph.layout.part import Kind, Part

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
