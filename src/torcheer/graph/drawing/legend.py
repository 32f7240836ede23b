"""The head of a picture: the model's name and size, what happened to the pass, and what the looks mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from torcheer.graph.document import PassDocument
from torcheer.graph.drawing import svg
from torcheer.graph.drawing.arrangement import Arrangement
from torcheer.graph.drawing.boxes import Text
from torcheer.graph.drawing.colours import Palette, Scale, on_ramp
from torcheer.graph.drawing.diagram import Diagram
from torcheer.graph.drawing.text_width import BOLD, fitted, printable, wrapped
from torcheer.graph.layout.model import Rect
from torcheer.graph.text import readable_count

_TITLE_SIZE, _TEXT_SIZE = 20.0, 11.0
_LINE = 16.0
_ENTRY_GAP, _SWATCH = 18.0, 22.0
_LEAST_WIDTH = 460.0
_MOST_ROWS = 4  # of one line that is too long
_SCALE_WIDTH, _SCALE_STEPS = 160.0, 40

_LOOKS = {
    "input": "input",
    "output": "output",
    "params": "op with parameters",
    "op": "op without parameters",
    "buffer": "buffer",
    "source": "made from nothing: constant, random draw",
    "collapsed": "module, not opened",
    "collapsed_params": "module with parameters, not opened",
}

Sample = Callable[[float, float], str]  # paints a small example at a place


class Head(NamedTuple):
    """The lines above the picture and the legend, measured."""

    content: list[str]
    width: float
    height: float


def make_head(
    document: PassDocument,
    diagram: Diagram,
    arrangement: Arrangement,
    palette: Palette,
    notes: Sequence[str],
    *,
    scale: Scale | None,
    with_legend: bool,
    margin: float,
) -> Head:
    """Title, then notes, then the legend in rows as wide as the picture, or a little wider."""
    width = max(_LEAST_WIDTH, arrangement.width)
    title = fitted(printable(document.model_name), width, _TITLE_SIZE, BOLD)
    name = Text(words=title, size=_TITLE_SIZE, weight=BOLD)
    content = ['<g class="head">', svg.text(name, margin, margin + 20.0, palette.text, width)]
    y = margin + 30.0
    for words, ink in _lines(document, diagram, notes, palette):
        for part in wrapped(printable(words), width, _TEXT_SIZE)[:_MOST_ROWS]:
            content.append(svg.text(Text(words=part, size=_TEXT_SIZE), margin, y + 10.0, ink, width))
            y += _LINE
    if with_legend:
        x, y, is_empty = margin, y + 6.0, True
        for words, sample in _entries(diagram, arrangement, palette):
            line = Text(words=words, size=_TEXT_SIZE)
            needed = _SWATCH + 6.0 + line.width
            if not is_empty and x - margin + needed > width:
                x, y = margin, y + _LINE + 2.0
            content.append(sample(x, y))
            content.append(svg.text(line, x + _SWATCH + 6.0, y + 10.0, palette.text_2, line.width * 1.2))
            x, is_empty = x + needed + _ENTRY_GAP, False
        y += 0.0 if is_empty else _LINE + 2.0
    if scale is not None and with_legend:
        content.extend(_scale(scale, palette, margin, y + 4.0))
        y += 38.0
    return Head([*content, "</g>"], width, y - margin)


def _lines(
    document: PassDocument, diagram: Diagram, notes: Sequence[str], palette: Palette
) -> Iterator[tuple[str, str]]:
    shown = [op for index, op in enumerate(document.ops) if index not in diagram.hidden and op.kind == "op"]
    flops = sum(op.flops or 0 for op in shown)
    facts = [f"{len(shown)} op" + ("s" if len(shown) != 1 else "")]
    if document.num_params:
        facts.append(f"{readable_count(document.num_params)} params")
    if flops:
        facts.append(f"{readable_count(flops)} FLOPs")
    if document.is_shape_only:
        facts.append("shapes only, nothing was computed")
    yield " · ".join(facts), palette.text_2
    if document.error:
        first, *others = document.error.strip().splitlines() or ["an exception"]
        yield f"The model raised {first}", palette.danger
        for line in others[-1:]:
            yield line, palette.danger
        yield "This is the pass up to there.", palette.danger
    if document.stopped_after:
        yield f"Stopped after {document.stopped_after}.", palette.mark
    for note in notes:
        yield note, palette.text_3


def _entries(diagram: Diagram, arrangement: Arrangement, palette: Palette) -> list[tuple[str, Sample]]:
    """Only what occurs."""
    kinds = {face.kind for face in arrangement.faces.values()}
    is_function = [arrangement.headers[id(group)].is_function for group, _ in arrangement.groups]
    edges, chip = diagram.edges, any(edge.is_chip for edge in diagram.edges)
    backwards = any(edge.is_back for edge in edges)
    condition = any(edge.kind == "condition" for edge in edges)
    gradient = any(edge.has_gradient and not edge.is_chip for edge in edges)
    passes = any(len(node.ops) > 1 and not node.is_collapsed for node in arrangement.nodes)
    times = _word_sample("× n", palette)
    entries = (
        *((kind in kinds, words, _box_sample(palette, kind)) for kind, words in _LOOKS.items()),
        (not all(is_function), "module", _frame_sample(palette, "")),
        (any(is_function), "function of torch, opened", _frame_sample(palette, "4 2.5")),
        (backwards, "back to an earlier box", _line_sample(palette.wire, "", backwards=True)),
        (condition, "decided what ran", _line_sample(palette.condition, "5 3")),
        (gradient, "gradient", _line_sample(palette.gradient, "3 2.5", backwards=True)),
        (chip, "comes from further away", _chip_sample(palette)),
        (passes, "passes of one layer", times),
        (diagram.num_folded > 0, "equal blocks, drawn once", times),
    )
    return [(words, sample) for occurs, words, sample in entries if occurs]


def _box_sample(palette: Palette, kind: str) -> Sample:
    look = palette.looks[kind]

    def paint(x: float, y: float) -> str:
        shapes = ""
        if kind.startswith("collapsed"):
            shapes = svg.rect(Rect(x + 3.0, y + 3.0, _SWATCH - 3.0, 10.0), look.fill, look.stroke, radius=3.0)
        front = Rect(x, y, _SWATCH - (3.0 if shapes else 0.0), 10.0 if shapes else 13.0)
        return shapes + svg.rect(front, look.fill, look.stroke, radius=3.0, dashes=look.dashes)

    return paint


def _frame_sample(palette: Palette, dashes: str) -> Sample:
    return lambda x, y: svg.rect(
        Rect(x, y, _SWATCH, 13.0), palette.group_fills[0], palette.group_stroke, radius=3.0, dashes=dashes
    )


def _line_sample(colour: str, dashes: str, *, backwards: bool = False) -> Sample:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""

    def paint(x: float, y: float) -> str:
        middle = y + 6.5
        tip, towards = ((x, middle), (-1.0, 0.0)) if backwards else ((x + _SWATCH, middle), (1.0, 0.0))
        ends = f"M{svg.number(x)} {svg.number(middle)}H{svg.number(x + _SWATCH)}"
        line = f'<path d="{ends}" fill="none" stroke="{colour}" stroke-width="1.2"{dashed}/>'
        return f'{line}<path d="{svg.arrow_head(tip, towards)}" fill="{colour}"/>'

    return paint


def _chip_sample(palette: Palette) -> Sample:
    def paint(x: float, y: float) -> str:
        arrow = svg.text(Text(words="↗", size=10.0), x + 6.5, y + 10.0, palette.chip_text, _SWATCH)
        return svg.rect(Rect(x, y, _SWATCH, 13.0), palette.chip_fill, "none", radius=6.5) + arrow

    return paint


def _word_sample(words: str, palette: Palette) -> Sample:
    line = Text(words=words, size=_TEXT_SIZE, weight=BOLD)
    return lambda x, y: svg.text(line, x, y + 10.0, palette.text, _SWATCH + 4.0)


def _scale(scale: Scale, palette: Palette, left: float, y: float) -> Iterable[str]:
    step = _SCALE_WIDTH / _SCALE_STEPS
    yield '<g class="scale">'
    for i in range(_SCALE_STEPS):
        colour = on_ramp((i + 0.5) / _SCALE_STEPS, palette.sequential)
        place = f'x="{svg.number(left + i * step)}" y="{svg.number(y)}" width="{svg.number(step + 0.5)}"'
        yield f'<rect {place} height="10" fill="{colour}"/>'
    low = Text(words=scale.words(scale.low), size=_TEXT_SIZE)
    high = Text(words=scale.words(scale.high), size=_TEXT_SIZE)
    yield svg.text(low, left, y + 23.0, palette.text_2, _SCALE_WIDTH)
    yield svg.text(
        high, left + max(_SCALE_WIDTH - high.width, low.width + 8.0), y + 23.0, palette.text_2, _SCALE_WIDTH
    )
    name = Text(words=fitted(printable(scale.title), 240.0, _TEXT_SIZE), size=_TEXT_SIZE)
    yield svg.text(name, left + _SCALE_WIDTH + 12.0, y + 9.0, palette.text_2, 280.0)
    yield "</g>"
