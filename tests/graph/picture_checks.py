"""Read a picture back from its SVG and say what is wrong with it: overlaps, gaps, things left out."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from torcheer.graph import Drawing, PassDocument, text_width

SVG = "{http://www.w3.org/2000/svg}"
SLACK = 0.6  # coordinates are rounded to tenths
PATH = re.compile(r"([MLCQ])([^MLCQZ]*)")


class Area(NamedTuple):
    """A rectangle by its sides."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Area) -> bool:
        return (
            self.left < other.right - SLACK
            and other.left < self.right - SLACK
            and self.top < other.bottom - SLACK
            and other.top < self.bottom - SLACK
        )

    def holds(self, other: Area) -> bool:
        return (
            self.left <= other.left + SLACK
            and self.top <= other.top + SLACK
            and self.right >= other.right - SLACK
            and self.bottom >= other.bottom - SLACK
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A box or a group as it stands in the SVG."""

    key: int
    kind: str
    area: Area
    texts: list[tuple[str, Area]]
    ops: list[int] = field(default_factory=list)
    scopes: list[int] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)  # of its chips
    repeats: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A wire."""

    kind: str
    source: int
    target: int
    points: list[tuple[float, float]]


class ReadPicture:
    """All that a picture shows."""

    def __init__(self, svg: str) -> None:
        root = ET.fromstring(svg)
        self.elements = {element.tag.removeprefix(SVG) for element in root.iter()}
        self.area = Area(0.0, 0.0, float(root.attrib["width"]), float(root.attrib["height"]))
        self.nodes: dict[int, Drawn] = {}
        self.groups: dict[int, Drawn] = {}
        self.lines: list[Line] = []
        self.labels: list[tuple[str, Area]] = []
        self.head: list[tuple[str, Area]] = []
        for element in root:
            self._take(element)

    def _take(self, element: ET.Element) -> None:
        what = element.get("class")
        if what == "node":
            drawn = _drawn(element)
            self.nodes[drawn.key] = drawn
        elif what == "group":
            drawn = _drawn(element)
            self.groups[drawn.key] = drawn
        elif what == "edges":
            self.lines.extend(_line(path) for path in element)
        elif what == "label":
            self.labels.extend(map(_text, element.iter(f"{SVG}text")))
        elif what == "head":
            self.head.extend(map(_text, element.iter(f"{SVG}text")))

    def pairs(self, kind: str = "data") -> set[tuple[int, int]]:
        return {(line.source, line.target) for line in self.lines if line.kind == kind}

    def node_of_op(self) -> dict[int, Drawn]:
        return {op: node for node in self.nodes.values() for op in node.ops}

    def groups_around(self, node: Drawn) -> list[Drawn]:
        """Outermost first."""
        around = [group for group in self.groups.values() if group.area.holds(node.area)]
        return sorted(around, key=lambda group: group.key)


def check_picture(svg: str, document: PassDocument, drawing: Drawing) -> list[str]:
    """What is wrong with a picture of a pass; an empty list for a good one."""
    picture = ReadPicture(svg)
    return [
        *_check_elements(picture),
        *_check_overlaps(picture),
        *_check_texts(picture),
        *_check_wires(picture),
        *_check_ops(picture, document, drawing),
        *_check_nesting(picture, document),
        *_check_edges(picture, document),
    ]


# --- reading -------------------------------------------------------------------------------------


def numbers_in(ranges: str) -> list[int]:
    """`1-3 7` -> 1, 2, 3, 7."""
    found: list[int] = []
    for part in ranges.split():
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found


def _drawn(element: ET.Element) -> Drawn:
    rects = [_area(rect) for rect in element.findall(f"{SVG}rect")]
    chips = element.findall(f"{SVG}g")
    return Drawn(
        key=int(element.attrib["data-key"]),
        kind=element.attrib["data-kind"],
        area=Area(
            min(r.left for r in rects),
            min(r.top for r in rects),
            max(r.right for r in rects),
            max(r.bottom for r in rects),
        ),
        texts=[
            *map(_text, element.findall(f"{SVG}text")),
            *((f"chip {i}", _chip(c)) for i, c in enumerate(chips)),
        ],
        ops=numbers_in(element.get("data-op", "")),
        scopes=numbers_in(element.get("data-scope", "")),
        sources=[int(key) for chip in chips for key in chip.get("data-from", "").split()],
        repeats=int(element.get("data-repeats", "1")),
    )


def _chip(element: ET.Element) -> Area:
    rect = element.find(f"{SVG}rect")
    assert rect is not None
    return _area(rect)


def _area(rect: ET.Element) -> Area:
    x, y, width, height = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
    return Area(x, y, x + width, y + height)


def _text(element: ET.Element) -> tuple[str, Area]:
    words = element.text or ""
    x, y, size = float(element.attrib["x"]), float(element.attrib["y"]), float(element.get("font-size", "11"))
    width = text_width(words, size, int(element.get("font-weight", "400")))
    return words, Area(x, y - 0.73 * size, x + width, y + 0.2 * size)  # letters, with their descenders


def _line(path: ET.Element) -> Line:
    return Line(
        kind=path.attrib["class"],
        source=int(path.attrib["data-from"]),
        target=int(path.attrib["data-to"]),
        points=list(_points(path.attrib["d"])),
    )


def _points(d: str) -> Iterator[tuple[float, float]]:
    """Points along a path, close enough to each other to see through which boxes it runs."""
    at = (0.0, 0.0)
    for letter, text in PATH.findall(d):
        values = [float(value) for value in text.split()]
        if letter == "C":
            yield from (_on_curve(at, values, i / 12) for i in range(1, 12))
        elif letter == "L":
            yield from _between(at, (values[0], values[1]))
        at = (values[-2], values[-1])
        yield at


def _between(start: tuple[float, float], end: tuple[float, float]) -> Iterator[tuple[float, float]]:
    steps = int(max(abs(end[0] - start[0]), abs(end[1] - start[1])) / 10.0)
    for i in range(1, steps + 1):
        share = i / (steps + 1)
        yield start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])


