"""A pass as a picture: the steps from a document to SVG, and what can be done with the result."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torcheer.desktop import current_cell
from torcheer.errors import InputError
from torcheer.graph.document import PassDocument
from torcheer.graph.drawing.arrangement import Arrangement, Arranger, connectors, cut_into_columns
from torcheer.graph.drawing.boxes import FaceMaker
from torcheer.graph.drawing.colours import PALETTES, Colouring, colour_boxes
from torcheer.graph.drawing.diagram import (
    Diagram,
    bundle_outputs,
    close_modules,
    dissolve_fans,
    grow,
    hidden_ops,
)
from torcheer.graph.drawing.edges import Wiring, choose_chips
from torcheer.graph.drawing.folding import Folder
from torcheer.graph.drawing.formats import PNG_SCALE, pdf_of, png_of, png_scale
from torcheer.graph.drawing.legend import make_head
from torcheer.graph.drawing.options import FORMATS, Drawing, Figure
from torcheer.graph.drawing.painting import Painter
from torcheer.graph.drawing.svg import page

_MARGIN = 24.0
_COLUMN_WIDTH = 800.0  # what most columns turn out to be
_NEAR_ENOUGH = 1.4
_INLINE_BYTES = 5_000_000  # what a notebook still shows without trouble


class Picture:
    """A drawn pass. In a notebook it shows itself."""

    def __init__(self, svg: str, width: float, height: float, summary: str) -> None:
        self.svg = svg
        self.width = width
        self.height = height
        self.path: Path | None = None
        self.shown_in_cell: int | None = None  # of a notebook, once it has been shown there
        self._summary = summary

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write an SVG, PNG or PDF file, as the path's ending says."""
        target = Path(path).expanduser()
        ending = target.suffix[1:].lower()
        if ending not in FORMATS:
            raise InputError(
                f"a picture is saved as .svg, .png or .pdf, not as {target.name!r}: {target.name + '.svg'!r}?"
            )
        if not target.parent.is_dir():
            raise InputError(f"the folder of the picture is not there, {target.parent}: make it first.")
        if ending == "svg":
            target.write_text(self.svg, encoding="utf-8", newline="\n")
        else:
            target.write_bytes(self.to_png() if ending == "png" else self.to_pdf())
        self.path = target
        return target

    def to_png(self) -> bytes:
        """At twice the size; very large pictures smaller, see `png_note`."""
        return png_of(self.svg, self.width, self.height)

    def to_pdf(self) -> bytes:
        return pdf_of(self.svg, self.width, self.height)

    @property
    def png_note(self) -> str:
        """Says so where a PNG has to be smaller than twice the size; else empty."""
        scale = png_scale(self.width, self.height)
        if scale >= PNG_SCALE:
            return ""
        return (
            f"The picture is large, so the PNG shows it at {scale:.2g} times its size instead of "
            f"{PNG_SCALE:.0f}: SVG or PDF keep every detail."
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        if self.shown_in_cell is not None and self.shown_in_cell == current_cell():
            return {"text/plain": repr(self)}  # as the value of the cell that it was shown in already
        if len(self.svg) > _INLINE_BYTES:
            size = f"{len(self.svg) / 1e6:.0f} MB"
            return {
                "text/plain": f"{self!r}\nToo large to show here ({size}): picture.save('modelgraph.svg')."
            }
        return {"text/plain": repr(self), "image/svg+xml": self.svg}

    def __repr__(self) -> str:
        where = f", in {self.path}" if self.path is not None else ""
        return f"<Picture: {self._summary}, {self.width:.0f} × {self.height:.0f}{where}>"


def draw_document(
    document: PassDocument,
    drawing: Drawing,
    figures: Sequence[Figure] | None = None,
    figures_title: str = "",
) -> Picture:
    """The picture of a pass. `figures`, one an op, colour the boxes: numbers on a scale, or colours."""
    palette = PALETTES[drawing.theme]
    diagram = _diagram(document, drawing)
    nodes = diagram.nodes()
    colouring = colour_boxes(document, nodes, drawing, palette, figures, figures_title)
    outputs = {id(node) for node in nodes if document.ops[node.order].kind == "output"}
    choose_chips(nodes, diagram.edges, outputs)
    arrangement, notes = _arranged(document, diagram, colouring, drawing)
    head = make_head(
        document,
        diagram,
        arrangement,
        palette,
        notes=notes,
        scale=colouring.scale,
        with_legend=drawing.legend,
        left=_MARGIN,
        top=_MARGIN,
    )
    width = max(head.width, arrangement.width) + 2 * _MARGIN
    top = 2 * _MARGIN + head.height
    painter = Painter(
        document=document,
        palette=palette,
        colouring=colouring,
        arrangement=arrangement,
        connectors=list(connectors(arrangement, diagram.edges, drawing.direction)),
        dx=(width - arrangement.width) / 2 if arrangement.width < head.width else _MARGIN,
        dy=top,
    )
    height = top + arrangement.height + _MARGIN
    content = [*head.content, *painter.paint()]
    svg = page(width, height, palette.canvas, f"{document.model_name}: computational graph", content)
    return Picture(
        svg, width, height, f"{document.model_name}, {len(nodes)} box" + ("es" if len(nodes) != 1 else "")
    )


def _diagram(document: PassDocument, drawing: Drawing) -> Diagram:
    hidden = hidden_ops(document, buffers_shown=drawing.buffer_layers)
    root = grow(document, hidden, rolled=drawing.rolled)
    dissolve_fans(root, document)
    root = close_modules(root, document, drawing.nesting_depth)
    folder = Folder(document=document)
    if drawing.fold_repeats:
        folder.fold(root)
    bundle_outputs(root, document)
    edges = Wiring(document, root, folder.carried, rolled=drawing.rolled).edges()
    return Diagram(root=root, edges=edges, hidden=hidden, num_folded=folder.num_folded)


def _arranged(
    document: PassDocument, diagram: Diagram, colouring: Colouring, drawing: Drawing
) -> tuple[Arrangement, list[str]]:
    """In columns where it is long; cut anew where one turns out much wider or narrower than was thought."""
    faces = FaceMaker(document=document, figures=colouring.words)
    notes = cut_into_columns(diagram, faces, drawing.direction, _COLUMN_WIDTH)
    if diagram.columns:
        trial = Arranger(diagram, faces.with_chips(diagram.edges), drawing.direction)
        one = trial.arrange(only=len(diagram.columns) // 2)
        width = one.height if drawing.direction == "leftright" else one.width
        if not 1 / _NEAR_ENOUGH < width / _COLUMN_WIDTH < _NEAR_ENOUGH:
            notes = cut_into_columns(diagram, faces, drawing.direction, width)
    return Arranger(diagram, faces.with_chips(diagram.edges), drawing.direction).arrange(), notes
