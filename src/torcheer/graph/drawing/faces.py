"""The face of a box: its lines of text and its chips, measured, so that layout knows how large it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from torcheer.graph.document import PassDocument
from torcheer.graph.drawing.diagram import Edge, Group, Node
from torcheer.graph.drawing.lettering import BOLD, REGULAR, fitted, printable, text_width
from torcheer.graph.drawing.wording import (
    chip_name,
    collapsed_lines,
    group_title,
    holder_of,
    label_of,
    param_texts,
    tensor_text,
)

LABEL_SIZE, TEXT_SIZE, CHIP_SIZE = 12.0, 11.0, 10.0
LINE_HEIGHT, CHIP_HEIGHT, CHIP_GAP = 15.0, 15.0, 4.0
PADDING_X, PADDING_Y = 10.0, 7.0
HEADER_HEIGHT = 26.0
TITLE_GAP = 8.0
STACK = 4.0  # how far the boxes behind a closed module look out

_MAX_TEXT = 250.0
_LEAST_WIDTH = 100.0
_WIDTH_STEP = 20.0  # so that boxes one below the other are mostly equally wide
_MAX_PARAM_LINES = 3
_MAX_CHIPS = 6
_TAG_GAP = 10.0

# Of nodes that are no call of a function.
_MEANINGS = {"updated": "written through another tensor", "alias": "the same memory, seen anew"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One line; `ink` names a colour of the palette."""

    words: str
    ink: str = "text_2"
    size: float = TEXT_SIZE
    weight: int = REGULAR

    @property
    def width(self) -> float:
        return text_width(self.words, self.size, self.weight)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """The name of a far source, or a note that there are far readers."""

    words: str
    edges: tuple[Edge, ...]
    tooltip: str = ""

    @property
    def width(self) -> float:
        return text_width(self.words, CHIP_SIZE) + 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Face:
    """Everything on a box."""

    kind: str
    lines: tuple[Text, ...]
    tags: tuple[Text, ...] = ()  # at the right of the first line
    chips_in: tuple[tuple[Chip, ...], ...] = ()  # rows above the text
    chip_out: Chip | None = None  # below it
    width: float = 0.0
    height: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The title of a group."""

    texts: tuple[Text, ...]  # side by side
    is_function: bool

    @property
    def width(self) -> float:
        return sum(text.width for text in self.texts) + TITLE_GAP * (len(self.texts) - 1)


@dataclass(slots=True, kw_only=True)
class FaceMaker:
    """Makes the faces of one picture."""

    document: PassDocument
    figures: Mapping[int, str] = field(
        default_factory=dict
    )  # what the colour of a box means, by id of its node
    chips_in: Mapping[int, Sequence[Edge]] = field(default_factory=dict)
    chips_out: Mapping[int, Sequence[Edge]] = field(default_factory=dict)
    _made: dict[int, Face] = field(default_factory=dict)

    def with_chips(self, edges: Iterable[Edge]) -> FaceMaker:
        """The same, but with the chips of these edges; what is already made and has none stays."""
        readers: dict[int, list[Edge]] = {}
        sources: dict[int, list[Edge]] = {}
        for edge in edges:
            if edge.is_chip:
                readers.setdefault(id(edge.target), []).append(edge)
                sources.setdefault(id(edge.source), []).append(edge)
        made = {key: face for key, face in self._made.items() if key not in readers and key not in sources}
        return replace(self, chips_in=readers, chips_out=sources, _made=made)

    def face(self, node: Node) -> Face:
        face = self._made.get(id(node))
        if face is None:
            face = self._made[id(node)] = self._make(node)
        return face

    def _make(self, node: Node) -> Face:
        kind = kind_of(self.document, node)
        lines = self._collapsed(node) if node.is_collapsed else self._op(node)
        tags = self._tags(node)
        chips_in = _rows(self._chips_in(node))
        chip_out = self._chip_out(node)
        first = lines[0].width + sum(tag.width + _TAG_GAP for tag in tags)
        widths = [first, *(line.width for line in lines[1:])]
        widths += [sum(chip.width + CHIP_GAP for chip in row) - CHIP_GAP for row in chips_in]
        rows_of_chips = len(chips_in)
        stack = STACK if node.is_collapsed else 0.0
        if chip_out is not None:
            widths.append(chip_out.width)
            rows_of_chips += 1
        return Face(
            kind=kind,
            lines=tuple(lines),
            tags=tags,
            chips_in=chips_in,
            chip_out=chip_out,
            width=_rounded_up(max(_LEAST_WIDTH, max(widths) + 2 * PADDING_X)) + stack,
            height=len(lines) * LINE_HEIGHT
            + rows_of_chips * (CHIP_HEIGHT + CHIP_GAP)
            + 2 * PADDING_Y
            + stack,
        )

    def header(self, group: Group) -> Header:
        name, times, details = group_title(self.document, group)
        scopes = group.scopes
        texts = [_label(name), _label(times), Text(words=_short(details), ink="text_3")]
        return Header(
            texts=tuple(text for text in texts if text.words),
            is_function=bool(scopes) and self.document.scopes[scopes[0]].address is None,
        )

    def _op(self, node: Node) -> list[Text]:
        op = self.document.ops[node.ops[0]]
        label = label_of(self.document, node)
        tensor = tensor_text([self.document.ops[index] for index in node.ops])
        texts = [self._name(node), holder_of(self.document, node), tensor]
        texts += _param_lines(param_texts(self.document, op))
        return [_label(label), *(Text(words=_short(text)) for text in texts if text)]

    def _name(self, node: Node) -> str:
        """Of an input, an output or a buffer, where it says more than that it is one; or what happened."""
        op = self.document.ops[node.ops[0]]
        if node.num_repeats > 1:
            return f"{op.name}–{self.document.ops[node.stands_for[-1]].name}"
        return _MEANINGS.get(op.type, "" if op.name == op.kind else op.name)

    def _collapsed(self, node: Node) -> list[Text]:
        texts = collapsed_lines(self.document, node)
        return [_label(label_of(self.document, node)), *(Text(words=_short(text)) for text in texts)]

    def _tags(self, node: Node) -> tuple[Text, ...]:
        op = self.document.ops[node.ops[0]]
        num_turns = len(node.calls) if node.is_collapsed else len(node.ops)
        words = []
        if num_turns > 1:
            words.append(Text(words=f"× {num_turns}", ink="text", weight=BOLD))
        if node.num_repeats > 1:
            words.append(Text(words=f"× {node.num_repeats}", ink="text", weight=BOLD))
        if not node.is_collapsed and op.is_inplace:
            words.append(Text(words="in place", ink="mark"))
        if any(self.document.ops[index].is_edited for index in node.ops):
            words.append(Text(words="edited", ink="mark", weight=BOLD))
        if id(node) in self.figures:
            words.append(Text(words=self.figures[id(node)]))
        return tuple(words)

    def _chips_in(self, node: Node) -> list[Chip]:
        edges = self.chips_in.get(id(node), ())
        chips = [_chip(self.document, edge) for edge in edges]
        if len(chips) <= _MAX_CHIPS:
            return chips
        shown, rest = chips[: _MAX_CHIPS - 1], chips[_MAX_CHIPS - 1 :]
        names = "\n".join(chip.words for chip in rest)
        edges = tuple(edge for chip in rest for edge in chip.edges)
        return [*shown, Chip(words=f"and {len(rest)} more", edges=edges, tooltip=names)]

    def _chip_out(self, node: Node) -> Chip | None:
        edges = self.chips_out.get(id(node), ())
        if not edges:
            return None
        names = [label_of(self.document, edge.target) for edge in edges]
        words = f"{names[0]} ↘" if len(names) == 1 else f"{len(names)} more readers ↘"
        return Chip(words=_short(words, CHIP_SIZE), edges=(), tooltip="\n".join(names))


def kind_of(document: PassDocument, node: Node) -> str:
    """Which look a box has."""
    ops = [document.ops[index] for index in node.ops]
    has_params = any(op.params for op in ops)
    if node.is_collapsed:
        return "collapsed_params" if has_params else "collapsed"
    op = ops[0]
    if op.kind != "op":
        return op.kind
    if has_params:
        return "params"
    return "op" if op.parents else "source"


def _rounded_up(width: float) -> float:
    return math.ceil(width / _WIDTH_STEP) * _WIDTH_STEP


def _label(words: str) -> Text:
    return Text(words=_short(words, LABEL_SIZE, BOLD), ink="text", size=LABEL_SIZE, weight=BOLD)


def _short(words: str, size: float = TEXT_SIZE, weight: int = REGULAR) -> str:
    return fitted(printable(words), _MAX_TEXT, size, weight)


def _chip(document: PassDocument, edge: Edge) -> Chip:
    text = f"{edge.text}: " if edge.text else ""
    words = f"{text}{printable(chip_name(document, edge.source))} ↗"
    return Chip(words=_short(words, CHIP_SIZE), edges=(edge,), tooltip=words)


def _rows(chips: Sequence[Chip]) -> tuple[tuple[Chip, ...], ...]:
    rows: list[list[Chip]] = []
    used = 0.0
    for chip in chips:
        if not rows or used + chip.width > _MAX_TEXT:
            rows.append([])
            used = 0.0
        rows[-1].append(chip)
        used += chip.width + CHIP_GAP
    return tuple(map(tuple, rows))


def _param_lines(texts: Sequence[str]) -> list[str]:
    """Joined by commas, as many to a line as fit."""
    lines: list[str] = []
    for text in texts:
        joined = f"{lines[-1]}, {text}" if lines else text
        if lines and text_width(joined, TEXT_SIZE) <= _MAX_TEXT * 0.8:
            lines[-1] = joined
        else:
            lines.append(text)
    if len(lines) > _MAX_PARAM_LINES:
        shown = lines[: _MAX_PARAM_LINES - 1]
        num_shown = sum(line.count(", ") + 1 for line in shown)
        lines = [*shown, f"and {len(texts) - num_shown} more parameters"]
    return lines
