"""PNG and PDF from SVG, with the font that comes along: nothing of the system is needed, fonts included."""

from __future__ import annotations

import math
import re
from functools import cache

from torcheer.graph.drawing.lettering import FONT_FAMILY, FONT_FILES, is_measured

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
