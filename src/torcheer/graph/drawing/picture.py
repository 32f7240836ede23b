"""A pass as a picture: its options, the steps from a document to SVG, and files of the result."""

from __future__ import annotations

import difflib
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypedDict, get_args

from torcheer.desktop import current_cell
from torcheer.errors import InputError
from torcheer.graph.document import PassDocument
from torcheer.graph.drawing.arrangement import arranged
from torcheer.graph.drawing.boxes import PALETTES, Figure, colour_boxes
from torcheer.graph.drawing.diagram import (
    Diagram,
    Wiring,
    bundle_outputs,
    choose_chips,
    close_modules,
    dissolve_fans,
    grow,
    hidden_ops,
)
from torcheer.graph.drawing.repeats import Folder
from torcheer.graph.drawing.svg import Painter
from torcheer.graph.drawing.text_width import FONT_FAMILY, FONT_FILES, is_measured

VisOpt = Literal["unrolled", "rolled"]
FileFormat = Literal["svg", "png", "pdf"]
Direction = Literal["topdown", "bottomup", "leftright"]
Metric = Literal["time", "memory", "flops", "zeros"]
Theme = Literal["light", "dark"]
ColorBy = Metric | Callable[[Any], Figure] | None

FORMATS: tuple[FileFormat, ...] = get_args(FileFormat)
_OTHER_PICTURES = frozenset("jpg jpeg gif webp bmp tif tiff eps ps ico dot gv".split())


class DrawingOptions(TypedDict, total=False):
    """The options of a picture, by the names that all calls share."""

    vis_nesting_depth: int | None
    vis_outpath: str | os.PathLike[str]
    vis_fileformat: FileFormat | None
    vis_save_only: bool
    vis_buffer_layers: bool
    vis_direction: Direction
    vis_fold_repeats: bool
    vis_color_by: ColorBy
    vis_legend: bool
    vis_theme: Theme


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """The options of a picture, checked."""

    rolled: bool = False
    nesting_depth: int | None = None  # levels of modules that are shown; None: all
    path: Path = Path("modelgraph.svg")
    file_format: FileFormat = "svg"
    save_only: bool = False
    buffer_layers: bool = False
    direction: Direction = "topdown"
    fold_repeats: bool = False
    color_by: ColorBy = None
    legend: bool = True
    theme: Theme = "light"


_CHOICES: dict[str, tuple[object, ...]] = {
    "vis_opt": get_args(VisOpt),
    "vis_direction": get_args(Direction),
    "vis_theme": get_args(Theme),
    "vis_fileformat": FORMATS,
    **dict.fromkeys(("vis_save_only", "vis_buffer_layers", "vis_fold_repeats", "vis_legend"), (True, False)),
}


def read_options(vis_opt: str, options: Mapping[str, Any]) -> Drawing:
    """The options as a drawing, or an InputError that names the fix."""
    _refuse_unknown(options)
    given = {"vis_opt": vis_opt, **options}
    if given.get("vis_fileformat") is None:
        given.pop("vis_fileformat", None)
    for name, choices in _CHOICES.items():
        if name in given:
            _check_choice(name, given[name], choices)
    depth, color_by = given.get("vis_nesting_depth"), given.get("vis_color_by")
    if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or depth < 0):
        raise InputError(
            f"vis_nesting_depth is the number of levels of modules to show, not {depth!r}: 1 shows each "
            "top-level module as one box, 0 the whole model as one box; leave it out to show everything."
        )
    if color_by is not None and not callable(color_by) and color_by not in get_args(Metric):
        shown = ", ".join(map(repr, get_args(Metric)))
        raise InputError(
            f"vis_color_by is {shown}, or a function that is given an op and returns a colour such as "
            f"'#ffcc00', a number or None; not {color_by!r}."
        )
    path, file_format = _destination(
        given.pop("vis_outpath", "modelgraph"), given.pop("vis_fileformat", None)
    )
    rolled = given.pop("vis_opt") == "rolled"
    others = {name.removeprefix("vis_"): value for name, value in given.items()}
    return Drawing(rolled=rolled, path=path, file_format=file_format, **others)


def _refuse_unknown(options: Mapping[str, Any]) -> None:
    known = sorted(DrawingOptions.__annotations__)
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(f"vis_{name.removeprefix('vis_')}", known, n=1, cutoff=0.7)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise InputError(
                f"there is no argument {name!r}, neither of this call nor among the options of its picture, "
                f"which are {', '.join(known)}.{hint}"
            )


