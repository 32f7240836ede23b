"""The face of a box: its words, its chips and its tooltip, measured, so that layout knows how large it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from torcheer.graph.document import OpEntry, PassDocument, ScopeEntry
from torcheer.graph.drawing.diagram import Edge, Group, Node
from torcheer.graph.drawing.text_width import BOLD, REGULAR, fitted, printable, text_width
from torcheer.graph.text import readable_bytes, readable_count, readable_seconds

_MAX_OPS_IN_TOOLTIP = 12


def label_of(document: PassDocument, node: Node) -> str:
    """The name of a box: an op's label, without its pass where one box stands for all of them."""
    if node.is_collapsed:
        return address_of(document, node.calls if node.num_repeats == 1 else node.scopes)
    op = document.ops[node.ops[0]]
    if node.num_repeats > 1:
        return f"{op.label}–{document.ops[node.stands_for[-1]].label}"
    return op.label.rpartition(":")[0] if len(node.ops) > 1 else op.label


def chip_name(document: PassDocument, node: Node) -> str:
    """What a box is called at its far readers: what the user calls it, where it has such a name."""
    op = document.ops[node.ops[0]]
    return op.name if op.kind == "input" and op.name else label_of(document, node)


def address_of(document: PassDocument, scopes: Sequence[int]) -> str:
    """`h.0`, `h.0–h.11` of equal blocks, `h.0:2` in its second pass."""
    entries = [document.scopes[index] for index in scopes]
    names = list(dict.fromkeys(_scope_name(document, entry) for entry in entries))
    if len(entries) == 1 and entries[0].num_passes > 1 and entries[0].address is not None:
        return f"{names[0]}:{entries[0].pass_num}"
    return names[0] if len(names) == 1 else f"{names[0]}–{names[-1]}"


def _scope_name(document: PassDocument, scope: ScopeEntry) -> str:
    return (scope.address or document.model_name) if scope.address is not None else scope.name


def class_of(document: PassDocument, scopes: Sequence[int]) -> str:
    """The class of the modules of a box; none for a function, whose name already stands there."""
    scope = document.scopes[scopes[0]]
    return scope.name if scope.address else ""


def holder_of(document: PassDocument, node: Node) -> str:
    """`features.0 · Conv2d`: the innermost module that holds just this op."""
    for index in reversed(node.scopes):
        scope = document.scopes[index]
        if scope.address:
            passes = f":{scope.pass_num}" if scope.num_passes > 1 and len(node.ops) == 1 else ""
            return f"{scope.address}{passes} · {scope.name}"
    return ""


def shape_text(shape: Sequence[int], dtype: str) -> str:
    sizes = "×".join(map(str, shape)) if shape else "scalar"
    return sizes if dtype == "float32" else f"{sizes} {dtype}"


def tensor_text(ops: Sequence[OpEntry]) -> str:
    """`1×64×55×55 · 756.3 KB`; where the passes of a layer differ, the first and the last: `4×4 … 10×4`."""
    shapes = _from_to([shape_text(op.shape, op.dtype) for op in ops])
    return f"{shapes} · {_from_to([readable_bytes(op.num_bytes) for op in ops])}"


def _from_to(texts: Sequence[str]) -> str:
    if len(set(texts)) == 1:
        return texts[0]
    # Of passes that come back to where they began, some other one shows that they differ.
    last = texts[-1] if texts[-1] != texts[0] else next(text for text in texts if text != texts[0])
    return f"{texts[0]} … {last}"


def param_texts(document: PassDocument, op: OpEntry) -> list[str]:
    """`weight 64×3×11×11`, for each parameter that it uses."""
    params = [document.params[index] for index in op.params]
    return [f"{param.address.rpartition('.')[2]} {shape_text(param.shape, 'float32')}" for param in params]


def group_title(document: PassDocument, group: Group) -> tuple[str, str, str]:
    """The name of a group, how often it is there, and its class."""
    scopes = group.repeated or group.scopes
    times = group.num_repeats if group.num_repeats > 1 else len(group.scopes)
    details = [class_of(document, scopes) if group.scopes else "", "continued" if group.is_continued else ""]
    return (
        address_of(document, scopes),
        f"× {times}" if times > 1 else "",
        " · ".join(filter(None, details)),
    )


