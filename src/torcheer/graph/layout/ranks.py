"""Give every vertex its rank, and every wire a bend in each rank that it passes."""

from __future__ import annotations

from torcheer.graph.layout.model import SPACING, Component, Kind, Link, Segment, Turn, Vertex

# Links of less weight do not make a main line.
_LITTLE = 0.5
# More than any way inside a component is long.
_FROM_OUTSIDE = 1e7
# A branch that could stand as well above as below stands below if it gets this much closer to its readers.
_FAR = 10


def assign_ranks(component: Component) -> None:
    """Fill `rank`, say which links go up and how long the longest way through each is."""
    order = _orient(component)
    for vertex in order:
        vertex.rank = max((other.rank + length for other, length in vertex.before), default=0)
    grounded = _grounded(order)
    _lower_runs(component.links, order, grounded)
    _pull_down(order, grounded)
    least = min(vertex.rank for vertex in order)
    last = max(vertex.rank for vertex in order) - least
    for vertex in order:
        vertex.rank -= least
        if vertex.kind is Kind.IN_PORT:
            vertex.rank = 0
        elif vertex.kind is Kind.OUT_PORT:
            vertex.rank = last
    _score(component.links, order)


def _orient(component: Component) -> list[Vertex]:
    """The vertices in an order without cycles; links that oppose it are marked as going up."""
    for link in component.links:
        link.goes_up = link.is_back
    order = _topological(component)
    if len(order) < len(component.vertices):
        for link in component.links:
            # In a cycle, what ran first stands higher.
            if link.source.is_box and link.target.is_box:
                link.goes_up = link.source.order > link.target.order
        order = _topological(component)
    return order


def _topological(component: Component) -> list[Vertex]:
    """Vertices, each after all before it; those on or behind a cycle are missing."""
    for vertex in component.vertices:
        vertex.after, vertex.before = [], []
    for link in component.links:
        start, end = (link.target, link.source) if link.goes_up else (link.source, link.target)
        length = 2 if link.label and not link.goes_up else 1
        start.after.append((end, length))
        end.before.append((start, length))
    waiting = {vertex: len(vertex.before) for vertex in component.vertices}
    order = [vertex for vertex, count in waiting.items() if not count]
    for vertex in order:
        for other, _ in vertex.after:
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    return order


def _grounded(order: list[Vertex]) -> set[Vertex]:
    """The vertices that are reached from a port, or without ports from where the longest way begins."""
    grounded = {vertex for vertex in order if vertex.kind is Kind.IN_PORT}
    if not grounded:
        last = max(vertex.rank for vertex in order)
        latest: dict[Vertex, int] = {}
        for vertex in reversed(order):
            latest[vertex] = min((latest[other] - length for other, length in vertex.after), default=last)
        grounded = {vertex for vertex in order if not latest[vertex]}
    for vertex in order:
        if vertex in grounded:
            grounded.update(other for other, _ in vertex.after)
    return grounded


def _lower_runs(links: list[Link], order: list[Vertex], grounded: set[Vertex]) -> None:
    """Move runs of vertices down, later ones first, so that what they read from can follow.

    A run is a chain without branches. Its wires out get shorter by as many ranks as it moves; a wire that
    it reads from gets longer only as far as no other reader stands as low already. What is not grounded
    comes down to its readers anyway, and costs nothing.
    """
    nets_out: dict[Vertex, set[int]] = {}
    nets_in: dict[Vertex, list[int]] = {}
    reach: dict[int, int] = {}  # the lowest rank that each net reaches
    for link in links:
        if not link.goes_up and link.source in grounded:
            nets_out.setdefault(link.source, set()).add(link.net)
            nets_in.setdefault(link.target, []).append(link.net)
            reach[link.net] = max(reach.get(link.net, 0), link.target.rank)
    done: set[Vertex] = set()
    for vertex in reversed(order):
        if vertex in done or vertex not in grounded or not vertex.is_box or not vertex.after:
            continue
        run = _run_up_to(vertex)
        done.update(run)
        head = run[-1]
        slack = min(other.rank - length for other, length in vertex.after) - vertex.rank
        if slack <= 0 or not head.before:
            continue
        cost = sum(max(0, head.rank + slack - reach[net]) for net in nets_in.get(head, ()))
        gain = slack * len(nets_out.get(vertex, ())) - cost
        if gain > 0 or (gain == 0 and slack >= _FAR):
            for one in run:
                one.rank += slack
                one.floats = True
                for net in nets_in.get(one, ()):
                    reach[net] = max(reach[net], one.rank)


