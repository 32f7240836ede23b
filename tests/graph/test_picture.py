"""Pictures as files: the options that say where and how, and SVG, PNG and PDF with their text in them."""

from __future__ import annotations

import io
import re
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.graph.test_drawing_laws import chain, op, passed
from torcheer.errors import InputError
from torcheer.graph import DrawingOptions, Picture, draw_document, read_options, text_width
from torcheer.graph.drawing import picture as pictures

# --- options -------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("options", "path", "file_format"),
    [
        ({}, "modelgraph.svg", "svg"),
        ({"vis_fileformat": "pdf"}, "modelgraph.pdf", "pdf"),
        ({"vis_outpath": "net.png"}, "net.png", "png"),
        ({"vis_outpath": Path("net.PDF")}, "net.PDF", "pdf"),
        ({"vis_outpath": "net", "vis_fileformat": "png"}, "net.png", "png"),
        ({"vis_outpath": "net.v2"}, "net.v2.svg", "svg"),
        ({"vis_outpath": "net.svg", "vis_fileformat": "svg"}, "net.svg", "svg"),
    ],
)
def test_the_ending_or_the_format_says_what_is_written(
    options: dict[str, Any], path: str, file_format: str
) -> None:
    drawing = read_options("unrolled", options)

    assert (drawing.path, drawing.file_format) == (Path(path), file_format)


@pytest.mark.parametrize(
    ("vis_opt", "options", "part"),
    [
        ("unrolld", {}, "did you mean 'unrolled'"),
        ("unrolled", {"vis_nesting_dept": 1}, "Did you mean vis_nesting_depth"),
        ("unrolled", {"nesting_depth": 1}, "Did you mean vis_nesting_depth"),
        ("unrolled", {"colour": 1}, "vis_color_by"),
        ("unrolled", {"vis_nesting_depth": -1}, "1 shows each top-level module"),
        ("unrolled", {"vis_nesting_depth": True}, "not True"),
        ("unrolled", {"vis_direction": "down"}, "did you mean 'topdown'"),
        ("unrolled", {"vis_fileformat": "jpg"}, "'svg' or 'png' or 'pdf'"),
        ("unrolled", {"vis_outpath": "net.svg", "vis_fileformat": "png"}, "net.png"),
        ("unrolled", {"vis_outpath": "not/there/net.svg"}, "make it first"),
        ("unrolled", {"vis_outpath": "."}, "modelgraph.svg"),
        ("unrolled", {"vis_outpath": ""}, "path of a file"),
        ("unrolled", {"vis_save_only": "yes"}, "True or False"),
        ("unrolled", {"vis_color_by": "speed"}, "'time', 'memory', 'flops', 'zeros'"),
        ("unrolled", {"vis_theme": "blue"}, "'light' or 'dark'"),
    ],
)
def test_a_bad_option_is_refused_with_the_fix(vis_opt: str, options: dict[str, Any], part: str) -> None:
    with pytest.raises(InputError, match=re.escape(part)):
        read_options(vis_opt, options)


def test_every_option_reaches_the_drawing() -> None:
    changed: dict[str, Any] = {
        "vis_nesting_depth": 3,
        "vis_outpath": "x.png",
        "vis_fileformat": "png",
        "vis_save_only": True,
        "vis_buffer_layers": True,
        "vis_direction": "bottomup",
        "vis_fold_repeats": True,
        "vis_color_by": "time",
        "vis_legend": False,
        "vis_theme": "dark",
    }
    assert changed.keys() == DrawingOptions.__annotations__.keys()
    usual = read_options("unrolled", {})

    for name, value in changed.items():
        assert read_options("unrolled", {name: value}) != usual, name


# --- letters -------------------------------------------------------------------------------------


def test_a_width_is_what_is_drawn() -> None:
    """Rendered in black on white, a text ends where it was measured to end."""
    words = "weight 64×3×11×11, mm"
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="40">'
        '<rect width="400" height="40" fill="white"/>'
        f'<text x="0" y="25" font-family="Inter" font-size="20">{words}</text></svg>'
    )
    image = Image.open(io.BytesIO(pictures.png_of(svg, 400, 40))).convert("L")
    dark = image.point(lambda value: 255 if value < 128 else 0).getbbox()
    assert dark is not None

    assert abs(dark[2] / pictures.PNG_SCALE - text_width(words, 20.0)) < 3.0