def _check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    if type(value) is not type(choices[0]) or value not in choices:
        shown = " or ".join(map(repr, choices))
        near = difflib.get_close_matches(str(value).lower(), map(str, choices), n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise InputError(f"{name} is {shown}, not {value!r}{hint}")


def _destination(outpath: object, file_format: FileFormat | None) -> tuple[Path, FileFormat]:
    """Where the picture goes. A known ending decides; a format that says otherwise is refused."""
    if not isinstance(outpath, str | os.PathLike) or not os.fspath(outpath) or "\0" in os.fspath(outpath):
        raise InputError(f"vis_outpath is the path of a file such as 'modelgraph.svg', not {outpath!r}.")
    path = Path(outpath).expanduser()
    if path.is_dir():
        raise InputError(
            f"vis_outpath is a folder, {path}: name a file in it, such as {path / 'modelgraph.svg'}."
        )
    ending = path.suffix[1:].lower()
    if ending in _OTHER_PICTURES:
        raise InputError(f"a picture is written as SVG, PNG or PDF, not as .{ending}: name 'modelgraph.png'.")
    chosen = ending if ending in FORMATS else file_format or "svg"
    if ending not in FORMATS:  # `runs/model.v2` has no ending that we know: one is added
        path = path.with_name(f"{path.name}.{chosen}")
    elif file_format not in (None, ending):
        raise InputError(
            f"vis_outpath ends in .{ending}, but vis_fileformat is {file_format!r}: leave one of them out, "
            f"or write to {path.with_suffix(f'.{file_format}')}."
        )
    if not path.parent.is_dir():
        raise InputError(f"vis_outpath is in a folder that is not there, {path.parent}: make it first.")
    return path, chosen


PNG_SCALE = 2.0
PNG_MAX_SIDE = 16_000  # beyond it, viewers and the renderer itself begin to fail
PNG_MAX_PIXELS = 64_000_000  # takes a few seconds

PDF_MAX_SIDE = 14_400.0  # what the format itself allows
_SIZE = re.compile(r'width="[^"]*" height="[^"]*" viewBox')


def png_scale(width: float, height: float) -> float:
    """Twice the size, or as much as is borne."""
    by_side = PNG_MAX_SIDE / max(width, height, 1.0)
    by_area = math.sqrt(PNG_MAX_PIXELS / max(width * height, 1.0))
    return min(PNG_SCALE, by_side, by_area)


def png_of(svg: str, width: float, height: float, scale: float | None = None) -> bytes:
    """At the scale asked for; without one, at twice the size or as much as is borne."""
    import resvg_py

    if scale is None:
        scale = png_scale(width, height)
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=svg,
            width=max(1, math.floor(width * scale)),
            height=max(1, math.floor(height * scale)),
            skip_system_fonts=not _has_foreign_letters(svg),
            font_files=list(FONT_FILES),
            font_family=FONT_FAMILY,
            sans_serif_family=FONT_FAMILY,
        )
    )


def pdf_of(svg: str, width: float, height: float) -> bytes:
    import svg2pdf_py  # type: ignore[import-untyped]

    scale = min(1.0, PDF_MAX_SIDE / max(width, height, 1.0))
    if scale < 1.0:  # the viewBox keeps the drawing, only the page becomes smaller
        size = f'width="{width * scale:.1f}" height="{height * scale:.1f}" viewBox'
        svg = _SIZE.sub(size, svg, count=1)
    return bytes(svg2pdf_py.svg_to_pdf(svg, _pdf_fonts(with_system=_has_foreign_letters(svg))))


@cache
def _pdf_fonts(*, with_system: bool) -> object:
    import svg2pdf_py

    fonts = svg2pdf_py.FontDatabase.system() if with_system else svg2pdf_py.FontDatabase()
    for file in FONT_FILES:
        fonts.load_font_file(file)
    return fonts


def _has_foreign_letters(svg: str) -> bool:
    """Whether the system's fonts are worth a look: a name in Chinese is not in the font that comes along."""
    return not is_measured(svg.replace("\n", ""))


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
    document: PassDocument, drawing: Drawing, figures: Sequence[Figure] | None = None, figures_title: str = ""
) -> Picture:
    """The picture of a pass. `figures`, one an op, colour the boxes: numbers on a scale, or colours."""
    palette = PALETTES[drawing.theme]
    hidden = hidden_ops(document, buffers_shown=drawing.buffer_layers)
    root = grow(document, hidden, rolled=drawing.rolled)
    dissolve_fans(root, document)
    root = close_modules(root, document, drawing.nesting_depth)
    folder = Folder(document=document)
    if drawing.fold_repeats:
        folder.fold(root)
    bundle_outputs(root, document)
    edges = Wiring(document, root, folder.carried, rolled=drawing.rolled).edges()
    diagram = Diagram(root=root, edges=edges, hidden=hidden, num_folded=folder.num_folded)
    nodes = diagram.nodes()
    scale = colour_boxes(document, nodes, drawing.color_by, palette, figures, figures_title)
    choose_chips(diagram, document)
    arrangement = arranged(document, diagram, drawing.direction)
    painter = Painter(document, diagram, arrangement, palette)
    svg, width, height = painter.paint(scale, with_legend=drawing.legend)
    boxes = f"{len(nodes)} box" + ("es" if len(nodes) != 1 else "")
    return Picture(svg, width, height, f"{document.model_name}, {boxes}")