def _run_up_to(last: Vertex) -> list[Vertex]:
    """The run that ends at a vertex, last first."""
    run = [last]
    while len(run[-1].before) == 1:
        previous = run[-1].before[0][0]
        if len(previous.after) != 1 or not previous.is_box:
            break
        run.append(previous)
    return run


def _pull_down(order: list[Vertex], grounded: set[Vertex]) -> None:
    """Bring what does not hang on the main flow (constants, parameters, masks) close to its readers."""
    leads_to_ground = set(grounded)
    for vertex in reversed(order):
        if vertex in grounded:
            continue
        vertex.floats = True
        readers = [other.rank - length for other, length in vertex.after if other in leads_to_ground]
        if readers:
            leads_to_ground.add(vertex)
            vertex.rank = min(readers)
    for vertex in order:
        # What floats and leads nowhere follows its sources.
        if vertex not in leads_to_ground and vertex.before:
            vertex.rank = max(other.rank + length for other, length in vertex.before)


def _score(links: list[Link], order: list[Vertex]) -> None:
    """How long the longest way through each link is, counted in heights.

    Links of little weight lie on no way but their own: the main line does not follow them.
    """
    sources: dict[Vertex, list[Vertex]] = {vertex: [] for vertex in order}
    targets: dict[Vertex, list[Vertex]] = {vertex: [] for vertex in order}
    for link in links:
        if link.weight >= _LITTLE and not link.goes_up:
            sources[link.target].append(link.source)
            targets[link.source].append(link.target)
    up = {vertex: vertex.height + SPACING.between_ranks for vertex in order}
    down = dict(up)
    # The main line comes from outside and goes outside; if there are several, the source that ran last
    # is the nearest.
    entries = sorted((vertex for vertex in order if vertex.kind is Kind.IN_PORT), key=lambda one: one.order)
    for number, vertex in enumerate(entries):
        up[vertex] += _FROM_OUTSIDE + 0.002 * number
    for vertex in order:
        if vertex.kind is Kind.OUT_PORT:
            down[vertex] += _FROM_OUTSIDE
    for vertex in order:
        up[vertex] += max((up[other] for other in sources[vertex]), default=0.0)
    for vertex in reversed(order):
        down[vertex] += max((down[other] for other in targets[vertex]), default=0.0)
    for link in links:
        if not link.goes_up:
            # Rounded, so that ways of the same length count as equal.
            link.score = round(up[link.source] + down[link.target], 3)


def add_bends(component: Component) -> None:
    """Wires of one net share one column of bends; a wire that goes up runs beside everything else."""
    nets: dict[int, list[Link]] = {}
    for link in component.links:
        if not link.goes_up:
            nets.setdefault(link.net, []).append(link)
    for links in nets.values():
        _run_down(component, sorted(links, key=lambda link: link.target.rank))
    for link in component.links:
        if link.goes_up:
            below = Turn(link.source, is_below=True, shift=link.source_shift)
            above = Turn(link.target, is_below=False, shift=link.target_shift)
            link.turns = below, above
            component.turns += link.turns


def _run_down(component: Component, links: list[Link]) -> None:
    """Lead the links of one net down, nearest target first, along one chain of bends."""
    source = links[0].source
    chain: list[Segment] = []
    for link in links:
        # The last vertex before the target is a bend, or the label where there is one.
        num_steps = link.target.rank - source.rank - 1 - (link.label is not None)
        for segment in chain[:num_steps]:
            # A shared segment matters as much as the weightiest of the links through it.
            weightiest = max((segment.weight, segment.score), (link.weight, link.score))
            segment.weight, segment.score = weightiest
        end = chain[-1].end if chain else source
        while len(chain) < num_steps:
            bend = component.add_bend(Kind.BEND, source.rank + 1 + len(chain))
            bend.floats = source.floats
            chain.append(component.add_segment(end, bend, link, _shift_out(link, end)))
            end = bend
        link.path = chain[:num_steps]
        end = chain[num_steps - 1].end if num_steps else source
        if link.label is not None:
            label = _add_label(component, link, link.label)
            link.path.append(component.add_segment(end, label, link, _shift_out(link, end)))
            end = label
        shifts = _shift_out(link, end), link.target_shift
        link.path.append(component.add_segment(end, link.target, link, *shifts))


def _shift_out(link: Link, start: Vertex) -> float:
    return link.source_shift if start is link.source else 0.0


def _add_label(component: Component, link: Link, size: tuple[float, float]) -> Vertex:
    label = link.label_vertex = component.add_bend(Kind.LABEL, link.target.rank - 1)
    gap = SPACING.wire_to_label
    label.left, label.right, label.height = gap, gap + size[0], size[1]
    label.floats = True  # a text stands close to the wire's target
    return label