# --- files ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def picture() -> Picture:
    return draw_document(chain(3), read_options("unrolled", {}))


def pdf_letters(data: bytes) -> set[str]:
    """The letters of a PDF that can be searched and copied: those in the maps of its fonts."""
    streams = []
    for match in re.finditer(rb"stream\r?\n(.*?)\r?\nendstream", data, re.DOTALL):
        try:
            streams.append(zlib.decompress(match[1]))
        except zlib.error:
            streams.append(match[1])
    letters = set()
    for stream in streams:
        if b"begincmap" in stream:
            for text in re.findall(rb"<[0-9A-Fa-f]{4}> *<([0-9A-Fa-f]{4})>", stream):
                letters.add(bytes.fromhex(text.decode()).decode("utf-16-be"))
    return letters


def test_a_picture_is_saved_as_its_ending_says(picture: Picture, tmp_path: Path) -> None:
    for ending, magic in (("svg", b"<svg"), ("png", b"\x89PNG\r\n\x1a\n"), ("pdf", b"%PDF")):
        path = picture.save(tmp_path / f"net.{ending}")
        assert path.read_bytes().startswith(magic)
        assert picture.path == path
    with pytest.raises(InputError, match=r"net\.jpg\.svg"):
        picture.save("net.jpg")
    with pytest.raises(InputError, match="make it first"):
        picture.save("not/there/net.svg")


def test_a_png_is_twice_as_large_and_not_blank(picture: Picture) -> None:
    image = Image.open(io.BytesIO(picture.to_png()))

    assert image.size == (int(2 * picture.width), int(2 * picture.height))
    assert len(image.convert("RGB").getcolors(100_000) or []) > 20


def test_text_is_drawn_without_the_fonts_of_the_system(picture: Picture) -> None:
    """Where no font is found, letters vanish: there would be few dark pixels in the box of the title."""
    image = Image.open(io.BytesIO(picture.to_png())).convert("L").crop((48, 48, 200, 90))

    assert image.point(lambda value: 255 if value < 80 else 0).getbbox() is not None


def test_a_pdf_holds_its_letters_as_text(picture: Picture) -> None:
    assert set("Modelsin_0123×·") <= pdf_letters(picture.to_pdf())


def test_very_large_pictures_become_smaller_pngs_and_say_so() -> None:
    small, large = Picture("", 500, 900, ""), Picture("", 5_000, 40_000, "")

    assert small.png_note == ""
    assert "0.4 times" in large.png_note
    assert pictures.png_scale(40_000, 40_000) * 40_000 < 9_000


def test_a_pdf_page_is_no_larger_than_the_format_allows() -> None:
    size = 'width="20000" height="100" viewBox="0 0 20000 100"'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {size}><rect width="9" height="9"/></svg>'
    data = pictures.pdf_of(svg, 20_000, 100)

    (box,) = re.findall(rb"/MediaBox *\[([^\]]*)\]", data)
    assert max(map(float, box.split())) <= pictures.PDF_MAX_SIDE


def test_a_notebook_shows_the_picture_unless_it_is_huge(picture: Picture) -> None:
    assert picture._repr_mimebundle_() == {"text/plain": repr(picture), "image/svg+xml": picture.svg}

    huge = Picture("x" * 6_000_000, 10.0, 10.0, "Huge")
    assert huge._repr_mimebundle_().keys() == {"text/plain"}
    assert "picture.save" in huge._repr_mimebundle_()["text/plain"]


def test_a_picture_says_what_and_where_it_is(tmp_path: Path) -> None:
    picture = draw_document(passed([op(0)]), read_options("unrolled", {}))
    assert repr(picture).startswith("<Picture: Model, 1 box, ")

    picture.save(tmp_path / "net.svg")
    assert str(tmp_path / "net.svg") in repr(picture)


def test_foreign_letters_ask_for_the_fonts_of_the_system() -> None:
    assert not pictures._has_foreign_letters(draw_document(chain(2), read_options("unrolled", {})).svg)
    assert pictures._has_foreign_letters("<svg><text>名前</text></svg>")