def _on_curve(start: tuple[float, float], values: Sequence[float], t: float) -> tuple[float, float]:
    a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
    return (
        a * start[0] + b * values[0] + c * values[2] + d * values[4],
        a * start[1] + b * values[1] + c * values[3] + d * values[5],
    )


# --- checking ------------------------------------------------------------------------------------


def _check_elements(picture: ReadPicture) -> Iterator[str]:
    for element in sorted(picture.elements - {"svg", "title", "g", "rect", "path", "text"}):
        yield f"the picture has a <{element}>"
    for drawn in [*picture.nodes.values(), *picture.groups.values()]:
        if not picture.area.holds(drawn.area):
            yield f"box {drawn.key} stands outside the picture"
    for words, area in [*picture.labels, *picture.head]:
        if not picture.area.holds(area):
            yield f"text {words!r} stands outside the picture"


def _touching(areas: Sequence[tuple[str, Area]]) -> Iterator[tuple[str, str]]:
    """Pairs that overlap, found by going down the picture."""
    ordered = sorted(areas, key=lambda item: item[1].top)
    open_now: list[tuple[str, Area]] = []
    for name, area in ordered:
        open_now = [item for item in open_now if item[1].bottom > area.top + SLACK]
        yield from ((other, name) for other, its in open_now if its.overlaps(area))
        open_now.append((name, area))


def _check_overlaps(picture: ReadPicture) -> Iterator[str]:
    nodes = [(f"box {node.key}", node.area) for node in picture.nodes.values()]
    labels = [(f"text {words!r}", area) for words, area in picture.labels]
    titles = [(f"title {words!r}", area) for g in picture.groups.values() for words, area in g.texts]
    head = [(f"head {words!r}", area) for words, area in picture.head]
    for one, other in _touching([*nodes, *labels, *titles, *head]):
        yield f"{one} and {other} overlap"
    groups = sorted(picture.groups.values(), key=lambda group: group.area.top)
    everything = [*groups, *picture.nodes.values()]
    tops = sorted(everything, key=lambda drawn: drawn.area.top)
    starts = [drawn.area.top for drawn in tops]
    for group in groups:
        for drawn in tops[bisect_left(starts, group.area.top - 1.0) :]:
            if drawn.area.top >= group.area.bottom:
                break
            apart = not group.area.overlaps(drawn.area)
            if not (apart or group.area.holds(drawn.area) or drawn.area.holds(group.area)):
                yield f"{drawn.kind} {drawn.key} stands across the border of group {group.key}"