def collapsed_lines(document: PassDocument, node: Node) -> list[str]:
    """Class and number of ops, parameters, and the shape of what comes out."""
    scope = document.scopes[node.calls[0]]
    num_ops = sum(document.ops[index].kind == "op" for index in node.ops)
    count = f"{num_ops} op" + ("s" if num_ops != 1 else "")
    lines = [" · ".join(filter(None, [class_of(document, node.calls), count]))]
    if scope.num_params:
        lines.append(f"{readable_count(scope.num_params)} params")
    if scope.outputs:
        more = f" and {len(scope.outputs) - 1} more" if len(scope.outputs) > 1 else ""
        firsts = [document.scopes[call].outputs[:1] for call in node.calls]
        lines.append(f"→ {tensor_text([document.ops[op] for first in firsts for op in first])}{more}")
    return lines


# --- tooltips ------------------------------------------------------------------------------------


def tooltip_of(document: PassDocument, node: Node) -> str:
    """All that is known, line by line."""
    if node.is_collapsed:
        ops = [document.ops[index] for index in node.ops]
        labels = [op.label for op in ops[:_MAX_OPS_IN_TOOLTIP]]
        more = [f"… {len(ops) - len(labels)} more"] if len(ops) > len(labels) else []
        seconds = sum(op.seconds for op in ops)
        lines = [label_of(document, node), *collapsed_lines(document, node), *_seconds(seconds)]
        return "\n".join([*lines, *_scope_lines(document, node.calls[:1]), ", ".join([*labels, *more])])
    op = document.ops[node.ops[0]]
    passes = [f"{len(node.ops)} passes"] if len(node.ops) > 1 else []
    repeats = len(node.stands_for) // len(node.ops) if node.stands_for else 1
    if repeats > 1:
        passes.append(f"drawn once for {repeats} equal blocks")
    lines = [
        label_of(document, node),
        *passes,
        *([op.name] if op.name else []),
        f"{op.function}({op.arguments})" if op.kind == "op" else op.kind,
        _tooltip_tensor([document.ops[index] for index in node.ops]),
        *_tooltip_params(document, op),
        *_seconds(sum(document.ops[index].seconds for index in node.ops)),
        *([f"{readable_count(op.flops)} FLOPs"] if op.flops else []),
        *(["written in place"] if op.is_inplace else []),
        *(["edited"] if op.is_edited else []),
        *_scope_lines(document, node.scopes),
        *_source_lines(document, op),
    ]
    return "\n".join(lines)


def _tooltip_tensor(ops: Sequence[OpEntry]) -> str:
    text = tensor_text(ops)
    return text.replace(" · ", " float32 · ", 1) if ops[0].dtype == "float32" else text


def group_tooltip(document: PassDocument, group: Group) -> str:
    scopes = group.repeated or group.scopes
    lines = [" · ".join(filter(None, group_title(document, group)))]
    entry = document.scopes[scopes[0]]
    if entry.num_params:
        lines.append(f"{readable_count(entry.num_params)} params")
    lines.extend(_seconds(sum(document.scopes[index].seconds for index in scopes)))
    if len(group.repeated) > 1:
        lines.append(f"{group.num_repeats} equal blocks, drawn once")
    return "\n".join(lines)


def _seconds(seconds: float) -> list[str]:
    return [readable_seconds(seconds)] if seconds > 0 else []


def _tooltip_params(document: PassDocument, op: OpEntry) -> Iterable[str]:
    for index in op.params:
        param = document.params[index]
        yield f"{param.address} {shape_text(param.shape, param.dtype)}"


def _scope_lines(document: PassDocument, scopes: Sequence[int]) -> list[str]:
    entries = [document.scopes[index] for index in scopes]
    return list(
        dict.fromkeys(f"{e.address} ({e.name})" if e.address else f"in {e.name}" for e in entries if e.name)
    )


def _source_lines(document: PassDocument, op: OpEntry) -> list[str]:
    if op.source < 0:
        return []
    source = document.sources[op.source]
    return [f"{short_path(source.file)}:{source.line}  {source.text}"]


def short_path(file: str) -> str:
    """A path as it is known on every machine: below site-packages, else the file and its folder."""
    parts = file.replace("\\", "/").split("/")
    if "site-packages" in parts:
        return "/".join(parts[len(parts) - parts[::-1].index("site-packages") :])
    return "/".join(parts[-2:])


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
        widths += [chip_out.width] if chip_out is not None else []
        rows_of_chips = len(chips_in) + (chip_out is not None)
        stack = STACK if node.is_collapsed else 0.0
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