def _check_texts(picture: ReadPicture) -> Iterator[str]:
    for drawn in [*picture.nodes.values(), *picture.groups.values()]:
        for words, area in drawn.texts:
            if not drawn.area.holds(area):
                yield f"{words!r} does not fit into {drawn.kind} {drawn.key}"
        for one, other in _touching(drawn.texts):
            yield f"{one!r} and {other!r} overlap in {drawn.kind} {drawn.key}"


def _check_wires(picture: ReadPicture) -> Iterator[str]:
    nodes = sorted(picture.nodes.values(), key=lambda node: node.area.top)
    starts = [node.area.top for node in nodes]
    tallest = max((node.area.bottom - node.area.top for node in nodes), default=0.0)
    for line in picture.lines:
        if line.source not in picture.nodes or line.target not in picture.nodes:
            yield f"a {line.kind} wire from {line.source} to {line.target} has an end that is not there"
            continue
        crossed = set()
        for x, y in line.points:
            for i in range(bisect_left(starts, y - tallest), bisect_left(starts, y)):
                area = nodes[i].area
                if area.left + 1 < x < area.right - 1 and area.top + 1 < y < area.bottom - 1:
                    crossed.add(nodes[i].key)
        for key in sorted(crossed - {line.source, line.target}):
            yield f"the {line.kind} wire from {line.source} to {line.target} runs through box {key}"


def _check_ops(picture: ReadPicture, document: PassDocument, drawing: Drawing) -> Iterator[str]:
    shown = [op for node in picture.nodes.values() for op in node.ops]
    if len(shown) != len(set(shown)):
        yield "an op stands in two boxes"
    missing = set(range(len(document.ops))) - set(shown)
    children: dict[int, list[int]] = {}
    for index, op in enumerate(document.ops):
        for link in op.parents:
            children.setdefault(link.op, []).append(index)
    for index in sorted(missing):
        op = document.ops[index]
        if drawing.buffer_layers:
            yield f"{op.label} is not in the picture"
        elif op.kind != "buffer" and (
            op.kind in ("input", "output")
            or op.params
            or not missing.issuperset(link.op for link in op.parents)
            or not missing.issuperset(children.get(index, ()))
        ):
            yield f"{op.label} is not in the picture, though it hangs on more than buffers"
    for node in picture.nodes.values():
        kinds = {document.ops[op].kind for op in node.ops}
        for kind in ("input", "output", "buffer"):
            if (node.kind == kind) != (kinds == {kind}) and not node.kind.startswith("collapsed"):
                yield f"box {node.key} looks like {node.kind}, but holds {sorted(kinds)}"


def _ancestors(document: PassDocument, scope: int) -> set[int]:
    found = set()
    while scope >= 0:
        found.add(scope)
        scope = document.scopes[scope].parent
    return found


def _check_nesting(picture: ReadPicture, document: PassDocument) -> Iterator[str]:
    for node in picture.nodes.values():
        around = set().union(*(_ancestors(document, document.ops[op].scope) for op in node.ops))
        for group in picture.groups_around(node):
            if group.kind != "stretch" and not around & set(group.scopes):
                yield f"box {node.key} stands in a module that did not run it, group {group.key}"


def _check_edges(picture: ReadPicture, document: PassDocument) -> Iterator[str]:
    node_of = picture.node_of_op()
    drawn = picture.pairs()
    chips = {(source, node.key) for node in picture.nodes.values() for source in node.sources}
    real: set[tuple[int, int]] = set()
    folded: dict[int, set[tuple[int, ...]]] = {}
    for node in picture.nodes.values():  # by scopes: one group may stand in two columns
        folded[node.key] = {tuple(g.scopes) for g in picture.groups_around(node) if g.repeats > 1}
    for index, op in enumerate(document.ops):
        for link in op.parents:
            if index not in node_of or link.op not in node_of:
                continue
            source, target = node_of[link.op], node_of[index]
            pair = (source.key, target.key)
            real.add(pair)
            if pair not in drawn | chips and source is not target and not folded[pair[0]] & folded[pair[1]]:
                yield f"nothing shows that {op.label} reads {document.ops[link.op].label}"
    for pair in sorted((drawn | chips) - real):
        yield f"an edge from box {pair[0]} to {pair[1]} that is not in the pass"
    for pair in sorted(drawn & chips):
        yield f"the edge from box {pair[0]} to {pair[1]} is drawn twice, as a wire and as a chip"
